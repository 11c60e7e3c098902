#include "base/status.h"
#include "runtime/pool.h"
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_BLOCKS = 1000, MAX_WORKERS = 8 };

static tess_heap heap;
static tess_log quiet;

static tess_pool *new_pool(int32_t n_thread)
{
    tess_pool *pool = NULL;
    assert_ok(tess_pool_create(&heap, &quiet, n_thread, &pool));
    return pool;
}

typedef struct work {
    tess_pool *pool;
    int64_t fail_from; // blocks from here on fail; -1: none
    atomic_int runs[MAX_BLOCKS];
    atomic_int busy[MAX_WORKERS];
    atomic_int n_clash; // a worker index in use twice at a time
    atomic_int n_nested;
} work;

static tess_status count_block(void *arg, int64_t block, int32_t worker)
{
    work *w = arg;
    if (atomic_fetch_add(&w->busy[worker], 1) != 0) {
        atomic_fetch_add(&w->n_clash, 1);
    }
    atomic_fetch_add(&w->runs[block], 1);
    // Early blocks are slow: a later failure is then recorded first.
    if (block % 7 == 0) {
        usleep(200);
    }
    atomic_fetch_sub(&w->busy[worker], 1);
    if (w->fail_from >= 0 && block >= w->fail_from) {
        return tess_error_set(TESS_E_NUMERIC, "block %lld failed", (long long)block);
    }
    return TESS_OK;
}

static void every_block_runs_exactly_once(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 7, 64, MAX_BLOCKS};
    for (int32_t n_thread = 1; n_thread <= MAX_WORKERS; n_thread++) {
        tess_pool *pool = new_pool(n_thread);
        assert_int_equal(tess_pool_threads(pool), n_thread);
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
            work w = {.fail_from = -1};
            assert_ok(tess_parallel_for(pool, sizes[i], count_block, &w));
            for (int64_t b = 0; b < MAX_BLOCKS; b++) {
                assert_int_equal(w.runs[b], b < sizes[i]);
            }
            assert_int_equal(w.n_clash, 0);
        }
        tess_pool_destroy(pool);
    }
    assert_int_equal(atomic_load(&heap.now_bytes), 0);
}

static void lowest_failure_wins_with_its_message(void **state)
{
    (void)state;
    for (int32_t n_thread = 1; n_thread <= MAX_WORKERS; n_thread++) {
        tess_pool *pool = new_pool(n_thread);
        for (int64_t fail_from = 0; fail_from < 30; fail_from++) {
            work w = {.fail_from = fail_from};
            char expected[64];
            snprintf(expected, sizeof expected, "block %lld failed", (long long)fail_from);
            tess_error_clear();
            assert_int_equal(tess_parallel_for(pool, 100, count_block, &w), TESS_E_NUMERIC);
            assert_string_equal(tess_last_error(), expected);
            for (int64_t b = 0; b < fail_from; b++) {
                assert_int_equal(w.runs[b], 1);
            }
        }
        // A failed call leaves the pool fit for the next.
        work w = {.fail_from = -1};
        assert_ok(tess_parallel_for(pool, 100, count_block, &w));
        tess_pool_destroy(pool);
    }
}

static tess_status nested_inner(void *arg, int64_t block, int32_t worker)
{
    (void)block;
    (void)worker;
    atomic_fetch_add(&((work *)arg)->n_nested, 1);
    return TESS_OK;
}

static tess_status nested_outer(void *arg, int64_t block, int32_t worker)
{
    (void)block;
    (void)worker;
    work *w = arg;
    return tess_parallel_for(w->pool, 10, nested_inner, w);
}

static void nested_calls_run_inline(void **state)
{
    (void)state;
    for (int32_t n_thread = 1; n_thread <= 4; n_thread++) {
        work w = {.pool = new_pool(n_thread)};
        assert_ok(tess_parallel_for(w.pool, 20, nested_outer, &w));
        assert_int_equal(w.n_nested, 200);
        tess_pool_destroy(w.pool);
    }
}

// 0 if the child's own call worked.
static int use_in_child(tess_pool *pool)
{
    work w = {.fail_from = -1};
    if (tess_parallel_for(pool, 100, count_block, &w) != TESS_OK) {
        return 1;
    }
    for (int64_t b = 0; b < 100; b++) {
        if (w.runs[b] != 1) {
            return 2;
        }
    }
    tess_pool_destroy(pool);
    return 0;
}

static void *call_often(void *arg)
{
    work *w = arg;
    for (int i = 0; i < 50; i++) {
        assert_ok(tess_parallel_for(w->pool, 20, count_block, w));
    }
    return NULL;
}

static void two_callers_do_not_meet(void **state)
{
    (void)state;
    tess_pool *pool = new_pool(4);
    work w[2] = {{.pool = pool, .fail_from = -1}, {.pool = pool, .fail_from = -1}};
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, call_often, &w[1]), 0);
    call_often(&w[0]);
    pthread_join(other, NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(atomic_load(&w[i].n_clash), 0);
        for (int64_t b = 0; b < 20; b++) {
            assert_int_equal(atomic_load(&w[i].runs[b]), 50);
        }
    }
    tess_pool_destroy(pool);
}

static void a_forked_child_can_go_on(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); // TSan cannot follow threads started in the child of a threaded process
#endif
    for (int used_before = 0; used_before < 2; used_before++) {
        tess_pool *pool = new_pool(4);
        work w = {.fail_from = -1};
        if (used_before) {
            assert_ok(tess_parallel_for(pool, 100, count_block, &w));
        }
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(20); // a deadlock is a failure, not a wait
            _exit(use_in_child(pool));
        }
        work again = {.fail_from = -1};
        assert_ok(tess_parallel_for(pool, 100, count_block, &again));
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        tess_pool_destroy(pool);
    }
}

static void an_unused_pool_can_be_destroyed_in_a_child(void **state)
{
    (void)state;
    tess_pool *pool = new_pool(3);
    work w = {.fail_from = -1};
    assert_ok(tess_parallel_for(pool, 10, count_block, &w));
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        tess_pool_destroy(pool);
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    tess_pool_destroy(pool);
}

static int n_warning;

static void count_warning(void *user, tess_log_level level, const char *line)
{
    (void)user;
    n_warning += level == TESS_LOG_WARNING && strstr(line, "threads could be started") != NULL;
}

static rlim_t address_space(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%llu", &pages) != 1) {
        _exit(7);
    }
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

// Without address space for stacks the helpers cannot start: slower, not wrong.
static void missing_threads_are_a_warning(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); // their shadow memory needs the address space
#endif
    const pid_t child = fork();
    if (child == 0) {
        tess_log log;
        tess_log_init(&log, count_warning, NULL, TESS_LOG_WARNING);
        tess_pool *pool = NULL;
        // Room for one stack of 8 MiB, not for seven.
        const struct rlimit little = {address_space() + (12 << 20), address_space() + (12 << 20)};
        if (tess_pool_create(&heap, &log, 8, &pool) != TESS_OK ||
            setrlimit(RLIMIT_AS, &little) != 0) {
            _exit(3);
        }
        work w = {.fail_from = -1};
        if (tess_parallel_for(pool, 100, count_block, &w) != TESS_OK) {
            _exit(4);
        }
        for (int64_t b = 0; b < 100; b++) {
            if (w.runs[b] != 1) {
                _exit(5);
            }
        }
        tess_pool_destroy(pool);
        _exit(n_warning == 1 ? 0 : 6);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void failed_allocation_creates_nothing(void **state)
{
    (void)state;
    for (long long fail_at = 1; fail_at <= 2; fail_at++) {
        unit_allocator allocator;
        unit_allocator_init(&allocator, fail_at);
        tess_heap failing;
        tess_heap_init(&failing, &allocator.table);
        tess_pool *pool = NULL;
        assert_fails(tess_pool_create(&failing, &quiet, 2, &pool), TESS_E_MEMORY, "thread pool");
        assert_null(pool);
        assert_int_equal(allocator.n_live, 0);
    }
    tess_pool_destroy(NULL);
}

int main(void)
{
    tess_heap_init(&heap, NULL);
    tess_log_init(&quiet, NULL, NULL, TESS_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_runs_exactly_once),
        cmocka_unit_test(lowest_failure_wins_with_its_message),
        cmocka_unit_test(nested_calls_run_inline),
        cmocka_unit_test(two_callers_do_not_meet),
        cmocka_unit_test(a_forked_child_can_go_on),
        cmocka_unit_test(an_unused_pool_can_be_destroyed_in_a_child),
        cmocka_unit_test(missing_threads_are_a_warning),
        cmocka_unit_test(failed_allocation_creates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
