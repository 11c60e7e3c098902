// Pictures: PNG files that any reader takes, and colours that rise.
#include "page/colour.h"
#include "page/png.h"
#include "runtime/context.h"
#include "runtime/pack.h"
#include "unit.h"
#include "xpcs_png.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// What builds without zlib use, under other names.
#define tess_packer_open stored_packer_open
#define tess_packer_write stored_packer_write
#define tess_packer_finish stored_packer_finish
#define tess_packer_close stored_packer_close
#define tess_pack_memory stored_pack_memory
tess_status stored_pack_memory(tess_heap *heap, const uint8_t *src, size_t bytes, uint8_t **packed,
                               size_t *packed_bytes, size_t *room);
tess_status stored_packer_open(tess_heap *heap, int fd, const char *path, tess_packer **out);
tess_status stored_packer_write(tess_packer *packer, const void *src, size_t bytes);
tess_status stored_packer_finish(tess_packer *packer);
void stored_packer_close(tess_packer *packer);
#include "runtime/pack_none.c"
#undef tess_pack_memory

static tess_context *ctx;

static void pixels_come_back(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{1, 1}, {3, 2}, {400, 7}, {257, 300}};
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        const int64_t width = sizes[k][0];
        const int64_t height = sizes[k][1];
        uint8_t *rgb = malloc((size_t)(width * height * 3));
        uint32_t random = 12345;
        for (int64_t i = 0; i < width * height * 3; i++) {
            random = random * 1664525u + 1013904223u;
            rgb[i] = (uint8_t)(random >> 24);
        }
        uint8_t *png = NULL;
        size_t bytes = 0;
        const tess_png picture = {.width = width, .height = height, .pixels = rgb};
        assert_ok(tess_png_encode(&ctx->heap, &picture, &png, &bytes));
        png_image image;
        png_decode(png, bytes, &image);
        assert_int_equal(image.width, width);
        assert_int_equal(image.height, height);
        assert_memory_equal(image.rgb, rgb, (size_t)(width * height * 3));
        png_free(&image);
        tess_heap_free(&ctx->heap, png, bytes, TESS_TAG_IO);
        free(rgb);
    }
}

static void palettes_colour_pixels(void **state)
{
    (void)state;
    uint8_t palette[256 * 3];
    uint8_t pixels[6] = {0, 1, 2, 255, 7, 7};
    for (int i = 0; i < 256 * 3; i++) {
        palette[i] = (uint8_t)(i * 31);
    }
    const tess_png picture = {.width = 3, .height = 2, .pixels = pixels, .palette = palette};
    uint8_t *png = NULL;
    size_t bytes = 0;
    assert_ok(tess_png_encode(&ctx->heap, &picture, &png, &bytes));
    png_image image;
    png_decode(png, bytes, &image);
    for (int i = 0; i < 6; i++) {
        assert_memory_equal(png_pixel(&image, i % 3, i / 3), palette + 3 * pixels[i], 3);
    }
    png_free(&image);
    tess_heap_free(&ctx->heap, png, bytes, TESS_TAG_IO);
}

static void stored_blocks_are_streams(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 65535, 65536, 200000};
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        uint8_t *bytes = malloc(sizes[k] + 1);
        uint8_t *back = malloc(sizes[k] + 1);
        for (size_t i = 0; i < sizes[k]; i++) {
            bytes[i] = (uint8_t)(i * 7 + i / 251);
        }
        uint8_t *packed = NULL;
        size_t packed_bytes = 0;
        size_t room = 0;
        assert_ok(stored_pack_memory(&ctx->heap, bytes, sizes[k], &packed, &packed_bytes, &room));
        assert_true(packed_bytes <= room);
        png_unpack(packed, packed_bytes, back, sizes[k]);
        assert_memory_equal(back, bytes, sizes[k]);
        tess_heap_free(&ctx->heap, packed, room, TESS_TAG_IO);
        free(back);
        free(bytes);
    }
}

static void sizes_are_checked(void **state)
{
    (void)state;
    uint8_t rgb[3] = {0};
    uint8_t *png = NULL;
    size_t bytes = 0;
    const tess_png flat = {.width = 0, .height = 1, .pixels = rgb};
    const tess_png high = {.width = 1, .height = 1 << 20, .pixels = rgb};
    assert_fails(tess_png_encode(&ctx->heap, &flat, &png, &bytes), TESS_E_ARGUMENT, "0 x 1");
    assert_fails(tess_png_encode(&ctx->heap, &high, &png, &bytes), TESS_E_ARGUMENT, "1 x 1048576");
}

static double luminance(const uint8_t rgb[3])
{
    double sum = 0;
    const double weights[3] = {0.2126, 0.7152, 0.0722};
    for (int i = 0; i < 3; i++) {
        sum += weights[i] * pow(rgb[i] / 255.0, 2.2);
    }
    return sum;
}

static void colours_rise(void **state)
{
    (void)state;
    double last = -1;
    for (int i = 0; i <= 32; i++) {
        uint8_t rgb[3];
        tess_colour_rising(i / 32.0, rgb);
        assert_true(luminance(rgb) > last);
        last = luminance(rgb);
    }
    uint8_t blue[3];
    uint8_t white[3];
    uint8_t red[3];
    tess_colour_diverging(-1, blue);
    tess_colour_diverging(0, white);
    tess_colour_diverging(1, red);
    assert_true(blue[2] > blue[0] && red[0] > red[2]);
    assert_true(white[0] > 240 && white[1] > 240 && white[2] > 240);
    assert_true(fabs(luminance(blue) - luminance(red)) < 0.06);
    tess_colour_rising((double)NAN, white);
    assert_int_equal(white[0], 160);
    uint8_t cut[3];
    tess_colour_rising(7, cut);
    tess_colour_rising(1, white);
    assert_memory_equal(cut, white, 3);
}

int main(void)
{
    ctx = unit_context(1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_come_back),
        cmocka_unit_test(palettes_colour_pixels),
        cmocka_unit_test(stored_blocks_are_streams),
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(colours_rise),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return failed;
}
