// The font as FreeType drew it (tools/make_font.c).
#include "page/font.h"

#include <stddef.h>

#include "font_table.h"

const tess_font_glyph *tess_font_find(uint32_t code)
{
    for (size_t i = 0; i < sizeof GLYPHS / sizeof *GLYPHS; i++) {
        if (GLYPHS[i].code == code) {
            return &GLYPHS[i];
        }
    }
    return NULL;
}
