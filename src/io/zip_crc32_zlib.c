#include "io/zip_unpack.h"

#include <zlib.h>

uint32_t tess_crc32(uint32_t crc, const void *data, uint64_t bytes)
{
    return (uint32_t)crc32_z(crc, data, (z_size_t)bytes);
}
