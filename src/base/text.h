// Text that grows. A failed allocation is remembered and reported once, at the end.
#ifndef TESS_BASE_TEXT_H
#define TESS_BASE_TEXT_H

#include "base/memory.h"

#include <stdbool.h>

typedef struct tess_text {
    tess_heap *heap;
    char *chars; // always ends in a zero once something was written; NULL before
    size_t used; // without the zero
    size_t capacity;
    bool no_memory;
} tess_text;

void tess_text_init(tess_text *text, tess_heap *heap);
void tess_text_destroy(tess_text *text);
void tess_text_append(tess_text *text, const char *chars, size_t n);
void tess_text_add(tess_text *text, const char *chars);
void tess_text_printf(tess_text *text, const char *format, ...) TESS_PRINTF(2, 3);
// TESS_E_MEMORY if anything was lost on the way.
TESS_MUST_CHECK tess_status tess_text_finish(const tess_text *text, const char **chars);

// A copy for the public tess_text_free(), which has no context: of the C library.
TESS_MUST_CHECK tess_status tess_text_hand_out(const char *chars, char **out);

// A finite number in the fewest digits, at least so many, that read back as the same number; with a
// point, whatever the locale. Writes text once.
void tess_real_text(double value, int least_digits, char *text, size_t capacity);

#endif
