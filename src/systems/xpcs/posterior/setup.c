// What a sampler needs: data, density, coordinates, room.
#include "base/status.h"
#include "numerics/nuts.h"
#include "systems/xpcs/fit/plan.h"
#include "systems/xpcs/posterior/sample.h"
#include "systems/xpcs/posterior/shards.h"

#include <math.h>
#include <string.h>

// Wide priors, where the original's would decide instead of the data; others are as there.
static const struct {
    double mean;
    double sd;
} WIDE[] = {{1e4, 1e5}, {0, 2}, {0, 1e4}, {0.01, 0.1}, {0, 2}, {0, 0.1}, {0, 30}};

// As the original does with a warm start, not narrower than 1 % and not wider than half of the
// range.
static void around_fit(const tess_xp_sampler *s, int64_t k, tess_xp_prior *p)
{
    const double range = p->upper - p->lower;
    const double width = s->config.prior_width * s->fit->sd[k];
    p->mean = s->fit->theta[k];
    p->sd = width < 0.5 * range ? fmax(width, 0.01 * range) : 0.5 * range;
}

static tess_status set_priors(tess_xp_sampler *s)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)s->model.mode, &n);
    tess_xp_density *d = &s->density;
    d->n_param = n;
    for (int64_t k = 0; k < n; k++) {
        const double *mean = s->config.prior_mean;
        const double *sd = s->config.prior_sd;
        // Those of two components are wide in any case.
        const bool is_wide = s->config.priors == 0 && s->model.mode != TESS_XPCS_TWO_COMPONENT;
        tess_xp_prior *p = &d->theta[k];
        *p = (tess_xp_prior){.mean = is_wide ? WIDE[k].mean : params[k].prior_mean,
                             .sd = is_wide ? WIDE[k].sd : params[k].prior_sd,
                             .lower = s->fit->lower[k],
                             .upper = s->fit->upper[k]};
        p->mean = mean && !isnan(mean[k]) ? mean[k] : p->mean;
        p->sd = sd && !isnan(sd[k]) ? sd[k] : p->sd;
        d->is_fixed[k] = s->fit->status[k] == TESS_XPCS_FIXED;
        if (s->config.fit_priors && !d->is_fixed[k]) {
            around_fit(s, k, p);
        }
        p->sd *= sqrt(s->config.temper);
        if (!d->is_fixed[k] && (!(p->sd > 0) || isinf(p->sd) || !isfinite(p->mean))) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "prior of %s: mean %g, standard deviation %g; expected a "
                      "number and a finite one above 0",
                      params[k].name, p->mean, p->sd);
        }
        tess_xp_prior_close(p);
        if (!d->is_fixed[k] && !isfinite(p->log_norm)) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "prior of %s: mean %g, standard deviation %g leave nothing between its "
                      "bounds %g and %g",
                      params[k].name, p->mean, p->sd, p->lower, p->upper);
        }
    }
    return TESS_OK;
}

static tess_status set_density(tess_xp_sampler *s)
{
    const int64_t n_angle = s->data->info.n_angle;
    tess_xp_density *d = &s->density;
    TESS_TRY(set_priors(s));
    const double *c = s->config.contrast_prior;
    const double *o = s->config.offset_prior;
    d->n_angle = n_angle;
    d->mean = s->data->info.mean;
    const double *lower = s->fit_config.scaling_lower;
    const double *upper = s->fit_config.scaling_upper;
    const double widen = sqrt(s->config.temper);
    d->contrast =
        (tess_xp_prior){.mean = c[0], .sd = widen * c[1], .lower = lower[0], .upper = upper[0]};
    d->offset =
        (tess_xp_prior){.mean = o[0], .sd = widen * o[1], .lower = lower[1], .upper = upper[1]};
    tess_xp_prior_close(&d->contrast);
    tess_xp_prior_close(&d->offset);
    if (!(c[1] > 0) || !(o[1] > 0) || !isfinite(c[0] + c[1] + o[0] + o[1])) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "contrast_prior, offset_prior: (%g, %g), (%g, %g); expected "
                  "mean and standard deviation above 0",
                  c[0], c[1], o[0], o[1]);
    }
    double scale = s->config.noise_scale;
    if (!(scale > 0)) {
        double *sigma = tess_blocks_alloc(&s->blocks, n_angle, sizeof *sigma, "noise");
        if (!sigma) {
            return TESS_E_MEMORY;
        }
        TESS_TRY(tess_xp_data_sigma(s->ctx, s->data, tess_xp_sampler_angles(s), sigma));
        double squares = 0;
        for (int64_t a = 0; a < n_angle; a++) {
            squares += sigma[a] * sigma[a] / (double)n_angle;
        }
        scale = sqrt(squares);
    }
    if (!(scale > 0) || isinf(scale)) {
        TESS_FAIL(TESS_E_NUMERIC, "the data have no noise that could be estimated; give "
                                  "noise_scale");
    }
    d->noise_scale = 1.5 * scale * widen;
    return TESS_OK;
}

static tess_status open_pass(tess_xp_sampler *s)
{
    // The noise is sampled: every point weighs the same.
    tess_xpcs_fit_config weights = s->fit_config;
    weights.sigma_mode = TESS_XPCS_SIGMA_CONSTANT;
    weights.sigma = 1;
    weights.counting = 0;
    weights.shear_weights = 0;
    TESS_TRY(tess_xp_weights_create(s->ctx, s->data, &weights, 0, tess_xp_sampler_angles(s),
                                    &s->weights));
    tess_xp_plan plan;
    TESS_TRY((s->is_alone ? tess_xp_plan_make : tess_xp_plan_make_for_all)(
        s->ctx, s->data, s->density.n_param, &s->fit_config, &plan));
    const tess_xp_pass_setup setup = {.device = s->device,
                                      .data = s->data,
                                      .model = &s->model,
                                      .loss = TESS_XPCS_LOSS_LINEAR,
                                      .f_scale = 1,
                                      .inverse_variance = s->weights.inverse_variance,
                                      .lag_weight = s->weights.lag_weight,
                                      .leaves_per_chunk = plan.leaves_per_chunk,
                                      .is_streamed = plan.is_streamed,
                                      .max_retries = s->fit_config.max_retries,
                                      .strategy = plan.strategy,
                                      .ignore_sigma = s->weights.ignore_sigma,
                                      .max_set = TESS_XP_MAX_SET,
                                      .is_alone = s->is_alone};
    TESS_TRY(tess_xp_pass_open(s->ctx, &setup, &s->pass));
    s->pass.is_quiet = true; // draws are counted, not tiles
    s->sums = tess_blocks_alloc(&s->blocks, TESS_XP_MAX_SET * s->pass.n_sum, sizeof *s->sums,
                                "sums of a pass");
    return s->sums ? TESS_OK : TESS_E_MEMORY;
}

// What the result says of the problem, before there are draws.
static tess_status create_posterior(tess_xp_sampler *s)
{
    const tess_xpcs_data_info *data = &s->data->info;
    const tess_xpcs_sample_config *c = &s->config;
    const tess_xp_density *d = &s->density;
    const tess_xpcs_posterior_info sizes = {.method = c->method,
                                            .n_chain = c->n_chain,
                                            .n_draw = c->n_draw,
                                            .n_param = d->n_param,
                                            .n_angle = d->n_angle,
                                            .noise_scale = d->noise_scale / 1.5 / sqrt(c->temper),
                                            .n_warmup = c->n_warmup,
                                            .seed = c->seed,
                                            .model_mode = s->model.mode,
                                            .model_kernel = s->model.kernel,
                                            .priors = c->fit_priors ? 2 : c->priors,
                                            .coords = c->coords,
                                            .n_point = data->n_used,
                                            .log_evidence = (double)NAN,
                                            .pareto_k = (double)NAN,
                                            .shard = c->shard,
                                            .n_shard = c->n_shard,
                                            .temper = c->temper,
                                            .n_frame = data->n_frame,
                                            .dt_s = s->model.dt_s,
                                            .gap_angstrom = s->model.gap_angstrom,
                                            .scaling = s->scaling,
                                            .shard_strategy = c->shard_strategy,
                                            .shard_seed = c->shard_seed,
                                            .noise_photons = s->fit->noise_photons};
    TESS_TRY(tess_xp_posterior_create(s->ctx, &sizes, &s->out));
    const tess_xpcs_posterior_info *info = &s->out->info;
    for (int64_t k = 0; k < d->n_param; k++) {
        TESS_XP_OWN(double, info->prior_mean)[k] = d->theta[k].mean;
        TESS_XP_OWN(double, info->prior_sd)[k] = d->theta[k].sd;
        TESS_XP_OWN(double, info->lower)[k] = d->theta[k].lower;
        TESS_XP_OWN(double, info->upper)[k] = d->theta[k].upper;
        TESS_XP_OWN(uint8_t, info->is_fixed)[k] = d->is_fixed[k] != 0;
        TESS_XP_OWN(double, info->fit_theta)[k] = s->fit->theta[k];
        TESS_XP_OWN(double, info->fit_sd)[k] = s->fit->sd[k];
    }
    for (int64_t a = 0; a < d->n_angle; a++) {
        TESS_XP_OWN(double, info->phi)[a] = data->phi[a];
        TESS_XP_OWN(double, info->q)[a] = data->q[a];
        TESS_XP_OWN(double, info->fit_contrast)[a] = s->fit->contrast[a];
        TESS_XP_OWN(double, info->fit_offset)[a] = s->fit->offset[a];
    }
    s->density.is_truncated = info->is_truncated;
    return TESS_OK;
}

// Error of a rate's slope by ln t at tau, by the fit: amplitude and exponent are those at k.
static double slope_sd(const tess_xp_sampler *s, int64_t k, double tau)
{
    const int64_t n = s->fit->n_covariance;
    const int64_t at = n - s->density.n_param + k;
    const double *theta = s->fit->theta + k;
    const double power = pow(tau, theta[1]);
    const double by[2] = {power * theta[1], theta[0] * power * (1 + theta[1] * log(tau))};
    double sum = 0;
    for (int64_t i = 0; i < 2; i++) {
        for (int64_t j = 0; j < 2; j++) {
            sum += by[i] * by[j] * s->fit->covariance[(at + i) * n + at + j];
        }
    }
    const double parts = s->config.shard > 0 ? (double)s->config.n_shard : 1;
    return sum > 0 ? sqrt(parts * sum) : (double)INFINITY;
}

void tess_xp_sampler_make_coords(tess_xp_sampler *s, const double *theta)
{
    tess_xp_coords_make(&s->density, theta, &s->coords);
    if (s->config.coords == 1) {
        tess_xp_coords_make_upstream(&s->density, &s->coords);
    } else {
        const double tau = 0.5 * s->model.dt_s * (double)s->data->info.n_frame;
        double sd[TESS_XP_MAX_RATE];
        for (int64_t k = 0; k < tess_xp_n_rate(s->density.n_param); k++) {
            sd[k] = slope_sd(s, 3 * k, tau);
        }
        tess_xp_coords_bend(&s->density, sd, tau, &s->coords);
    }
}

tess_status tess_xp_sampler_open(tess_xp_sampler *s)
{
    const int64_t n_chain = s->config.n_chain;
    tess_blocks_init(&s->blocks, &s->ctx->heap);
    tess_text_init(&s->warnings, &s->ctx->heap);
    TESS_TRY(set_density(s)); // the noise is that of the whole
    TESS_TRY(tess_xp_sampler_set_scaled(s));
    if (s->config.shard > 0) {
        TESS_TRY(tess_xp_shard_make(s->ctx, s->data, &s->config, &s->shard));
        s->data = s->shard;
        s->density.mean = s->data->info.mean;
    }
    tess_xp_sampler_make_coords(s, s->fit->theta);
    TESS_TRY(open_pass(s));
    TESS_TRY(tess_xp_sampler_take_weights(s));
    s->chain_bytes = tess_nuts_bytes(s->coords.n, (int32_t)s->config.max_depth);
    s->chains = tess_blocks_alloc(&s->blocks, n_chain, s->chain_bytes, "chains");
    s->is_done = tess_blocks_alloc(&s->blocks, n_chain, sizeof *s->is_done, "chains");
    s->tally.target_accept = s->config.target_accept;
    return s->chains && s->is_done ? create_posterior(s) : TESS_E_MEMORY;
}

void tess_xp_sampler_close(tess_xp_sampler *s)
{
    tess_work_close(&s->work);
    tess_identity_free(&s->id);
    tess_text_destroy(&s->warnings);
    tess_xp_pass_close(&s->pass);
    tess_xp_weights_destroy(&s->weights);
    tess_blocks_free(&s->blocks);
    tess_xpcs_data_destroy(s->shard);
}
