// Draws the glyphs of a font once, when the library is built: make_font FONT PIXELS TABLE
//
// The table is what src/page/font_drawn.c includes: ASCII and the signs our pictures use, as
// coverage of pixels from 0 to 255.
#include <ft2build.h>
#include FT_FREETYPE_H

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_PLAIN = 32, LAST_PLAIN = 126 };

// ² ° ± × Å σ τ φ χ −
static const unsigned SIGNS[] = {0xb0, 0xb1, 0xb2, 0xc5, 0xd7, 0x3c3, 0x3c4, 0x3c6, 0x3c7, 0x2212};

static void die(const char *what)
{
    fprintf(stderr, "make_font: %s\n", what);
    exit(1);
}

static unsigned code_at(unsigned i)
{
    const unsigned n_plain = LAST_PLAIN - FIRST_PLAIN + 1;
    return i < n_plain ? FIRST_PLAIN + i : SIGNS[i - n_plain];
}

static void draw(FT_Face face, unsigned code)
{
    if (FT_Load_Char(face, code, FT_LOAD_RENDER | FT_LOAD_NO_HINTING)) {
        die("cannot draw a glyph");
    }
}

static void write_coverage(FILE *out, FT_Face face, unsigned n)
{
    fprintf(out, "static const uint8_t COVERAGE[] = {\n");
    for (unsigned i = 0; i < n; i++) {
        draw(face, code_at(i));
        const FT_Bitmap *map = &face->glyph->bitmap;
        for (unsigned y = 0; y < map->rows; y++) {
            for (unsigned x = 0; x < map->width; x++) {
                fprintf(out, "%d,", map->buffer[(int)y * map->pitch + (int)x]);
            }
        }
        fprintf(out, "\n");
    }
    fprintf(out, "0};\n");
}

static void write_glyphs(FILE *out, FT_Face face, unsigned n)
{
    unsigned offset = 0;
    fprintf(out, "static const tess_font_glyph GLYPHS[] = {\n");
    for (unsigned i = 0; i < n; i++) {
        draw(face, code_at(i));
        const FT_GlyphSlot g = face->glyph;
        fprintf(out, "{%u, %d, %d, %u, %u, %ld, COVERAGE + %u},\n", code_at(i), g->bitmap_left,
                g->bitmap_top, g->bitmap.width, g->bitmap.rows, (g->advance.x + 32) >> 6, offset);
        offset += g->bitmap.width * g->bitmap.rows;
    }
    fprintf(out, "};\n");
}

int main(int argc, char **argv)
{
    const unsigned n = LAST_PLAIN - FIRST_PLAIN + 1 + sizeof SIGNS / sizeof *SIGNS;
    FT_Library library;
    FT_Face face;
    if (argc != 4) {
        die("usage: make_font FONT PIXELS TABLE");
    }
    if (FT_Init_FreeType(&library) || FT_New_Face(library, argv[1], 0, &face) ||
        FT_Set_Pixel_Sizes(face, 0, (FT_UInt)atoi(argv[2]))) {
        die("cannot open the font");
    }
    FILE *out = fopen(argv[3], "w");
    if (!out) {
        die("cannot write the table");
    }
    write_coverage(out, face, n);
    write_glyphs(out, face, n);
    if (fclose(out) != 0) {
        die("cannot write the table");
    }
    FT_Done_FreeType(library);
    return 0;
}
