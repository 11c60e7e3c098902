// Which device, or devices, a context works on: as its caller wishes, now or later.
#include "base/status.h"
#include "runtime/comm.h"
#include "runtime/device.h"
#include "runtime/device_memory.h"
#include "runtime/group.h"

#include <stdio.h>
#include <string.h>

// "cuda": the ranks of a machine take its GPUs in turn.
static tess_status open_own(tess_context *ctx)
{
    const tess_comm_place *place = ctx->comm ? &ctx->comm->place : NULL;
    char id[24];
    int32_t count = 0;
    if (!place || place->n_node_rank <= 1) {
        return tess_device_open_named(ctx, "cuda", &ctx->other);
    }
    TESS_TRY(tess_device_count(ctx, "cuda", "cuda", &count));
    snprintf(id, sizeof id, "cuda:%d", (int)(place->node_rank % count));
    tess_log_write(&ctx->log, TESS_LOG_INFO,
                   "the %d ranks of this machine share %d GPUs in turn: rank %d works on %s",
                   (int)place->n_node_rank, (int)count, (int)place->rank, id);
    return tess_device_open_named(ctx, id, &ctx->other);
}

static tess_status open_wished(tess_context *ctx, const char *id)
{
    return tess_group_is_list(id)    ? tess_group_open(ctx, id)
           : strcmp(id, "cuda") == 0 ? open_own(ctx)
                                     : tess_device_open_named(ctx, id, &ctx->other);
}

static void take_other(tess_context *ctx, const char *reason)
{
    ctx->device = &ctx->other;
    tess_device_budget_open(&ctx->device_budget, ctx->device);
    snprintf(ctx->device_reason, sizeof ctx->device_reason, "%s", reason);
}

static tess_status open_meanwhile(void *self)
{
    tess_context *ctx = self;
    tess_span span = tess_span_begin(&ctx->tracer, "device.open");
    const tess_status status = tess_device_open_named(ctx, ctx->opening.id, &ctx->opening.device);
    tess_span_end(&span, 0, 0);
    return status;
}

tess_status tess_device_begin(tess_context *ctx, const char *id)
{
    tess_error_clear();
    if (ctx->opening.errand.is_under_way || ctx->device != &ctx->cpu) {
        TESS_FAIL(TESS_E_ARGUMENT, "device '%.40s': the context has another device already", id);
    }
    if (tess_group_is_list(id) || tess_comm_size(ctx) > 1) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "device '%.40s': several devices, and those of ranks, are named when the context "
                  "is made",
                  id);
    }
    if (strlen(id) >= sizeof ctx->opening.id) {
        return tess_device_unknown(id);
    }
    snprintf(ctx->opening.id, sizeof ctx->opening.id, "%s", id);
    tess_errand_start(&ctx->opening.errand, open_meanwhile, ctx);
    return TESS_OK;
}

tess_status tess_device_use(tess_context *ctx, int wait)
{
    tess_error_clear();
    tess_errand *errand = &ctx->opening.errand;
    if (!errand->is_under_way || (!wait && !atomic_load(&errand->is_done))) {
        return TESS_OK;
    }
    TESS_TRY(tess_errand_wait(errand));
    ctx->other = ctx->opening.device;
    memset(&ctx->opening.device, 0, sizeof ctx->opening.device);
    take_other(ctx, "asked for");
    return TESS_OK;
}

void tess_device_forget(tess_context *ctx)
{
    tess_errand_drop(&ctx->opening.errand);
    if (ctx->opening.device.backend) {
        tess_device_close(&ctx->opening.device);
    }
}

tess_status tess_device_choose(tess_context *ctx, const char *id)
{
    if (!ctx->cpu.handle) {
        TESS_TRY(tess_device_open(ctx, ctx->backends[0].table, 0, &ctx->cpu));
    }
    ctx->device = &ctx->cpu;
    if (strcmp(id, "cpu") == 0) {
        snprintf(ctx->device_reason, sizeof ctx->device_reason, "asked for or default");
        return TESS_OK;
    }
    if (strcmp(id, "auto") != 0) {
        tess_span span = tess_span_begin(&ctx->tracer, "device.open");
        TESS_TRY(open_wished(ctx, id));
        tess_span_end(&span, 0, 0);
        take_other(ctx, "asked for");
        return TESS_OK;
    }
    ctx->device_is_auto = true;
    const char *why = "";
    const tess_backend *cuda = tess_backend_find(ctx, "cuda", &why);
    if (cuda && why[0] == '\0' && open_own(ctx) == TESS_OK) {
        take_other(ctx, "auto: a usable GPU was found");
        return TESS_OK;
    }
    if (cuda && why[0] == '\0') {
        why = tess_last_error();
    }
    snprintf(ctx->device_reason, sizeof ctx->device_reason, "auto: %.180s", why);
    tess_error_clear();
    return TESS_OK;
}
