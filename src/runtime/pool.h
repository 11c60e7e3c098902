// The thread pool: one per context, started at the first parallel call, safe across fork().
//
// Work is cut into numbered blocks whose boundaries depend on the problem only; which thread takes
// which block never shows in a result.
#ifndef TESS_RUNTIME_POOL_H
#define TESS_RUNTIME_POOL_H

#include "base/log.h"
#include "base/memory.h"

typedef struct tess_pool tess_pool;

// worker is 0..n_thread-1 and belongs to one thread during the call: it indexes scratch slices.
typedef tess_status (*tess_block_fn)(void *arg, int64_t block, int32_t worker);

TESS_MUST_CHECK tess_status tess_pool_create(tess_heap *heap, tess_log *log, int32_t n_thread,
                                             tess_pool **out);
void tess_pool_destroy(tess_pool *pool);
int32_t tess_pool_threads(const tess_pool *pool);

// Runs fn for blocks 0..n_block-1. The failure of the lowest block wins, whatever the timing; its
// message is on the calling thread. A call from inside a block runs inline, and so does one while
// another thread's call is under way.
TESS_MUST_CHECK tess_status tess_parallel_for(tess_pool *pool, int64_t n_block, tess_block_fn fn,
                                              void *arg);

// From now on parallel calls of this thread run in it: the pool belongs to another one meanwhile.
void tess_pool_stay_inline(void);

#endif
