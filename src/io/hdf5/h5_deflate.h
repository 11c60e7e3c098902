// Deflated chunks. Without zlib the helper unpacks them, and chunks are written as they are.
#ifndef TESS_IO_HDF5_DEFLATE_H
#define TESS_IO_HDF5_DEFLATE_H

#include "tessera/base.h"

#include <stdbool.h>

extern const bool tess_h5_has_deflate;

// Exactly n_unpacked bytes; TESS_E_FORMAT if others come out, without a message.
TESS_MUST_CHECK tess_status tess_h5_inflate(const uint8_t *src, size_t n_byte, uint8_t *dst,
                                            size_t n_unpacked);
// Room that is enough for tess_h5_deflate.
size_t tess_h5_deflate_bound(size_t n_byte);
// Packs into dst and returns the length; 0 if it cannot.
size_t tess_h5_deflate(const uint8_t *src, size_t n_byte, uint8_t *dst, size_t capacity);

#endif
