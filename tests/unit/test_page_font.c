// The fonts of pictures: the one of this build, and the plain one of builds without FreeType.
#include "page/font.h"
#include "unit.h"

// What builds without FreeType use, under another name.
#define tess_font_find plain_find
const tess_font_glyph *plain_find(uint32_t code);
#include "page/font_plain.c"
#undef tess_font_find

// Everything that is written into pictures.
static const char WORDS[] = "φ = -12.5°  q = 0.0054 /Å contrast offset χ²/dof 1e+05 "
                            "measured c2 fitted (measured − fitted)/σ t1 (s) t2 (s) 0123456789";

static void texts_are_read_letter_by_letter(void **state)
{
    (void)state;
    const char *text = "aφ²−\xF0\x9F\x98\x80\xCF";
    static const uint32_t want[] = {'a', 0x3c6, 0xb2, 0x2212, 0x1f600, 0xcf, 0, 0};
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(tess_font_next(&text), want[i]);
    }
}

static void check(const tess_font_glyph *(*letter)(uint32_t code))
{
    const char *text = WORDS;
    for (uint32_t code = tess_font_next(&text); code; code = tess_font_next(&text)) {
        const tess_font_glyph *glyph = letter(code);
        assert_non_null(glyph);
        assert_int_equal(glyph->code, code);
        assert_in_range(glyph->advance, 3, 16);
        assert_true(glyph->left + glyph->width <= glyph->advance + 2);
        assert_true(glyph->top <= 18 && glyph->top - glyph->height >= -6);
        int most = 0;
        for (int i = 0; i < glyph->width * glyph->height; i++) {
            most = glyph->coverage[i] > most ? glyph->coverage[i] : most;
        }
        assert_true(code == ' ' ? most == 0 : most > 100);
    }
    assert_null(letter(0x4e00));
}

static void both_fonts_have_our_letters(void **state)
{
    (void)state;
    check(tess_font_find);
    check(plain_find);
    // Digits are as high as pictures are told.
    assert_in_range(tess_font_find('0')->top, TESS_FONT_HEIGHT - 1, TESS_FONT_HEIGHT + 2);
    assert_true(plain_find('Q') && plain_find('Q')->height > 0);
}

static void widths_add_up(void **state)
{
    (void)state;
    assert_int_equal(tess_font_width(""), 0);
    assert_int_equal(tess_font_width("12") + tess_font_width("φ"), tess_font_width("1φ2"));
    assert_true(tess_font_width(WORDS) > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read_letter_by_letter),
        cmocka_unit_test(both_fonts_have_our_letters),
        cmocka_unit_test(widths_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
