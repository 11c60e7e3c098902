#include "page/font.h"

#include <stddef.h>

uint32_t tess_font_next(const char **text)
{
    const unsigned char *at = (const unsigned char *)*text;
    const int n = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : at[0] >= 0xc0 ? 2 : 1;
    uint32_t code = n == 1 ? at[0] : at[0] & (0xffu >> (n + 1));
    for (int i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80) { // also where the text ends
            *text += 1;
            return at[0];
        }
        code = code << 6 | (at[i] & 0x3fu);
    }
    *text += at[0] ? n : 0;
    return code;
}

int64_t tess_font_width(const char *text)
{
    int64_t width = 0;
    for (uint32_t code = tess_font_next(&text); code; code = tess_font_next(&text)) {
        const tess_font_glyph *glyph = tess_font_find(code);
        width += glyph ? glyph->advance : 0;
    }
    return width;
}
