#include "systems/xpcs/posterior/adjust.h"

#include "numerics/cholesky.h"

#include <string.h>

bool tess_xp_adjust_set(tess_xp_adjust *a, int64_t n, const double *noisy,
                        const double *independent)
{
    const size_t bytes = (size_t)(n * n) * sizeof *noisy;
    a->n = n;
    memcpy(a->noisy, noisy, bytes);
    memcpy(a->independent, independent, bytes);
    return tess_cholesky(a->noisy, n) && tess_cholesky(a->independent, n);
}

// d' C^-1 d of the covariance C with this root; by [n] = C^-1 d.
static double measure(const double *root, int64_t n, const double *d, double *by)
{
    double sum = 0;
    memcpy(by, d, (size_t)n * sizeof *by);
    tess_cholesky_solve(root, n, by);
    for (int64_t i = 0; i < n; i++) {
        sum += d[i] * by[i];
    }
    return sum;
}

void tess_xp_adjust_apply(const tess_xp_adjust *a, const tess_xp_density *density, const double *u,
                          double s, tess_xp_density_value *value, double *slope)
{
    const int64_t n_param = density->n_param;
    double d[TESS_XPCS_MAX_PARAM] = {0};
    double by_noisy[TESS_XPCS_MAX_PARAM] = {0};
    double by_own[TESS_XPCS_MAX_PARAM];
    tess_xp_density_value top;
    for (int64_t i = 0; i < a->n; i++) {
        d[i] = u[i] - a->u[i];
    }
    const double own = measure(a->independent, a->n, d, by_own);
    const double share = own > 0 ? measure(a->noisy, a->n, d, by_noisy) / own : 1;
    tess_xp_density_at(density, a->sums, a->theta, s, &top);
    const double rise = value->log_likelihood - top.log_likelihood;
    value->log_likelihood = top.log_likelihood + share * rise;
    for (int64_t k = 0; k < n_param; k++) {
        const double prior = value->prior_gradient[k];
        value->gradient[k] = prior + share * (value->gradient[k] - prior);
    }
    // The prior of the noise is in both, and stays.
    value->gradient[n_param] =
        top.gradient[n_param] + share * (value->gradient[n_param] - top.gradient[n_param]);
    for (int64_t i = 0; i < a->n; i++) {
        slope[i] = own > 0 ? 2 * rise * (by_noisy[i] - share * by_own[i]) / own : 0;
    }
}
