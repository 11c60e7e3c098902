#include "systems/xpcs/fit/problem.h"

#include "base/log.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/xpcs/fit/plan.h"
#include "systems/xpcs/fit/start_two.h"
#include "systems/xpcs/model/two.h"
#include "systems/xpcs/settings/constants.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// The angle of the flow: of the laminar one, or of two components past each other; -1: none.
static int64_t phi0_of(const tess_xp_problem *p)
{
    return p->model.mode == TESS_XPCS_LAMINAR_FLOW    ? TESS_XPCS_N_LAMINAR - 1
           : p->model.mode == TESS_XPCS_TWO_COMPONENT ? TESS_XP_PHI0_HET
                                                      : -1;
}

// f2 changes nothing that f0 could not: it stays where it is unless somebody frees it.
static bool is_fixed_by_itself(const tess_xp_problem *p, int64_t k)
{
    return p->model.mode == TESS_XPCS_TWO_COMPONENT && k == TESS_XP_F2;
}

static const char *const names_of_scaling[2] = {"contrast", "offset"};

void tess_xp_problem_warn(tess_xp_problem *problem, tess_warning warning, const char *format, ...)
{
    char sentence[512];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    int64_t n_warning = 0;
    const char *id = tess_warnings(&n_warning)[warning].id;
    tess_text_printf(&problem->warnings, "%s%s [%s]", problem->warnings.used ? "\n" : "", sentence,
                     id);
}

static tess_status check_bounds(const char *name, double lower, double upper)
{
    if (!isfinite(lower) || !isfinite(upper) || lower > upper) {
        TESS_FAIL(TESS_E_CONFIG,
                  "bounds of %s: %g to %g; expected two finite numbers, the lower one first", name,
                  lower, upper);
    }
    return TESS_OK;
}

// Bounds, scale and start of one parameter.
static tess_status take_param(tess_xp_problem *p, int64_t k, const tess_xpcs_param_info *info)
{
    const tess_xpcs_fit_config *config = &p->config;
    const double given = config->start ? config->start[k] : (double)NAN;
    p->lower[k] = config->lower ? config->lower[k] : info->lower;
    p->upper[k] = config->upper ? config->upper[k] : info->upper;
    p->x_scale[k] = config->x_scale ? config->x_scale[k] : (double)NAN;
    TESS_TRY(check_bounds(info->name, p->lower[k], p->upper[k]));
    if (isinf(given)) {
        TESS_FAIL(TESS_E_CONFIG, "start of %s: %g; expected a finite number", info->name, given);
    }
    if (!isnan(p->x_scale[k]) && !(p->x_scale[k] > 0 && isfinite(p->x_scale[k]))) {
        TESS_FAIL(TESS_E_CONFIG, "x_scale of %s: %g; expected a finite number > 0", info->name,
                  p->x_scale[k]);
    }
    const int said = config->is_fixed ? config->is_fixed[k] : 0;
    p->is_fixed[k] =
        said == 1 || (said == 0 && is_fixed_by_itself(p, k)) || p->lower[k] == p->upper[k];
    p->start[k] = given;
    if (p->is_fixed[k] && isnan(given)) {
        p->start[k] = info->start;
    }
    if (p->lower[k] == p->upper[k]) {
        p->start[k] = p->lower[k];
    }
    if (!p->is_fixed[k]) {
        p->free_index[p->n_free++] = k;
        const double inside = fmin(fmax(p->start[k], p->lower[k]), p->upper[k]);
        if (!isnan(given) && inside != given) {
            tess_xp_problem_warn(p, TESS_W_XPCS_START,
                                 "The start of %s, %g, lies outside its bounds %g to %g and was "
                                 "moved to %g; change the start or widen the bounds.",
                                 info->name, given, p->lower[k], p->upper[k], inside);
            p->start[k] = inside;
        }
    }
    p->has_start &= !isnan(p->start[k]);
    return TESS_OK;
}

static tess_status take_params(tess_xp_problem *p)
{
    const tess_xpcs_param_info *info = tess_xpcs_params((tess_xpcs_mode)p->model.mode, &p->n_param);
    p->has_start = 1;
    for (int64_t k = 0; k < p->n_param; k++) {
        TESS_TRY(take_param(p, k, &info[k]));
    }
    for (int which = 0; which < 2; which++) {
        TESS_TRY(check_bounds(names_of_scaling[which], p->config.scaling_lower[which],
                              p->config.scaling_upper[which]));
    }
    return TESS_OK;
}

// Where all angles lie along or across the flow the model is even in phi0 - start: no gradient
// would ever move it from there.
static void leave_saddle(tess_xp_problem *p, int64_t k)
{
    static const double aside = 1; // degree
    const bool is_given = !isnan(p->start[k]);
    const double phi0 = is_given ? p->start[k] : fmin(fmax(0, p->lower[k]), p->upper[k]);
    const double sign = p->model.mode == TESS_XPCS_LAMINAR_FLOW ? -1 : 1; // phi0 - phi, phi0 + phi
    for (int64_t a = 0; a < p->n_angle; a++) {
        const double from_axis = remainder(p->data->info.phi[a] + sign * phi0, 90);
        if (fabs(from_axis) > 1e-6) {
            return;
        }
    }
    const double room = p->upper[k] - phi0;
    p->start[k] = room > aside ? phi0 + aside : phi0 - fmin(aside, phi0 - p->lower[k]);
    if (is_given) {
        tess_xp_problem_warn(p, TESS_W_XPCS_START,
                             "The start of phi0 was moved from %g to %g: all angles lie along or "
                             "across the flow there, and the data cannot tell its sign; the other "
                             "sign fits alike.",
                             phi0, p->start[k]);
    }
}

static tess_status take_memory(tess_xp_problem *p)
{
    p->block_bytes = (size_t)(2 * p->n_angle) * sizeof(double);
    p->block =
        tess_heap_alloc_zero(&p->ctx->heap, p->block_bytes, TESS_TAG_PLAN, "contrasts and offsets");
    p->contrast = p->block;
    p->offset = p->block + p->n_angle;
    return p->block ? TESS_OK : TESS_E_MEMORY;
}

// What the passes will hold in memory serves the estimates, too.
static tess_status hold_data(tess_xp_problem *p)
{
    tess_xp_plan plan;
    TESS_TRY(tess_xp_plan_make(p->ctx, p->data, p->n_param, &p->config, &plan));
    return plan.is_streamed ? TESS_OK : tess_xp_data_hold(p->ctx, p->data, p->config.max_retries);
}

// Contrast and offset as given, the rest by quantiles.
static tess_status take_scaling(tess_xp_problem *p)
{
    const tess_xpcs_fit_config *config = &p->config;
    const int64_t n = p->n_angle;
    if ((config->contrast || config->offset) && config->n_scaling != 0 && config->n_scaling != n) {
        TESS_FAIL(TESS_E_CONFIG,
                  "contrast and offset: %lld values for %lld angles; give one for every angle of "
                  "the selection",
                  (long long)config->n_scaling, (long long)n);
    }
    if (!config->contrast || !config->offset) {
        TESS_TRY(hold_data(p));
        TESS_TRY(tess_xp_data_scaling(p->ctx, p->data, tess_xp_deal_survey(p->ctx, p->data),
                                      p->contrast, p->offset));
    }
    const double *const given[2] = {config->contrast, config->offset};
    double *const values[2] = {p->contrast, p->offset};
    for (int which = 0; which < 2; which++) {
        for (int64_t a = 0; a < n; a++) {
            const double x = given[which] ? given[which][a] : values[which][a];
            if (!isfinite(x)) {
                TESS_FAIL(TESS_E_CONFIG, "%s of angle %lld: %g; expected a finite number",
                          names_of_scaling[which], (long long)a, x);
            }
            values[which][a] = given[which] ? x
                                            : fmin(fmax(x, config->scaling_lower[which]),
                                                   config->scaling_upper[which]);
        }
    }
    return TESS_OK;
}

static tess_status open_scaling(tess_xp_problem *p)
{
    const tess_xpcs_data_info *info = &p->data->info;
    const int32_t mode = tess_xp_scaling_resolve(&p->model, &p->config, p->n_angle);
    const tess_xp_scaling_setup setup = {.mode = mode,
                                         .fourier_order = p->config.fourier_order,
                                         .n_angle = p->n_angle,
                                         .n_param = p->n_param,
                                         .phi = info->phi,
                                         .mean = info->mean,
                                         .inverse_variance = p->weights.inverse_variance,
                                         .contrast = p->contrast,
                                         .offset = p->offset,
                                         .lower = p->config.scaling_lower,
                                         .upper = p->config.scaling_upper};
    TESS_TRY(tess_xp_scaling_create(p->ctx, &setup, &p->scaling));
    const int64_t n_free = tess_xp_problem_n_free(p);
    if (info->n_used <= n_free) {
        TESS_FAIL(TESS_E_SHAPE,
                  "c2: %lld usable points for %lld free parameters; take more frames or angles, or "
                  "fix parameters",
                  (long long)info->n_used, (long long)n_free);
    }
    return TESS_OK;
}

static tess_status weigh(tess_xp_problem *p)
{
    const int64_t k = phi0_of(p);
    const double phi0 = k >= 0 && !isnan(p->start[k]) ? p->start[k] : 0;
    tess_xpcs_fit_config defaults;
    tess_xpcs_fit_config_init(&defaults, sizeof defaults);
    p->sigma_is_default = p->config.sigma_mode == TESS_XPCS_SIGMA_CONSTANT &&
                          p->config.sigma == defaults.sigma && !p->config.has_sigma;
    return tess_xp_weights_create(p->ctx, p->data, &p->config, phi0,
                                  tess_xp_deal_survey(p->ctx, p->data), &p->weights);
}

static tess_status mask(tess_xp_problem *p)
{
    const tess_xpcs_data_info *info = &p->data->info;
    TESS_TRY(tess_xp_data_mask(p->ctx, p->data, &p->config));
    if (p->data->n_lost > 0 && p->config.bad_chunk == 0) {
        TESS_FAIL(TESS_E_IO,
                  "%s: %lld points were masked before, as they cannot be read; set bad_chunk to "
                  "mask, or restore the file and open it again",
                  info->path, (long long)p->data->n_lost);
    }
    if (p->data->n_lost > 0) {
        const int64_t all = info->n_used + p->data->n_lost;
        tess_xp_problem_warn(p, TESS_W_XPCS_LEFT_OUT,
                             "%lld of %lld points (%.3g %%) were left out: %s is damaged there, or "
                             "cannot be read.",
                             (long long)p->data->n_lost, (long long)all,
                             100 * (double)p->data->n_lost / (double)all, info->path);
    }
    return TESS_OK;
}

static const char *const names_of_losses[] = {"linear", "soft_l1", "huber", "cauchy", "arctan"};

static tess_status check_noise(const tess_xp_problem *p)
{
    // Its fields have phases, and noise of c2 knows those, not their moduli alone.
    if (p->model.mode == TESS_XPCS_TWO_COMPONENT) {
        TESS_FAIL(TESS_E_CONFIG, "noise: frames is not there for mode two_component; use "
                                 "uncertainty block_bootstrap");
    }
    if (p->config.loss != TESS_XPCS_LOSS_LINEAR) {
        TESS_FAIL(TESS_E_CONFIG, "noise: frames goes with loss linear alone, not with %s",
                  names_of_losses[p->config.loss]);
    }
    if (p->config.sigma_mode == TESS_XPCS_SIGMA_DATASET) {
        TESS_FAIL(TESS_E_CONFIG, "noise: frames does not go with sigma_mode dataset; use constant, "
                                 "estimate or per_lag");
    }
    if (p->data->info.n_frame > TESS_XP_FRAMES_MOST) {
        TESS_FAIL(TESS_E_CONFIG,
                  "noise: frames is made for at most %d frames, the data have %lld; choose fewer "
                  "(start_frame, end_frame) or use uncertainty block_bootstrap",
                  (int)TESS_XP_FRAMES_MOST, (long long)p->data->info.n_frame);
    }
    return TESS_OK;
}

static tess_status take_settings(tess_xp_problem *p, const tess_xpcs_model *model,
                                 const tess_xpcs_fit_config *config)
{
    tess_xpcs_fit_config_init(&p->config, sizeof p->config);
    if (config) {
        TESS_TRY(tess_struct_read(config, &p->config, sizeof p->config, "config"));
    }
    TESS_TRY(tess_params_check(tess_xpcs_fit_params(), &p->config));
    TESS_TRY(tess_xp_constants_for_data(model, &p->data->info, &p->model));
    if (p->config.uncertainty == 2 && p->config.loss != TESS_XPCS_LOSS_LINEAR) {
        TESS_FAIL(
            TESS_E_CONFIG,
            "uncertainty: profile goes with loss linear alone, not with %s; use covariance or "
            "block_bootstrap",
            names_of_losses[p->config.loss]);
    }
    if (p->config.noise == 1) {
        TESS_TRY(check_noise(p));
    }
    if (p->model.mode != TESS_XPCS_LAMINAR_FLOW) {
        p->config.shear_weights = 0;
    }
    if (p->model.mode == TESS_XPCS_TWO_COMPONENT && p->config.precision == 1) {
        TESS_FAIL(TESS_E_CONFIG, "precision: mixed is not there for mode two_component; use f64");
    }
    return mask(p);
}

static tess_status prepare(tess_xp_problem *p)
{
    TESS_TRY(take_params(p));
    const int64_t phi0 = phi0_of(p);
    if (phi0 >= 0 && !p->is_fixed[phi0]) {
        leave_saddle(p, phi0);
    }
    TESS_TRY(take_memory(p));
    TESS_TRY(take_scaling(p));
    TESS_TRY(weigh(p));
    TESS_TRY(open_scaling(p));
    return p->model.mode == TESS_XPCS_TWO_COMPONENT ? tess_xp_two_look(p) : TESS_OK;
}

tess_status tess_xp_problem_begin(tess_context *ctx, tess_xpcs_data *data,
                                  const tess_xpcs_model *model, const tess_xpcs_fit_config *config,
                                  tess_xp_problem *problem)
{
    *problem = (tess_xp_problem){.ctx = ctx, .data = data, .n_angle = data->info.n_angle};
    tess_text_init(&problem->warnings, &ctx->heap);
    const tess_status status = take_settings(problem, model, config);
    if (status != TESS_OK) {
        tess_xp_problem_close(problem);
    }
    return status;
}

tess_status tess_xp_problem_open(tess_context *ctx, tess_xpcs_data *data,
                                 const tess_xpcs_model *model, const tess_xpcs_fit_config *config,
                                 tess_xp_problem *problem)
{
    TESS_TRY(tess_xp_problem_begin(ctx, data, model, config, problem));
    const tess_status status = prepare(problem);
    if (status != TESS_OK) {
        tess_xp_problem_close(problem);
    }
    return status;
}

void tess_xp_problem_close(tess_xp_problem *problem)
{
    if (!problem->ctx) {
        return;
    }
    tess_xpcs_data_destroy(problem->sketch);
    tess_xp_scaling_destroy(&problem->scaling);
    tess_xp_weights_destroy(&problem->weights);
    tess_heap_free(&problem->ctx->heap, problem->block, problem->block_bytes, TESS_TAG_PLAN);
    tess_text_destroy(&problem->warnings);
    *problem = (tess_xp_problem){0};
}

int64_t tess_xp_problem_n_free(const tess_xp_problem *problem)
{
    return problem->n_free + tess_xp_scaling_n_unknown(&problem->scaling);
}
