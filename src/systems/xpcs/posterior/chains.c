// The chains: they ask for a point each in turn, and a pass over the data answers.
#include "base/rng.h"
#include "base/status.h"
#include "numerics/nuts.h"
#include "systems/xpcs/posterior/sample.h"

#include <math.h>
#include <string.h>

// Purposes of random numbers; those of NUTS are 1 and 2.
enum { STARTS = 3, SCALING = 4 };
enum { MAX_TRY = 64 };

static const double MAX_SPREAD = 4; // of a coordinate: most of what is between its bounds

// Covariance of the coordinates at the minimum, from that of the fit: cov / (slope slope). What the
// data do not tell, or a bound cuts off, is spread over the coordinate.
static void covariance_of(const tess_xp_sampler *s, const double *u, double *covariance)
{
    const int64_t n = s->coords.n;
    const int64_t n_all = s->fit->n_covariance;
    const int64_t before = n_all - s->density.n_param;
    tess_xp_place place;
    tess_xp_coords_place(&s->coords, u, &place);
    double spread[TESS_XP_MAX_COORD];
    for (int64_t i = 0; i < n - 1; i++) {
        const int64_t k = before + s->coords.index[i];
        const double sd = sqrt(s->fit->covariance[k * n_all + k]) / place.slope[i];
        spread[i] = sd > 0 && sd < MAX_SPREAD ? sd : 1;
    }
    memset(covariance, 0, (size_t)(n * n) * sizeof *covariance);
    for (int64_t i = 0; i < n - 1; i++) {
        for (int64_t j = 0; j < n - 1; j++) {
            const int64_t k = before + s->coords.index[i];
            const int64_t l = before + s->coords.index[j];
            const double r = s->fit->correlation[k * n_all + l];
            // Not quite as narrow as told: it must have a root.
            const double rho = i == j ? 1 : isfinite(r) ? 0.9999 * r : 0;
            covariance[i * n + j] = rho * spread[i] * spread[j];
        }
    }
    covariance[n * n - 1] = 0.5 / (double)(s->fit->n_used > 0 ? s->fit->n_used : 1);
}

// Noise of the residuals of the fit, whatever it took the noise to be.
static tess_status find_noise(tess_xp_sampler *s, double *noise)
{
    const tess_xp_point point = {.theta = s->fit->theta, .contrast = s->fit->contrast};
    TESS_TRY(tess_xp_pass_run(&s->pass, &point, s->sums));
    double squares = 0;
    double n = 0;
    for (int64_t a = 0; a < s->density.n_angle; a++) {
        const double *t = tess_xp_angle_sums(&s->pass, s->sums, a);
        const double c = s->fit->contrast[a];
        const double o = s->fit->offset[a] - s->density.mean[a];
        squares +=
            t[4] - 2 * (o * t[3] + c * t[5]) + o * o * t[0] + 2 * o * c * t[1] + c * c * t[2];
        n += t[0];
    }
    *noise = sqrt(squares / n);
    if (!(*noise > 0)) {
        TESS_FAIL(TESS_E_NUMERIC, "the fit leaves no residuals: there is no noise to sample");
    }
    return TESS_OK;
}

static tess_status evaluate(tess_xp_sampler *s, const double *u, double *log_density,
                            double *gradient)
{
    tess_xp_place place;
    tess_xp_density_value value;
    tess_xp_coords_place(&s->coords, u, &place);
    const tess_xp_point point = {
        .theta = place.theta, .contrast = s->fit->contrast, .want = TESS_XP_WANT_GRADIENT};
    *log_density = -(double)INFINITY;
    memset(gradient, 0, (size_t)s->coords.n * sizeof *gradient);
    if (!isfinite(place.s) || place.s <= 0) {
        return TESS_OK; // a step far out of everything
    }
    TESS_TRY(tess_xp_pass_run(&s->pass, &point, s->sums));
    s->out->info.n_evaluation++;
    tess_xp_density_at(&s->density, s->sums, place.theta, place.s, &value);
    *log_density = tess_xp_coords_density(&s->coords, &place, &value, gradient);
    return TESS_OK;
}

static void keep(tess_xp_sampler *s, const tess_nuts *chain, int64_t number)
{
    tess_nuts_view view;
    tess_xp_place place;
    tess_nuts_look(chain, &view);
    if (view.draw < 0) {
        return;
    }
    tess_xpcs_posterior *p = s->out;
    const int64_t n_param = s->density.n_param;
    const int64_t at = number * s->config.n_draw + view.draw;
    tess_xp_coords_place(&s->coords, view.x, &place);
    memcpy(p->theta + at * n_param, place.theta, (size_t)n_param * sizeof *p->theta);
    p->noise[at] = place.s;
    p->log_density[at] = view.log_density - place.log_volume; // of the parameters themselves
    p->energy[at] = view.energy;
    p->accept[at] = view.accept;
    p->n_step[at] = view.n_step;
    p->depth[at] = view.depth;
    p->diverged[at] = view.is_divergent != 0;
    p->step[number] = view.step;
}

// A chain begins somewhere in the bulk that the fit promises.
static tess_status begin(tess_xp_sampler *s, double noise, int64_t number, tess_nuts *chain)
{
    const int64_t n = s->coords.n;
    const tess_xpcs_sample_config *c = &s->config;
    const tess_nuts_options options = {.seed = (uint64_t)c->seed,
                                       .chain = (uint32_t)number,
                                       .max_depth = (int32_t)c->max_depth,
                                       .n_warmup = c->n_warmup,
                                       .n_draw = c->n_draw,
                                       .target_accept = c->target_accept,
                                       .max_energy_error = 1000};
    const tess_philox_stream draw = tess_philox_open((uint64_t)c->seed, (uint32_t)number, STARTS);
    double u[TESS_XP_MAX_COORD];
    double z[TESS_XP_MAX_COORD];
    double covariance[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
    tess_xp_coords_of(&s->coords, s->fit->theta, noise, u);
    covariance_of(s, u, covariance);
    tess_philox_normals(&draw, 0, (size_t)n, z);
    for (int64_t i = 0; i < n; i++) {
        u[i] += 0.5 * sqrt(covariance[i * n + i]) * z[i];
    }
    if (tess_nuts_begin(chain, n, u, covariance, &options)) {
        return TESS_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < n; k++) {
            covariance[i * n + k] = i == k ? covariance[i * n + k] : 0;
        }
    }
    if (!tess_nuts_begin(chain, n, u, covariance, &options)) {
        TESS_FAIL(TESS_E_NUMERIC, "the covariance of the fit makes no metric");
    }
    return TESS_OK;
}

tess_status tess_xp_sampler_run(tess_xp_sampler *s)
{
    const int64_t n_chain = s->config.n_chain;
    const size_t bytes = tess_nuts_bytes(s->coords.n, (int32_t)s->config.max_depth);
    char *chains = tess_blocks_alloc(&s->blocks, n_chain, bytes, "chains");
    int32_t *is_done = tess_blocks_alloc(&s->blocks, n_chain, sizeof *is_done, "chains");
    double noise = 0;
    if (!chains || !is_done) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(find_noise(s, &noise));
    for (int64_t c = 0; c < n_chain; c++) {
        TESS_TRY(begin(s, noise, c, (tess_nuts *)(void *)(chains + (size_t)c * bytes)));
    }
    for (int64_t n_left = n_chain; n_left > 0;) {
        for (int64_t c = 0; c < n_chain; c++) {
            if (is_done[c]) {
                continue;
            }
            tess_nuts *chain = (tess_nuts *)(void *)(chains + (size_t)c * bytes);
            double log_density;
            double gradient[TESS_XP_MAX_COORD];
            TESS_TRY(evaluate(s, tess_nuts_trial(chain), &log_density, gradient));
            const tess_nuts_request wanted = tess_nuts_next(chain, log_density, gradient);
            if (wanted != TESS_NUTS_EVALUATE) {
                keep(s, chain, c);
            }
            if (wanted == TESS_NUTS_DONE) {
                is_done[c] = 1;
                n_left--;
            }
        }
        TESS_TRY(tess_context_check_cancel(s->ctx));
    }
    return TESS_OK;
}

// One angle of one draw: again until it lies within the bounds.
static int64_t draw_pair(const tess_xp_sampler *s, const tess_philox_stream *stream, int64_t index,
                         const double mean[2], const double root[4], double pair[2])
{
    const double *lower = s->fit_config.scaling_lower;
    const double *upper = s->fit_config.scaling_upper;
    for (int64_t k = 0; k < MAX_TRY; k++) {
        double z[2];
        tess_philox_normals(stream, (uint64_t)(2 * (index * MAX_TRY + k)), 2, z);
        pair[0] = mean[0] + root[0] * z[0];
        pair[1] = mean[1] + root[2] * z[0] + root[3] * z[1];
        if (pair[1] >= lower[0] && pair[1] <= upper[0] && pair[0] >= lower[1] &&
            pair[0] <= upper[1]) {
            return k;
        }
    }
    pair[0] = fmin(fmax(pair[0], lower[1]), upper[1]);
    pair[1] = fmin(fmax(pair[1], lower[0]), upper[0]);
    return MAX_TRY;
}

tess_status tess_xp_sampler_draw_scaling(tess_xp_sampler *s)
{
    tess_xpcs_posterior *p = s->out;
    const int64_t n_angle = s->density.n_angle;
    int64_t n_outside = 0;
    int64_t n_tried = 0;
    for (int64_t i = 0; i < s->config.n_chain * s->config.n_draw; i++) {
        const tess_philox_stream stream =
            tess_philox_open((uint64_t)s->config.seed, (uint32_t)(i / s->config.n_draw), SCALING);
        const tess_xp_point point = {.theta = p->theta + i * s->density.n_param,
                                     .contrast = s->fit->contrast};
        TESS_TRY(tess_xp_pass_run(&s->pass, &point, s->sums));
        p->info.n_evaluation++;
        for (int64_t a = 0; a < n_angle; a++) {
            double mean[2];
            double root[4];
            double pair[2];
            tess_xp_density_scaling(&s->density, tess_xp_angle_sums(&s->pass, s->sums, a), a,
                                    p->noise[i], mean, root);
            const int64_t k =
                draw_pair(s, &stream, i % s->config.n_draw * n_angle + a, mean, root, pair);
            n_outside += k;
            n_tried += k + 1;
            p->offset[i * n_angle + a] = pair[0];
            p->contrast[i * n_angle + a] = pair[1];
        }
    }
    p->info.outside = n_tried > 0 ? (double)n_outside / (double)n_tried : 0;
    return TESS_OK;
}
