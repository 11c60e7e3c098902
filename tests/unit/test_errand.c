// Work of one other thread: its result, its failure, its place beside the pool.
#include "base/blocks.h"
#include "runtime/errand.h"
#include "runtime/pool.h"
#include "unit.h"

#include <stdatomic.h>
#include <string.h>

static tess_heap heap;
static tess_log quiet;

typedef struct job {
    tess_pool *pool;
    pthread_t caller;
    int64_t fails_with;
    atomic_int n_block;
    atomic_int n_elsewhere; // blocks that another thread than the errand's had
    pthread_t errand;
    int ran_apart;
} job;

static tess_status count_block(void *arg, int64_t block, int32_t worker)
{
    (void)block;
    (void)worker;
    job *j = arg;
    atomic_fetch_add(&j->n_block, 1);
    atomic_fetch_add(&j->n_elsewhere, pthread_equal(pthread_self(), j->errand) ? 0 : 1);
    return TESS_OK;
}

static tess_status go(void *arg)
{
    job *j = arg;
    j->errand = pthread_self();
    j->ran_apart = !pthread_equal(j->errand, j->caller);
    TESS_TRY(tess_parallel_for(j->pool, 100, count_block, j));
    if (j->fails_with != 0) {
        TESS_FAIL(TESS_E_NUMERIC, "failure %lld", (long long)j->fails_with);
    }
    return TESS_OK;
}

static tess_status nothing(void *arg, int64_t block, int32_t worker)
{
    (void)arg;
    (void)block;
    (void)worker;
    return TESS_OK;
}

static void does_its_work_beside_the_pool(void **state)
{
    (void)state;
    tess_errand errand = {0};
    job j = {.caller = pthread_self()};
    assert_ok(tess_pool_create(&heap, &quiet, 3, &j.pool));
    assert_ok(tess_errand_wait(&errand)); // none
    for (int k = 1; k <= 20; k++) {
        tess_errand_start(&errand, go, &j);
        assert_ok(tess_parallel_for(j.pool, 50, nothing, NULL)); // the pool is still the caller's
        assert_ok(tess_errand_wait(&errand));
        assert_true(j.ran_apart);
        assert_int_equal(atomic_load(&j.n_block), 100 * k);
        assert_int_equal(atomic_load(&j.n_elsewhere), 0);
    }
    tess_pool_destroy(j.pool);
}

static void brings_its_failure_home(void **state)
{
    (void)state;
    tess_errand errand = {0};
    job j = {.caller = pthread_self(), .fails_with = 7};
    assert_ok(tess_pool_create(&heap, &quiet, 2, &j.pool));
    tess_errand_start(&errand, go, &j);
    assert_int_equal(tess_errand_wait(&errand), TESS_E_NUMERIC);
    assert_string_equal(tess_last_error(), "failure 7");
    assert_ok(tess_errand_wait(&errand)); // it is over

    tess_error_set(TESS_E_IO, "an earlier failure");
    tess_errand_start(&errand, go, &j);
    tess_errand_drop(&errand);
    assert_string_equal(tess_last_error(), "an earlier failure");
    tess_pool_destroy(j.pool);
}

static tess_status take_blocks(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    int64_t *room = tess_blocks_alloc(arg, 8, sizeof *room, "room");
    if (!room) {
        return TESS_E_MEMORY;
    }
    for (int i = 0; i < 8; i++) {
        room[i] = block;
    }
    return TESS_OK;
}

static void gives_blocks_to_many_threads(void **state)
{
    (void)state;
    tess_pool *pool = NULL;
    tess_blocks blocks;
    const uint64_t before = atomic_load(&heap.now_bytes);
    tess_blocks_init(&blocks, &heap);
    assert_ok(tess_pool_create(&heap, &quiet, 4, &pool));
    const uint64_t with_pool = atomic_load(&heap.now_bytes);
    assert_ok(tess_parallel_for(pool, 20000, take_blocks, &blocks));
    tess_blocks_free(&blocks); // a block lost from the list would stay
    assert_int_equal(atomic_load(&heap.now_bytes), with_pool);
    tess_pool_destroy(pool);
    assert_int_equal(atomic_load(&heap.now_bytes), before);
}

int main(void)
{
    tess_heap_init(&heap, NULL);
    tess_log_init(&quiet, NULL, NULL, TESS_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_its_work_beside_the_pool),
        cmocka_unit_test(brings_its_failure_home),
        cmocka_unit_test(gives_blocks_to_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
