// What is believed of the unknowns before the data.
#include "systems/xpcs/rates/rates.h"

#include <math.h>
#include <string.h>

static const double LOG_2PI = 1.8378770664093454836;

void tess_xp_rates_precision(const tess_xp_rates_fit *fit, const double log_lambda[2],
                             double *precision)
{
    const int64_t n = fit->n;
    const int64_t k = fit->n_basis;
    memset(precision, 0, (size_t)(n * n) * sizeof *precision);
    for (int64_t kind = 0; kind < fit->n_kind; kind++) {
        const tess_xp_spline *s = &fit->splines[kind];
        const double lambda = exp(log_lambda[kind]);
        for (int64_t i = 0; i < k; i++) {
            for (int64_t j = 0; j < k; j++) {
                precision[(kind * k + i) * n + kind * k + j] =
                    lambda * s->penalty[i * k + j] + s->weak[i * k + j];
            }
        }
    }
    if (fit->has_phi0) {
        precision[n * n - 1] = 1 / (fit->phi0.sd * fit->phi0.sd);
    }
}

static double centre_of(const tess_xp_rates_fit *fit, int64_t i)
{
    const int64_t kind = i / fit->n_basis;
    return kind < fit->n_kind ? fit->splines[kind].centre[i % fit->n_basis] : fit->phi0.mean;
}

void tess_xp_rates_pull(const tess_xp_rates_fit *fit, const double *precision, const double *x,
                        double *out)
{
    const int64_t n = fit->n;
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        for (int64_t j = 0; j < n; j++) {
            out[i] += precision[i * n + j] * (x[j] - centre_of(fit, j));
        }
    }
}

// The differences as they are: products with the penalty would cancel where it is large.
static double log_prior_of(const tess_xp_spline *s, double log_lambda, const double *z)
{
    double squares = 0;
    double weak = 0;
    for (int64_t i = 0; i < s->n - 2; i++) {
        double d = 0;
        for (int64_t k = 0; k < 3; k++) {
            d += s->difference[i * s->n + i + k] * z[i + k];
        }
        squares += d * d;
    }
    for (int64_t r = 0; r < 2; r++) {
        const double *row = s->null + r * s->n;
        double mean = 0;
        double length = 0;
        for (int64_t k = 0; k < s->n; k++) {
            mean += row[k] * z[k];
            length += row[k] * row[k];
        }
        const double d = (mean / length - s->mean[r]) / s->sd[r];
        weak += d * d;
    }
    return 0.5 * ((double)(s->n - 2) * log_lambda + s->log_constant - (double)s->n * LOG_2PI -
                  exp(log_lambda) * squares - weak);
}

double tess_xp_rates_log_prior(const tess_xp_rates_fit *fit, const double log_lambda[2],
                               const double *x)
{
    double sum = 0;
    for (int64_t kind = 0; kind < fit->n_kind; kind++) {
        sum += log_prior_of(&fit->splines[kind], log_lambda[kind], x + kind * fit->n_basis);
    }
    if (fit->has_phi0) {
        const double z = (x[fit->n - 1] - fit->phi0.mean) / fit->phi0.sd;
        sum += fit->phi0.log_norm - 0.5 * z * z;
    }
    return sum;
}
