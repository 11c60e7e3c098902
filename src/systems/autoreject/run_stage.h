// A stage on the CPU, waited for.
#ifndef TESS_AUTOREJECT_RUN_STAGE_H
#define TESS_AUTOREJECT_RUN_STAGE_H

#include "base/status.h"
#include "runtime/context.h"

static inline TESS_MUST_CHECK tess_status tess_ar_run_stage(tess_context *ctx, int32_t stage,
                                                            const void *args, size_t args_bytes)
{
    const tess_device *device = &ctx->cpu;
    TESS_TRY(device->backend->enqueue(device->queue, stage, args, args_bytes));
    return device->backend->finish(device->queue);
}

#endif
