// Autoreject's names for progress and cancel (runtime/watch.h).
#ifndef TESS_AUTOREJECT_PROGRESS_H
#define TESS_AUTOREJECT_PROGRESS_H

#include "runtime/watch.h"

typedef tess_watch tess_ar_progress;

#define tess_ar_progress_poll tess_watch_poll

// is_streamed: samples lie in a file.
static inline void tess_ar_progress_begin(tess_ar_progress *progress, tess_context *ctx,
                                          const char *stage, const char *unit, int64_t first,
                                          uint64_t bytes, bool is_streamed)
{
    tess_watch_begin(progress, ctx, stage, unit, first, bytes,
                     is_streamed ? TESS_STRATEGY_CHUNKED : TESS_STRATEGY_LARGE);
}

#endif
