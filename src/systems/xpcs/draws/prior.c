// What was believed before the data.
#include "base/rng.h"
#include "numerics/quantiles.h"
#include "systems/xpcs/draws/draws.h"
#include "systems/xpcs/posterior/density.h"

#include <math.h>

enum { N_STEP = 4000, PRIOR_DRAWS = 21 }; // the latter a purpose of random numbers

static const double FAR = 12; // in standard deviations: nothing is left there

static bool is_known(const tess_xp_prior *p)
{
    return p->sd > 0 && isfinite(p->sd) && isfinite(p->mean);
}

// The prior of a row, with the bounds that hold; sd NaN where it is not known. The noise's is the
// half of a normal above 0; contrasts and offsets have no bounds in the density.
static tess_xp_prior prior_of(const tess_xpcs_posterior_info *draws,
                              const tess_xpcs_sample_config *config, int64_t row)
{
    const int64_t k = tess_xp_draws_param(draws, row);
    tess_xp_prior p = {.sd = (double)NAN, .lower = -(double)INFINITY, .upper = (double)INFINITY};
    if (!config) {
        return p;
    }
    if (k < 0) {
        const double *pair = k == -1 ? config->contrast_prior : config->offset_prior;
        p.mean = pair[0];
        p.sd = pair[1];
    } else if (k == draws->n_param) {
        p.mean = 0;
        p.sd = 1.5 * draws->noise_scale;
        p.lower = 0;
    } else if (draws->prior_mean && draws->prior_sd && draws->lower && draws->upper &&
               !(draws->is_fixed && draws->is_fixed[k])) {
        p.mean = draws->prior_mean[k];
        p.sd = draws->prior_sd[k];
        p.lower = draws->lower[k];
        p.upper = draws->upper[k];
    }
    return p;
}

double tess_xp_prior_density(const tess_xpcs_posterior_info *draws,
                             const tess_xpcs_sample_config *config, int64_t row, double x)
{
    tess_xp_prior p = prior_of(draws, config, row);
    if (!is_known(&p)) {
        return (double)NAN;
    }
    tess_xp_prior_close(&p);
    const double z = (x - p.mean) / p.sd;
    return x < p.lower || x > p.upper ? 0 : exp(p.log_norm - 0.5 * z * z);
}

// By sums over where the prior is: formulas for cut normals cancel far out in a tail.
tess_xp_prior_moments tess_xp_prior_moments_of(const tess_xpcs_posterior_info *draws,
                                               const tess_xpcs_sample_config *config, int64_t row)
{
    const tess_xp_prior p = prior_of(draws, config, row);
    if (!is_known(&p)) {
        return (tess_xp_prior_moments){.mean = (double)NAN, .sd = (double)NAN};
    }
    const double peak = fmin(fmax(p.mean, p.lower), p.upper);
    const double low = fmax(p.lower, peak - FAR * p.sd);
    const double high = fmin(p.upper, peak + FAR * p.sd);
    const double peak_z = (peak - p.mean) / p.sd;
    double sum = 0;
    double first = 0;
    double second = 0;
    for (int i = 0; i < N_STEP; i++) {
        const double x = low + (high - low) * (i + 0.5) / N_STEP;
        const double z = (x - p.mean) / p.sd;
        const double w = exp(0.5 * (peak_z * peak_z - z * z));
        sum += w;
        first += w * (x - peak);
        second += w * (x - peak) * (x - peak);
    }
    const double mean = first / sum;
    return (tess_xp_prior_moments){.mean = peak + mean, .sd = sqrt(second / sum - mean * mean)};
}

static double below(double z)
{
    return 0.5 * erfc(-z * 0.70710678118654752440);
}

// By the inverse, from the side where shares are small: they keep their digits there.
static double quantile_between(double low, double high, double share)
{
    const bool is_turned = low > 0;
    const double from = is_turned ? below(-high) : below(low);
    const double to = is_turned ? below(-low) : below(high);
    const double z = tess_normal_quantile(from + (is_turned ? 1 - share : share) * (to - from));
    return fmin(fmax(is_turned ? -z : z, low), high);
}

void tess_xp_prior_draw(const tess_xpcs_posterior_info *draws,
                        const tess_xpcs_sample_config *config, int64_t row, int64_t n,
                        int64_t stride, double *x)
{
    const tess_xp_prior p = prior_of(draws, config, row);
    const tess_xp_quantity own = tess_xp_draws_row(draws, row);
    const tess_philox_stream stream =
        tess_philox_open((uint64_t)config->seed, (uint32_t)row, PRIOR_DRAWS);
    for (int64_t i = 0; i < n; i++) {
        const double share = tess_philox_uniform(&stream, (uint64_t)i);
        x[i * stride] = is_known(&p) ? p.mean + p.sd * quantile_between((p.lower - p.mean) / p.sd,
                                                                        (p.upper - p.mean) / p.sd,
                                                                        share)
                                     : own.data[0]; // fixed
    }
}
