// The CRC-32 of zip, PNG and zlib.
#ifndef TESS_BASE_CRC32_H
#define TESS_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

// Goes on from crc, 0 at the start. For a few kilobytes: zlib's is faster.
uint32_t tess_crc32_bytes(uint32_t crc, const void *data, size_t bytes);

#endif
