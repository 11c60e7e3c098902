// Blocks of memory that live and die together: what one object owns.
#ifndef TESS_SYSTEMS_DECODE_BLOCKS_H
#define TESS_SYSTEMS_DECODE_BLOCKS_H

#include "base/memory.h"

struct tess_decode_block;

typedef struct tess_decode_blocks {
    tess_heap *heap;
    struct tess_decode_block *last;
} tess_decode_blocks;

void tess_decode_blocks_init(tess_decode_blocks *blocks, tess_heap *heap);

// Zeroed room for n items, 64-byte aligned; n may be 0. NULL with the message recorded
// (TESS_E_MEMORY) when there is no such memory. what names the purpose in the message.
void *tess_decode_blocks_alloc(tess_decode_blocks *blocks, int64_t n, size_t item_bytes,
                               const char *what);
// A copy of n items; NULL as above.
void *tess_decode_blocks_copy(tess_decode_blocks *blocks, const void *items, int64_t n,
                              size_t item_bytes, const char *what);
// Everything at once. Safe on a zeroed struct.
void tess_decode_blocks_free(tess_decode_blocks *blocks);

#endif
