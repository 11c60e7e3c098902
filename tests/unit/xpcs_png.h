// A reader of the PNG files we write: 8 bits of red, green and blue or of a palette,
// filters none and up.
#ifndef TESS_TESTS_XPCS_PNG_H
#define TESS_TESTS_XPCS_PNG_H

#include "base/memory.h"
#include "runtime/unpack.h"
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct png_image {
    int64_t width;
    int64_t height;
    uint8_t *rgb;
} png_image;

static inline uint32_t png_u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline uint32_t png_crc(const uint8_t *bytes, size_t n)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        for (int bit = 0; bit < 8; bit++) {
            const uint32_t lowest = (crc ^ bytes[i] >> bit) & 1;
            crc = crc >> 1 ^ (lowest ? 0xedb88320u : 0);
        }
    }
    return ~crc;
}

static inline size_t png_unpack_stored(const uint8_t *packed, uint8_t *raw)
{
    size_t n = 0;
    int is_last = 0;
    for (const uint8_t *at = packed + 2; !is_last;) {
        const size_t length = (size_t)at[1] | (size_t)at[2] << 8;
        assert_int_equal(at[0] & 6, 0);
        assert_int_equal((length ^ ((size_t)at[3] | (size_t)at[4] << 8)), 0xffff);
        is_last = at[0] & 1;
        memcpy(raw + n, at + 5, length);
        n += length;
        at += 5 + length;
    }
    return n;
}

static inline void png_unpack(const uint8_t *packed, size_t packed_bytes, uint8_t *raw,
                              size_t raw_bytes)
{
    tess_heap heap;
    tess_unpacker *unpacker = NULL;
    const char *path = unit_path("png.z");
    size_t got = 0;
    tess_heap_init(&heap, NULL);
    unit_write_file(path, packed, packed_bytes);
    tess_infile file;
    assert_ok(tess_infile_open(path, &file));
    if (tess_unpacker_open(&heap, &file, 0, packed_bytes, &unpacker) == TESS_OK) {
        assert_ok(tess_unpacker_read(unpacker, raw, raw_bytes, &got));
        tess_unpacker_close(unpacker);
    } else {
        got = png_unpack_stored(packed, raw);
    }
    tess_infile_close(&file);
    unlink(path);
    assert_int_equal(got, raw_bytes);
}

static inline void png_decode(const uint8_t *png, size_t bytes, png_image *image)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    const uint8_t *data = NULL;
    const uint8_t *palette = NULL;
    size_t channels = 0;
    size_t data_bytes = 0;
    int has_end = 0;
    assert_true(bytes > 8);
    assert_memory_equal(png, signature, 8);
    *image = (png_image){0};
    for (size_t at = 8; at < bytes;) {
        const size_t length = png_u32(png + at);
        assert_true(at + 12 + length <= bytes);
        assert_int_equal(png_crc(png + at + 4, length + 4), png_u32(png + at + 8 + length));
        if (memcmp(png + at + 4, "IHDR", 4) == 0) {
            image->width = png_u32(png + at + 8);
            image->height = png_u32(png + at + 12);
            assert_int_equal(png[at + 16], 8);
            assert_true(png[at + 17] == 2 || png[at + 17] == 3);
            channels = png[at + 17] == 2 ? 3 : 1;
        } else if (memcmp(png + at + 4, "PLTE", 4) == 0) {
            palette = png + at + 8;
            assert_int_equal(length, 768);
        } else if (memcmp(png + at + 4, "IDAT", 4) == 0) {
            data = png + at + 8;
            data_bytes = length;
        } else {
            has_end = memcmp(png + at + 4, "IEND", 4) == 0;
        }
        at += 12 + length;
    }
    assert_true(data && has_end);
    assert_true(channels == 3 || palette);
    const size_t row_bytes = (size_t)image->width * channels;
    const size_t raw_bytes = (size_t)image->height * (row_bytes + 1);
    uint8_t *raw = malloc(raw_bytes);
    uint8_t *pixels = malloc((size_t)image->height * row_bytes);
    png_unpack(data, data_bytes, raw, raw_bytes);
    for (size_t y = 0; y < (size_t)image->height; y++) {
        const uint8_t *row = raw + y * (row_bytes + 1);
        assert_true(row[0] == 0 || row[0] == 2);
        for (size_t i = 0; i < row_bytes; i++) {
            const uint8_t above = row[0] == 2 && y > 0 ? pixels[(y - 1) * row_bytes + i] : 0;
            pixels[y * row_bytes + i] = (uint8_t)(row[1 + i] + above);
        }
    }
    free(raw);
    image->rgb = pixels;
    if (channels == 1) {
        const size_t n = (size_t)(image->width * image->height);
        image->rgb = malloc(n * 3);
        for (size_t i = 0; i < n; i++) {
            memcpy(image->rgb + 3 * i, palette + 3 * (size_t)pixels[i], 3);
        }
        free(pixels);
    }
}

static inline const uint8_t *png_pixel(const png_image *image, int64_t x, int64_t y)
{
    assert_true(x >= 0 && x < image->width && y >= 0 && y < image->height);
    return image->rgb + (y * image->width + x) * 3;
}

static inline void png_free(png_image *image)
{
    free(image->rgb);
    image->rgb = NULL;
}

#endif
