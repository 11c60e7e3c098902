// Progress and cancel of work that goes step by step.
#ifndef TESS_AUTOREJECT_PROGRESS_H
#define TESS_AUTOREJECT_PROGRESS_H

#include "runtime/context.h"

typedef struct tess_ar_progress {
    tess_context *ctx;
    const char *stage; // "autoreject.thresholds", static
    const char *unit;  // "tiles", static
    bool is_watched;   // large enough for the callback
    bool is_streamed;  // samples lie in a file
    int64_t begin_ns;
    int64_t last_ns;
    int64_t first; // what was done before this run
} tess_ar_progress;

// bytes: of the samples worked on; under 8 MiB the callback is not called.
void tess_ar_progress_begin(tess_ar_progress *progress, tess_context *ctx, const char *stage,
                            const char *unit, int64_t first, uint64_t bytes, bool is_streamed);

// Between steps, on the calling thread: TESS_CANCELLED on request, the callback at most every
// 50 ms and at the end (done == total).
TESS_MUST_CHECK tess_status tess_ar_progress_poll(tess_ar_progress *progress, int64_t done,
                                                  int64_t total);

#endif
