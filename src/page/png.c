#include "page/png.h"

#include "base/status.h"
#include "runtime/crc32.h"
#include "runtime/origin.h"
#include "runtime/pack.h"

#include <stdbool.h>
#include <string.h>

enum {
    SIGNATURE_BYTES = 8,
    HEADER_BYTES = 13,
    CHUNK_EXTRA_BYTES = 12, // length, type, check sum
    MAX_SIDE = 1 << 15,
    PALETTE_BYTES = 3 * 256,
    COLOURED = 2, // kinds of pixels
    INDEXED = 3,
    FILTER_NONE = 0,
    FILTER_UP = 2,
    TEXT_FLAGS = 4 // not packed, no method, no language, no translation
};

static void put_u32(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

// Returns what follows.
static uint8_t *put_chunk(uint8_t *at, const char *type, const void *data, size_t bytes)
{
    put_u32(at, bytes);
    memcpy(at + 4, type, 4);
    if (bytes > 0) {
        memmove(at + 8, data, bytes);
    }
    put_u32(at + 8 + bytes, tess_crc32(0, at + 4, bytes + 4));
    return at + CHUNK_EXTRA_BYTES + bytes;
}

// Numbers of colours are packed as they are, colours as differences from the row above: those of
// maps are smooth.
static void filter(const tess_png *picture, int64_t row_bytes, uint8_t *rows)
{
    for (int64_t y = 0; y < picture->height; y++) {
        const uint8_t *row = picture->pixels + y * row_bytes;
        const bool is_plain = picture->palette || y == 0;
        *rows++ = picture->palette ? FILTER_NONE : FILTER_UP;
        for (int64_t i = 0; i < row_bytes; i++) {
            *rows++ = (uint8_t)(row[i] - (is_plain ? 0 : row[i - row_bytes]));
        }
    }
}

// A text in UTF-8 under the name of provenance.
static size_t origin_bytes(const tess_png *picture)
{
    return picture->origin ? sizeof TESS_ORIGIN_NAME + TEXT_FLAGS + strlen(picture->origin) : 0;
}

static uint8_t *put_origin(uint8_t *at, const tess_png *picture)
{
    const size_t n_name = sizeof TESS_ORIGIN_NAME; // with its zero
    const size_t bytes = origin_bytes(picture);
    uint8_t *data = at + 8;
    memcpy(data, TESS_ORIGIN_NAME, n_name);
    memset(data + n_name, 0, TEXT_FLAGS);
    memcpy(data + n_name + TEXT_FLAGS, picture->origin, bytes - n_name - TEXT_FLAGS);
    return put_chunk(at, "iTXt", data, bytes);
}

static tess_status assemble(tess_heap *heap, const tess_png *picture, const uint8_t *packed,
                            size_t packed_bytes, uint8_t **file, size_t *bytes)
{
    static const uint8_t signature[SIGNATURE_BYTES] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    *bytes = SIGNATURE_BYTES + HEADER_BYTES + packed_bytes + 3 * CHUNK_EXTRA_BYTES +
             (picture->palette ? PALETTE_BYTES + CHUNK_EXTRA_BYTES : 0) +
             (picture->origin ? origin_bytes(picture) + CHUNK_EXTRA_BYTES : 0);
    *file = tess_heap_alloc(heap, *bytes, TESS_TAG_IO, "a picture");
    if (!*file) {
        return TESS_E_MEMORY;
    }
    uint8_t header[HEADER_BYTES] = {[8] = 8, [9] = picture->palette ? INDEXED : COLOURED};
    put_u32(header, (uint64_t)picture->width);
    put_u32(header + 4, (uint64_t)picture->height);
    memcpy(*file, signature, SIGNATURE_BYTES);
    uint8_t *at = put_chunk(*file + SIGNATURE_BYTES, "IHDR", header, HEADER_BYTES);
    if (picture->origin) {
        at = put_origin(at, picture);
    }
    if (picture->palette) {
        at = put_chunk(at, "PLTE", picture->palette, PALETTE_BYTES);
    }
    at = put_chunk(at, "IDAT", packed, packed_bytes);
    put_chunk(at, "IEND", NULL, 0);
    return TESS_OK;
}

tess_status tess_png_encode(tess_heap *heap, const tess_png *picture, uint8_t **file, size_t *bytes)
{
    *file = NULL;
    if (picture->width < 1 || picture->height < 1 || picture->width > MAX_SIDE ||
        picture->height > MAX_SIDE) {
        TESS_FAIL(TESS_E_ARGUMENT, "a picture of %lld x %lld pixels; both must be 1 to %d",
                  (long long)picture->width, (long long)picture->height, (int)MAX_SIDE);
    }
    const int64_t row_bytes = picture->width * (picture->palette ? 1 : 3);
    const size_t raw_bytes = (size_t)picture->height * ((size_t)row_bytes + 1);
    uint8_t *raw = tess_heap_alloc(heap, raw_bytes, TESS_TAG_IO, "a picture");
    if (!raw) {
        return TESS_E_MEMORY;
    }
    filter(picture, row_bytes, raw);
    uint8_t *packed = NULL;
    size_t packed_bytes = 0;
    size_t room = 0;
    tess_status status = tess_pack_memory(heap, raw, raw_bytes, &packed, &packed_bytes, &room);
    if (status == TESS_OK) {
        status = assemble(heap, picture, packed, packed_bytes, file, bytes);
        tess_heap_free(heap, packed, room, TESS_TAG_IO);
    }
    tess_heap_free(heap, raw, raw_bytes, TESS_TAG_IO);
    return status;
}
