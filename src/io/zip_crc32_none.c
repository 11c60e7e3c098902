// Without zlib: a CRC-32 of our own.
#include "base/crc32.h"
#include "io/zip_unpack.h"

uint32_t tess_crc32(uint32_t crc, const void *data, uint64_t bytes)
{
    return tess_crc32_bytes(crc, data, (size_t)bytes);
}
