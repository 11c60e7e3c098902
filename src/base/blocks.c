#include "base/blocks.h"

#include "base/checked.h"
#include "base/status.h"

#include <pthread.h>
#include <string.h>

// Threads that fill a model together take their blocks from one list. Blocks are large and few: one
// lock for all lists is never waited for.
static pthread_mutex_t link_mutex = PTHREAD_MUTEX_INITIALIZER;

// In front of every block; as large as the alignment, so that the items keep it.
typedef struct tess_block {
    struct tess_block *previous;
    size_t bytes;
    char pad[TESS_ALIGN - sizeof(void *) - sizeof(size_t)];
} tess_block;

void tess_blocks_init(tess_blocks *blocks, tess_heap *heap)
{
    blocks->heap = heap;
    blocks->last = NULL;
}

void *tess_blocks_alloc_raw(tess_blocks *blocks, int64_t n, size_t item_bytes, const char *what)
{
    uint64_t bytes;
    if (n < 0 || !tess_mul_u64((uint64_t)n, item_bytes, &bytes) ||
        !tess_add_u64(bytes, sizeof(tess_block), &bytes) || bytes > SIZE_MAX) {
        tess_error_set(TESS_E_MEMORY, "%s: %lld items of %zu bytes are more than memory can have",
                       what, (long long)n, item_bytes);
        return NULL;
    }
    tess_block *block = tess_heap_alloc(blocks->heap, (size_t)bytes, TESS_TAG_RESULT, what);
    if (!block) {
        return NULL;
    }
    block->bytes = (size_t)bytes;
    pthread_mutex_lock(&link_mutex);
    block->previous = blocks->last;
    blocks->last = block;
    pthread_mutex_unlock(&link_mutex);
    return block + 1;
}

void *tess_blocks_alloc(tess_blocks *blocks, int64_t n, size_t item_bytes, const char *what)
{
    void *items = tess_blocks_alloc_raw(blocks, n, item_bytes, what);
    if (items && n > 0) {
        memset(items, 0, (size_t)n * item_bytes);
    }
    return items;
}

void *tess_blocks_copy(tess_blocks *blocks, const void *items, int64_t n, size_t item_bytes,
                       const char *what)
{
    void *copy = tess_blocks_alloc_raw(blocks, n, item_bytes, what);
    if (copy && n > 0) {
        memcpy(copy, items, (size_t)n * item_bytes);
    }
    return copy;
}

void tess_blocks_free(tess_blocks *blocks)
{
    while (blocks->last) {
        tess_block *block = blocks->last;
        blocks->last = block->previous;
        tess_heap_free(blocks->heap, block, block->bytes, TESS_TAG_RESULT);
    }
}
