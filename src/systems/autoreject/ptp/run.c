// What one tile of ptp does.
#include "base/status.h"
#include "runtime/stage.h"
#include "stage/autoreject.h"
#include "systems/autoreject/ptp/ptp.h"

#include <string.h>

static const int32_t STAGES[] = {TESS_STAGE_AUTOREJECT_PTP};

tess_status tess_ar_ptp_stage(tess_device *device, const tess_array *x, void *out)
{
    const tess_stage_autoreject_ptp args = {.x = x->data,
                                            .out = out,
                                            .n_epoch = x->shape[0],
                                            .n_chan = x->shape[1],
                                            .n_time = x->shape[2],
                                            .stride_epoch = x->stride[0],
                                            .stride_chan = x->stride[1],
                                            .dtype = x->dtype};
    return tess_stage_start(device, TESS_STAGE_AUTOREJECT_PTP, &args, sizeof args);
}

static tess_status compute(const tess_plan *plan, tess_context *ctx, const tess_tile *tile)
{
    (void)plan;
    (void)ctx;
    return tess_ar_ptp_stage(tile->device, &tile->in, tile->out);
}

static tess_status inspect(const tess_plan *plan, tess_context *ctx, int64_t first, int64_t count,
                           const void *out)
{
    (void)ctx;
    ptp_settings settings;
    memcpy(&settings, plan->system.bytes, sizeof settings);
    if (settings.nonfinite != TESS_AUTOREJECT_NONFINITE_ERROR) {
        return TESS_OK;
    }
    return tess_ar_check_finite(out, (tess_dtype)plan->out.dtype, first, count, plan->out.shape[1]);
}

const tess_plan_ops tess_ar_ptp_ops = {.name = "autoreject.ptp",
                                       .unit = "epochs",
                                       .stages = STAGES,
                                       .n_stage = 1,
                                       .compute = compute,
                                       .inspect = inspect};
