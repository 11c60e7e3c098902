#include "runtime/crc32.h"

#include <libdeflate.h>

uint32_t tess_crc32(uint32_t crc, const void *data, size_t bytes)
{
    return libdeflate_crc32(crc, data, bytes);
}
