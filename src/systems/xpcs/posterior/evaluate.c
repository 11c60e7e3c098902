// The density at points of several chains, in passes that they share.
#include "base/status.h"
#include "systems/xpcs/posterior/sample.h"

#include <math.h>
#include <string.h>

static const double MOST_SPREAD = 0.25; // of a range, where the data do not tell
static const double NEAR_BOUND = 1e-3;  // of a range

typedef struct batch {
    tess_xp_sampler *sampler;
    int64_t n;
    const double *const *u;         // of all points
    int64_t which[TESS_XP_MAX_SET]; // points that can be evaluated
    tess_xp_place places[TESS_XP_MAX_SET];
    double *log_density;
    double *gradient;
} batch;

void tess_xp_sampler_weigh(const tess_xp_sampler *s, double *sums)
{
    const int64_t n_sum = 6 + 3 * s->density.n_param;
    for (int64_t i = 0; s->weight && i < s->density.n_angle * n_sum; i++) {
        sums[i] *= s->weight[i / n_sum];
    }
}

static tess_status finish_point(void *arg, int64_t i, int32_t worker)
{
    (void)worker;
    const batch *b = arg;
    const tess_xp_sampler *s = b->sampler;
    const tess_xp_place *place = &b->places[i];
    tess_xp_density_value value;
    double *sums = s->sums + i * s->pass.n_sum;
    tess_xp_sampler_weigh(s, sums);
    tess_xp_density_at(&s->density, sums, place->theta, place->s, &value);
    double unused[TESS_XP_MAX_COORD];
    double *gradient = b->gradient ? b->gradient + b->which[i] * s->coords.n : unused;
    double *log_density = &b->log_density[b->which[i]];
    if (s->adjust.is_bare) {
        *log_density = tess_xp_coords_likelihood(&s->coords, place, &value, gradient);
        return TESS_OK;
    }
    double slope[TESS_XP_MAX_COORD] = {0};
    if (s->adjust.is_on) {
        tess_xp_adjust_apply(&s->adjust, &s->density, b->u[b->which[i]], place->s, &value, slope);
    }
    *log_density = tess_xp_coords_density(&s->coords, place, &value, gradient);
    for (int64_t k = 0; k < s->coords.n; k++) {
        gradient[k] += slope[k];
    }
    return TESS_OK;
}

static tess_status evaluate_batch(batch *b)
{
    tess_xp_sampler *s = b->sampler;
    tess_xp_point points[TESS_XP_MAX_SET];
    for (int64_t i = 0; i < b->n; i++) {
        points[i] = (tess_xp_point){.theta = b->places[i].theta,
                                    .contrast = s->fit->contrast,
                                    .want = b->gradient ? TESS_XP_WANT_GRADIENT : 0};
    }
    if (b->n == 0) {
        return TESS_OK;
    }
    TESS_TRY(tess_xp_pass_run_sets(&s->pass, points, b->n, s->sums));
    s->tally.n_pass++;
    s->tally.n_evaluation += b->n;
    s->tally.n_gradient += b->gradient ? b->n : 0;
    return tess_parallel_for(s->ctx->pool, b->n, finish_point, b);
}

tess_status tess_xp_sampler_evaluate(tess_xp_sampler *s, const double *const *u, int64_t n,
                                     double *log_density, double *gradient)
{
    batch b = {.sampler = s, .u = u, .log_density = log_density, .gradient = gradient};
    if (gradient) {
        memset(gradient, 0, (size_t)(n * s->coords.n) * sizeof *gradient);
    }
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

// How far from a bound chains begin: the error, or what it is little of.
static double edge_of(double sd, double range)
{
    const double most = NEAR_BOUND * range;
    return sd > 0 && sd < most ? sd : most;
}

void tess_xp_sampler_start(const tess_xp_sampler *s, const double *theta, double noise, double *u)
{
    double inside[TESS_XPCS_MAX_PARAM];
    for (int64_t k = 0; k < s->density.n_param; k++) {
        const tess_xp_prior *p = &s->density.theta[k];
        const double sd = s->fit->sd[k];
        double low = p->lower + edge_of(sd, p->upper - p->lower);
        double high = p->upper - edge_of(sd, p->upper - p->lower);
        if (s->coords.is_log[k]) {
            low = p->lower * exp(edge_of(sd / p->lower, log(p->upper / p->lower)));
            high = p->upper * exp(-edge_of(sd / p->upper, log(p->upper / p->lower)));
        }
        inside[k] = s->density.is_fixed[k] ? theta[k] : fmin(fmax(theta[k], low), high);
    }
    tess_xp_coords_of(&s->coords, inside, noise, u);
}

static bool is_outside(const tess_xp_density *d, const double *sums, int64_t angle, double noise)
{
    return tess_xp_density_outside(d, sums, angle, noise) > 0.001;
}

tess_status tess_xp_sampler_find_noise(tess_xp_sampler *s)
{
    const tess_xp_point point = {.theta = s->fit->theta, .contrast = s->fit->contrast};
    TESS_TRY(tess_xp_pass_run(&s->pass, &point, s->sums));
    tess_xp_sampler_weigh(s, s->sums);
    double squares = 0;
    double n = 0;
    for (int64_t a = 0; a < s->density.n_angle; a++) {
        const double *t = tess_xp_angle_sums(&s->pass, s->sums, a);
        const bool is_held = s->density.scaled == TESS_XP_SCALED_HELD;
        const double c = is_held ? s->density.held[a] : s->fit->contrast[a];
        const double o = (is_held ? s->density.held[s->density.n_angle + a] : s->fit->offset[a]) -
                         s->density.mean[a];
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
    double pooled[6 + 3 * TESS_XPCS_MAX_PARAM];
    double mean;
    const tess_xp_density one = tess_xp_density_pool(&s->density, s->sums, pooled, &mean);
    for (int64_t a = 0; a < s->density.n_angle; a++) {
        const double *t = tess_xp_angle_sums(&s->pass, s->sums, a);
        is_truncated[a] = s->density.scaled == TESS_XP_SCALED_HELD ? 0
                          : s->density.scaled == TESS_XP_SCALED_ALL
                              ? is_outside(&one, pooled, 0, s->tally.noise)
                              : is_outside(&s->density, t, a, s->tally.noise);
    }
    return TESS_OK;
}

// A shard knows less than the fit.
static double n_parts(const tess_xp_sampler *s)
{
    return s->config.shard > 0 ? (double)s->config.n_shard : 1;
}

// A square matrix of the fit whose last rows are those of the physical parameters.
typedef struct told {
    const double *covariance;
    int64_t n;
} told;

// Covariance of the free parameters, by the fit. What the data do not tell, or a bound cuts off, is
// spread over the range.
static void covariance_of_fit(const tess_xp_sampler *s, told from, double trust, double *covariance)
{
    const int64_t n = s->coords.n - 1;
    const int64_t before = from.n - s->density.n_param;
    const double parts = n_parts(s);
    double sd[TESS_XPCS_MAX_PARAM];
    bool is_known[TESS_XPCS_MAX_PARAM];
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = s->coords.index[i];
        const double most = MOST_SPREAD * (s->density.theta[k].upper - s->density.theta[k].lower);
        sd[i] = sqrt(parts * from.covariance[(before + k) * (from.n + 1)]);
        is_known[i] = sd[i] > 0 && sd[i] < most;
        sd[i] = is_known[i] ? sd[i] : most;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const int64_t k = before + s->coords.index[i];
            const int64_t l = before + s->coords.index[j];
            const double square =
                from.covariance[k * (from.n + 1)] * from.covariance[l * (from.n + 1)];
            const double r = fmin(fmax(from.covariance[k * from.n + l] / sqrt(square), -1), 1);
            const bool has_r = is_known[i] && is_known[j] && isfinite(r);
            covariance[i * n + j] = (i == j ? 1 : has_r ? trust * r : 0) * sd[i] * sd[j];
        }
    }
}

// Solves x A = b for rows b [n_row][n], in place; A [n][n] is used up. False: A is singular.
static bool divide_rows(double *a, int64_t n, double *b, int64_t n_row)
{
    for (int64_t c = 0; c < n; c++) {
        int64_t best = c;
        for (int64_t k = c + 1; k < n; k++) {
            best = fabs(a[c * n + k]) > fabs(a[c * n + best]) ? k : best;
        }
        if (!(fabs(a[c * n + best]) > 0)) {
            return false;
        }
        for (int64_t r = 0; r < n + n_row; r++) { // columns change places
            double *row = r < n ? a + r * n : b + (r - n) * n;
            const double kept = row[c];
            row[c] = row[best];
            row[best] = kept;
        }
        for (int64_t k = c + 1; k < n; k++) {
            const double factor = a[c * n + k] / a[c * n + c];
            for (int64_t r = 0; r < n + n_row; r++) {
                double *row = r < n ? a + r * n : b + (r - n) * n;
                row[k] -= factor * row[c];
            }
        }
    }
    for (int64_t r = 0; r < n_row; r++) {
        double *row = b + r * n;
        for (int64_t c = n - 1; c >= 0; c--) {
            for (int64_t k = c + 1; k < n; k++) {
                row[c] -= row[k] * a[k * n + c];
            }
            row[c] /= a[c * n + c];
        }
    }
    return true;
}

static void transpose(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++) {
            const double kept = a[i * n + k];
            a[i * n + k] = a[k * n + i];
            a[k * n + i] = kept;
        }
    }
}

static bool covariance_from(const tess_xp_sampler *s, told from, const double *u, double trust,
                            double *covariance)
{
    const int64_t n = s->coords.n - 1;
    double own[TESS_XPCS_MAX_PARAM * TESS_XPCS_MAX_PARAM];
    double jacobian[TESS_XPCS_MAX_PARAM * TESS_XPCS_MAX_PARAM];
    tess_xp_place place;
    tess_xp_coords_place(&s->coords, u, &place);
    covariance_of_fit(s, from, trust, own);
    // A parameter's change is du J; so that of u is C on both sides divided by J.
    for (int side = 0; side < 2; side++) {
        tess_xp_coords_jacobian(&s->coords, &place, jacobian);
        if (!divide_rows(jacobian, n, own, n)) {
            return false;
        }
        transpose(own, n);
    }
    memset(covariance, 0, (size_t)(s->coords.n * s->coords.n) * sizeof *covariance);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < n; k++) {
            covariance[i * s->coords.n + k] = 0.5 * (own[i * n + k] + own[k * n + i]);
        }
    }
    covariance[s->coords.n * s->coords.n - 1] =
        0.5 * n_parts(s) / (double)(s->fit->n_used > 0 ? s->fit->n_used : 1);
    return true;
}

bool tess_xp_sampler_covariance(const tess_xp_sampler *s, const double *u, double trust,
                                double *covariance)
{
    const told from = {s->fit->covariance, s->fit->n_covariance};
    return covariance_from(s, from, u, trust, covariance);
}

bool tess_xp_sampler_independent(const tess_xp_sampler *s, const double *u, double trust,
                                 double *covariance)
{
    const told from = {s->fit->independent_covariance, s->fit->n_param};
    return covariance_from(s, from, u, trust, covariance);
}
