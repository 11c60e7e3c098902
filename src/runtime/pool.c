#include "runtime/pool.h"

#include "base/clock.h"
#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { SPIN_NS = 20000 };

typedef struct worker {
    tess_pool *pool;
    pthread_t thread;
    pthread_cond_t work; // a job that has a block for it
    int32_t index;
} worker;

typedef struct job {
    tess_block_fn fn;
    void *arg;
    int64_t n_block;
    atomic_int_fast64_t next_block;
    atomic_bool failed;   // no more blocks are taken
    int64_t failed_block; // lowest one that failed; n_block: none. Under the mutex.
    tess_status status;
    char message[TESS_MESSAGE_BYTES];
} job;

struct tess_pool {
    tess_heap *heap;
    tess_log *log;
    int32_t n_thread;
    int32_t n_started;   // helpers running; the caller is worker 0 and not among them
    unsigned generation; // of the process when the helpers were started
    worker *helpers;     // n_thread - 1
    pthread_mutex_t mutex;
    pthread_cond_t done;
    bool stop;
    bool warned;                // that threads are missing
    atomic_uint taken_in;       // 1 + generation of the process where a caller's job runs; 0: none
    atomic_uint_fast64_t round; // raised for each job, under the mutex
    bool is_open;               // helpers may join the job; under the mutex
    int32_t n_wanted;           // of index below this: jobs of few blocks leave the others asleep
    atomic_int_fast32_t n_busy; // helpers that did; changed under the mutex
    job job;
};

// A child of fork() has none of the parent's threads. Every pool compares this counter and starts
// its helpers anew when it has moved.
static unsigned process_generation;
static pthread_once_t atfork_once = PTHREAD_ONCE_INIT;
static _Thread_local bool inside_block;

static void in_child(void)
{
    process_generation++;
}

static void register_atfork(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

static void init_locks(tess_pool *pool)
{
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (int32_t i = 0; i < pool->n_thread - 1; i++) {
        pthread_cond_init(&pool->helpers[i].work, NULL);
    }
}

// With the mutex held: the helpers of index below n_wanted.
static void wake(tess_pool *pool, int32_t n_wanted)
{
    for (int32_t i = 0; i < pool->n_started && i + 1 < n_wanted; i++) {
        pthread_cond_signal(&pool->helpers[i].work);
    }
}

tess_status tess_pool_create(tess_heap *heap, tess_log *log, int32_t n_thread, tess_pool **out)
{
    *out = NULL;
    pthread_once(&atfork_once, register_atfork);
    tess_pool *pool = tess_heap_alloc_zero(heap, sizeof *pool, TESS_TAG_CONTEXT, "thread pool");
    if (!pool) {
        return TESS_E_MEMORY;
    }
    pool->heap = heap;
    pool->log = log;
    pool->n_thread = n_thread;
    pool->generation = process_generation;
    pool->helpers = tess_heap_alloc_zero(heap, (size_t)n_thread * sizeof *pool->helpers,
                                         TESS_TAG_CONTEXT, "thread pool");
    if (!pool->helpers) {
        tess_heap_free(heap, pool, sizeof *pool, TESS_TAG_CONTEXT);
        return TESS_E_MEMORY;
    }
    init_locks(pool);
    *out = pool;
    return TESS_OK;
}

void tess_pool_destroy(tess_pool *pool)
{
    if (!pool) {
        return;
    }
    if (pool->n_started > 0 && pool->generation == process_generation) {
        pthread_mutex_lock(&pool->mutex);
        pool->stop = true;
        wake(pool, pool->n_thread);
        pthread_mutex_unlock(&pool->mutex);
        for (int32_t i = 0; i < pool->n_started; i++) {
            pthread_join(pool->helpers[i].thread, NULL);
        }
    }
    // After fork() they may be in use by threads that do not exist here: left alone then.
    if (pool->generation == process_generation) {
        for (int32_t i = 0; i < pool->n_thread - 1; i++) {
            pthread_cond_destroy(&pool->helpers[i].work);
        }
        pthread_cond_destroy(&pool->done);
        pthread_mutex_destroy(&pool->mutex);
    }
    tess_heap_free(pool->heap, pool->helpers, (size_t)pool->n_thread * sizeof *pool->helpers,
                   TESS_TAG_CONTEXT);
    tess_heap_free(pool->heap, pool, sizeof *pool, TESS_TAG_CONTEXT);
}

int32_t tess_pool_threads(const tess_pool *pool)
{
    return pool->n_thread;
}

static void record_failure(tess_pool *pool, int64_t block, tess_status status)
{
    job *j = &pool->job;
    pthread_mutex_lock(&pool->mutex);
    if (block < j->failed_block) {
        j->failed_block = block;
        j->status = status;
        tess_error_copy_out(j->message);
    }
    atomic_store(&j->failed, true);
    pthread_mutex_unlock(&pool->mutex);
}

// Takes blocks in rising order until there are none or one failed. Blocks below a failed one have
// been taken already, so the lowest failure is always found.
static void take_blocks(tess_pool *pool, int32_t index)
{
    job *j = &pool->job;
    inside_block = true;
    while (!atomic_load(&j->failed)) {
        const int64_t block = atomic_fetch_add(&j->next_block, 1);
        if (block >= j->n_block) {
            break;
        }
        const tess_status status = j->fn(j->arg, block, index);
        if (status != TESS_OK) {
            record_failure(pool, block, status);
        }
    }
    inside_block = false;
}

// The next job often comes at once, and the last helper is often about to be done: looking out for
// it a moment is cheaper than being woken.
static void spin_for_round(tess_pool *pool, uint64_t seen)
{
    const int64_t until_ns = tess_now_ns() + SPIN_NS;
    while (atomic_load(&pool->round) == seen && tess_now_ns() < until_ns) {
    }
}

static void spin_for_done(tess_pool *pool)
{
    const int64_t until_ns = tess_now_ns() + SPIN_NS;
    while (atomic_load(&pool->n_busy) > 0 && tess_now_ns() < until_ns) {
    }
}

static void *helper_main(void *arg)
{
    worker *self = arg;
    tess_pool *pool = self->pool;
    uint64_t seen = 0;
    for (;;) {
        spin_for_round(pool, seen);
        pthread_mutex_lock(&pool->mutex);
        bool joins = false;
        while (!pool->stop && !joins) {
            joins = pool->round != seen && pool->is_open && self->index < pool->n_wanted;
            seen = pool->round;
            if (!joins) {
                pthread_cond_wait(&self->work, &pool->mutex);
            }
        }
        const bool stop = pool->stop;
        pool->n_busy += joins && !stop;
        pthread_mutex_unlock(&pool->mutex);
        if (stop) {
            return NULL;
        }
        take_blocks(pool, self->index);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->n_busy == 0) {
            pthread_cond_signal(&pool->done);
        }
        pthread_mutex_unlock(&pool->mutex);
    }
}

// Fewer threads than wished for is slower, not wrong: the run goes on with what there is.
static void start_helpers(tess_pool *pool)
{
    if (pool->generation != process_generation) {
        // After fork(): the parent's threads do not exist here, and its locks may be held.
        pool->n_started = 0;
        pool->is_open = false;
        pool->n_busy = 0;
        init_locks(pool);
    }
    if (pool->n_started > 0) {
        return;
    }
    pool->generation = process_generation;
    pool->round = 0;
    for (int32_t i = 0; i < pool->n_thread - 1; i++) {
        worker *helper = &pool->helpers[i];
        helper->pool = pool;
        helper->index = i + 1;
        if (pthread_create(&helper->thread, NULL, helper_main, helper) != 0) {
            if (!pool->warned) {
                tess_log_warn(pool->log, TESS_W_RUN_THREADS,
                              "only %d of %d threads could be started", i + 1, pool->n_thread);
                pool->warned = true;
            }
            break;
        }
        pool->n_started++;
    }
}

static tess_status run_inline(int64_t n_block, tess_block_fn fn, void *arg)
{
    for (int64_t block = 0; block < n_block; block++) {
        TESS_TRY(fn(arg, block, 0));
    }
    return TESS_OK;
}

void tess_pool_stay_inline(void)
{
    inside_block = true;
}

static tess_status run_shared(tess_pool *pool, int64_t n_block, tess_block_fn fn, void *arg)
{
    start_helpers(pool);
    pthread_mutex_lock(&pool->mutex);
    pool->job.fn = fn;
    pool->job.arg = arg;
    pool->job.n_block = n_block;
    atomic_store(&pool->job.next_block, 0);
    atomic_store(&pool->job.failed, false);
    pool->job.failed_block = n_block;
    pool->job.status = TESS_OK;
    pool->is_open = true;
    pool->n_wanted = n_block < pool->n_thread ? (int32_t)n_block : pool->n_thread;
    pool->round++;
    wake(pool, pool->n_wanted);
    pthread_mutex_unlock(&pool->mutex);
    take_blocks(pool, 0);
    spin_for_done(pool);
    pthread_mutex_lock(&pool->mutex);
    pool->is_open = false; // who wakes up only now is not waited for
    while (pool->n_busy > 0) {
        pthread_cond_wait(&pool->done, &pool->mutex);
    }
    const tess_status status = pool->job.status;
    pthread_mutex_unlock(&pool->mutex);
    if (status != TESS_OK) {
        tess_error_copy_in(pool->job.message);
    }
    return status;
}

// False while another caller has it; one that fork() left behind has it no more.
static bool take(tess_pool *pool)
{
    const unsigned mark = process_generation + 1;
    unsigned found = atomic_load(&pool->taken_in);
    return found != mark && atomic_compare_exchange_strong(&pool->taken_in, &found, mark);
}

tess_status tess_parallel_for(tess_pool *pool, int64_t n_block, tess_block_fn fn, void *arg)
{
    if (pool->n_thread == 1 || n_block <= 1 || inside_block || !take(pool)) {
        return run_inline(n_block, fn, arg);
    }
    const tess_status status = run_shared(pool, n_block, fn, arg);
    atomic_store(&pool->taken_in, 0);
    return status;
}
