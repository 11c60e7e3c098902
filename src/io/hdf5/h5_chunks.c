// Chunks, read and unpacked here: the library (1.10) takes the sizes of its index on trust, and
// where a byte of it is wrong copies from behind what it unpacked. The helper only says where they
// lie.

#include "base/checked.h"
#include "base/status.h"
#include "io/hdf5/h5_deflate.h"
#include "io/hdf5/h5_reader.h"
#include "io/hdf5/lzf.h"

#include <inttypes.h>
#include <string.h>

// Chunks of one slab (all that share their range of the first axis) are kept between reads, so
// that a tile boundary inside a slab does not unpack it twice: up to so much, or this share of the
// memory there is.
enum { SLAB_BYTES = 64 << 20, SLAB_SHARE = 8 };
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
    *held_bytes = c->slab_bytes + 3 * c->chunk_bytes;
    return is_right;
}

static void drop(const tess_host *host, tess_h5_buffer *buffer)
{
    if (buffer->capacity > 0) {
        host->release(host->user, buffer->bytes, buffer->capacity);
    }
    *buffer = (tess_h5_buffer){0};
}

static tess_status reserve(const tess_host *host, tess_h5_buffer *buffer, uint64_t n_byte)
{
    if (n_byte > buffer->capacity) {
        drop(host, buffer);
        buffer->bytes = host->alloc(host->user, (size_t)n_byte);
        buffer->capacity = buffer->bytes != NULL ? (size_t)n_byte : 0;
    }
    return buffer->capacity >= n_byte ? TESS_OK : TESS_E_MEMORY;
}

void tess_h5_chunks_end(const tess_host *host, tess_h5_chunks *c)
{
    tess_h5_buffer *const buffers[] = {&c->places,     &c->stored, &c->between[0],
                                       &c->between[1], &c->chunk,  &c->slab};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        drop(host, buffers[i]);
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
    TESS_TRY(reserve(host, &r->chunks.places, n_byte));
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

static tess_status place_of(const tess_host *host, tess_h5_reader *r, const int64_t *chunk,
                            tess_h5_place *out)
{
    const tess_h5_chunks *c = &r->chunks;
    int64_t number = 0;
    int64_t n_chunk = 1;
    for (int32_t axis = 0; axis < r->data.rank; axis++) {
        number = number * c->n_across[axis] + chunk[axis];
        n_chunk *= c->n_across[axis];
    }
    if (number < c->first_place || number >= c->first_place + c->n_place) {
        TESS_TRY(locate(host, r, number, n_chunk));
    }
    *out = ((const tess_h5_place *)(const void *)c->places.bytes)[number - c->first_place];
    return TESS_OK;
}

// item_bytes is a constant wherever it matters: the compiler then interleaves vectors.
static inline void unshuffle_items(const uint8_t *src, uint64_t n, uint64_t item_bytes,
                                   uint8_t *dst)
{
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t byte = 0; byte < item_bytes; byte++) {
            dst[i * item_bytes + byte] = src[byte * n + i];
        }
    }
}

static void unshuffle(const uint8_t *src, uint64_t n, uint64_t item_bytes, uint8_t *dst)
{
    switch (item_bytes) {
    case 2:
        unshuffle_items(src, n, 2, dst);
        break;
    case 4:
        unshuffle_items(src, n, 4, dst);
        break;
    case 8:
        unshuffle_items(src, n, 8, dst);
        break;
    default:
        unshuffle_items(src, n, item_bytes, dst);
    }
}

// One filter undone into dst [chunk_bytes]; TESS_E_FORMAT where what comes out is not a chunk.
static tess_status undo(const tess_h5_reader *r, int32_t filter, const uint8_t *src,
                        uint64_t n_byte, uint8_t *dst)
{
    const size_t chunk_bytes = (size_t)r->chunks.chunk_bytes;
    if (filter == TESS_H5_DEFLATE) {
        return tess_h5_inflate(src, (size_t)n_byte, dst, chunk_bytes);
    }
    if (filter == TESS_H5_LZF) {
        return tess_lzf_unpack(src, (size_t)n_byte, dst, chunk_bytes) == chunk_bytes
                   ? TESS_OK
                   : TESS_E_FORMAT;
    }
    if (n_byte != chunk_bytes) {
        return TESS_E_FORMAT;
    }
    const uint64_t item_bytes = (uint64_t)r->data.item_bytes;
    unshuffle(src, n_byte / item_bytes, item_bytes, dst);
    return TESS_OK;
}

// Undoes the filters that were applied, the last first, the first one into dst [chunk_bytes].
static tess_status unpack(const tess_host *host, tess_h5_reader *r, const tess_h5_place *place,
                          uint8_t *dst)
{
    tess_h5_chunks *c = &r->chunks;
    const uint8_t *from = c->stored.bytes;
    uint64_t n_byte = place->bytes;
    int n_left = 0;
    for (int32_t i = 0; i < r->data.n_filter; i++) {
        n_left += (place->skipped >> i & 1) == 0;
    }
    for (int32_t i = r->data.n_filter - 1; i >= 0; i--) {
        if (place->skipped >> i & 1) {
            continue;
        }
        uint8_t *to = dst;
        if (--n_left > 0) {
            tess_h5_buffer *between = &c->between[n_left % 2];
            TESS_TRY(reserve(host, between, c->chunk_bytes));
            to = between->bytes;
        }
        TESS_TRY(undo(r, r->data.filters[i], from, n_byte, to));
        from = to;
        n_byte = c->chunk_bytes;
    }
    return TESS_OK;
}

static bool is_packed(const tess_h5_reader *r, const tess_h5_place *place)
{
    return place->skipped != (UINT64_C(1) << r->data.n_filter) - 1;
}

static tess_status damaged(const tess_h5_reader *r, const tess_h5_place *place)
{
    TESS_FAIL(TESS_E_FORMAT,
              "%s: data set '%s': the chunk at byte %" PRIu64 " is damaged; copy the file again",
              r->path, r->name, place->offset);
}

// A chunk into dst [chunk_bytes]; of one that is not packed only rows low to high - 1 of it.
static tess_status load(const tess_host *host, tess_h5_reader *r, const tess_h5_place *place,
                        int64_t low, int64_t high, uint8_t *dst)
{
    tess_h5_chunks *c = &r->chunks;
    if (is_packed(r, place)) {
        TESS_TRY(reserve(host, &c->stored, place->bytes));
        TESS_TRY(tess_infile_read(&r->file, c->stored.bytes, (size_t)place->bytes, place->offset));
        const tess_status status = unpack(host, r, place, dst);
        return status == TESS_E_FORMAT ? damaged(r, place) : status;
    }
    if (place->bytes != c->chunk_bytes) {
        return damaged(r, place);
    }
    const uint64_t row_bytes = c->chunk_bytes / (uint64_t)r->data.chunk[0];
    const uint64_t skip = (uint64_t)low * row_bytes;
    return tess_infile_read(&r->file, dst + skip, (size_t)((uint64_t)(high - low) * row_bytes),
                            place->offset + skip);
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

// Rows low to high - 1, all of one slab.
static tess_status read_slab(const tess_host *host, tess_h5_reader *r, int64_t slab, int64_t low,
                             int64_t high, uint8_t *dst)
{
    tess_h5_chunks *c = &r->chunks;
    int64_t chunk[TESS_MAX_RANK] = {slab};
    const int64_t begin = slab * r->data.chunk[0];
    // Unpacked where it belongs if that is all there is to do.
    const bool is_in_place = c->has_whole_rows && high - low == r->data.chunk[0];
    for (;;) {
        tess_h5_place place;
        TESS_TRY(place_of(host, r, chunk, &place));
        if (place.bytes == 0) {
            spread(&r->data, chunk, NULL, low, high, dst);
        } else if (is_in_place) {
            TESS_TRY(load(host, r, &place, 0, high - low, dst));
        } else {
            TESS_TRY(reserve(host, &c->chunk, c->chunk_bytes));
            TESS_TRY(load(host, r, &place, low - begin, high - begin, c->chunk.bytes));
            spread(&r->data, chunk, c->chunk.bytes, low, high, dst);
        }
        int32_t axis = r->data.rank - 1;
        while (axis > 0 && ++chunk[axis] == c->n_across[axis]) {
            chunk[axis--] = 0;
        }
        if (axis == 0) {
            return TESS_OK;
        }
    }
}

tess_status tess_h5_chunks_read(const tess_host *host, tess_h5_reader *r, int64_t first,
                                int64_t count, uint8_t *dst)
{
    tess_h5_chunks *c = &r->chunks;
    const int64_t chunk_rows = r->data.chunk[0];
    for (int64_t row = first; row < first + count;) {
        const int64_t slab = row / chunk_rows;
        const int64_t begin = slab * chunk_rows;
        const int64_t end = r->n_row - begin < chunk_rows ? r->n_row : begin + chunk_rows;
        const int64_t stop = first + count < end ? first + count : end;
        const bool is_whole = row == begin && stop == end;
        uint8_t *to = dst + (uint64_t)(row - first) * r->row_bytes;
        if (is_whole || c->slab_bytes == 0) {
            TESS_TRY(read_slab(host, r, slab, row, stop, to));
        } else {
            if (c->slab_at != slab) {
                c->slab_at = -1;
                TESS_TRY(reserve(host, &c->slab, c->slab_bytes));
                TESS_TRY(read_slab(host, r, slab, begin, end, c->slab.bytes));
                c->slab_at = slab;
            }
            memcpy(to, c->slab.bytes + (uint64_t)(row - begin) * r->row_bytes,
                   (size_t)((uint64_t)(stop - row) * r->row_bytes));
        }
        row = stop;
    }
    return TESS_OK;
}
