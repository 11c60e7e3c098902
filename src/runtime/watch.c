#include "runtime/watch.h"

#include "base/clock.h"
#include "base/status.h"

static const int64_t EVERY_NS = 50 * 1000 * 1000;
static const uint64_t WATCHED_BYTES = 8 << 20;

void tess_watch_begin(tess_watch *watch, tess_context *ctx, const char *stage, const char *unit,
                      int64_t first, uint64_t bytes, tess_strategy strategy)
{
    *watch = (tess_watch){.ctx = ctx,
                          .stage = stage,
                          .unit = unit,
                          .is_watched = ctx->progress && bytes >= WATCHED_BYTES,
                          .strategy = strategy,
                          .begin_ns = tess_now_ns(),
                          .first = first,
                          .effective = -1};
}

tess_status tess_watch_poll(tess_watch *watch, int64_t done, int64_t total)
{
    tess_context *ctx = watch->ctx;
    if (done < total) { // what is all done is too late to stop
        TESS_TRY(tess_context_check_cancel(ctx));
    }
    const int64_t now = tess_now_ns();
    if (!watch->is_watched || (done < total && now - watch->last_ns < EVERY_NS)) {
        return TESS_OK;
    }
    watch->last_ns = now;
    const double elapsed_s = (double)(now - watch->begin_ns) * 1e-9;
    const int64_t own = done - watch->first;
    uint64_t memory_bytes = 0;
    uint64_t peak_bytes = 0;
    tess_context_memory(ctx, &memory_bytes, &peak_bytes);
    const tess_progress snapshot = {
        .struct_size = sizeof snapshot,
        .strategy = (int32_t)watch->strategy,
        .stage = watch->stage,
        .unit = watch->unit,
        .done = done,
        .total = total,
        .done_bytes = (uint64_t)done * watch->item_bytes,
        .elapsed_s = elapsed_s,
        .remaining_s = own > 0 ? elapsed_s * (double)(total - done) / (double)own : -1,
        .memory_bytes = memory_bytes,
        .effective = watch->effective};
    if (ctx->progress(ctx->progress_user, &snapshot) != 0) {
        TESS_FAIL(TESS_CANCELLED, "stopped by the progress callback");
    }
    return TESS_OK;
}
