#include "numerics/pareto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_TAIL = 5 };

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Mean profile likelihood of the generalised Pareto with b = k / -sigma at what exceeds, x [n]
// rising, by the empirical Bayes estimate of Zhang and Stephens with a weak prior on k.
static void fit_pareto(const double *x, int64_t n, double *shape, double *scale)
{
    const double prior = 3;
    const double n_real = (double)n;
    const int64_t m = 30 + (int64_t)sqrt(n_real);
    const double quartile = x[(int64_t)(n_real / 4 + 0.5) - 1];
    double top = -(double)INFINITY;
    double sum = 0;
    double mean = 0;
    for (int64_t j = 0; j < m; j++) {
        const double b =
            (1 - sqrt((double)m / ((double)j + 0.5))) / (prior * quartile) + 1 / x[n - 1];
        double k = 0;
        for (int64_t i = 0; i < n; i++) {
            k += log1p(-b * x[i]) / n_real;
        }
        const double log_likelihood = n_real * (log(-b / k) - k - 1);
        const double high = log_likelihood > top ? log_likelihood : top;
        const double before = exp(top - high);
        const double weight = exp(log_likelihood - high);
        sum = sum * before + weight;
        mean = mean * before + weight * b;
        top = high;
    }
    const double b = mean / sum;
    double k = 0;
    for (int64_t i = 0; i < n; i++) {
        k += log1p(-b * x[i]) / n_real;
    }
    *scale = -k / b;
    *shape = (n_real * k + 5) / (n_real + 10);
}

static void normalise(double *log_weight, int64_t n)
{
    double top = -(double)INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        top = log_weight[i] > top ? log_weight[i] : top;
    }
    for (int64_t i = 0; i < n; i++) {
        sum += exp(log_weight[i] - top);
    }
    for (int64_t i = 0; i < n; i++) {
        log_weight[i] -= top + log(sum);
    }
}

double tess_pareto_smooth(double *log_weight, int64_t n, double *scratch)
{
    double *sorted = scratch;
    double *excess = scratch + n;
    double k = (double)INFINITY;
    double top = -(double)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        top = log_weight[i] > top ? log_weight[i] : top;
    }
    for (int64_t i = 0; i < n; i++) {
        log_weight[i] -= top;
    }
    const int64_t most = (int64_t)ceil(fmin(0.2 * (double)n, 3 * sqrt((double)n)));
    memcpy(sorted, log_weight, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    if (most < n) {
        // Weights above the largest that is not of the tail.
        const double least = fmax(sorted[n - most - 1], log(2.2250738585072014e-308));
        int64_t first = n;
        while (first > 0 && sorted[first - 1] > least) {
            first--;
        }
        const int64_t n_tail = n - first;
        double scale;
        for (int64_t i = 0; i < n_tail; i++) {
            excess[i] = exp(sorted[first + i]) - exp(least);
        }
        if (n_tail >= LEAST_TAIL && excess[n_tail - 1] > excess[0]) {
            fit_pareto(excess, n_tail, &k, &scale);
            if (isfinite(k)) {
                for (int64_t i = 0; i < n; i++) {
                    if (log_weight[i] > least) {
                        // Its place in the tail: equal ones share the first.
                        const double *at = bsearch(&log_weight[i], sorted + first, (size_t)n_tail,
                                                   sizeof *sorted, by_value);
                        while (at > sorted + first && at[-1] == *at) {
                            at--;
                        }
                        const double p = ((double)(at - sorted - first) + 0.5) / (double)n_tail;
                        const double x = fabs(k) < 1e-30 ? -log1p(-p) : expm1(-k * log1p(-p)) / k;
                        log_weight[i] = fmin(log(scale * x + exp(least)), 0);
                    }
                }
            }
        }
    }
    normalise(log_weight, n);
    return k;
}
