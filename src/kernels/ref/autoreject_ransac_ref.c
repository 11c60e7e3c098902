// RANSAC's predictions and medians, as plainly as they can be said.

#include "kernels/isa.h"

#include <math.h>

enum { TILE = TESS_RANSAC_TILE };

void TESS_KFN(ransac_predict)(const double *restrict w, size_t n_row, const int32_t *restrict from,
                              size_t n_from, size_t n_resample, const double *restrict x,
                              size_t n_next, const double *next, double *restrict out)
{
    (void)n_next;
    (void)next;
    for (size_t k = 0; k < n_row; k++) {
        for (size_t r = 0; r < n_resample; r++) {
            for (size_t t = 0; t < TILE; t++) {
                double sum = 0;
                for (size_t i = r * n_from; i < (r + 1) * n_from; i++) {
                    sum = fma(w[i * n_row + k], x[(size_t)from[i] * TILE + t], sum);
                }
                out[(k * n_resample + r) * TILE + t] = sum;
            }
        }
    }
}

// Insertion into the sorted rows before.
static void insert(double *x, size_t n)
{
    const double value = x[n * TILE];
    for (; n > 0 && x[(n - 1) * TILE] > value; n--) {
        x[n * TILE] = x[(n - 1) * TILE];
    }
    x[n * TILE] = value;
}

void TESS_KFN(ransac_median)(double *restrict x, size_t n, double *restrict out)
{
    for (size_t t = 0; t < TILE; t++) {
        for (size_t i = 1; i < n; i++) {
            insert(x + t, i);
        }
        const double low = x[(n - 1) / 2 * TILE + t], high = x[n / 2 * TILE + t];
        out[t] = n % 2 ? low : (low + high) * 0.5;
    }
}

void TESS_KFN(ransac_sums)(const double *restrict x, const double *restrict p,
                           double *restrict sums)
{
    for (size_t t = 0; t < TILE; t++) {
        sums[t] = fma(x[t], p[t], sums[t]);
        sums[TILE + t] = fma(x[t], x[t], sums[TILE + t]);
        sums[2 * TILE + t] = fma(p[t], p[t], sums[2 * TILE + t]);
    }
}
