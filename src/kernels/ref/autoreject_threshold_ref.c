// The kernels of the threshold search, as plainly as they can be said.

#include "kernels/isa.h"

#include <math.h>

enum { TILE = 16 };

// The value of rank k from 0 of x[index[.]][0], by counting.
static double ranked(const double *x, const int32_t *index, size_t n, size_t k)
{
    double low = x[(ptrdiff_t)index[0] * TILE];
    double high = low;
    for (size_t i = 1; i < n; i++) {
        low = fmin(low, x[(ptrdiff_t)index[i] * TILE]);
        high = fmax(high, x[(ptrdiff_t)index[i] * TILE]);
    }
    // Below low are at most k values, not above high more than k.
    while (low < high) {
        const double middle = low + (high - low) / 2;
        const double pivot = middle < high ? middle : low;
        size_t n_up_to = 0;
        double below = low;
        double above = high;
        for (size_t i = 0; i < n; i++) {
            const double value = x[(ptrdiff_t)index[i] * TILE];
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

void TESS_KFN(autoreject_median)(const double *restrict x, const int32_t *restrict index, size_t n,
                                 float *restrict rounded, float *restrict gaps,
                                 double *restrict median)
{
    (void)rounded;
    (void)gaps;
    for (size_t t = 0; t < TILE; t++) {
        const double upper = ranked(x + t, index, n, n / 2);
        const double lower = n % 2 ? upper : ranked(x + t, index, n, n / 2 - 1);
        median[t] = (n % 2 ? upper : 0.5 * (lower + upper)) + 0.0;
    }
}

static double squared_error(const double *sum, double inverse, const double *median)
{
    double r[TILE];
    double q[TILE / 2];
    for (size_t t = 0; t < TILE; t++) {
        r[t] = fma(-sum[t], inverse, median[t]);
    }
    for (size_t t = 0; t < TILE / 2; t++) {
        q[t] = fma(r[t + 8], r[t + 8], r[t] * r[t]);
    }
    return ((q[0] + q[1]) + (q[2] + q[3])) + ((q[4] + q[5]) + (q[6] + q[7]));
}

void TESS_KFN(autoreject_curve)(const double *restrict x, size_t n_row,
                                const uint64_t *restrict validation, size_t n_split,
                                const double *restrict inverse, const double *restrict median,
                                double *restrict sse, size_t n_train)
{
    for (size_t s = 0; s < n_split; s++) {
        const uint64_t *bits = validation + s * ((n_row + 63) / 64);
        double sum[TILE] = {0};
        size_t k = 0;
        for (size_t r = 0; r < n_row; r++) {
            if (bits[r / 64] >> (r % 64) & 1) {
                continue;
            }
            for (size_t t = 0; t < TILE; t++) {
                sum[t] += x[r * TILE + t];
            }
            sse[s * n_train + k] += squared_error(sum, inverse[k], median + s * TILE);
            k++;
        }
    }
}
