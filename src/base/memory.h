// Heap and arena. Every byte the library holds is asked for here, with a tag.
#ifndef TESS_BASE_MEMORY_H
#define TESS_BASE_MEMORY_H

#include "tessera/sys/allocator.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { TESS_ALIGN = 64 };

// An allocator with counters. Any thread.
typedef struct tess_heap {
    tess_allocator allocator;
    atomic_uint_fast64_t now_bytes;
    atomic_uint_fast64_t peak_bytes;
    atomic_uint_fast64_t tag_bytes[TESS_TAG_COUNT];
    uint64_t most_bytes; // what would be more is refused; 0: no end
} tess_heap;

// allocator NULL: the C library's.
void tess_heap_init(tess_heap *heap, const tess_allocator *allocator);

// 64-byte aligned. NULL with TESS_E_MEMORY's message recorded ("cannot allocate ..."). bytes may
// be 0 (a minimal block comes back). what names the purpose in the message.
void *tess_heap_alloc(tess_heap *heap, size_t bytes, tess_tag tag, const char *what);
void *tess_heap_alloc_zero(tess_heap *heap, size_t bytes, tess_tag tag, const char *what);
void tess_heap_free(tess_heap *heap, void *ptr, size_t bytes, tess_tag tag);

// Copies text, zero included. NULL as above. Free with tess_heap_free(strlen + 1).
char *tess_heap_strdup(tess_heap *heap, const char *text, tess_tag tag);

// One block handed out front to back, 64-byte aligned, with guards under ASan. The block belongs to
// somebody else.
typedef struct tess_arena {
    unsigned char *base;
    size_t capacity_bytes;
    size_t used_bytes;
} tess_arena;

// guarded: the processor can touch the block, so what is not handed out may be poisoned.
void tess_arena_open(tess_arena *arena, void *base, size_t capacity_bytes, bool guarded);
// NULL for 0 bytes and when the arena is full; the latter is a planner's mistake (asserted).
void *tess_arena_take(tess_arena *arena, size_t bytes);
// What take() of these bytes uses up, alignment and guard included: for plans.
size_t tess_arena_cost(size_t bytes);
// Before the block is freed.
void tess_arena_close(tess_arena *arena);

#endif
