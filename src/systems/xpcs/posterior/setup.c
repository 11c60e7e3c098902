// What a sampler needs: data, density, coordinates, room.
#include "base/status.h"
#include "systems/xpcs/fit/plan.h"
#include "systems/xpcs/posterior/sample.h"

#include <math.h>
#include <string.h>

// Wide priors, where the original's would decide instead of the data; others are as there.
static const struct {
    double mean;
    double sd;
} WIDE[] = {{1e4, 1e5}, {0, 2}, {0, 1e4}, {0.01, 0.1}, {0, 2}, {0, 0.1}, {0, 30}};

static tess_status set_priors(tess_xp_sampler *s)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)s->model.mode, &n);
    tess_xp_density *d = &s->density;
    d->n_param = n;
    for (int64_t k = 0; k < n; k++) {
        const double *mean = s->config.prior_mean;
        const double *sd = s->config.prior_sd;
        const bool is_wide = s->config.priors == 0;
        tess_xp_prior *p = &d->theta[k];
        *p = (tess_xp_prior){.mean = is_wide ? WIDE[k].mean : params[k].prior_mean,
                             .sd = is_wide ? WIDE[k].sd : params[k].prior_sd,
                             .lower = s->fit->lower[k],
                             .upper = s->fit->upper[k]};
        p->mean = mean && !isnan(mean[k]) ? mean[k] : p->mean;
        p->sd = sd && !isnan(sd[k]) ? sd[k] : p->sd;
        d->is_fixed[k] = s->fit->status[k] == TESS_XPCS_FIXED;
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
    d->contrast = (tess_xp_prior){.mean = c[0], .sd = c[1]};
    d->offset = (tess_xp_prior){.mean = o[0], .sd = o[1]};
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
        TESS_TRY(tess_xpcs_data_estimate_sigma(s->ctx, s->data, sigma));
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
    d->noise_scale = 1.5 * scale;
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
    TESS_TRY(tess_xp_weights_create(s->ctx, s->data, &weights, 0, &s->weights));
    tess_xp_plan plan;
    TESS_TRY(tess_xp_plan_make(s->ctx, s->data, s->density.n_param, &s->fit_config, &plan));
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
                                      .ignore_sigma = s->weights.ignore_sigma};
    TESS_TRY(tess_xp_pass_open(s->ctx, &setup, &s->pass));
    s->sums = tess_blocks_alloc(&s->blocks, s->pass.n_sum, sizeof *s->sums, "sums of a pass");
    return s->sums ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_xp_sampler_open(tess_xp_sampler *s)
{
    tess_blocks_init(&s->blocks, &s->ctx->heap);
    TESS_TRY(set_density(s));
    tess_xp_coords_make(&s->density, s->fit->theta, &s->coords);
    TESS_TRY(open_pass(s));
    return tess_xp_posterior_create(s);
}

void tess_xp_sampler_close(tess_xp_sampler *s)
{
    tess_xp_pass_close(&s->pass);
    tess_xp_weights_destroy(&s->weights);
    tess_blocks_free(&s->blocks);
}

static void publish(tess_xpcs_posterior *p)
{
    tess_xpcs_posterior_info *info = &p->info;
    info->theta = p->theta;
    info->noise = p->noise;
    info->contrast = p->contrast;
    info->offset = p->offset;
    info->log_density = p->log_density;
    info->energy = p->energy;
    info->accept = p->accept;
    info->n_step = p->n_step;
    info->depth = p->depth;
    info->diverged = p->diverged;
    info->step = p->step;
}

static tess_status set_names(tess_xp_sampler *s, tess_xpcs_posterior *p)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)s->model.mode, &n);
    const char **names = tess_blocks_alloc(&p->blocks, n, sizeof *names, "names");
    for (int64_t k = 0; names && k < n; k++) {
        names[k] = params[k].name;
    }
    p->info.names = names;
    return names ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_xp_posterior_create(tess_xp_sampler *s)
{
    static const char what[] = "draws";
    const int64_t n = s->config.n_chain * s->config.n_draw;
    const int64_t n_angle = s->data->info.n_angle;
    tess_xpcs_posterior *p =
        tess_heap_alloc_zero(&s->ctx->heap, sizeof *p, TESS_TAG_RESULT, "a posterior");
    if (!p) {
        return TESS_E_MEMORY;
    }
    s->out = p;
    p->heap = &s->ctx->heap;
    tess_blocks_init(&p->blocks, p->heap);
    p->info = (tess_xpcs_posterior_info){.struct_size = sizeof p->info,
                                         .n_chain = s->config.n_chain,
                                         .n_draw = s->config.n_draw,
                                         .n_param = s->density.n_param,
                                         .n_angle = n_angle,
                                         .noise_scale = s->density.noise_scale / 1.5};
    TESS_TRY(set_names(s, p));
    p->theta = tess_blocks_alloc(&p->blocks, n * s->density.n_param, sizeof(double), what);
    p->noise = tess_blocks_alloc(&p->blocks, n, sizeof(double), what);
    p->contrast = tess_blocks_alloc(&p->blocks, n * n_angle, sizeof(double), what);
    p->offset = tess_blocks_alloc(&p->blocks, n * n_angle, sizeof(double), what);
    p->log_density = tess_blocks_alloc(&p->blocks, n, sizeof(double), what);
    p->energy = tess_blocks_alloc(&p->blocks, n, sizeof(double), what);
    p->accept = tess_blocks_alloc(&p->blocks, n, sizeof(double), what);
    p->n_step = tess_blocks_alloc(&p->blocks, n, sizeof(int64_t), what);
    p->depth = tess_blocks_alloc(&p->blocks, n, sizeof(int64_t), what);
    p->diverged = tess_blocks_alloc(&p->blocks, n, 1, what);
    p->step = tess_blocks_alloc(&p->blocks, s->config.n_chain, sizeof(double), what);
    publish(p);
    return p->theta && p->noise && p->contrast && p->offset && p->log_density && p->energy &&
                   p->accept && p->n_step && p->depth && p->diverged && p->step
               ? TESS_OK
               : TESS_E_MEMORY;
}

const tess_xpcs_posterior_info *tess_xpcs_posterior_get_info(const tess_xpcs_posterior *posterior)
{
    return &posterior->info;
}

void tess_xpcs_posterior_destroy(tess_xpcs_posterior *posterior)
{
    if (posterior) {
        tess_blocks_free(&posterior->blocks);
        tess_heap_free(posterior->heap, posterior, sizeof *posterior, TESS_TAG_RESULT);
    }
}
