// Chunks, read and unpacked here: the library (1.10) takes the sizes of its index on trust, and
// where a byte of it is wrong copies from behind what it unpacked. The helper only says where they
// lie.

#include "base/checked.h"
#include "base/status.h"
#include "io/hdf5/h5_deflate.h"
#include "io/hdf5/h5_reader.h"

#include <inttypes.h>
#include <string.h>

// Chunks of one slab (all that share their range of the first axis) are kept between reads, so
// that a tile boundary inside a slab does not unpack it twice: up to so much, or this share of the
// memory there is.
enum { SLAB_BYTES = 64 << 20, SLAB_SHARE = 8 };
// A share unpacks by so many buffers of a chunk; less than so much is not worth a thread.
enum { N_BUFFER = 3, SHARED_BYTES = 1 << 18 };
// Nothing that packs makes a chunk much larger, nor deflate more than 1032 times smaller.
enum { MAX_GROWTH = 2, SMALL_BYTES = 4096, MAX_RATIO = 1100 };

// 0: not kept.
static uint64_t slab_bytes(const tess_host *host, const tess_h5_reader *r)
{
    const uint64_t share = host->memory_limit_bytes / SLAB_SHARE;
    uint64_t bytes = 0;
    return r->data.n_filter > 0 && tess_mul_u64(r->row_bytes, (uint64_t)r->data.chunk[0], &bytes) &&
                   bytes <= (share > SLAB_BYTES ? share : SLAB_BYTES)
               ? bytes
               : 0;
}

// Shares of the work: as many as there are threads, chunks, and memory for what each needs.
static int64_t n_share(const tess_host *host, const tess_h5_reader *r)
{
    const uint64_t share = host->memory_limit_bytes / SLAB_SHARE;
    const uint64_t room = share < SLAB_BYTES ? share : SLAB_BYTES;
    const uint64_t fit = room / (N_BUFFER * r->chunks.chunk_bytes);
    int64_t n = host->n_thread < TESS_H5_MOST_SHARES ? host->n_thread : TESS_H5_MOST_SHARES;
    int64_t n_chunk = 1;
    for (int32_t axis = 0; axis < r->data.rank && n_chunk < n; axis++) {
        n_chunk *= r->chunks.n_across[axis];
    }
    n = n_chunk < n ? n_chunk : n;
    n = fit < (uint64_t)n ? (int64_t)fit : n;
    return n > 1 ? n : 1;
}

bool tess_h5_chunks_begin(const tess_host *host, tess_h5_reader *r, uint64_t *held_bytes)
{
    const tess_h5_dataset *d = &r->data;
    tess_h5_chunks *c = &r->chunks;
    *c = (tess_h5_chunks){
        .chunk_bytes = (uint64_t)d->item_bytes, .has_whole_rows = true, .slab_at = -1};
    bool is_right = d->rank > 0 && d->n_filter >= 0 && d->n_filter <= TESS_H5_MAX_FILTERS;
    for (int32_t i = 0; is_right && i < d->n_filter; i++) {
        is_right = d->filters[i] == TESS_H5_SHUFFLE || d->filters[i] == TESS_H5_LZF ||
                   (d->filters[i] == TESS_H5_DEFLATE && tess_h5_has_deflate);
    }
    for (int32_t axis = 0; is_right && axis < d->rank; axis++) {
        const int64_t n = d->chunk[axis];
        is_right =
            n > 0 && n <= UINT32_MAX && tess_mul_u64(c->chunk_bytes, (uint64_t)n, &c->chunk_bytes);
        c->n_across[axis] = is_right ? d->shape[axis] / n + (d->shape[axis] % n != 0) : 0;
        c->has_whole_rows = c->has_whole_rows && (axis == 0 || n == d->shape[axis]);
    }
    is_right = is_right && c->chunk_bytes <= UINT32_MAX;
    c->slab_bytes = is_right ? slab_bytes(host, r) : 0;
    c->n_share = is_right ? n_share(host, r) : 1;
    *held_bytes = c->slab_bytes + (uint64_t)c->n_share * N_BUFFER * c->chunk_bytes;
    return is_right;
}

void tess_h5_chunks_end(const tess_host *host, tess_h5_chunks *c)
{
    tess_h5_drop(host, &c->places);
    tess_h5_drop(host, &c->slab);
    for (int64_t i = 0; i < c->n_share; i++) {
        tess_h5_scratch *scratch = &c->scratch[i];
        tess_h5_drop(host, &scratch->stored);
        tess_h5_drop(host, &scratch->between[0]);
        tess_h5_drop(host, &scratch->between[1]);
        tess_h5_drop(host, &scratch->chunk);
    }
}

static bool is_possible(const tess_h5_reader *r, const tess_h5_place *place)
{
    const uint64_t most = MAX_GROWTH * r->chunks.chunk_bytes + SMALL_BYTES;
    return place->bytes == 0 || (place->bytes <= most && place->offset <= r->file.bytes &&
                                 place->bytes <= r->file.bytes - place->offset &&
                                 place->bytes >= r->chunks.chunk_bytes / MAX_RATIO &&
                                 place->skipped >> r->data.n_filter == 0);
}

// Places of the chunks from number first on.
static tess_status locate(const tess_host *host, tess_h5_reader *r, int64_t first, int64_t n_chunk)
{
    const int64_t left = n_chunk - first;
    const int64_t count = left < TESS_H5_MOST_PLACES ? left : TESS_H5_MOST_PLACES;
    const size_t n_byte = (size_t)count * sizeof(tess_h5_place);
    bool has_item = false;
    tess_h5_call call;
    r->chunks.n_place = 0;
    TESS_TRY(tess_h5_reserve(host, &r->chunks.places, n_byte));
    TESS_TRY(tess_h5_session_ask(host, r, TESS_H5_LOCATE, first, count, &call));
    tess_status status = tess_h5_call_next(&call, &has_item);
    if (status == TESS_OK) {
        tess_h5_get(&call.message, r->chunks.places.bytes, has_item ? n_byte : 0);
        bool is_right = has_item && !call.message.is_broken;
        const tess_h5_place *places = (const tess_h5_place *)(const void *)r->chunks.places.bytes;
        for (int64_t i = 0; is_right && i < count; i++) {
            is_right = is_possible(r, &places[i]);
        }
        status = is_right ? tess_h5_call_finish(&call) : tess_h5_call_nonsense(&call);
    }
    tess_h5_call_end(&call);
    if (status == TESS_OK) {
        r->chunks.first_place = first;
        r->chunks.n_place = count;
    }
    return status;
}

static void fill_items(const tess_h5_dataset *d, uint8_t *dst, int64_t n)
{
    const size_t item_bytes = (size_t)d->item_bytes;
    if (item_bytes > sizeof d->fill) { // only zeros fill these
        memset(dst, 0, (size_t)n * item_bytes);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(dst + (size_t)i * item_bytes, d->fill, item_bytes);
    }
}

// The part of a chunk in rows low to high - 1 to where it belongs in dst, which begins at row low.
// src NULL: it was never written.
static void spread(const tess_h5_dataset *d, const int64_t *chunk, const uint8_t *src, int64_t low,
                   int64_t high, uint8_t *dst)
{
    int64_t begin[TESS_MAX_RANK];
    int64_t end[TESS_MAX_RANK];
    int64_t at[TESS_MAX_RANK];
    const int32_t last = d->rank - 1;
    for (int32_t axis = 0; axis < d->rank; axis++) {
        const int64_t from = axis == 0 ? low : 0;
        const int64_t to = axis == 0 ? high : d->shape[axis];
        begin[axis] = chunk[axis] * d->chunk[axis];
        end[axis] = to - begin[axis] < d->chunk[axis] ? to : begin[axis] + d->chunk[axis];
        at[axis] = begin[axis] > from ? begin[axis] : from;
    }
    const int64_t first = at[0];
    for (;;) {
        int64_t in_chunk = 0;
        int64_t in_rows = 0;
        for (int32_t axis = 0; axis < d->rank; axis++) {
            in_chunk = in_chunk * d->chunk[axis] + at[axis] - begin[axis];
            in_rows = in_rows * d->shape[axis] + at[axis] - (axis == 0 ? low : 0);
        }
        uint8_t *to = dst + (uint64_t)in_rows * (uint64_t)d->item_bytes;
        const int64_t run = end[last] - at[last];
        if (src != NULL) {
            memcpy(to, src + (uint64_t)in_chunk * (uint64_t)d->item_bytes,
                   (size_t)(run * d->item_bytes));
        } else {
            fill_items(d, to, run);
        }
        int32_t axis = last - 1;
        while (axis >= 0 && ++at[axis] == end[axis]) {
            at[axis] = axis == 0 ? first : begin[axis];
            axis--;
        }
        if (axis < 0) {
            return;
        }
    }
}

// Rows low to high - 1 of the data set from chunks whose places are known.
typedef struct unpacking {
    const tess_host *host;
    tess_h5_reader *r;
    int64_t first; // number of a chunk
    int64_t count;
    int64_t n_share;
    int64_t low;
    int64_t high;
    uint8_t *dst;
} unpacking;

static tess_status unpack_chunk(const unpacking *u, tess_h5_scratch *scratch, int64_t number)
{
    const tess_h5_reader *r = u->r;
    const tess_h5_chunks *c = &r->chunks;
    const tess_h5_place *places = (const tess_h5_place *)(const void *)c->places.bytes;
    const tess_h5_place *place = &places[number - c->first_place];
    int64_t chunk[TESS_MAX_RANK];
    for (int32_t axis = r->data.rank - 1; axis >= 0; axis--) {
        chunk[axis] = number % c->n_across[axis];
        number /= c->n_across[axis];
    }
    const int64_t begin = chunk[0] * r->data.chunk[0];
    const int64_t end = begin + r->data.chunk[0];
    const int64_t low = u->low > begin ? u->low : begin;
    const int64_t high = u->high < end ? u->high : end;
    if (place->bytes == 0) {
        spread(&r->data, chunk, NULL, u->low, u->high, u->dst);
        return TESS_OK;
    }
    // Unpacked where it belongs if that is all there is to do.
    if (c->has_whole_rows && low == begin && high == end) {
        return tess_h5_unpack(u->host, r, scratch, place, 0, high - low,
                              u->dst + (uint64_t)(low - u->low) * r->row_bytes);
    }
    TESS_TRY(tess_h5_reserve(u->host, &scratch->chunk, c->chunk_bytes));
    TESS_TRY(tess_h5_unpack(u->host, r, scratch, place, low - begin, high - begin,
                            scratch->chunk.bytes));
    spread(&r->data, chunk, scratch->chunk.bytes, u->low, u->high, u->dst);
    return TESS_OK;
}

// Neighbours in order: the first that is damaged is the one that tells.
static tess_status unpack_share(void *arg, int64_t share)
{
    const unpacking *u = arg;
    const int64_t begin = share * u->count / u->n_share;
    const int64_t end = (share + 1) * u->count / u->n_share;
    for (int64_t i = begin; i < end; i++) {
        TESS_TRY(unpack_chunk(u, &u->r->chunks.scratch[share], u->first + i));
    }
    return TESS_OK;
}

// Rows low to high - 1, by all chunks that have one of them.
static tess_status read_rows(const tess_host *host, tess_h5_reader *r, int64_t low, int64_t high,
                             uint8_t *dst)
{
    const tess_h5_chunks *c = &r->chunks;
    const int64_t first_slab = low / r->data.chunk[0];
    const int64_t end_slab = (high - 1) / r->data.chunk[0] + 1;
    int64_t per_slab = 1;
    for (int32_t axis = 1; axis < r->data.rank; axis++) {
        per_slab *= c->n_across[axis];
    }
    const int64_t end = end_slab * per_slab;
    for (int64_t number = first_slab * per_slab; number < end;) {
        if (number < c->first_place || number >= c->first_place + c->n_place) {
            TESS_TRY(locate(host, r, number, c->n_across[0] * per_slab));
        }
        const int64_t known = c->first_place + c->n_place;
        unpacking u = {.host = host,
                       .r = r,
                       .first = number,
                       .count = (known < end ? known : end) - number,
                       .low = low,
                       .high = high,
                       .dst = dst};
        const bool is_little = (uint64_t)u.count * c->chunk_bytes < SHARED_BYTES;
        u.n_share = is_little ? 1 : u.count < c->n_share ? u.count : c->n_share;
        TESS_TRY(host->share(host->user, u.n_share, unpack_share, &u));
        number += u.count;
    }
    return TESS_OK;
}

// A slab of which only rows are wanted now, the rest perhaps with the next read.
static tess_status keep_slab(const tess_host *host, tess_h5_reader *r, int64_t slab)
{
    tess_h5_chunks *c = &r->chunks;
    const int64_t begin = slab * r->data.chunk[0];
    const int64_t left = r->n_row - begin;
    if (c->slab_at == slab) {
        return TESS_OK;
    }
    c->slab_at = -1;
    TESS_TRY(tess_h5_reserve(host, &c->slab, c->slab_bytes));
    TESS_TRY(read_rows(host, r, begin, begin + (left < r->data.chunk[0] ? left : r->data.chunk[0]),
                       c->slab.bytes));
    c->slab_at = slab;
    return TESS_OK;
}

tess_status tess_h5_chunks_read(const tess_host *host, tess_h5_reader *r, int64_t first,
                                int64_t count, uint8_t *dst)
{
    const tess_h5_chunks *c = &r->chunks;
    const int64_t chunk_rows = r->data.chunk[0];
    const int64_t end = first + count;
    if (c->slab_bytes == 0) {
        return read_rows(host, r, first, end, dst);
    }
    for (int64_t row = first; row < end;) {
        const int64_t slab = row / chunk_rows;
        const int64_t begin = slab * chunk_rows;
        uint8_t *to = dst + (uint64_t)(row - first) * r->row_bytes;
        // Whole slabs, as many as there are.
        int64_t stop = end == r->n_row ? end : end / chunk_rows * chunk_rows;
        if (row == begin && stop > row) {
            TESS_TRY(read_rows(host, r, row, stop, to));
        } else {
            stop = end - begin < chunk_rows ? end : begin + chunk_rows;
            TESS_TRY(keep_slab(host, r, slab));
            memcpy(to, c->slab.bytes + (uint64_t)(row - begin) * r->row_bytes,
                   (size_t)((uint64_t)(stop - row) * r->row_bytes));
        }
        row = stop;
    }
    return TESS_OK;
}
