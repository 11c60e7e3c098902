#include "systems/autoreject/text/shown_name.h"

#include <string.h>

void tess_ar_shown_name(const char *name, char shown[TESS_AR_NAME])
{
    enum { LONGEST = 60 };
    size_t n = 0;
    while (name[n] && n < LONGEST) {
        const unsigned char code = (unsigned char)name[n];
        shown[n++] = code < 0x20 || code == 0x7f ? '?' : (char)code;
    }
    if (name[n]) { // never in the middle of a character of UTF-8
        while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80) {
            n--;
        }
        memcpy(shown + n, "...", 3);
        n += 3;
    }
    shown[n] = '\0';
}
