// Heap counters, the failing allocator, arenas and checked arithmetic.
#include "base/checked.h"
#include "base/memory.h"
#include "base/status.h"
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void heap_counts_bytes_by_tag_and_peak(void **state)
{
    (void)state;
    tess_heap heap;
    tess_heap_init(&heap, NULL);
    void *a = tess_heap_alloc(&heap, 100, TESS_TAG_TILE, "a");
    void *b = tess_heap_alloc(&heap, 50, TESS_TAG_IO, "b");
    assert_int_equal((uintptr_t)a % TESS_ALIGN, 0);
    assert_int_equal((uintptr_t)b % TESS_ALIGN, 0);
    assert_int_equal(atomic_load(&heap.now_bytes), 150);
    assert_int_equal(atomic_load(&heap.tag_bytes[TESS_TAG_TILE]), 100);
    tess_heap_free(&heap, a, 100, TESS_TAG_TILE);
    tess_heap_free(&heap, NULL, 100, TESS_TAG_TILE);
    assert_int_equal(atomic_load(&heap.now_bytes), 50);
    assert_int_equal(atomic_load(&heap.peak_bytes), 150);
    assert_int_equal(atomic_load(&heap.tag_bytes[TESS_TAG_TILE]), 0);
    assert_int_equal(atomic_load(&heap.tag_bytes[TESS_TAG_IO]), 50);
    tess_heap_free(&heap, b, 50, TESS_TAG_IO);
    assert_int_equal(atomic_load(&heap.now_bytes), 0);
}

static void heap_takes_zero_bytes_and_zeroes(void **state)
{
    (void)state;
    unit_allocator allocator;
    unit_allocator_init(&allocator, 0);
    tess_heap heap;
    tess_heap_init(&heap, &allocator.table);
    void *nothing = tess_heap_alloc(&heap, 0, TESS_TAG_GENERAL, "nothing");
    assert_non_null(nothing);
    tess_heap_free(&heap, nothing, 0, TESS_TAG_GENERAL);
    unsigned char *zeros = tess_heap_alloc_zero(&heap, 999, TESS_TAG_GENERAL, "zeros");
    for (size_t i = 0; i < 999; i++) {
        assert_int_equal(zeros[i], 0);
    }
    tess_heap_free(&heap, zeros, 999, TESS_TAG_GENERAL);
    char *text = tess_heap_strdup(&heap, "a word", TESS_TAG_GENERAL);
    assert_string_equal(text, "a word");
    tess_heap_free(&heap, text, 7, TESS_TAG_GENERAL);
    assert_int_equal(atomic_load(&heap.now_bytes), 0);
}

static void failed_allocation_says_what_for(void **state)
{
    (void)state;
    unit_allocator allocator;
    unit_allocator_init(&allocator, 2);
    tess_heap heap;
    tess_heap_init(&heap, &allocator.table);
    void *first = tess_heap_alloc(&heap, 10, TESS_TAG_GENERAL, "first");
    assert_non_null(first);
    assert_null(tess_heap_alloc(&heap, 77, TESS_TAG_GENERAL, "the second"));
    assert_string_equal(tess_last_error(), "cannot allocate 77 bytes for the second");
    assert_int_equal(atomic_load(&heap.now_bytes), 10);
    assert_int_equal(atomic_load(&heap.peak_bytes), 10);
    assert_non_null(first);
    tess_heap_free(&heap, first, 10, TESS_TAG_GENERAL);
    assert_int_equal(allocator.n_live, 0);
}

static void *churn(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        void *ptr = tess_heap_alloc(arg, 64, TESS_TAG_SCRATCH, "churn");
        tess_heap_free(arg, ptr, 64, TESS_TAG_SCRATCH);
    }
    return NULL;
}

static void counters_agree_after_many_threads(void **state)
{
    (void)state;
    tess_heap heap;
    tess_heap_init(&heap, NULL);
    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &heap), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&heap.now_bytes), 0);
    assert_int_equal(atomic_load(&heap.tag_bytes[TESS_TAG_SCRATCH]), 0);
    assert_in_range(atomic_load(&heap.peak_bytes), 64, 256);
}

static void arena_hands_out_aligned_pieces(void **state)
{
    (void)state;
    tess_arena arena;
    const size_t capacity = tess_arena_cost(1) + tess_arena_cost(64) + tess_arena_cost(65);
    void *block = aligned_alloc(TESS_ALIGN, capacity);
    assert_non_null(block);
    tess_arena_open(&arena, block, capacity, true);
    assert_null(tess_arena_take(&arena, 0));
    unsigned char *a = tess_arena_take(&arena, 1);
    unsigned char *b = tess_arena_take(&arena, 64);
    unsigned char *c = tess_arena_take(&arena, 65);
    assert_true(a && b && c);
    assert_int_equal((uintptr_t)b % TESS_ALIGN, 0);
    assert_int_equal((uintptr_t)c % TESS_ALIGN, 0);
    assert_true(b >= a + 1 && c >= b + 64);
    memset(a, 1, 1);
    memset(b, 2, 64);
    memset(c, 3, 65);
    assert_int_equal(a[0], 1);
    assert_int_equal(b[63], 2);
    assert_int_equal(arena.used_bytes, capacity);
    tess_arena_close(&arena);
    tess_arena_close(&arena);
    memset(block, 0, capacity); // nothing of it is poisoned any more
    free(block);
}

// A write behind a piece must kill the process under ASan; elsewhere there is no guard to test.
static void arena_guard_catches_overruns(void **state)
{
    (void)state;
#ifndef __SANITIZE_ADDRESS__
    skip();
#endif
    tess_arena arena;
    const size_t capacity = 2 * tess_arena_cost(64);
    void *block = aligned_alloc(TESS_ALIGN, capacity);
    assert_non_null(block);
    tess_arena_open(&arena, block, capacity, true);
    volatile unsigned char *piece = tess_arena_take(&arena, 64);
    (void)tess_arena_take(&arena, 64);
    const pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        piece[64] = 1;
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    tess_arena_close(&arena);
    free(block);
}

static void checked_arithmetic_tells_overflow(void **state)
{
    (void)state;
    uint64_t u = 0;
    int64_t i = 0;
    assert_true(tess_mul_u64(UINT64_C(1) << 32, (UINT64_C(1) << 32) - 1, &u));
    assert_true(u == UINT64_MAX - UINT32_MAX);
    assert_false(tess_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &u));
    assert_true(tess_add_u64(UINT64_MAX - 1, 1, &u));
    assert_true(u == UINT64_MAX);
    assert_false(tess_add_u64(UINT64_MAX, 1, &u));
    assert_true(tess_mul_i64(INT64_MIN / 2, 2, &i));
    assert_true(i == INT64_MIN);
    assert_false(tess_mul_i64(INT64_MIN, -1, &i));
    assert_false(tess_mul_i64(INT64_MAX, 2, &i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heap_counts_bytes_by_tag_and_peak),
        cmocka_unit_test(heap_takes_zero_bytes_and_zeroes),
        cmocka_unit_test(failed_allocation_says_what_for),
        cmocka_unit_test(counters_agree_after_many_threads),
        cmocka_unit_test(arena_hands_out_aligned_pieces),
        cmocka_unit_test(arena_guard_catches_overruns),
        cmocka_unit_test(checked_arithmetic_tells_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
