// Progress and cancel of work that goes step by step.
#ifndef TESS_RUNTIME_WATCH_H
#define TESS_RUNTIME_WATCH_H

#include "runtime/context.h"
#include "tessera/run.h"

typedef struct tess_watch {
    tess_context *ctx;
    const char *stage; // "autoreject.thresholds", static
    const char *unit;  // "tiles", static
    tess_strategy strategy;
    bool is_watched; // large enough for the callback
    int64_t begin_ns;
    int64_t last_ns;
    int64_t first;       // what was done before this run
    uint64_t item_bytes; // of one unit, for the rate; 0: not told
    double effective;    // of a sampler's draws so far; -1: not told
    int64_t looked_ns;   // when that was found out
} tess_watch;

// bytes: of the samples worked on; under 8 MiB the callback is not called.
void tess_watch_begin(tess_watch *watch, tess_context *ctx, const char *stage, const char *unit,
                      int64_t first, uint64_t bytes, tess_strategy strategy);

// Between steps, on the calling thread: TESS_CANCELLED on request, the callback at most every
// 50 ms and at the end (done == total).
TESS_MUST_CHECK tess_status tess_watch_poll(tess_watch *watch, int64_t done, int64_t total);

#endif
