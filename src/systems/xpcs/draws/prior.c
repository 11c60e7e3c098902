// What was believed before the data.
#include "systems/xpcs/draws/draws.h"
#include "systems/xpcs/posterior/density.h"

#include <math.h>

enum { N_STEP = 4000 };

static const double FAR = 12; // in standard deviations: nothing is left there

// As in posterior/setup.c.
static const struct {
    double mean;
    double sd;
} WIDE[] = {{1e4, 1e5}, {0, 2}, {0, 1e4}, {0.01, 0.1}, {0, 2}, {0, 0.1}, {0, 30}};

static void set_from_config(const tess_xpcs_sample_config *config, int32_t mode, int64_t k,
                            tess_xp_prior *p)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)mode, &n);
    const double *mean = config->prior_mean;
    const double *sd = config->prior_sd;
    const bool is_wide = config->priors == 0;
    p->mean = mean && !isnan(mean[k]) ? mean[k] : is_wide ? WIDE[k].mean : params[k].prior_mean;
    p->sd = sd && !isnan(sd[k]) ? sd[k] : is_wide ? WIDE[k].sd : params[k].prior_sd;
}

static bool is_known(const tess_xp_prior *p)
{
    return p->sd > 0 && isfinite(p->sd) && isfinite(p->mean);
}

// The prior of a row, with the bounds that hold; sd NaN where it is not known. The noise's is the
// half of a normal above 0; contrasts and offsets have no bounds in the density.
static tess_xp_prior prior_of(const tess_xpcs_posterior_info *draws,
                              const tess_xpcs_result_info *fit,
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
    } else if (fit && k < fit->n_param && fit->status[k] != TESS_XPCS_FIXED) {
        set_from_config(config, fit->mode, k, &p);
        p.lower = fit->lower[k];
        p.upper = fit->upper[k];
    }
    return p;
}

double tess_xp_prior_density(const tess_xpcs_posterior_info *draws,
                             const tess_xpcs_result_info *fit,
                             const tess_xpcs_sample_config *config, int64_t row, double x)
{
    tess_xp_prior p = prior_of(draws, fit, config, row);
    if (!is_known(&p)) {
        return (double)NAN;
    }
    tess_xp_prior_close(&p);
    const double z = (x - p.mean) / p.sd;
    return x < p.lower || x > p.upper ? 0 : exp(p.log_norm - 0.5 * z * z);
}

// By sums over where the prior is: formulas for cut normals cancel far out in a tail.
tess_xp_prior_moments tess_xp_prior_moments_of(const tess_xpcs_posterior_info *draws,
                                               const tess_xpcs_result_info *fit,
                                               const tess_xpcs_sample_config *config, int64_t row)
{
    const tess_xp_prior p = prior_of(draws, fit, config, row);
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
