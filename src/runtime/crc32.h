// The CRC-32 of zip, PNG and zlib.
#ifndef TESS_RUNTIME_CRC32_H
#define TESS_RUNTIME_CRC32_H

#include <stddef.h>
#include <stdint.h>

// Goes on from crc, 0 at the start. libdeflate's, else zlib's, else a table of our own.
uint32_t tess_crc32(uint32_t crc, const void *data, size_t bytes);

#endif
