#include "base/memory.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__has_feature)
#define HAS_FEATURE(feature) __has_feature(feature)
#else
#define HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define GUARD_BYTES 64
#else
#define GUARD_BYTES 0
#define ASAN_POISON_MEMORY_REGION(ptr, bytes) ((void)(ptr), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(ptr, bytes) ((void)(ptr), (void)(bytes))
#endif

// Blocks that fill pages of this size ask for them: by small pages the first touch of a large block
// costs more than much of what is done with it.
enum { HUGE_PAGE = 2 << 20 };

static void *libc_alloc(void *user, size_t bytes, size_t alignment, tess_tag tag)
{
    (void)user;
    (void)tag;
    void *ptr = NULL;
    const bool is_large = bytes >= 2 * (size_t)HUGE_PAGE;
    if (posix_memalign(&ptr, is_large ? HUGE_PAGE : alignment, bytes) != 0) {
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    if (is_large) {
        madvise(ptr, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); // refused: small pages
    }
#endif
    return ptr;
}

static void libc_release(void *user, void *ptr, size_t bytes, tess_tag tag)
{
    (void)user;
    (void)bytes;
    (void)tag;
    free(ptr);
}

void tess_heap_init(tess_heap *heap, const tess_allocator *allocator)
{
    memset(heap, 0, sizeof *heap);
    if (allocator) {
        heap->allocator = *allocator;
    } else {
        heap->allocator.alloc = libc_alloc;
        heap->allocator.release = libc_release;
    }
}

static size_t at_least_one(size_t bytes)
{
    return bytes > 0 ? bytes : 1;
}

void *tess_heap_alloc(tess_heap *heap, size_t bytes, tess_tag tag, const char *what)
{
    const uint64_t held = atomic_load(&heap->now_bytes);
    if (heap->most_bytes > 0 &&
        bytes > heap->most_bytes - (held < heap->most_bytes ? held : heap->most_bytes)) {
        tess_error_set(TESS_E_MEMORY,
                       "%zu bytes for %s are more than the memory limit leaves beside %llu", bytes,
                       what, (unsigned long long)held);
        return NULL;
    }
    void *ptr = heap->allocator.alloc(heap->allocator.user, at_least_one(bytes), TESS_ALIGN, tag);
    if (!ptr) {
        tess_error_set(TESS_E_MEMORY, "cannot allocate %zu bytes for %s", bytes, what);
        return NULL;
    }
    const uint64_t now = atomic_fetch_add(&heap->now_bytes, bytes) + bytes;
    uint64_t peak = atomic_load(&heap->peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&heap->peak_bytes, &peak, now)) {
    }
    atomic_fetch_add(&heap->tag_bytes[tag], bytes);
    return ptr;
}

void *tess_heap_alloc_zero(tess_heap *heap, size_t bytes, tess_tag tag, const char *what)
{
    void *ptr = tess_heap_alloc(heap, bytes, tag, what);
    if (ptr) {
        memset(ptr, 0, bytes);
    }
    return ptr;
}

void tess_heap_free(tess_heap *heap, void *ptr, size_t bytes, tess_tag tag)
{
    if (!ptr) {
        return;
    }
    atomic_fetch_sub(&heap->now_bytes, bytes);
    atomic_fetch_sub(&heap->tag_bytes[tag], bytes);
    heap->allocator.release(heap->allocator.user, ptr, at_least_one(bytes), tag);
}

char *tess_heap_strdup(tess_heap *heap, const char *text, tess_tag tag)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = tess_heap_alloc(heap, bytes, tag, "text");
    if (copy) {
        memcpy(copy, text, bytes);
    }
    return copy;
}

size_t tess_arena_cost(size_t bytes)
{
    const size_t mask = TESS_ALIGN - 1;
    return ((bytes + mask) & ~mask) + GUARD_BYTES;
}

void tess_arena_open(tess_arena *arena, void *base, size_t capacity_bytes, bool guarded)
{
    *arena = (tess_arena){.base = base, .capacity_bytes = capacity_bytes};
    if (guarded && capacity_bytes > 0) {
        ASAN_POISON_MEMORY_REGION(base, capacity_bytes);
    }
}

void *tess_arena_take(tess_arena *arena, size_t bytes)
{
    if (bytes == 0) {
        return NULL;
    }
    const size_t cost = tess_arena_cost(bytes);
    TESS_ASSERT(cost <= arena->capacity_bytes - arena->used_bytes);
    if (cost > arena->capacity_bytes - arena->used_bytes) {
        return NULL;
    }
    void *ptr = arena->base + arena->used_bytes;
    ASAN_UNPOISON_MEMORY_REGION(ptr, bytes);
    arena->used_bytes += cost;
    return ptr;
}

void tess_arena_close(tess_arena *arena)
{
    if (arena->capacity_bytes > 0) {
        ASAN_UNPOISON_MEMORY_REGION(arena->base, arena->capacity_bytes);
    }
    *arena = (tess_arena){0};
}
