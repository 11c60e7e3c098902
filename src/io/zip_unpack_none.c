// Without zlib: stored members only, and a CRC-32 of our own.

#include "base/status.h"
#include "io/zip_unpack.h"

uint32_t tess_crc32(uint32_t crc, const void *data, uint64_t bytes)
{
    // CRC of each half byte under the reflected polynomial 0xedb88320.
    static const uint32_t half_byte[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    const uint8_t *byte = data;
    crc = ~crc;
    for (uint64_t i = 0; i < bytes; i++) {
        crc = (crc >> 4) ^ half_byte[(crc ^ byte[i]) & 15];
        crc = (crc >> 4) ^ half_byte[(crc ^ (byte[i] >> 4)) & 15];
    }
    return ~crc;
}

tess_status tess_inflater_open(const tess_host *host, const tess_zip *zip,
                               const tess_zip_member *member, tess_inflater **out)
{
    (void)host;
    *out = NULL;
    TESS_FAIL(TESS_E_UNSUPPORTED,
              "%s: member '%s' is compressed and this build of Tessera has no zlib; save it with "
              "numpy.savez instead of savez_compressed, or build with zlib",
              zip->file.path, member->name);
}

tess_status tess_inflater_read(tess_inflater *inflater, uint64_t offset, uint64_t bytes, void *dst)
{
    (void)inflater;
    (void)offset;
    (void)bytes;
    (void)dst;
    TESS_FAIL(TESS_E_UNSUPPORTED, "this build of Tessera has no zlib");
}

void tess_inflater_close(tess_inflater *inflater)
{
    (void)inflater;
}
