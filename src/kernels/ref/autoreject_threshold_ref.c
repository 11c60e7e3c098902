// The kernels of the threshold search, as plainly as they can be said.

#include "kernels/isa.h"

#include <math.h>

enum { TILE = 16 };

// The value of rank k from 0 of x[.][0]: every value in turn, by counting.
static double ranked(const double *x, size_t n, size_t k)
{
    double low = x[0];
    double high = x[0];
    for (size_t i = 1; i < n; i++) {
        low = fmin(low, x[i * TILE]);
        high = fmax(high, x[i * TILE]);
    }
    // Below low are at most k values, not above high more than k.
    while (low < high) {
        const double middle = low + (high - low) / 2;
        const double pivot = middle < high ? middle : low;
        size_t n_up_to = 0;
        double below = low;
        double above = high;
        for (size_t i = 0; i < n; i++) {
            const double value = x[i * TILE];
            n_up_to += value <= pivot;
            below = value <= pivot && value > below ? value : below;
            above = value > pivot && value < above ? value : above;
        }
        if (n_up_to > k) {
            high = below;
        } else {
            low = above;
        }
    }
    return low;
}

void TESS_KFN(autoreject_median)(const double *restrict x, size_t n, double *restrict median,
                                 double *restrict step)
{
    (void)step;
    for (size_t t = 0; t < TILE; t++) {
        const double upper = ranked(x + t, n, n / 2);
        const double lower = n % 2 ? upper : ranked(x + t, n, n / 2 - 1);
        median[t] = (n % 2 ? upper : 0.5 * (lower + upper)) + 0.0;
    }
}

void TESS_KFN(autoreject_curve)(const double *restrict x, const int32_t *restrict index,
                                const double *restrict inverse, size_t n,
                                const double *restrict median, double *restrict sse)
{
    double sum[TILE] = {0};
    for (size_t k = 0; k < n; k++) {
        double r[TILE];
        double q[TILE / 2];
        for (size_t t = 0; t < TILE; t++) {
            sum[t] += x[(ptrdiff_t)index[k] * TILE + (ptrdiff_t)t];
            r[t] = fma(sum[t], inverse[k], -median[t]);
        }
        for (size_t t = 0; t < TILE / 2; t++) {
            q[t] = fma(r[t + 8], r[t + 8], r[t] * r[t]);
        }
        sse[k] += ((q[0] + q[1]) + (q[2] + q[3])) + ((q[4] + q[5]) + (q[6] + q[7]));
    }
}
