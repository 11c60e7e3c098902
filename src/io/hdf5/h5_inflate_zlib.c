#include "base/status.h"
#include "io/hdf5/h5_deflate.h"

#include <zlib.h>

tess_status tess_h5_inflate(const uint8_t *src, size_t n_byte, uint8_t *dst, size_t n_unpacked)
{
    uLongf n = (uLongf)n_unpacked;
    const int result = uncompress(dst, &n, src, (uLong)n_byte);
    if (result == Z_MEM_ERROR) {
        TESS_FAIL(TESS_E_MEMORY, "cannot allocate memory to unpack a chunk");
    }
    return result == Z_OK && n == n_unpacked ? TESS_OK : TESS_E_FORMAT;
}
