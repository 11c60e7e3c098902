#include "systems/xpcs/report/canvas.h"

#include "base/status.h"
#include "page/font.h"

#include <string.h>

tess_status tess_xp_canvas_create(tess_heap *heap, int64_t width, int64_t height,
                                  tess_xp_canvas *out)
{
    *out = (tess_xp_canvas){.heap = heap, .width = width, .height = height};
    const size_t bytes = (size_t)(width * height);
    out->pixels = tess_heap_alloc(heap, bytes, TESS_TAG_IO, "a picture");
    if (!out->pixels) {
        return TESS_E_MEMORY;
    }
    memset(out->pixels, TESS_XP_WHITE, bytes);
    memset(out->palette + 3 * TESS_XP_WHITE, 255, 3);
    memset(out->palette + 3 * TESS_XP_BLACK, 20, 3);
    memset(out->palette + 3 * TESS_XP_LINE, 90, 3);
    for (int i = 0; i < TESS_XP_GREYS; i++) {
        const int grey = 255 - (255 - 20) * (i + 1) / (TESS_XP_GREYS + 1);
        memset(out->palette + 3 * (TESS_XP_FIRST_GREY + i), grey, 3);
    }
    return TESS_OK;
}

void tess_xp_canvas_destroy(tess_xp_canvas *canvas)
{
    tess_heap_free(canvas->heap, canvas->pixels, (size_t)(canvas->width * canvas->height),
                   TESS_TAG_IO);
    *canvas = (tess_xp_canvas){0};
}

void tess_xp_canvas_fill(tess_xp_canvas *canvas, int64_t x, int64_t y, int64_t width,
                         int64_t height, uint8_t colour)
{
    for (int64_t v = y < 0 ? 0 : y; v < y + height && v < canvas->height; v++) {
        for (int64_t u = x < 0 ? 0 : x; u < x + width && u < canvas->width; u++) {
            canvas->pixels[v * canvas->width + u] = colour;
        }
    }
}

void tess_xp_canvas_frame(tess_xp_canvas *canvas, int64_t x, int64_t y, int64_t width,
                          int64_t height)
{
    tess_xp_canvas_fill(canvas, x - 1, y - 1, width + 2, 1, TESS_XP_LINE);
    tess_xp_canvas_fill(canvas, x - 1, y + height, width + 2, 1, TESS_XP_LINE);
    tess_xp_canvas_fill(canvas, x - 1, y, 1, height, TESS_XP_LINE);
    tess_xp_canvas_fill(canvas, x + width, y, 1, height, TESS_XP_LINE);
}

// Text is on white: between white and black lie the greys of its edges.
static void blend(tess_xp_canvas *canvas, int64_t x, int64_t y, int coverage)
{
    const int shade = (coverage * (TESS_XP_GREYS + 1) + 127) / 255;
    if (shade > 0) {
        tess_xp_canvas_fill(
            canvas, x, y, 1, 1,
            (uint8_t)(shade > TESS_XP_GREYS ? TESS_XP_BLACK : TESS_XP_FIRST_GREY + shade - 1));
    }
}

// Every pixel of a text whose line begins at x, y; upwards turns it by a quarter to the left.
static void draw(tess_xp_canvas *canvas, int64_t x, int64_t y, const char *text, bool upwards)
{
    int64_t pen = 0;
    for (uint32_t code = tess_font_next(&text); code; code = tess_font_next(&text)) {
        const tess_font_glyph *g = tess_font_find(code);
        for (int i = 0; g && i < g->width * g->height; i++) {
            const int64_t along = pen + g->left + i % g->width;
            const int64_t up = g->top - i / g->width;
            blend(canvas, upwards ? x - up : x + along, upwards ? y - along : y - up,
                  g->coverage[i]);
        }
        pen += g ? g->advance : 0;
    }
}

void tess_xp_canvas_text(tess_xp_canvas *canvas, int64_t x, int64_t y, const char *text)
{
    draw(canvas, x, y + TESS_FONT_HEIGHT, text, false);
}

void tess_xp_canvas_text_up(tess_xp_canvas *canvas, int64_t x, int64_t y, const char *text)
{
    draw(canvas, x + TESS_FONT_HEIGHT, y, text, true);
}
