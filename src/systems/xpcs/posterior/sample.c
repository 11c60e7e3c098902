// Sampling, from the call to the draws.
#include "systems/xpcs/posterior/sample.h"

#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/stage.h"
#include "systems/xpcs/settings/constants.h"

#include <time.h>

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static tess_status read_configs(tess_xp_sampler *s, const tess_xpcs_fit_config *fit_config,
                                const tess_xpcs_sample_config *config)
{
    tess_xpcs_sample_config_init(&s->config, sizeof s->config);
    tess_xpcs_fit_config_init(&s->fit_config, sizeof s->fit_config);
    if (config) {
        TESS_TRY(tess_struct_read(config, &s->config, sizeof s->config, "config"));
    }
    if (fit_config) {
        TESS_TRY(tess_struct_read(fit_config, &s->fit_config, sizeof s->fit_config, "fit_config"));
    }
    TESS_TRY(tess_params_check(tess_xpcs_sample_params(), &s->config));
    return tess_params_check(tess_xpcs_fit_params(), &s->fit_config);
}

static tess_status check_fit(const tess_xp_sampler *s)
{
    if (s->fit->mode != s->model.mode || s->fit->kernel != s->model.kernel ||
        s->fit->n_angle != s->data->info.n_angle || s->fit->n_frame != s->data->info.n_frame) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "fit: %lld angles of %lld frames of another model or other data (%lld of %lld); "
                  "give the fit of these",
                  (long long)s->fit->n_angle, (long long)s->fit->n_frame,
                  (long long)s->data->info.n_angle, (long long)s->data->info.n_frame);
    }
    if (s->fit->loss != TESS_XPCS_LOSS_LINEAR) {
        TESS_FAIL(TESS_E_ARGUMENT, "fit: of a robust loss, whose noise is not normal; fit with "
                                   "loss linear");
    }
    return TESS_OK;
}

tess_status tess_xpcs_sample(tess_context *ctx, tess_xpcs_data *data, const tess_xpcs_model *model,
                             const tess_xpcs_result *fit, const tess_xpcs_fit_config *fit_config,
                             const tess_xpcs_sample_config *config, tess_xpcs_posterior **out)
{
    tess_error_clear();
    if (!ctx || !data || !fit || !out) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL",
                  !ctx    ? "context"
                  : !data ? "data"
                  : !fit  ? "fit"
                          : "out");
    }
    static const int32_t stages[] = {TESS_STAGE_XPCS_PASS};
    const double begin = now_s();
    tess_xp_sampler s = {.ctx = ctx, .data = data, .fit = tess_xpcs_result_get_info(fit)};
    *out = NULL;
    TESS_TRY(tess_stage_choose(ctx, stages, 1, "pass", &s.device));
    TESS_TRY(read_configs(&s, fit_config, config));
    TESS_TRY(tess_xp_constants_for_data(model, &data->info, &s.model));
    TESS_TRY(check_fit(&s));
    tess_status status = tess_xp_sampler_open(&s);
    if (status == TESS_OK) {
        status = tess_xp_sampler_run(&s);
    }
    if (status == TESS_OK) {
        status = tess_xp_sampler_draw_scaling(&s);
    }
    tess_xp_sampler_close(&s);
    if (status != TESS_OK) {
        tess_xpcs_posterior_destroy(s.out);
        return status;
    }
    s.out->info.seconds = now_s() - begin;
    *out = s.out;
    return TESS_OK;
}
