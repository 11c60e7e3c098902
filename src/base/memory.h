// Heap and arena. Every byte the library holds is asked for here, with a tag.
#ifndef TESS_BASE_MEMORY_H
#define TESS_BASE_MEMORY_H

#include "tessera/sys/allocator.h"

#include <stdatomic.h>

enum { TESS_ALIGN = 64 };

// An allocator with counters. Any thread.
typedef struct tess_heap {
    tess_allocator allocator;
    atomic_uint_fast64_t now_bytes;
    atomic_uint_fast64_t peak_bytes;
    atomic_uint_fast64_t tag_bytes[TESS_TAG_COUNT];
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

// One block handed out front to back; everything is freed at once. Guarded under ASan.
typedef struct tess_arena {
    tess_heap *heap;
    unsigned char *base;
    size_t capacity_bytes;
    size_t used_bytes;
    tess_tag tag;
} tess_arena;

TESS_MUST_CHECK tess_status tess_arena_create(tess_heap *heap, size_t capacity_bytes, tess_tag tag,
                                              const char *what, tess_arena *out);
// 64-byte aligned; NULL when the arena is full, which is a planner's mistake (asserted).
void *tess_arena_take(tess_arena *arena, size_t bytes);
// What take() of these bytes uses up, alignment and guard included: for plans.
size_t tess_arena_cost(size_t bytes);
void tess_arena_destroy(tess_arena *arena);

#endif
