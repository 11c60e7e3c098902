// The density at points of several chains, in passes that they share.
#include "base/status.h"
#include "systems/xpcs/posterior/sample.h"

#include <math.h>
#include <string.h>

static const double MAX_SPREAD = 4; // of a coordinate: most of what is between its bounds

typedef struct batch {
    tess_xp_sampler *sampler;
    int64_t n;
    int64_t which[TESS_XP_MAX_SET]; // points that can be evaluated
    tess_xp_place places[TESS_XP_MAX_SET];
    double *log_density;
    double *gradient;
} batch;

static tess_status finish_point(void *arg, int64_t i, int32_t worker)
{
    (void)worker;
    const batch *b = arg;
    const tess_xp_sampler *s = b->sampler;
    const tess_xp_place *place = &b->places[i];
    tess_xp_density_value value;
    tess_xp_density_at(&s->density, s->sums + i * s->pass.n_sum, place->theta, place->s, &value);
    b->log_density[b->which[i]] =
        tess_xp_coords_density(&s->coords, place, &value, b->gradient + b->which[i] * s->coords.n);
    return TESS_OK;
}

static tess_status evaluate_batch(batch *b)
{
    tess_xp_sampler *s = b->sampler;
    tess_xp_point points[TESS_XP_MAX_SET];
    for (int64_t i = 0; i < b->n; i++) {
        points[i] = (tess_xp_point){.theta = b->places[i].theta,
                                    .contrast = s->fit->contrast,
                                    .want = TESS_XP_WANT_GRADIENT};
    }
    if (b->n == 0) {
        return TESS_OK;
    }
    TESS_TRY(tess_xp_pass_run_sets(&s->pass, points, b->n, s->sums));
    s->tally.n_pass++;
    s->tally.n_evaluation += b->n;
    s->tally.n_gradient += b->n;
    return tess_parallel_for(s->ctx->pool, b->n, finish_point, b);
}

tess_status tess_xp_sampler_evaluate(tess_xp_sampler *s, const double *const *u, int64_t n,
                                     double *log_density, double *gradient)
{
    batch b = {.sampler = s, .log_density = log_density, .gradient = gradient};
    memset(gradient, 0, (size_t)(n * s->coords.n) * sizeof *gradient);
    for (int64_t i = 0; i < n; i++) {
        tess_xp_place *place = &b.places[b.n];
        log_density[i] = -(double)INFINITY;
        tess_xp_coords_place(&s->coords, u[i], place);
        if (isfinite(place->s) && place->s > 0) { // else a step far out of everything
            b.which[b.n++] = i;
        }
        if (b.n == TESS_XP_MAX_SET || i + 1 == n) {
            TESS_TRY(evaluate_batch(&b));
            b.n = 0;
        }
    }
    return TESS_OK;
}

tess_status tess_xp_sampler_find_noise(tess_xp_sampler *s)
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
    s->tally.noise = sqrt(squares / n);
    if (!(s->tally.noise > 0)) {
        TESS_FAIL(TESS_E_NUMERIC, "the fit leaves no residuals: there is no noise to sample");
    }
    // Bounds of contrast and offset that the fit is near to belong to the density.
    uint8_t *is_truncated = TESS_XP_OWN(uint8_t, s->out->info.is_truncated);
    for (int64_t a = 0; a < s->density.n_angle; a++) {
        const double *t = tess_xp_angle_sums(&s->pass, s->sums, a);
        is_truncated[a] = tess_xp_density_outside(&s->density, t, a, s->tally.noise) > 0.001;
    }
    return TESS_OK;
}

// cov / (slope slope). What the data do not tell, or a bound cuts off, is spread over the
// coordinate.
void tess_xp_sampler_covariance(const tess_xp_sampler *s, const double *u, double *covariance)
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
