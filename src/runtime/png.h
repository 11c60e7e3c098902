// Pictures as PNG files in memory.
#ifndef TESS_RUNTIME_PNG_H
#define TESS_RUNTIME_PNG_H

#include "base/memory.h"

// A file of width x height pixels, 3 bytes (red, green, blue) each, the top row first. The same
// pixels give the same bytes. *png is from the heap (tag IO), *bytes long.
TESS_MUST_CHECK tess_status tess_png_encode(tess_heap *heap, const uint8_t *rgb, int64_t width,
                                            int64_t height, uint8_t **png, size_t *bytes);

#endif
