#include "io/hdf5/h5_deflate.h"

const bool tess_h5_has_deflate = false;

tess_status tess_h5_inflate(const uint8_t *src, size_t n_byte, uint8_t *dst, size_t n_unpacked)
{
    (void)src, (void)n_byte, (void)dst, (void)n_unpacked;
    return TESS_E_FORMAT;
}

size_t tess_h5_deflate_bound(size_t n_byte)
{
    return n_byte;
}

size_t tess_h5_deflate(const uint8_t *src, size_t n_byte, uint8_t *dst, size_t capacity)
{
    (void)src, (void)n_byte, (void)dst, (void)capacity;
    return 0;
}
