// The sums of one point as they are, for optimisers of one's own.
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/stage.h"
#include "systems/xpcs/fit/plan.h"
#include "systems/xpcs/fit/scaling.h"
#include "systems/xpcs/model/lend.h"
#include "systems/xpcs/pass/pass.h"
#include "systems/xpcs/pass/weights.h"
#include "systems/xpcs/settings/constants.h"

#include <string.h>

// Everything that is closed at the end.
typedef struct accumulation {
    tess_context *ctx;
    tess_device *device;
    tess_xpcs_data *data;
    tess_xpcs_model model;
    tess_xpcs_fit_config config;
    tess_xp_weights weights;
    tess_xp_scaling scaling;
    tess_xp_pass pass;
    tess_xp_reduced reduced;
    double *block; // reduced, sums, contrast and offset of constant modes
    size_t block_bytes;
    double *sums;
    double *fixed; // [2][n_angle]
} accumulation;

static tess_status read_config(const tess_xpcs_fit_config *given, tess_xpcs_fit_config *config)
{
    tess_xpcs_fit_config_init(config, sizeof *config);
    if (given) {
        TESS_TRY(tess_struct_read(given, config, sizeof *config, "config"));
    }
    TESS_TRY(tess_params_check(tess_xpcs_fit_params(), config));
    if (config->loss != TESS_XPCS_LOSS_LINEAR) {
        TESS_FAIL(
            TESS_E_ARGUMENT,
            "loss: only a linear one has sums from which the best contrast and offset follow; "
            "leave it at linear");
    }
    return TESS_OK;
}

static tess_status take_block(accumulation *at, int64_t n_param)
{
    const int64_t n_angle = at->data->info.n_angle;
    const size_t reduced_bytes = tess_xp_reduced_bytes(n_angle, n_param);
    at->block_bytes = reduced_bytes + (size_t)(at->pass.n_sum + 2 * n_angle) * sizeof *at->sums;
    at->block =
        tess_heap_alloc_zero(&at->ctx->heap, at->block_bytes, TESS_TAG_GENERAL, "sums of a pass");
    if (!at->block) {
        return TESS_E_MEMORY;
    }
    tess_xp_reduced_bind(&at->reduced, at->block, n_angle, n_param);
    at->sums = at->block + reduced_bytes / sizeof *at->block;
    at->fixed = at->sums + at->pass.n_sum;
    return TESS_OK;
}

// Contrast and offset that constant modes keep.
static tess_status fix_scaling(accumulation *at)
{
    const int64_t n = at->data->info.n_angle;
    if (at->config.n_scaling != 0 && at->config.n_scaling != n) {
        TESS_FAIL(TESS_E_SHAPE, "contrast and offset: %lld values; the data have %lld angles",
                  (long long)at->config.n_scaling, (long long)n);
    }
    if (!at->config.contrast || !at->config.offset) {
        TESS_TRY(tess_xpcs_data_quantile_scaling(at->ctx, at->data, at->fixed, at->fixed + n));
    }
    if (at->config.contrast) {
        memcpy(at->fixed, at->config.contrast, (size_t)n * sizeof *at->fixed);
    }
    if (at->config.offset) {
        memcpy(at->fixed + n, at->config.offset, (size_t)n * sizeof *at->fixed);
    }
    return TESS_OK;
}

static tess_status open_pass(accumulation *at, const double *theta)
{
    const int64_t n_param = tess_xp_n_param((tess_xpcs_mode)at->model.mode);
    const double phi0 = n_param == TESS_XPCS_N_LAMINAR ? theta[6] : 0;
    const tess_comm_deal whole = tess_comm_deal_of(at->ctx, false);
    TESS_TRY(tess_xp_weights_create(at->ctx, at->data, &at->config, phi0, whole, &at->weights));
    tess_xp_plan plan;
    TESS_TRY(tess_xp_plan_make(at->ctx, at->data, n_param, &at->config, &plan));
    const tess_xp_pass_setup setup = {.device = at->device,
                                      .data = at->data,
                                      .model = &at->model,
                                      .loss = at->config.loss,
                                      .f_scale = at->config.f_scale,
                                      .inverse_variance = at->weights.inverse_variance,
                                      .lag_weight = at->weights.lag_weight,
                                      .leaves_per_chunk = plan.leaves_per_chunk,
                                      .is_streamed = plan.is_streamed,
                                      .max_retries = at->config.max_retries,
                                      .strategy = plan.strategy,
                                      .ignore_sigma = at->weights.ignore_sigma,
                                      .is_alone = true};
    return tess_xp_pass_open(at->ctx, &setup, &at->pass);
}

static tess_status open_scaling(accumulation *at)
{
    const tess_xpcs_data_info *info = &at->data->info;
    const int64_t n_param = at->pass.n_param;
    tess_xp_scaling_setup setup = {
        .mode = tess_xp_scaling_resolve(&at->model, &at->config, info->n_angle),
        .fourier_order = at->config.fourier_order,
        .n_angle = info->n_angle,
        .n_param = n_param,
        .phi = info->phi,
        .mean = info->mean,
        .inverse_variance = at->weights.inverse_variance,
        .lower = at->config.scaling_lower,
        .upper = at->config.scaling_upper};
    TESS_TRY(take_block(at, n_param));
    if (setup.mode == TESS_XPCS_SCALING_CONSTANT ||
        setup.mode == TESS_XPCS_SCALING_CONSTANT_AVERAGED) {
        TESS_TRY(fix_scaling(at));
        setup.contrast = at->fixed;
        setup.offset = at->fixed + info->n_angle;
    }
    return tess_xp_scaling_create(at->ctx, &setup, &at->scaling);
}

// The first pass gives the best scaling, the second the Hessian that it weighs.
static tess_status run(accumulation *at, const double *theta, bool want_hessian)
{
    const int32_t all = TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN;
    tess_xp_point point = {.theta = theta,
                           .contrast = at->reduced.contrast,
                           .want = want_hessian ? 0 : TESS_XP_WANT_GRADIENT};
    TESS_TRY(tess_xp_pass_run(&at->pass, &point, at->sums));
    tess_xp_scaling_reduce(&at->scaling, at->sums, NULL, point.want, &at->reduced);
    if (!want_hessian) {
        return TESS_OK;
    }
    // reduce() writes the contrasts that weighed the sums anew: the same ones.
    point.want = all;
    TESS_TRY(tess_xp_pass_run(&at->pass, &point, at->sums));
    memcpy(at->fixed, at->reduced.contrast, (size_t)at->scaling.n_angle * sizeof *at->fixed);
    tess_xp_scaling_reduce(&at->scaling, at->sums, at->fixed, all, &at->reduced);
    return TESS_OK;
}

static void put(double *out, int64_t angle, double value)
{
    if (out) {
        out[angle] = value;
    }
}

// Sums of an angle times its weight, y as it was before its mean was subtracted.
static void put_angle(const accumulation *at, int64_t a, tess_xpcs_sums *out)
{
    const int64_t p = at->pass.n_param;
    const double *s = tess_xp_angle_sums(&at->pass, at->sums, a);
    const double w = at->weights.inverse_variance[a];
    const double mean = at->data->info.mean[a];
    put(out->s1, a, w * s[0]);
    put(out->sf, a, w * s[1]);
    put(out->sff, a, w * s[2]);
    put(out->sy, a, w * (s[3] + mean * s[0]));
    put(out->syy, a, w * (s[4] + mean * (2 * s[3] + mean * s[0])));
    put(out->sfy, a, w * (s[5] + mean * s[1]));
    for (int64_t k = 0; k < p; k++) {
        put(out->p, a * p + k, w * s[6 + k]);
        put(out->q, a * p + k, w * s[6 + p + k]);
        put(out->r, a * p + k, w * (s[6 + 2 * p + k] + mean * s[6 + k]));
    }
    put(out->contrast, a, at->reduced.contrast[a]);
    put(out->offset, a, at->reduced.offset[a]);
}

static void put_all(const accumulation *at, tess_xpcs_sums *out)
{
    const int64_t p = at->pass.n_param;
    for (int64_t a = 0; a < at->data->info.n_angle; a++) {
        put_angle(at, a, out);
    }
    put(out->cost, 0, *at->reduced.cost);
    for (int64_t k = 0; k < p; k++) {
        put(out->gradient, k, at->reduced.gradient[k]);
    }
    for (int64_t k = 0; k < p * p; k++) {
        put(out->hessian, k, at->reduced.hessian[k]);
    }
}

tess_status tess_xpcs_accumulate(tess_context *ctx, tess_xpcs_data *data,
                                 const tess_xpcs_model *model, const tess_xpcs_fit_config *config,
                                 const double *theta, tess_xpcs_sums *sums)
{
    tess_error_clear();
    if (!ctx || !data || !sums) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL", !ctx ? "context" : !data ? "data" : "sums");
    }
    tess_xpcs_sums want = {.struct_size = sizeof want};
    TESS_TRY(tess_struct_read(sums, &want, sizeof want, "sums"));
    static const int32_t stages[] = {TESS_STAGE_XPCS_PASS, TESS_STAGE_XPCS_REDUCE};
    accumulation at = {.ctx = ctx, .data = data};
    TESS_TRY(tess_stage_choose(ctx, stages, 2, "pass", &at.device));
    TESS_TRY(read_config(config, &at.config));
    TESS_TRY(tess_xp_constants_for_data(model, &data->info, &at.model));
    TESS_TRY(tess_xp_device_for(ctx, at.model.mode, "pass", &at.device));
    TESS_TRY(tess_xp_theta_check(&at.model, theta));
    TESS_TRY(tess_xp_data_mask(ctx, data, &at.config));
    tess_status status = open_pass(&at, theta);
    if (status == TESS_OK) {
        status = open_scaling(&at);
    }
    if (status == TESS_OK) {
        status = run(&at, theta, want.hessian != NULL);
    }
    if (status == TESS_OK) {
        put_all(&at, &want);
    }
    tess_xp_scaling_destroy(&at.scaling);
    tess_xp_pass_close(&at.pass);
    tess_xp_weights_destroy(&at.weights);
    if (at.block) {
        tess_heap_free(&ctx->heap, at.block, at.block_bytes, TESS_TAG_GENERAL);
    }
    return status;
}
