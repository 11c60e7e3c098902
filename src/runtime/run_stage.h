// Stages run on the CPU so far, waited for; a device that was asked for by name is refused.
#ifndef TESS_RUNTIME_RUN_STAGE_H
#define TESS_RUNTIME_RUN_STAGE_H

#include "base/log.h"
#include "base/status.h"
#include "runtime/context.h"

static inline TESS_MUST_CHECK tess_status tess_run_stage(tess_context *ctx, int32_t stage,
                                                         const void *args, size_t args_bytes)
{
    const tess_device *device = &ctx->cpu;
    TESS_TRY(device->backend->enqueue(device->queue, stage, args, args_bytes));
    return device->backend->finish(device->queue);
}

// system: "autoreject", what: "fit", for the messages. A device that was found instead of asked for
// leaves a line in the log.
static inline TESS_MUST_CHECK tess_status tess_run_check_device(tess_context *ctx,
                                                                const char *system,
                                                                const char *what)
{
    if (ctx->device == &ctx->cpu) {
        return TESS_OK;
    }
    if (!ctx->device_is_auto) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "device '%s' has none of the stages of a %s yet; use --device cpu "
                  "(device=\"cpu\")",
                  ctx->device->info.id, what);
    }
    tess_log_write(&ctx->log, TESS_LOG_INFO, "%s: the %s runs on the CPU, %s has no stages for it",
                   system, what, ctx->device->info.id);
    return TESS_OK;
}

#endif
