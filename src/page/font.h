// The font of pictures that have no browser to write their words.
//
// font_drawn.c has it smooth, from DejaVu Sans as FreeType drew it when the library was built;
// font_plain.c is five dots wide and serves builds without FreeType or without the font.
#ifndef TESS_PAGE_FONT_H
#define TESS_PAGE_FONT_H

#include <stdint.h>

enum { TESS_FONT_HEIGHT = 12 }; // of capital letters, pixels

typedef struct tess_font_glyph {
    uint32_t code; // Unicode
    int left;      // from the pen to the first column
    int top;       // from the line up to the first row
    int width;     // of the picture
    int height;
    int advance;             // to the next letter
    const uint8_t *coverage; // [height][width] 0 to 255
} tess_font_glyph;

// NULL: the font has no such letter.
const tess_font_glyph *tess_font_find(uint32_t code);

// The letter at the front of a text in UTF-8; moves the text on. 0 at its end; what is not sound
// comes byte by byte.
uint32_t tess_font_next(const char **text);

// From the first pen position to the last, pixels.
int64_t tess_font_width(const char *text);

#endif
