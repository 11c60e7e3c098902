#include "base/status.h"
#include "io/hdf5/h5_deflate.h"

#include <libdeflate.h>

tess_status tess_h5_inflate(const uint8_t *src, size_t n_byte, uint8_t *dst, size_t n_unpacked)
{
    struct libdeflate_decompressor *tables = libdeflate_alloc_decompressor();
    if (tables == NULL) {
        TESS_FAIL(TESS_E_MEMORY, "cannot allocate memory to unpack a chunk");
    }
    // Without a place for the number of bytes exactly these must come out.
    const enum libdeflate_result result =
        libdeflate_zlib_decompress(tables, src, n_byte, dst, n_unpacked, NULL);
    libdeflate_free_decompressor(tables);
    return result == LIBDEFLATE_SUCCESS ? TESS_OK : TESS_E_FORMAT;
}
