// Blocks of memory that live and die together: what one object owns.
#ifndef TESS_BASE_BLOCKS_H
#define TESS_BASE_BLOCKS_H

#include "base/memory.h"

struct tess_block;

typedef struct tess_blocks {
    tess_heap *heap;
    struct tess_block *last;
} tess_blocks;

void tess_blocks_init(tess_blocks *blocks, tess_heap *heap);

// By any thread. Zeroed room for n items, 64-byte aligned; n may be 0. NULL with the message
// recorded (TESS_E_MEMORY) when there is no such memory. what names the purpose in the message.
void *tess_blocks_alloc(tess_blocks *blocks, int64_t n, size_t item_bytes, const char *what);
// The same with whatever was there: for who writes every item.
void *tess_blocks_alloc_raw(tess_blocks *blocks, int64_t n, size_t item_bytes, const char *what);
// A copy of n items; NULL as above.
void *tess_blocks_copy(tess_blocks *blocks, const void *items, int64_t n, size_t item_bytes,
                       const char *what);
// Everything at once. Safe on a zeroed struct.
void tess_blocks_free(tess_blocks *blocks);

#endif
