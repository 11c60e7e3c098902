#include "base/text.h"

#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024 };

void tess_text_init(tess_text *text, tess_heap *heap)
{
    memset(text, 0, sizeof *text);
    text->heap = heap;
}

void tess_text_destroy(tess_text *text)
{
    tess_heap_free(text->heap, text->chars, text->capacity, TESS_TAG_GENERAL);
    text->chars = NULL;
    text->capacity = 0;
}

void tess_text_append(tess_text *text, const char *chars, size_t n)
{
    if (text->no_memory) {
        return;
    }
    if (n + 1 > text->capacity - text->used) {
        size_t capacity = text->capacity > 0 ? 2 * text->capacity : FIRST_CAPACITY;
        while (n + 1 > capacity - text->used) {
            capacity *= 2;
        }
        char *grown = tess_heap_alloc(text->heap, capacity, TESS_TAG_GENERAL, "text");
        if (!grown) {
            text->no_memory = true;
            return;
        }
        if (text->used > 0) {
            memcpy(grown, text->chars, text->used);
        }
        tess_heap_free(text->heap, text->chars, text->capacity, TESS_TAG_GENERAL);
        text->chars = grown;
        text->capacity = capacity;
    }
    if (n > 0) { // of nothing there may be no address
        memcpy(text->chars + text->used, chars, n);
    }
    text->used += n;
    text->chars[text->used] = '\0';
}

void tess_text_add(tess_text *text, const char *chars)
{
    tess_text_append(text, chars, strlen(chars));
}

void tess_text_printf(tess_text *text, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    TESS_ASSERT(n >= 0 && n < (int)sizeof line);
    tess_text_append(text, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

tess_status tess_text_finish(const tess_text *text, const char **chars)
{
    *chars = text->chars ? text->chars : "";
    if (text->no_memory) {
        TESS_FAIL(TESS_E_MEMORY, "no memory for more than %zu bytes of text", text->used);
    }
    return TESS_OK;
}

tess_status tess_text_hand_out(const char *chars, char **out)
{
    *out = strdup(chars);
    if (!*out) {
        TESS_FAIL(TESS_E_MEMORY, "cannot allocate %zu bytes for text", strlen(chars) + 1);
    }
    return TESS_OK;
}

void tess_real_text(double value, int least_digits, char *text, size_t capacity)
{
    enum { ALWAYS_EXACT = 17, MOSTLY_EXACT = 15 };
    char found[40];
    int digits = least_digits;

    snprintf(found, sizeof found, "%.*g", digits, value);
    while (digits < ALWAYS_EXACT && strtod(found, NULL) != value) {
        digits = digits < MOSTLY_EXACT ? MOSTLY_EXACT : digits + 1;
        snprintf(found, sizeof found, "%.*g", digits, value);
    }
    char *comma = strchr(found, ',');
    if (comma != NULL) {
        *comma = '.';
    }
    snprintf(text, capacity, "%s", found);
}
