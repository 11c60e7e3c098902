#include "io/hdf5/h5_deflate.h"

#include <zlib.h>

enum { LEVEL = 4 };

const bool tess_h5_has_deflate = true;

size_t tess_h5_deflate_bound(size_t n_byte)
{
    return compressBound((uLong)n_byte);
}

size_t tess_h5_deflate(const uint8_t *src, size_t n_byte, uint8_t *dst, size_t capacity)
{
    uLongf n = (uLongf)capacity;
    return compress2(dst, &n, src, (uLong)n_byte, LEVEL) == Z_OK ? n : 0;
}
