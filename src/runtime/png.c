#include "runtime/png.h"

#include "base/status.h"
#include "runtime/pack.h"

#include <string.h>

enum {
    SIGNATURE_BYTES = 8,
    HEADER_BYTES = 13,
    CHUNK_EXTRA_BYTES = 12, // length, type, check sum
    MAX_SIDE = 1 << 15,
    PIXEL_BYTES = 3,
    FILTER_UP = 2 // differences from the row above: maps of correlations are smooth
};

static uint32_t crc32_of(const uint8_t *bytes, size_t n)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
        }
    }
    return ~crc;
}

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
        memcpy(at + 8, data, bytes);
    }
    put_u32(at + 8 + bytes, crc32_of(at + 4, bytes + 4));
    return at + CHUNK_EXTRA_BYTES + bytes;
}

static void filter(const uint8_t *rgb, int64_t width, int64_t height, uint8_t *rows)
{
    const int64_t row_bytes = width * PIXEL_BYTES;
    for (int64_t y = 0; y < height; y++) {
        const uint8_t *row = rgb + y * row_bytes;
        *rows++ = FILTER_UP;
        for (int64_t i = 0; i < row_bytes; i++) {
            *rows++ = (uint8_t)(row[i] - (y > 0 ? row[i - row_bytes] : 0));
        }
    }
}

static tess_status assemble(tess_heap *heap, int64_t width, int64_t height, const uint8_t *packed,
                            size_t packed_bytes, uint8_t **png, size_t *bytes)
{
    static const uint8_t signature[SIGNATURE_BYTES] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    *bytes = SIGNATURE_BYTES + HEADER_BYTES + packed_bytes + 3 * CHUNK_EXTRA_BYTES;
    *png = tess_heap_alloc(heap, *bytes, TESS_TAG_IO, "a picture");
    if (!*png) {
        return TESS_E_MEMORY;
    }
    uint8_t header[HEADER_BYTES] = {[8] = 8, [9] = 2}; // 8 bits of red, green and blue
    put_u32(header, (uint64_t)width);
    put_u32(header + 4, (uint64_t)height);
    memcpy(*png, signature, SIGNATURE_BYTES);
    uint8_t *at = put_chunk(*png + SIGNATURE_BYTES, "IHDR", header, HEADER_BYTES);
    at = put_chunk(at, "IDAT", packed, packed_bytes);
    put_chunk(at, "IEND", NULL, 0);
    return TESS_OK;
}

tess_status tess_png_encode(tess_heap *heap, const uint8_t *rgb, int64_t width, int64_t height,
                            uint8_t **png, size_t *bytes)
{
    *png = NULL;
    if (width < 1 || height < 1 || width > MAX_SIDE || height > MAX_SIDE) {
        TESS_FAIL(TESS_E_ARGUMENT, "a picture of %lld x %lld pixels; both must be 1 to %d",
                  (long long)width, (long long)height, (int)MAX_SIDE);
    }
    const size_t raw_bytes = (size_t)height * ((size_t)width * PIXEL_BYTES + 1);
    uint8_t *raw = tess_heap_alloc(heap, raw_bytes, TESS_TAG_IO, "a picture");
    if (!raw) {
        return TESS_E_MEMORY;
    }
    filter(rgb, width, height, raw);
    uint8_t *packed = NULL;
    size_t packed_bytes = 0;
    size_t room = 0;
    tess_status status = tess_pack_memory(heap, raw, raw_bytes, &packed, &packed_bytes, &room);
    if (status == TESS_OK) {
        status = assemble(heap, width, height, packed, packed_bytes, png, bytes);
        tess_heap_free(heap, packed, room, TESS_TAG_IO);
    }
    tess_heap_free(heap, raw, raw_bytes, TESS_TAG_IO);
    return status;
}
