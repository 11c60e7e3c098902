// Signatures, sizes and little-endian fields of ZIP records (PKWARE appnote 6.3).
#ifndef TESS_IO_ZIP_LAYOUT_H
#define TESS_IO_ZIP_LAYOUT_H

#include <stdint.h>

enum {
    TESS_ZIP_LOCAL_SIGNATURE = 0x04034b50,
    TESS_ZIP_ENTRY_SIGNATURE = 0x02014b50,
    TESS_ZIP_END_SIGNATURE = 0x06054b50,
    TESS_ZIP_END64_SIGNATURE = 0x06064b50,
    TESS_ZIP_LOCATOR_SIGNATURE = 0x07064b50,
    TESS_ZIP_LOCAL_BYTES = 30,
    TESS_ZIP_ENTRY_BYTES = 46,
    TESS_ZIP_END_BYTES = 22,
    TESS_ZIP_END64_BYTES = 56,
    TESS_ZIP_LOCATOR_BYTES = 20,
    TESS_ZIP_EXTRA_ZIP64 = 0x0001
};

// A 32-bit field that says "look into the ZIP64 record".
#define TESS_ZIP_SEE_ZIP64 0xffffffffu

static inline uint16_t tess_zip_get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t tess_zip_get32(const uint8_t *p)
{
    return (uint32_t)tess_zip_get16(p) | (uint32_t)tess_zip_get16(p + 2) << 16;
}

static inline uint64_t tess_zip_get64(const uint8_t *p)
{
    return (uint64_t)tess_zip_get32(p) | (uint64_t)tess_zip_get32(p + 4) << 32;
}

#endif
