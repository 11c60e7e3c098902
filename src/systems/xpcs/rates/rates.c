// Rates of any shape, from data to result.
#include "systems/xpcs/rates/rates.h"

#include "base/clock.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/identity.h"
#include "runtime/stage.h"
#include "systems/xpcs/model/grids.h"
#include "systems/xpcs/settings/constants.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COVARIANCE = 0, FIRST_LOG_LAMBDA = 4, PASSES = 60, FAR = 20, KNOTS = 20 };

static const double misfit = 1.25;    // residuals, in units of the noise, that ask for a remark
static const double long_lags = 0.2;  // share of the points by whose steps the noise is known
static const double mad_error = 1.17; // of a median deviation of n, times sqrt n

typedef struct rates_run {
    tess_context *ctx;
    tess_xpcs_data *data;
    tess_xpcs_model model;
    tess_xpcs_fit_config config;
    tess_xpcs_rates_config rates;
    tess_xp_sampler sampler; // the density of the power law
    tess_xp_density density; // the same without parameters
    tess_xpcs_rates *result;
    int64_t n_pass;
    bool is_unsound; // the error of the power law's evidence
} rates_run;

void tess_xpcs_rates_config_init(tess_xpcs_rates_config *config, size_t struct_size)
{
    const tess_xpcs_rates_config defaults = {.n_knot = 0};
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

// As many as frames carry, and no more than limit.
static int64_t most_knots(int64_t n_frame, int64_t limit)
{
    return n_frame < limit ? n_frame : limit;
}

static tess_status check_rates(const tess_xpcs_rates_config *c, int64_t n_frame)
{
    const int64_t most = most_knots(n_frame, TESS_XP_RATES_MOST_KNOTS);
    if (c->shape != TESS_XPCS_RATES_SMOOTH && c->shape != TESS_XPCS_RATES_MONOTONE) {
        TESS_FAIL(TESS_E_ARGUMENT, "shape: %d; expected 0 smooth or 1 monotone", (int)c->shape);
    }
    if (c->spacing < TESS_XPCS_RATES_AUTO || c->spacing > TESS_XPCS_RATES_LINEAR) {
        TESS_FAIL(TESS_E_ARGUMENT, "spacing: %d; expected 0 auto, 1 log or 2 linear",
                  (int)c->spacing);
    }
    if (n_frame < TESS_XP_RATES_LEAST_KNOTS) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "the data have %lld frames; rates of any shape need %d: take more",
                  (long long)n_frame, TESS_XP_RATES_LEAST_KNOTS);
    }
    if (c->n_knot < TESS_XP_RATES_LEAST_KNOTS || c->n_knot > most) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "knots: %lld; expected 4 to %lld, and no more than the %lld frames of the data",
                  (long long)c->n_knot, (long long)most, (long long)n_frame);
    }
    if (!(c->smoothness >= 0) || c->smoothness > 1e8) {
        TESS_FAIL(
            TESS_E_ARGUMENT,
            "smoothness: %g; expected a number above 0, at most 1e8, or 0 (auto) to choose it "
            "by marginal likelihood",
            c->smoothness);
    }
    return TESS_OK;
}

static tess_status check_fixed(const rates_run *run)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)run->model.mode, &n);
    for (int64_t k = 0; k < n; k++) {
        const bool is_fixed = (run->config.is_fixed && run->config.is_fixed[k]) ||
                              (run->config.lower && run->config.upper &&
                               run->config.lower[k] == run->config.upper[k]);
        if (is_fixed && k != TESS_XPCS_N_LAMINAR - 1) {
            TESS_FAIL(TESS_E_CONFIG,
                      "%s is fixed: rates of any shape have no such parameter, and a power law "
                      "that is not free cannot be compared with them; free it",
                      params[k].name);
        }
    }
    return TESS_OK;
}

// What a fit can do and rates of any shape cannot.
static tess_status check_config(const tess_xpcs_fit_config *c)
{
    if (c->loss != TESS_XPCS_LOSS_LINEAR) {
        TESS_FAIL(TESS_E_CONFIG, "loss: rates of any shape have the linear one alone; leave it at "
                                 "linear");
    }
    if (c->counting != 0) {
        TESS_FAIL(TESS_E_CONFIG, "counting: rates of any shape count every pair once; leave it at "
                                 "half");
    }
    if (c->uncertainty == 1 || c->uncertainty == 2) {
        TESS_FAIL(TESS_E_CONFIG, "uncertainty: bands of rates of any shape are those of their "
                                 "posterior; leave it at auto or covariance");
    }
    if (c->noise != 0) {
        TESS_FAIL(TESS_E_CONFIG, "noise: rates of any shape take points as independent; leave it "
                                 "at independent");
    }
    if (c->checkpoint_dir) {
        TESS_FAIL(TESS_E_CONFIG, "checkpoint_dir: rates of any shape keep no checkpoints; leave it "
                                 "out");
    }
    return TESS_OK;
}

static tess_status take_settings(rates_run *run, const tess_xpcs_model *model,
                                 const tess_xpcs_fit_config *config,
                                 const tess_xpcs_rates_config *rates)
{
    tess_xpcs_fit_config_init(&run->config, sizeof run->config);
    tess_xpcs_rates_config_init(&run->rates, sizeof run->rates);
    if (config) {
        TESS_TRY(tess_struct_read(config, &run->config, sizeof run->config, "config"));
    }
    if (rates) {
        TESS_TRY(tess_struct_read(rates, &run->rates, sizeof run->rates, "rates"));
    }
    if (run->rates.n_knot == 0) {
        run->rates.n_knot = most_knots(run->data->info.n_frame, KNOTS);
    }
    TESS_TRY(check_rates(&run->rates, run->data->info.n_frame));
    TESS_TRY(tess_params_check(tess_xpcs_fit_params(), &run->config));
    TESS_TRY(tess_xp_constants_for_data(model, &run->data->info, &run->model));
    if (run->model.mode == TESS_XPCS_TWO_COMPONENT) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "mode two_component: its rates are power laws; free ones are there for static "
                  "modes and laminar_flow");
    }
    TESS_TRY(check_config(&run->config));
    run->config.uncertainty = COVARIANCE;
    return check_fixed(run);
}

static void note(rates_run *run, const char *sentence)
{
    tess_text *notes = &run->result->notes;
    tess_text_printf(notes, "%s%s", notes->used ? "\n" : "", sentence);
    run->result->info.is_doubtful = 1;
}

// ---- The power law ------------------------------------------------------------------------------

// Where the posterior has no normal at its top: no evidence is above the likelihood of the fit.
static void bound_power(rates_run *run)
{
    const tess_xp_sampler *s = &run->sampler;
    tess_xp_density_value v;
    tess_xp_density_at(&s->density, s->sums, s->fit->theta, s->tally.noise, &v);
    run->result->info.log_evidence_power = v.log_likelihood;
    note(run, "The posterior of the power law has no normal at its top: instead of its evidence "
              "the likelihood of its fit is taken, which is larger.");
}

static tess_status fit_power(rates_run *run)
{
    tess_xpcs_rates_info *info = &run->result->info;
    tess_xp_rates_power_law law = {
        .ctx = run->ctx, .data = run->data, .model = &run->model, .config = &run->config};
    const tess_status status = tess_xp_rates_fit_power(&law);
    run->result->power = law.fit;
    TESS_TRY(status);
    const tess_xpcs_result_info *fit = tess_xpcs_result_get_info(law.fit);
    if (fit->convergence != TESS_XPCS_CONVERGED) {
        note(run, "The fit of the power law did not converge: its evidence may be too small.");
    }
    info->log_evidence_power = law.both.log_evidence;
    info->log_evidence_power_error = law.both.error;
    info->log_evidence_offset = law.whole.log_evidence;
    info->log_evidence_plain = law.without.log_evidence;
    run->is_unsound = !law.both.is_sound;
    run->sampler = (tess_xp_sampler){.ctx = run->ctx, .data = run->data, .fit = fit};
    TESS_TRY(tess_xp_sampler_begin(&run->sampler, &run->model, &run->config, &law.sampling));
    TESS_TRY(tess_xp_sampler_open(&run->sampler));
    TESS_TRY(tess_xp_sampler_find_noise(&run->sampler));
    run->density = run->sampler.density;
    run->density.n_param = 0;
    info->noise_power = run->sampler.tally.noise;
    if (isnan(info->log_evidence_power)) {
        bound_power(run);
    }
    return TESS_OK;
}

// ---- Free form ----------------------------------------------------------------------------------

// A priori the logarithm of D at 1 s is where the bounds of D0 are, and its slope by ln t what
// alpha is: together they say what is believed in the middle of the axis, and of the change over
// it. Shear likewise is as large as gamma_dot_t0, of either sign.
static void set_prior(const rates_run *run, int64_t kind, double middle, double range, double scale,
                      double mean[2], double sd[2])
{
    const tess_xp_prior *theta = run->sampler.density.theta + 3 * kind;
    mean[0] = mean[1] = 0;
    if (kind == 1) {
        sd[0] = sd[1] = theta[0].sd / scale;
        return;
    }
    const double upper = theta[0].upper > 0 ? theta[0].upper : 1;
    const double lower = theta[0].lower > 0 ? theta[0].lower : 1e-3 * upper;
    mean[0] = 0.5 * log(lower * upper);
    sd[0] = hypot(0.5 * log(upper / lower) + 1, theta[1].sd * log(middle));
    sd[1] = theta[1].sd * range;
}

// The first coefficient of a monotone spline lies half of the change from the middle; a step's size
// is that of the change in even parts, within a factor of e or so.
static void make_monotone(int64_t n, double mean[2], double sd[2])
{
    sd[0] = hypot(sd[0], 0.5 * sd[1]);
    mean[1] = log(0.5 * sd[1] / (double)(n - 1));
    sd[1] = 2;
}

static double root_mean_square(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        sum += x[k] * x[k] / (double)n;
    }
    return sqrt(sum);
}

// What a spline begins with: the power law, logarithms not below a thousandth of its mean.
static void fill_start(const tess_xp_spline *s, const double *rate, double *y)
{
    const double least = 1e-3 * root_mean_square(rate, s->n_frame);
    for (int64_t f = 0; f < s->n_frame; f++) {
        y[f] = s->is_log ? log(fmax(rate[f], least)) : rate[f] / s->scale;
    }
}

static tess_status make_spline(rates_run *run, tess_xp_rates_fit *fit, int64_t kind,
                               const tess_xp_grids *grids, int32_t spacing)
{
    const tess_xpcs_result_info *power = tess_xpcs_result_get_info(run->result->power);
    const int64_t n = grids->n_frame;
    const bool is_log = spacing == TESS_XPCS_RATES_LOG;
    double *x = tess_blocks_alloc(&fit->memory, 3 * n, sizeof *x, "rates");
    if (!x) {
        return TESS_E_MEMORY;
    }
    double *rate = x + n;
    for (int64_t f = 0; f < n; f++) {
        x[f] = is_log ? log(grids->t[f]) : grids->t[f];
        rate[f] = tess_xp_rate_at(grids->log_t[f], power->theta + 3 * kind).value;
    }
    const double first = grids->t[0];
    const double last = grids->t[n - 1];
    const double middle = is_log ? sqrt(first * last) : 0.5 * (first + last);
    const double least = 1e-4 * run->sampler.density.theta[3 * kind].sd;
    const double scale = kind == 0 ? 1 : fmax(root_mean_square(rate, n), least);
    double mean[2];
    double sd[2];
    set_prior(run, kind, middle, log(last / first), scale, mean, sd);
    if (run->rates.shape == TESS_XPCS_RATES_MONOTONE) {
        make_monotone(fit->n_basis, mean, sd);
    }
    tess_xp_spline *s = &fit->splines[kind];
    TESS_TRY(tess_xp_spline_create(&fit->memory, x, n, run->rates.n_knot, run->rates.shape, mean,
                                   sd, s));
    s->is_log = kind == 0;
    s->scale = scale;
    s->sign = rate[n - 1] < rate[0] ? -1 : 1;
    fill_start(s, rate, rate + n);
    return tess_xp_spline_start(&fit->memory, s, rate + n, fit->at.x + kind * fit->n_basis);
}

static tess_status open_fit(rates_run *run, tess_xp_rates_fit *fit, int32_t spacing)
{
    const tess_xpcs_result_info *power = tess_xpcs_result_get_info(run->result->power);
    const int64_t phi0 = TESS_XPCS_N_LAMINAR - 1;
    const double given = run->rates.smoothness;
    const double start = given > 0 ? log(given) : FIRST_LOG_LAMBDA;
    tess_xp_grids grids;
    fit->n_kind = run->model.mode == TESS_XPCS_LAMINAR_FLOW ? 2 : 1;
    fit->n_basis = run->rates.n_knot + 2;
    fit->has_phi0 = fit->n_kind > 1 && power->status[phi0] != TESS_XPCS_FIXED;
    fit->n = fit->n_kind * fit->n_basis + fit->has_phi0;
    fit->log_lambda[0] = fit->log_lambda[1] = start;
    fit->lambda_given = given;
    TESS_TRY(tess_xp_rates_open(fit));
    if (fit->n_kind > 1) {
        fit->phi0 = run->sampler.density.theta[phi0];
        fit->held_phi0 = power->theta[phi0];
    }
    if (fit->has_phi0) {
        fit->at.x[fit->n - 1] = power->theta[phi0];
    }
    TESS_TRY(tess_xp_grids_create(run->ctx, &run->model, run->data->info.n_frame, &grids));
    tess_status status = TESS_OK;
    for (int64_t kind = 0; kind < fit->n_kind && status == TESS_OK; kind++) {
        status = make_spline(run, fit, kind, &grids, spacing);
    }
    tess_xp_grids_destroy(run->ctx, &grids);
    fit->at.s = run->sampler.tally.noise;
    return status;
}

// Fits with knots even in ln t or t. What has the larger evidence so far is told.
static tess_status fit_spacing(rates_run *run, int32_t spacing, double *evidence, double best)
{
    const bool is_both = run->rates.spacing == TESS_XPCS_RATES_AUTO;
    tess_xp_rates_fit fit = {.ctx = run->ctx,
                             .data = run->data,
                             .model = run->model,
                             .density = &run->density,
                             .n_pass = run->n_pass,
                             .n_expected = is_both ? 2 * PASSES : PASSES};
    tess_blocks_init(&fit.memory, &run->ctx->heap);
    tess_watch_begin(&fit.watch, run->ctx, "xpcs.rates", "passes", run->n_pass,
                     PASSES * run->data->info.bytes, TESS_STRATEGY_STANDARD);
    tess_status status = open_fit(run, &fit, spacing);
    if (status == TESS_OK) {
        status = tess_xp_rates_smooth(&fit);
    }
    if (status == TESS_OK) {
        *evidence = tess_xp_rates_evidence(&fit);
        run->n_pass = fit.n_pass;
        const bool is_last = !is_both || spacing == TESS_XPCS_RATES_LINEAR;
        status = is_last ? tess_watch_poll(&fit.watch, fit.n_expected, fit.n_expected) : TESS_OK;
    }
    if (status == TESS_OK && !(*evidence <= best)) {
        run->result->info.spacing = spacing;
        status = tess_xp_rates_tell(&fit, run->result);
    }
    tess_xp_rates_close(&fit);
    return status;
}

// The noise of neighbouring points is a median of few steps where there are few frames: 29 of 100
// series of 13 frames have one by which the truth itself leaves residuals above misfit.
static void note_misfit(rates_run *run)
{
    const tess_xpcs_rates_info *info = &run->result->info;
    const double n_step = long_lags * (double)run->data->info.n_point / 2;
    const double ratio = 1.5 * info->noise / run->density.noise_scale;
    const bool is_full = info->n_knot == most_knots(info->n_frame, TESS_XP_RATES_MOST_KNOTS);
    const bool is_monotone = info->shape == TESS_XPCS_RATES_MONOTONE;
    char text[256];
    if (!(ratio > fmax(misfit, exp(4 * mad_error / sqrt(n_step))))) {
        return;
    }
    snprintf(text, sizeof text,
             "The free form leaves residuals %.2f times as large as the noise of neighbouring "
             "points: %s%s%slook at the residuals of a fit.",
             ratio, is_full && !is_monotone ? "" : "take ", is_full ? "" : "more knots, or ",
             is_monotone ? "the shape smooth, or " : "");
    note(run, text);
}

static tess_status fit_free(rates_run *run)
{
    tess_xpcs_rates_info *info = &run->result->info;
    const int32_t spacing = run->rates.spacing;
    double best = -(double)INFINITY;
    info->log_evidence_log = info->log_evidence_linear = (double)NAN;
    if (spacing != TESS_XPCS_RATES_LINEAR) {
        TESS_TRY(fit_spacing(run, TESS_XPCS_RATES_LOG, &info->log_evidence_log, best));
        best = info->log_evidence = info->log_evidence_log;
    }
    if (spacing != TESS_XPCS_RATES_LOG) {
        TESS_TRY(fit_spacing(run, TESS_XPCS_RATES_LINEAR, &info->log_evidence_linear, best));
        info->log_evidence = info->log_evidence_linear;
    }
    if (spacing == TESS_XPCS_RATES_AUTO) { // either was as likely before
        const double most = fmax(info->log_evidence_log, info->log_evidence_linear);
        const double least = fmin(info->log_evidence_log, info->log_evidence_linear);
        info->log_evidence = most + log(0.5 * (1 + exp(least - most)));
    }
    if (!info->is_converged) {
        note(run, "The fit of the free form did not converge: take fewer knots or a larger "
                  "smoothness.");
    }
    note_misfit(run);
    return TESS_OK;
}

// ---- Both ---------------------------------------------------------------------------------------

// Kass and Raftery's grades.
static void judge(rates_run *run)
{
    tess_xpcs_rates *r = run->result;
    tess_xpcs_rates_info *info = &r->info;
    info->log_bayes_factor = info->log_evidence - info->log_evidence_power;
    const double size = fabs(info->log_bayes_factor);
    const bool is_free = info->log_bayes_factor > 0;
    const double odds = exp(fmin(size, 700));
    if (!isfinite(size)) {
        snprintf(r->verdict, sizeof r->verdict,
                 "Which of the two the data speak for cannot be said: an evidence is missing.");
    } else if (size < 1) {
        snprintf(r->verdict, sizeof r->verdict,
                 "The data do not decide between free form and power law (ln Bayes factor %+.2f, "
                 "odds %.2g to 1): the power law is enough.",
                 info->log_bayes_factor, odds);
    } else {
        snprintf(r->verdict, sizeof r->verdict,
                 "The data speak for the %s, %s (ln Bayes factor %+.2f, odds %.2g to 1 where both "
                 "were as likely before): %s.",
                 is_free ? "free form" : "power law",
                 size < 3   ? "though not strongly"
                 : size < 5 ? "strongly"
                            : "very strongly",
                 info->log_bayes_factor, odds,
                 !is_free   ? "the rates need no free form"
                 : size < 3 ? "the rates may be no power law"
                            : "the rates are no power law");
    }
    info->verdict = r->verdict;
    if (run->is_unsound && size < FAR) { // else an error of a few changes nothing
        note(run, "Importance sampling of the power law is unsound (Pareto k above 0.7): its "
                  "evidence is that of a normal at the top, which may be off by more than the "
                  "verdict says.");
    }
}

static tess_status make_identity(rates_run *run)
{
    tess_identity id;
    const tess_xpcs_rates_config *c = &run->rates;
    char text[160];
    snprintf(text, sizeof text, "shape=%d;spacing=%d;knots=%lld;smoothness=%.17g", (int)c->shape,
             (int)c->spacing, (long long)c->n_knot, c->smoothness);
    tess_identity_init(&id, run->ctx, "xpcs.rates", "cpu");
    tess_identity_add(&id, "settings '*' differ from '*'", text);
    tess_identity_add(&id, "data or settings of the power law differ",
                      tess_xpcs_result_get_info(run->result->power)->identity);
    tess_identity_digest(&id, run->result->identity);
    tess_identity_free(&id);
    run->result->info.identity = run->result->identity;
    return TESS_OK;
}

static tess_status work(rates_run *run)
{
    static const int32_t stages[] = {TESS_STAGE_XPCS_RATES};
    const int64_t begin_ns = tess_now_ns();
    const tess_xpcs_data_info *data = &run->data->info;
    tess_device *device = NULL;
    TESS_TRY(tess_stage_choose(run->ctx, stages, 1, "fit of free rates", &device));
    TESS_TRY(tess_xp_rates_result_create(run->ctx, &run->result));
    tess_xpcs_rates_info *info = &run->result->info;
    *info = (tess_xpcs_rates_info){.struct_size = sizeof *info,
                                   .mode = run->model.mode,
                                   .shape = run->rates.shape,
                                   .has_shear = run->model.mode == TESS_XPCS_LAMINAR_FLOW,
                                   .n_frame = data->n_frame,
                                   .n_angle = data->n_angle,
                                   .n_knot = run->rates.n_knot};
    TESS_TRY(fit_power(run));
    TESS_TRY(fit_free(run));
    judge(run);
    TESS_TRY(make_identity(run));
    info->power_fit = run->result->power;
    info->n_pass = run->n_pass;
    info->seconds = (double)(tess_now_ns() - begin_ns) * 1e-9;
    return tess_text_finish(&run->result->notes, &info->notes);
}

tess_status tess_xpcs_fit_rates(tess_context *ctx, tess_xpcs_data *data,
                                const tess_xpcs_model *model, const tess_xpcs_fit_config *config,
                                const tess_xpcs_rates_config *rates, tess_xpcs_rates **out)
{
    tess_error_clear();
    if (!ctx || !data || !model || !out) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL",
                  !ctx     ? "context"
                  : !data  ? "data"
                  : !model ? "model"
                           : "out");
    }
    *out = NULL;
    rates_run run = {.ctx = ctx, .data = data};
    TESS_TRY(take_settings(&run, model, config, rates));
    tess_span span = tess_span_begin(&ctx->tracer, "xpcs.rates");
    const tess_status status = work(&run);
    tess_span_end(&span, 0, 0);
    if (run.sampler.ctx) {
        tess_xp_sampler_close(&run.sampler);
        tess_xpcs_posterior_destroy(run.sampler.out);
    }
    if (status == TESS_OK) {
        *out = run.result;
    } else {
        tess_xpcs_rates_destroy(run.result);
    }
    return status;
}
