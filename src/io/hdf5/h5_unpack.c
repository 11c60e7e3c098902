// What is in a chunk: its bytes from the file, and the filters undone.

#include "base/status.h"
#include "io/hdf5/h5_deflate.h"
#include "io/hdf5/h5_reader.h"
#include "io/hdf5/lzf.h"

#include <inttypes.h>

void tess_h5_drop(const tess_host *host, tess_h5_buffer *buffer)
{
    if (buffer->capacity > 0) {
        host->release(host->user, buffer->bytes, buffer->capacity);
    }
    *buffer = (tess_h5_buffer){0};
}

tess_status tess_h5_reserve(const tess_host *host, tess_h5_buffer *buffer, uint64_t n_byte)
{
    if (n_byte > buffer->capacity) {
        tess_h5_drop(host, buffer);
        buffer->bytes = host->alloc(host->user, (size_t)n_byte);
        buffer->capacity = buffer->bytes != NULL ? (size_t)n_byte : 0;
    }
    return buffer->capacity >= n_byte ? TESS_OK : TESS_E_MEMORY;
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
static tess_status undo_all(const tess_host *host, const tess_h5_reader *r,
                            tess_h5_scratch *scratch, const tess_h5_place *place, uint8_t *dst)
{
    const tess_h5_chunks *c = &r->chunks;
    const uint8_t *from = scratch->stored.bytes;
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
            tess_h5_buffer *between = &scratch->between[n_left % 2];
            TESS_TRY(tess_h5_reserve(host, between, c->chunk_bytes));
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

tess_status tess_h5_unpack(const tess_host *host, const tess_h5_reader *r, tess_h5_scratch *scratch,
                           const tess_h5_place *place, int64_t low, int64_t high, uint8_t *dst)
{
    const tess_h5_chunks *c = &r->chunks;
    if (is_packed(r, place)) {
        TESS_TRY(tess_h5_reserve(host, &scratch->stored, place->bytes));
        TESS_TRY(
            tess_infile_read(&r->file, scratch->stored.bytes, (size_t)place->bytes, place->offset));
        const tess_status status = undo_all(host, r, scratch, place, dst);
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
