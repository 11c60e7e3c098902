#include "base/hash.h"

#include "tess_features.h"

#include <stdio.h>

#if TESS_HAVE_XXHASH
#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <xxhash.h>
#pragma GCC diagnostic pop

static tess_hash xxh3(const void *data, size_t bytes)
{
    const XXH128_hash_t hash = XXH3_128bits(data, bytes);
    return (tess_hash){hash.low64, hash.high64};
}
#else
static tess_hash xxh3(const void *data, size_t bytes)
{
    (void)data;
    (void)bytes;
    return (tess_hash){0, 0};
}
#endif

// CRC-32C (Castagnoli), four bits at a time: small and enough for the fallback of bare builds.
static uint32_t crc32c(const unsigned char *data, size_t bytes)
{
    uint32_t table[16];
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t c = i;
        for (int k = 0; k < 4; k++) {
            c = (c >> 1) ^ (0x82F63B78u & (0u - (c & 1u)));
        }
        table[i] = c;
    }
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        crc = (crc >> 4) ^ table[crc & 15u];
        crc = (crc >> 4) ^ table[crc & 15u];
    }
    return ~crc;
}

tess_hash_kind tess_hash_default(void)
{
    return TESS_HAVE_XXHASH ? TESS_HASH_XXH3_128 : TESS_HASH_CRC32C;
}

int tess_hash_supported(tess_hash_kind kind)
{
    return kind == TESS_HASH_CRC32C || (kind == TESS_HASH_XXH3_128 && TESS_HAVE_XXHASH);
}

tess_hash tess_hash_bytes(tess_hash_kind kind, const void *data, size_t bytes)
{
    if (kind == TESS_HASH_XXH3_128) {
        return xxh3(data, bytes);
    }
    return (tess_hash){crc32c(data, bytes), 0};
}

int tess_hash_equal(tess_hash a, tess_hash b)
{
    return a.low == b.low && a.high == b.high;
}

void tess_hash_text(tess_hash hash, char text[33])
{
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)hash.high,
             (unsigned long long)hash.low);
}
