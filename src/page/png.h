// Pictures as PNG files in memory.
#ifndef TESS_PAGE_PNG_H
#define TESS_PAGE_PNG_H

#include "base/memory.h"

typedef struct tess_png {
    int64_t width;
    int64_t height;
    const uint8_t *pixels;  // the top row first: 3 bytes (red, green, blue) each, or with a palette
    const uint8_t *palette; // [256][3] one byte each, a number of a colour; NULL: none
    const char *origin;     // provenance, kept as text; NULL: none
} tess_png;

// The same pixels give the same bytes. *file is from the heap (tag IO), *bytes long.
TESS_MUST_CHECK tess_status tess_png_encode(tess_heap *heap, const tess_png *picture,
                                            uint8_t **file, size_t *bytes);

#endif
