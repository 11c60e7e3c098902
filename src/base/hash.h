// Checksums: XXH3-128 where the xxHash header was found at build time, else CRC-32C.
//
// They guard against corruption, not against malice. Files record which kind they carry.
#ifndef TESS_BASE_HASH_H
#define TESS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct tess_hash {
    uint64_t low;
    uint64_t high;
} tess_hash;

typedef enum tess_hash_kind { TESS_HASH_XXH3_128 = 1, TESS_HASH_CRC32C = 2 } tess_hash_kind;

// Kind that writers of this build use.
tess_hash_kind tess_hash_default(void);

// 1 if this build can compute the kind.
int tess_hash_supported(tess_hash_kind kind);

// Hash of bytes. kind must be supported.
tess_hash tess_hash_bytes(tess_hash_kind kind, const void *data, size_t bytes);

// The hash so far and the hash of what is added, hashed: order and lengths count. Starts from zero.
void tess_hash_mix(tess_hash *hash, const void *data, size_t bytes);

int tess_hash_equal(tess_hash a, tess_hash b);

// 32 hexadecimal digits and a zero.
void tess_hash_text(tess_hash hash, char text[33]);

#endif
