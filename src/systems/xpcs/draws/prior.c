// What was believed before the data.
#include "systems/xpcs/draws/draws.h"
#include "systems/xpcs/posterior/density.h"

#include <math.h>

enum { N_STEP = 4000 };

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
