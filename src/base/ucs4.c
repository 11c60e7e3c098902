#include "base/ucs4.h"

#include <stdbool.h>

enum { REPLACEMENT = 0xfffd };

static bool is_code_point(uint32_t c)
{
    return c < 0x110000 && (c < 0xd800 || c > 0xdfff);
}

// One code point from *at, which moves on by at least one byte.
static uint32_t next_code_point(const unsigned char **at)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char first = *(*at)++;
    if (first < 0x80) {
        return first;
    }
    const int n_more = first >= 0xf0 && first < 0xf8 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc0 || first >= 0xf8) {
        return REPLACEMENT;
    }
    uint32_t c = first & (0x3fu >> n_more);
    const unsigned char *p = *at;
    for (int i = 0; i < n_more; i++, p++) {
        if ((*p & 0xc0) != 0x80) {
            return REPLACEMENT;
        }
        c = c << 6 | (*p & 0x3fu);
    }
    if (c < least[n_more] || !is_code_point(c)) {
        return REPLACEMENT;
    }
    *at = p;
    return c;
}

size_t tess_ucs4_from_utf8(const char *text, uint32_t *out)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t n = 0;
    while (*at != '\0') {
        const uint32_t c = next_code_point(&at);
        if (out != NULL) {
            out[n] = c;
        }
        n++;
    }
    return n;
}

size_t tess_utf8_from_ucs4(const uint32_t *text, size_t n, char *out)
{
    char *to = out;
    for (size_t i = 0; i < n && text[i] != 0; i++) {
        const uint32_t c = is_code_point(text[i]) ? text[i] : REPLACEMENT;
        if (c < 0x80) {
            *to++ = (char)c;
        } else if (c < 0x800) {
            *to++ = (char)(0xc0 | c >> 6);
            *to++ = (char)(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            *to++ = (char)(0xe0 | c >> 12);
            *to++ = (char)(0x80 | (c >> 6 & 0x3f));
            *to++ = (char)(0x80 | (c & 0x3f));
        } else {
            *to++ = (char)(0xf0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 0x3f));
            *to++ = (char)(0x80 | (c >> 6 & 0x3f));
            *to++ = (char)(0x80 | (c & 0x3f));
        }
    }
    *to = '\0';
    return (size_t)(to - out);
}

// Overlong forms and surrogates are none.
size_t tess_utf8_bytes(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) {
        return 1;
    }
    const size_t n = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F)) {
        return 0;
    }
    return n;
}
