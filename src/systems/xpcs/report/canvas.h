// A picture to draw into, of at most 256 colours: rectangles and small text.
#ifndef TESS_XPCS_REPORT_CANVAS_H
#define TESS_XPCS_REPORT_CANVAS_H

#include "base/memory.h"

enum {
    TESS_XP_WHITE = 0,
    TESS_XP_BLACK = 1,
    TESS_XP_LINE = 2,
    TESS_XP_FIRST_GREY = 3,
    TESS_XP_GREYS = 8, // of the edges of letters
    TESS_XP_FREE_COLOUR = TESS_XP_FIRST_GREY + TESS_XP_GREYS
};

typedef struct tess_xp_canvas {
    tess_heap *heap;
    int64_t width;
    int64_t height;
    uint8_t *pixels;          // [height][width] numbers of colours, the top row first
    uint8_t palette[256 * 3]; // from FREE_COLOUR on the caller's
} tess_xp_canvas;

// All white.
TESS_MUST_CHECK tess_status tess_xp_canvas_create(tess_heap *heap, int64_t width, int64_t height,
                                                  tess_xp_canvas *out);
void tess_xp_canvas_destroy(tess_xp_canvas *canvas);

// What lies outside is left out.
void tess_xp_canvas_fill(tess_xp_canvas *canvas, int64_t x, int64_t y, int64_t width,
                         int64_t height, uint8_t colour);
// The line around a rectangle, one pixel outside of it.
void tess_xp_canvas_frame(tess_xp_canvas *canvas, int64_t x, int64_t y, int64_t width,
                          int64_t height);

// Black text in UTF-8 from x on, the top of its capitals at y (page/font.h).
void tess_xp_canvas_text(tess_xp_canvas *canvas, int64_t x, int64_t y, const char *text);
// The same from the bottom up, the top of its capitals at x, its foot at y.
void tess_xp_canvas_text_up(tess_xp_canvas *canvas, int64_t x, int64_t y, const char *text);

#endif
