#include "systems/autoreject/montage/montage.h"

#include <ctype.h>
#include <string.h>

static bool is_padding(char c)
{
    return c == ' ' || c == '\t' || c == '.';
}

void tess_ar_name_key(const char *name, char key[TESS_AR_KEY_BYTES])
{
    static const char *const references[] = {"-ref", "-le", "-avg", "-ar"};
    while (is_padding(*name)) {
        name++;
    }
    size_t n = strnlen(name, TESS_AR_KEY_BYTES - 1);
    for (size_t i = 0; i < n; i++) {
        key[i] = (char)tolower((unsigned char)name[i]);
    }
    while (n > 0 && is_padding(key[n - 1])) {
        n--;
    }
    key[n] = '\0';
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        const size_t m = strlen(references[i]);
        if (n > m && strcmp(key + n - m, references[i]) == 0) {
            n -= m;
            key[n] = '\0';
            break;
        }
    }
    if (n > 4 && strncmp(key, "eeg ", 4) == 0) {
        memmove(key, key + 4, n - 3);
    }
}

const char *tess_ar_name_alias(const char *key)
{
    static const char *const pairs[][2] = {{"t3", "t7"}, {"t4", "t8"}, {"t5", "p7"}, {"t6", "p8"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        for (int side = 0; side < 2; side++) {
            if (strcmp(key, pairs[i][side]) == 0) {
                return pairs[i][1 - side];
            }
        }
    }
    return NULL;
}
