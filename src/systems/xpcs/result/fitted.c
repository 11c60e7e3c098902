#include "systems/xpcs/result/fitted.h"

#include "base/status.h"
#include "runtime/stage.h"
#include "systems/xpcs/model/lend.h"
#include "systems/xpcs/settings/constants.h"

static tess_status check(const tess_xpcs_result_info *info, const tess_xpcs_data *data,
                         const tess_xpcs_model *model)
{
    if (!data || !model) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s is NULL; give the data and the model that were fitted",
                  data ? "model" : "data");
    }
    const tess_xpcs_data_info *d = tess_xpcs_data_get_info(data);
    if (d->n_angle != info->n_angle || d->n_frame != info->n_frame) {
        TESS_FAIL(
            TESS_E_SHAPE,
            "data: %lld angles of %lld frames, but the result is of %lld angles of %lld; give "
            "the data that were fitted",
            (long long)d->n_angle, (long long)d->n_frame, (long long)info->n_angle,
            (long long)info->n_frame);
    }
    return TESS_OK;
}

tess_status tess_xp_fitted_open(tess_context *ctx, const tess_xpcs_result_info *info,
                                const tess_xpcs_data *data, const tess_xpcs_model *model,
                                tess_xp_fitted *out)
{
    static const int32_t stages[] = {TESS_STAGE_XPCS_MODEL};
    *out = (tess_xp_fitted){.ctx = ctx, .info = info};
    TESS_TRY(check(info, data, model));
    TESS_TRY(tess_stage_choose(ctx, stages, 1, "fitted surface", &out->device));
    TESS_TRY(tess_xp_constants_for_data(model, tess_xpcs_data_get_info(data), &out->model));
    TESS_TRY(tess_xp_device_for(ctx, out->model.mode, "fitted surface", &out->device));
    if (out->model.mode != info->mode || out->model.kernel != info->kernel) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "model: %s, kernel %s, but the fit was %s, kernel %s; give the "
                  "model that was fitted",
                  tess_xpcs_mode_name((tess_xpcs_mode)out->model.mode),
                  tess_xpcs_kernel_name((tess_xpcs_kernel)out->model.kernel),
                  tess_xpcs_mode_name((tess_xpcs_mode)info->mode),
                  tess_xpcs_kernel_name((tess_xpcs_kernel)info->kernel));
    }
    TESS_TRY(tess_xp_grids_create(ctx, &out->model, info->n_frame, &out->grids));
    tess_xp_grids_fill(&out->grids, &out->model, info->theta);
    return TESS_OK;
}

void tess_xp_fitted_close(tess_xp_fitted *fitted)
{
    if (fitted->ctx) {
        tess_xp_grids_destroy(fitted->ctx, &fitted->grids);
    }
    *fitted = (tess_xp_fitted){0};
}

static tess_stage_xpcs_model stage_of(const tess_xp_fitted *fitted, int64_t angle, int64_t first,
                                      int64_t count, double *m, tess_xp_angle *constants)
{
    const tess_xpcs_result_info *info = fitted->info;
    *constants = (tess_xp_angle){0};
    tess_xp_angle_fill(constants, &fitted->model, info->theta, info->phi[angle], info->q[angle]);
    return (tess_stage_xpcs_model){.grid = &fitted->grids.grid,
                                   .angle = constants,
                                   .out = m,
                                   .n_frame = info->n_frame,
                                   .first_row = first,
                                   .n_row = count,
                                   .n_param = (int32_t)tess_xp_n_param((tess_xpcs_mode)info->mode),
                                   .power = tess_xp_power((tess_xpcs_kernel)info->kernel)};
}

tess_status tess_xp_fitted_rows(const tess_xp_fitted *fitted, int64_t angle, int64_t first,
                                int64_t count, double *m)
{
    tess_xp_angle constants;
    const tess_stage_xpcs_model stage = stage_of(fitted, angle, first, count, m, &constants);
    return tess_xp_model_on(fitted->device, &stage);
}

tess_status tess_xp_fitted_rows_here(const tess_xp_fitted *fitted, int64_t angle, int64_t first,
                                     int64_t count, double *m)
{
    tess_xp_angle constants;
    const tess_stage_xpcs_model stage = stage_of(fitted, angle, first, count, m, &constants);
    return tess_stage_run_apart(&fitted->ctx->cpu, TESS_STAGE_XPCS_MODEL, &stage, sizeof stage);
}
