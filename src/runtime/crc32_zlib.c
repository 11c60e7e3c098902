#include "runtime/crc32.h"

#include <zlib.h>

uint32_t tess_crc32(uint32_t crc, const void *data, size_t bytes)
{
    return (uint32_t)crc32_z(crc, data, bytes);
}
