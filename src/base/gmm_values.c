#include "base/gmm_values.h"

enum { MAX_DIM = 3 };

// Exponents at the mark [n_component], then conditional means [n_component][n_dim].
static void condition(const tess_gmm_bins *m, const double *mark, double *exponent, double *mean,
                      double *a)
{
    const int64_t d = m->n_feature;
    const int64_t n_dim = m->n_dim;
    const int64_t width = d + n_dim;
    for (int64_t c = 0; c < m->n_component; c++) {
        const double *factor = m->factor + c * width * width;
        double square = 0;
        for (int64_t k = 0; k < d; k++) {
            double sum = mark[k] - m->mean[c * width + k];
            for (int64_t i = 0; i < k; i++) {
                sum -= factor[k * width + i] * a[i];
            }
            a[k] = sum / factor[k * width + k];
            square += a[k] * a[k];
        }
        exponent[c] = m->log_norm[c] - 0.5 * square;
        for (int64_t k = 0; k < n_dim; k++) {
            double sum = m->mean[c * width + d + k];
            for (int64_t i = 0; i < d; i++) {
                sum += factor[(d + k) * width + i] * a[i];
            }
            mean[c * n_dim + k] = sum;
        }
    }
}

static double log_sum_exp(const double *x, int64_t n)
{
    double most = -(double)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        most = x[i] > most ? x[i] : most;
    }
    if (!(most > -(double)INFINITY)) {
        return most;
    }
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] > most - TESS_GMM_NEGLIGIBLE ? exp(x[i] - most) : 0;
    }
    return most + log(sum);
}

// Log joint density at a place of a mark that condition() has seen.
static double log_at(const tess_gmm_bins *m, const double *exponent, const double *mean,
                     const double *place, double *term)
{
    const int64_t d = m->n_feature;
    const int64_t n_dim = m->n_dim;
    const int64_t width = d + n_dim;
    for (int64_t c = 0; c < m->n_component; c++) {
        const double *factor = m->factor + c * width * width;
        double z[MAX_DIM];
        double square = 0;
        for (int64_t k = 0; k < n_dim; k++) {
            double sum = place[k] - mean[c * n_dim + k];
            for (int64_t i = 0; i < k; i++) {
                sum -= factor[(d + k) * width + d + i] * z[i];
            }
            z[k] = sum / factor[(d + k) * width + d + k];
            square += z[k] * z[k];
        }
        term[c] = exponent[c] - 0.5 * square;
    }
    return log_sum_exp(term, m->n_component);
}

int64_t tess_gmm_values(const tess_gmm_bins *bins, const double *mark, double *scratch,
                        double *values)
{
    double *exponent = scratch;
    double *term = exponent + bins->n_component;
    double *mean = term + bins->n_component;
    double *a = mean + bins->n_component * bins->n_dim;
    double most = -(double)INFINITY;
    condition(bins, mark, exponent, mean, a);
    for (int64_t p = 0; p < bins->n_bin; p++) {
        const double *place = bins->centre + p * bins->n_dim;
        values[p] =
            bins->log_rate + log_at(bins, exponent, mean, place, term) - bins->log_occupancy[p];
        most = values[p] > most ? values[p] : most;
    }
    const double floor = tess_gmm_floor(bins, most);
    int64_t n_floored = 0;
    for (int64_t p = 0; p < bins->n_bin; p++) {
        const int is_above = values[p] > floor;
        values[p] = is_above ? values[p] : floor;
        n_floored += !is_above;
    }
    return n_floored;
}
