// RANSAC's middle predictions by way of f32, as plainly as they can be said.

#include "kernels/isa.h"

#include <math.h>
#include <string.h>

enum { TILE = TESS_RANSAC_TILE, N = 50 };

void TESS_KFN(ransac_predict_f32)(const float *restrict w, size_t n_row,
                                  const int32_t *restrict from, size_t n_from, size_t n_resample,
                                  const float *restrict x, float *restrict out)
{
    for (size_t k = 0; k < n_row; k++) {
        for (size_t r = 0; r < n_resample; r++) {
            for (size_t t = 0; t < TILE; t++) {
                const size_t first = r * n_from;
                float sum = w[first * n_row + k] * x[(size_t)from[first] * TILE + t];
                for (size_t i = first + 1; i < first + n_from; i++) {
                    sum = fmaf(w[i * n_row + k], x[(size_t)from[i] * TILE + t], sum);
                }
                uint32_t bits;
                memcpy(&bits, &sum, sizeof bits);
                bits = bits >> TESS_RANSAC_NUMBER_BITS << TESS_RANSAC_NUMBER_BITS | (uint32_t)r;
                memcpy(out + (k * n_resample + r) * TILE + t, &bits, sizeof bits);
            }
        }
    }
}

// Insertion into the sorted rows before.
static void insert(float *x, size_t n)
{
    const float value = x[n * TILE];
    for (; n > 0 && x[(n - 1) * TILE] > value; n--) {
        x[n * TILE] = x[(n - 1) * TILE];
    }
    x[n * TILE] = value;
}

void TESS_KFN(ransac_middle)(float *restrict x, float *restrict middle)
{
    for (size_t t = 0; t < TILE; t++) {
        for (size_t i = 1; i < N; i++) {
            insert(x + t, i);
        }
        for (size_t i = 0; i < 4; i++) {
            middle[i * TILE + t] = x[(N / 2 - 2 + i) * TILE + t];
        }
    }
}

void TESS_KFN(ransac_exact)(const tess_ransac_item *restrict item, size_t n_item,
                            const double *restrict w, const int32_t *restrict from, size_t n_from,
                            const double *restrict x, double *restrict out)
{
    for (size_t m = 0; m < n_item; m++) {
        double sum = 0;
        for (size_t i = 0; i < n_from; i++) {
            sum = fma(w[item[m].w + i], x[item[m].x + (size_t)from[i] * TILE], sum);
        }
        out[item[m].to] = sum;
    }
}
