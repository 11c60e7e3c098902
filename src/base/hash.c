#include "base/hash.h"

#include "tess_features.h"

#include <pthread.h>
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

// CRC-32C (Castagnoli) for bare builds, eight bytes at a time: table[k][b] is the effect of byte b
// followed by k zero bytes.
static uint32_t table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t c = b;
        for (int bit = 0; bit < 8; bit++) {
            c = (c >> 1) ^ (0x82F63B78u & (0u - (c & 1u)));
        }
        table[0][b] = c;
    }
    for (uint32_t b = 0; b < 256; b++) {
        for (int k = 1; k < 8; k++) {
            table[k][b] = (table[k - 1][b] >> 8) ^ table[0][table[k - 1][b] & 255];
        }
    }
}

static uint32_t crc32c(const unsigned char *data, size_t bytes)
{
    pthread_once(&table_once, fill_table);
    uint32_t crc = 0xFFFFFFFFu;
    for (; bytes >= 8; bytes -= 8, data += 8) {
        uint32_t sum = 0;
        for (int k = 0; k < 8; k++) {
            const uint32_t byte = k < 4 ? data[k] ^ ((crc >> (8 * k)) & 255) : data[k];
            sum ^= table[7 - k][byte];
        }
        crc = sum;
    }
    for (; bytes > 0; bytes--, data++) {
        crc = (crc >> 8) ^ table[0][(crc ^ *data) & 255];
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

void tess_hash_mix(tess_hash *hash, const void *data, size_t bytes)
{
    const tess_hash pair[2] = {*hash,
                               tess_hash_bytes(tess_hash_default(), bytes > 0 ? data : "", bytes)};
    *hash = tess_hash_bytes(tess_hash_default(), pair, sizeof pair);
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
