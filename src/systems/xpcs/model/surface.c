// c2 of whole matrices, for plots, residuals and simulations that are looked at.
#include "base/status.h"
#include "runtime/stage.h"
#include "systems/xpcs/model/evaluate.h"
#include "systems/xpcs/model/lend.h"

// Cancel is polled between stretches of about this many values.
static const int64_t STRETCH = 1 << 20;

static tess_status fill_angle(tess_context *ctx, tess_device *device, const tess_xp_evaluation *at,
                              const tess_xp_angle *angle, double *c2)
{
    const int64_t n_frame = at->grids.n_frame;
    const int64_t n_row = STRETCH / n_frame > 0 ? STRETCH / n_frame : 1;
    for (int64_t first = 0; first < n_frame; first += n_row) {
        TESS_TRY(tess_context_check_cancel(ctx));
        const tess_stage_xpcs_model args = {
            .grid = &at->grids.grid,
            .angle = angle,
            .out = c2 + first * n_frame,
            .n_frame = n_frame,
            .first_row = first,
            .n_row = n_row < n_frame - first ? n_row : n_frame - first,
            .n_param = (int32_t)at->grids.n_param,
            .power = tess_xp_power((tess_xpcs_kernel)at->model.kernel)};
        TESS_TRY(tess_xp_model_on(device, &args));
        for (int64_t i = 0; i < args.n_row * n_frame; i++) {
            args.out[i] = angle->offset + angle->contrast * args.out[i];
        }
    }
    return TESS_OK;
}

tess_status tess_xpcs_model_surface(tess_context *ctx, const tess_xpcs_model *model,
                                    const tess_xpcs_angles *angles, const double *theta,
                                    int64_t n_frame, double *c2)
{
    tess_error_clear();
    if (!ctx || !angles || !c2) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL", !ctx ? "context" : !angles ? "angles" : "c2");
    }
    static const int32_t stages[] = {TESS_STAGE_XPCS_MODEL};
    tess_device *device = NULL;
    TESS_TRY(tess_stage_choose(ctx, stages, 1, "surface of the model", &device));
    tess_xp_evaluation at;
    TESS_TRY(tess_xp_evaluation_open(ctx, model, angles, theta, n_frame, &at));
    tess_status status = tess_xp_device_for(ctx, at.model.mode, "surface of the model", &device);
    tess_span span = tess_span_begin(&ctx->tracer, "xpcs.surface");
    for (int64_t a = 0; a < at.angles.n_angle && status == TESS_OK; a++) {
        const tess_xp_angle angle = tess_xp_evaluation_angle(&at, theta, a);
        status = fill_angle(ctx, device, &at, &angle, c2 + a * n_frame * n_frame);
    }
    const double n_value = (double)at.angles.n_angle * (double)n_frame * (double)n_frame;
    tess_span_end(&span, n_value * sizeof(double), 0);
    tess_xp_evaluation_close(ctx, &at);
    return status;
}
