// Without zlib no files are packed, and blocks in memory are stored.

#include "base/status.h"
#include "runtime/pack.h"

#include <string.h>

enum { STORED_MAX = 65535, STORED_HEAD = 5, ZLIB_HEAD = 2, ADLER_BYTES = 4, ADLER_PRIME = 65521 };

tess_status tess_packer_open(tess_heap *heap, int fd, const char *path, tess_packer **out)
{
    (void)heap;
    (void)fd;
    *out = NULL;
    TESS_FAIL(TESS_E_UNSUPPORTED,
              "%s: cannot be compressed, this library was built without zlib; write a name without "
              ".gz, or build again with zlib's development package installed",
              path);
}

tess_status tess_packer_write(tess_packer *packer, const void *src, size_t bytes)
{
    (void)packer;
    (void)src;
    (void)bytes;
    TESS_FAIL(TESS_E_UNSUPPORTED, "built without zlib");
}

tess_status tess_packer_finish(tess_packer *packer)
{
    (void)packer;
    TESS_FAIL(TESS_E_UNSUPPORTED, "built without zlib");
}

void tess_packer_close(tess_packer *packer)
{
    (void)packer;
}

tess_status tess_pack_memory(tess_heap *heap, const uint8_t *src, size_t bytes, uint8_t **packed,
                             size_t *packed_bytes, size_t *room)
{
    const size_t n_block = bytes / STORED_MAX + 1;
    *room = ZLIB_HEAD + n_block * STORED_HEAD + bytes + ADLER_BYTES;
    *packed = tess_heap_alloc(heap, *room, TESS_TAG_IO, "packing");
    if (!*packed) {
        return TESS_E_MEMORY;
    }
    uint8_t *at = *packed;
    uint32_t low = 1;
    uint32_t high = 0;
    *at++ = 0x78;
    *at++ = 0x01;
    for (size_t k = 0; k < n_block; k++) {
        const size_t left = bytes - k * STORED_MAX;
        const size_t n = left < STORED_MAX ? left : STORED_MAX;
        *at++ = k + 1 == n_block; // the last one says so
        *at++ = (uint8_t)n;
        *at++ = (uint8_t)(n >> 8);
        *at++ = (uint8_t)~n;
        *at++ = (uint8_t)(~n >> 8);
        memcpy(at, src + k * STORED_MAX, n);
        at += n;
    }
    for (size_t i = 0; i < bytes; i++) {
        low = (low + src[i]) % ADLER_PRIME;
        high = (high + low) % ADLER_PRIME;
    }
    const uint32_t adler = high << 16 | low;
    for (int i = 0; i < ADLER_BYTES; i++) {
        *at++ = (uint8_t)(adler >> (24 - 8 * i));
    }
    *packed_bytes = (size_t)(at - *packed);
    return TESS_OK;
}
