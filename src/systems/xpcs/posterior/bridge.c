// The evidence from draws: bridge sampling between the posterior and a normal that half of the
// draws make (X.-L. Meng, W. H. Wong, Statistica Sinica 6, 1996).
#include "base/rng.h"
#include "base/status.h"
#include "numerics/cholesky.h"
#include "systems/xpcs/posterior/ess.h"
#include "systems/xpcs/posterior/laplace.h"
#include "tessera/xpcs/compare.h"

#include <math.h>
#include <string.h>

enum { BRIDGE = 9, MOST_TURNS = 1000, LEAST_DRAWS = 100 }; // purpose of random numbers

typedef struct bridge {
    tess_xp_sampler *sampler;
    const tess_xpcs_posterior_info *draws;
    tess_xp_normal normal;
    int64_t dim;
    int64_t n_half; // draws of a chain that the estimate takes, the later ones
    int64_t n;      // of all chains, and as many of the normal
    double *u;      // [n_chain][n_draw][dim] coordinates of the draws
    double *value;  // [n_chain][n_draw] log densities there
    double *drawn;  // [n] log of posterior over normal, at draws of the posterior
    double *made;   // [n] at those of the normal
    double *share;  // [n]
} bridge;

static tess_status take_room(bridge *b)
{
    static const char what[] = "bridge sampling";
    tess_blocks *blocks = &b->sampler->blocks;
    const int64_t all = b->draws->n_chain * b->draws->n_draw;
    b->u = tess_blocks_alloc(blocks, all * b->dim, sizeof *b->u, what);
    b->value = tess_blocks_alloc(blocks, all, sizeof *b->value, what);
    b->drawn = tess_blocks_alloc(blocks, b->n, sizeof *b->drawn, what);
    b->made = tess_blocks_alloc(blocks, b->n, sizeof *b->made, what);
    b->share = tess_blocks_alloc(blocks, b->n, sizeof *b->share, what);
    return b->u && b->value && b->drawn && b->made && b->share ? TESS_OK : TESS_E_MEMORY;
}

// The draws in coordinates, where their density has the volume besides.
static void place_draws(bridge *b)
{
    const tess_xpcs_posterior_info *d = b->draws;
    for (int64_t k = 0; k < d->n_chain * d->n_draw; k++) {
        tess_xp_place place;
        double *u = b->u + k * b->dim;
        tess_xp_coords_of(&b->sampler->coords, d->theta + k * d->n_param, d->noise[k], u);
        tess_xp_coords_place(&b->sampler->coords, u, &place);
        b->value[k] = d->log_density[k] + place.log_volume;
    }
}

// The density here is that of the draws, or they are of something else.
static tess_status check_density(bridge *b)
{
    const double *first = b->u;
    double value = 0;
    TESS_TRY(tess_xp_sampler_evaluate(b->sampler, &first, 1, &value, NULL));
    if (!(fabs(value - b->value[0]) <= 1e-6 * fabs(value) + 1e-3)) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "posterior: its density is %.6f where these data and options have %.6f; give the "
                  "arguments that it was sampled with",
                  b->value[0], value);
    }
    return TESS_OK;
}

// Mean and covariance of the earlier half of every chain.
static tess_status make_normal(bridge *b)
{
    const tess_xpcs_posterior_info *d = b->draws;
    const int64_t n = b->dim;
    const int64_t early = d->n_draw - b->n_half;
    const double count = (double)(d->n_chain * early);
    double *mean = b->normal.u;
    double *root = b->normal.root;
    b->normal.n = n;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t k = 0; k < d->n_chain * d->n_draw; k++) {
            const double *u = b->u + k * n;
            for (int64_t i = 0; i < n && k % d->n_draw < early; i++) {
                mean[i] += pass == 0 ? u[i] / count : 0;
                for (int64_t j = 0; j <= i && pass == 1; j++) {
                    root[i * n + j] += (u[i] - mean[i]) * (u[j] - mean[j]) / (count - 1);
                }
            }
        }
    }
    if (!tess_cholesky(root, n)) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "posterior: the draws have no covariance in %lld dimensions; "
                  "draw more of them",
                  (long long)n);
    }
    for (int64_t i = 0; i < n; i++) {
        b->normal.log_determinant += log(root[i * n + i]);
    }
    return TESS_OK;
}

static tess_status weigh(bridge *b)
{
    const tess_xpcs_posterior_info *d = b->draws;
    const int64_t dim = b->dim;
    const tess_philox_stream stream =
        tess_philox_open((uint64_t)b->sampler->config.seed, 0, BRIDGE);
    for (int64_t k = 0; k < b->n; k++) {
        const int64_t at = k / b->n_half * d->n_draw + d->n_draw - b->n_half + k % b->n_half;
        b->drawn[k] = b->value[at] - tess_xp_normal_at(&b->normal, b->u + at * dim);
    }
    for (int64_t first = 0; first < b->n; first += TESS_XP_MAX_SET) {
        const int64_t count = b->n - first < TESS_XP_MAX_SET ? b->n - first : TESS_XP_MAX_SET;
        double points[TESS_XP_MAX_SET][TESS_XP_MAX_COORD];
        const double *trials[TESS_XP_MAX_SET];
        double values[TESS_XP_MAX_SET];
        for (int64_t i = 0; i < count; i++) {
            double z[TESS_XP_MAX_COORD + 1];
            const uint64_t at = (uint64_t)((first + i) * (dim + dim % 2));
            tess_philox_normals(&stream, at, (size_t)dim, z);
            b->made[first + i] = -tess_xp_normal_draw(&b->normal, z, points[i]);
            trials[i] = points[i];
        }
        TESS_TRY(tess_xp_sampler_evaluate(b->sampler, trials, count, values, NULL));
        for (int64_t i = 0; i < count; i++) {
            b->made[first + i] += values[i];
        }
        TESS_TRY(tess_context_check_cancel(b->sampler->ctx));
    }
    return TESS_OK;
}

// Relative variance of the mean of share [n], whose values are worth so many.
static double relative_variance(const double *share, int64_t n, double worth)
{
    double mean = 0;
    double square = 0;
    for (int64_t k = 0; k < n; k++) {
        mean += share[k] / (double)n;
    }
    for (int64_t k = 0; k < n; k++) {
        square += (share[k] - mean) * (share[k] - mean) / (double)(n - 1);
    }
    return square / (mean * mean * worth);
}

// With r the evidence: r = mean over the normal of l / (s1 l + s2 r), over the mean over the draws
// of 1 / (s1 l + s2 r), until it stays. l is posterior over normal, all over exp(middle).
static void solve(bridge *b, double *log_evidence, double *error)
{
    const double n = (double)b->n;
    const tess_xp_draws whole = {.values = b->drawn,
                                 .stride = 1,
                                 .chain_stride = b->n_half,
                                 .n_chain = b->draws->n_chain,
                                 .n_draw = b->n_half};
    const double worth = fmin(fmax(tess_xp_ess(&whole), 1), n);
    const double s1 = worth / (worth + n);
    const double s2 = n / (worth + n);
    double middle = 0;
    for (int64_t k = 0; k < b->n; k++) {
        middle += b->drawn[k] / n;
    }
    double r = 1;
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        double top = 0;
        double bottom = 0;
        for (int64_t k = 0; k < b->n; k++) {
            const double made = exp(fmin(b->made[k] - middle, 600));
            top += made / (s1 * made + s2 * r);
            bottom += 1 / (s1 * exp(fmin(b->drawn[k] - middle, 600)) + s2 * r);
        }
        const double before = r;
        r = top / bottom;
        if (fabs(r - before) <= 1e-12 * r) {
            break;
        }
    }
    for (int64_t k = 0; k < b->n; k++) {
        const double made = exp(fmin(b->made[k] - middle, 600));
        b->share[k] = made / (s1 * made + s2 * r);
    }
    double variance = relative_variance(b->share, b->n, n);
    for (int64_t k = 0; k < b->n; k++) {
        b->share[k] = 1 / (s1 * exp(fmin(b->drawn[k] - middle, 600)) + s2 * r);
    }
    tess_xp_draws shares = whole;
    shares.values = b->share;
    variance += relative_variance(b->share, b->n, fmin(fmax(tess_xp_ess(&shares), 1), n));
    *log_evidence = middle + log(r);
    *error = sqrt(variance);
}

static tess_status run(bridge *b, double *log_evidence, double *error)
{
    tess_xp_sampler *s = b->sampler;
    TESS_TRY(tess_xp_sampler_open(s));
    TESS_TRY(tess_xp_sampler_find_noise(s));
    b->dim = s->coords.n;
    TESS_TRY(take_room(b));
    place_draws(b);
    TESS_TRY(check_density(b));
    TESS_TRY(make_normal(b));
    TESS_TRY(weigh(b));
    solve(b, log_evidence, error);
    return TESS_OK;
}

static tess_status check_draws(const tess_xp_sampler *s, const tess_xpcs_posterior_info *d)
{
    if (s->config.method != TESS_XPCS_METHOD_NUTS || d->method != TESS_XPCS_METHOD_NUTS ||
        s->config.coords != 0 || s->config.shard > 0 || s->config.temper != 1 ||
        s->config.fit_priors) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "posterior: bridge sampling takes draws of method nuts and coords "
                  "logit, from all data and priors that are not the fit's");
    }
    if (d->n_param != s->fit->n_param) {
        TESS_FAIL(TESS_E_ARGUMENT, "posterior: draws of %lld parameters, but the fit has %lld",
                  (long long)d->n_param, (long long)s->fit->n_param);
    }
    if (d->n_chain * (d->n_draw / 2) < LEAST_DRAWS) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "n_draw: %lld draws of %lld chains; bridge sampling takes at least %d in all: "
                  "raise n_draw or n_chain, or take method laplace",
                  (long long)d->n_draw, (long long)d->n_chain, 2 * LEAST_DRAWS);
    }
    return TESS_OK;
}

tess_status tess_xpcs_bridge(tess_context *ctx, tess_xpcs_data *data, const tess_xpcs_model *model,
                             const tess_xpcs_result *fit, const tess_xpcs_fit_config *fit_config,
                             const tess_xpcs_sample_config *config,
                             const tess_xpcs_posterior *posterior, double *log_evidence,
                             double *error)
{
    tess_error_clear();
    if (!ctx || !data || !fit || !posterior || !log_evidence || !error) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL",
                  !ctx         ? "context"
                  : !data      ? "data"
                  : !fit       ? "fit"
                  : !posterior ? "posterior"
                               : "log_evidence or error");
    }
    const tess_xpcs_posterior_info *draws = tess_xpcs_posterior_get_info(posterior);
    tess_xp_sampler s = {.ctx = ctx, .data = data, .fit = tess_xpcs_result_get_info(fit)};
    bridge b = {.sampler = &s,
                .draws = draws,
                .n_half = draws->n_draw / 2,
                .n = draws->n_chain * (draws->n_draw / 2)};
    if (s.fit->noise_photons > 0) {
        TESS_FAIL(TESS_E_CONFIG, "fit: with noise frames the likelihood is no probability of the "
                                 "data, and there is no evidence; fit with noise independent");
    }
    TESS_TRY(tess_xp_sampler_begin(&s, model, fit_config, config));
    TESS_TRY(check_draws(&s, draws));
    s.config.n_chain = 1; // it evaluates, and draws nothing
    s.config.n_draw = 1;
    const tess_status status = run(&b, log_evidence, error);
    tess_xp_sampler_close(&s);
    tess_xpcs_posterior_destroy(s.out);
    return status;
}
