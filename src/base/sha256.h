// SHA-256 (FIPS 180-4), for fingerprints that other programs can check.
#ifndef TESS_BASE_SHA256_H
#define TESS_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct tess_sha256 {
    uint32_t state[8];
    uint8_t block[64];
    uint64_t n_byte;
} tess_sha256;

void tess_sha256_init(tess_sha256 *hash);
void tess_sha256_add(tess_sha256 *hash, const void *data, size_t n_byte);
// 64 hexadecimal digits and a zero.
void tess_sha256_text(tess_sha256 *hash, char text[65]);

#endif
