// Public one-shot functions: check, act, return; no mathematics.
#include "base/status.h"
#include "runtime/group.h"
#include "runtime/stage.h"
#include "systems/autoreject/ptp/ptp.h"

// Below this a call is over before anybody could want to stop it: no pipeline is set up.
static const int64_t SMALL_BYTES = 8 << 20;

// Runs a plan over arrays, tile by tile, with progress and cancellation.
static tess_status run_over_arrays(tess_context *ctx, const tess_array *x,
                                   const tess_autoreject_ptp_config *config, tess_array *out)
{
    tess_source *source = NULL;
    tess_sink *sink = NULL;
    tess_plan *plan = NULL;
    tess_run *run = NULL;
    tess_status status = tess_source_from_array(ctx, x, &source);
    if (status == TESS_OK) {
        status = tess_sink_from_array(ctx, out, &sink);
    }
    if (status == TESS_OK) {
        status = tess_autoreject_ptp_plan_create(ctx, source, config, &plan);
    }
    if (status == TESS_OK) {
        status = tess_run_create(ctx, plan, source, sink, NULL, &run);
    }
    if (status == TESS_OK) {
        status = tess_run_execute(run);
    }
    tess_run_destroy(run);
    tess_plan_destroy(plan);
    tess_sink_close(sink);
    tess_source_close(source);
    return status;
}

static tess_status run_at_once(tess_context *ctx, const tess_array *x,
                               const tess_autoreject_ptp_config *config, tess_array *out)
{
    const bool stop_if_not_finite = config->nonfinite == TESS_AUTOREJECT_NONFINITE_ERROR;
    if (stop_if_not_finite && out->space == TESS_SPACE_DEVICE) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "nonfinite: 'error' needs arrays in host memory");
    }
    tess_device *device = NULL;
    TESS_TRY(tess_group_refuse(ctx, tess_ar_ptp_ops.name));
    TESS_TRY(tess_stage_choose(ctx, tess_ar_ptp_ops.stages, tess_ar_ptp_ops.n_stage,
                               tess_ar_ptp_ops.name, &device));
    tess_span span = tess_span_begin(&ctx->tracer, tess_ar_ptp_ops.name);
    TESS_TRY(tess_context_check_cancel(ctx));
    TESS_TRY(tess_ar_ptp_stage(device, x, out->data));
    TESS_TRY(tess_stage_finish(device));
    tess_span_end(&span, (double)(tess_array_items(x) * x->item_bytes), 0);
    if (!stop_if_not_finite) {
        return TESS_OK;
    }
    return tess_ar_check_finite(out->data, (tess_dtype)out->dtype, 0, out->shape[0], out->shape[1]);
}

tess_status tess_autoreject_ptp(tess_context *ctx, const tess_array *x,
                                const tess_autoreject_ptp_config *given, tess_array *out)
{
    tess_error_clear();
    tess_autoreject_ptp_config config;
    TESS_TRY(tess_ar_check_ptp_config(given, &config));
    TESS_TRY(tess_ar_check_epochs(x, "x"));
    TESS_TRY(tess_ar_check_ptp_out(x, out));
    if (tess_array_items(out) == 0) {
        return TESS_OK;
    }
    const bool on_host = x->space != TESS_SPACE_DEVICE;
    if (!on_host && ctx->device->shares_host_memory) {
        TESS_FAIL(TESS_E_SPACE, "x: is in GPU memory, but the context works on the CPU; create the "
                                "context with device 'cuda'");
    }
    const bool small = tess_array_items(x) * x->item_bytes <= SMALL_BYTES;
    if (!on_host || (small && ctx->device->shares_host_memory)) {
        return run_at_once(ctx, x, &config, out);
    }
    return run_over_arrays(ctx, x, &config, out);
}
