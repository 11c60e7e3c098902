#include "runtime/stage.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>

// "autoreject.ptp"; the CPU has every stage and so knows every name.
static void name_of(const tess_context *ctx, int32_t stage, char name[64])
{
    const tess_backend *cpu = ctx->cpu.backend;
    const char *known = cpu->stage_name ? cpu->stage_name(stage) : NULL;
    if (known) {
        snprintf(name, 64, "%s", known);
    } else {
        snprintf(name, 64, "0x%04x", (unsigned)stage);
    }
}

tess_status tess_stage_choose(tess_context *ctx, const int32_t *stages, int64_t n_stage,
                              const char *what, tess_device **device)
{
    *device = ctx->device;
    for (int64_t i = 0; i < n_stage && *device != &ctx->cpu; i++) {
        if (ctx->device->backend->supports(ctx->device->handle, stages[i], NULL) == TESS_OK) {
            continue;
        }
        char name[64];
        name_of(ctx, stages[i], name);
        if (!ctx->device_is_auto) {
            TESS_FAIL(TESS_E_UNSUPPORTED,
                      "device '%s' has no stage '%s', which a %s needs; use --device cpu "
                      "(device=\"cpu\")",
                      ctx->device->info.id, name, what);
        }
        tess_error_clear();
        tess_log_write(&ctx->log, TESS_LOG_INFO, "the %s runs on the CPU: %s has no stage '%s'",
                       what, ctx->device->info.id, name);
        *device = &ctx->cpu;
    }
    return TESS_OK;
}

tess_status tess_stage_start(tess_device *device, int32_t stage, const void *args,
                             size_t args_bytes)
{
    return device->backend->enqueue(device->queue, stage, args, args_bytes);
}

tess_status tess_stage_finish(tess_device *device)
{
    return device->backend->finish(device->queue);
}

tess_status tess_stage_run(tess_device *device, int32_t stage, const void *args, size_t args_bytes)
{
    TESS_TRY(tess_stage_start(device, stage, args, args_bytes));
    return tess_stage_finish(device);
}

tess_status tess_stage_run_on_host(tess_context *ctx, int32_t stage, const void *args,
                                   size_t args_bytes)
{
    return tess_stage_run(&ctx->cpu, stage, args, args_bytes);
}

tess_status tess_stage_run_apart(tess_device *device, int32_t stage, const void *args,
                                 size_t args_bytes)
{
    tess_device own = *device;
    TESS_TRY(device->backend->queue_create(device->handle, &own.queue));
    const tess_status status = tess_stage_run(&own, stage, args, args_bytes);
    device->backend->queue_destroy(own.queue);
    return status;
}
