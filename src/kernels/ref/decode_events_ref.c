// Sums of window masses along lines, as plainly as they can be said.

#include "kernels/decode_events.h"
#include "kernels/isa.h"

#include <math.h>

void TESS_KFN(events_line)(const double *const *restrict rows, const int64_t *restrict shift,
                           const int64_t *restrict n_item, size_t n_row, double base, int64_t first,
                           size_t n, double *restrict best)
{
    *best = -(double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        double sum = base;
        for (size_t k = 0; k < n_row; k++) {
            const int64_t at = first + (int64_t)i + shift[k];
            sum += at >= 0 && at < n_item[k] ? rows[k][at] : 0;
        }
        *best = sum > *best ? sum : *best;
    }
}

void TESS_KFN(events_masses)(const double *restrict prefix, const int32_t *restrict low,
                             const int32_t *restrict high, const int32_t *restrict run, size_t n,
                             double less, double *restrict out)
{
    (void)run;
    for (size_t m = 0; m < n; m++) {
        out[m] = prefix[high[m]] - prefix[low[m]] - less;
    }
}

void TESS_KFN(events_reach)(const double *restrict rows, size_t n_row, size_t stride, size_t n,
                            size_t reach, float *restrict out)
{
    for (size_t i = 0; i < n + 2 * reach; i++) {
        out[i] = i < reach || i >= n ? 0 : -INFINITY;
        for (size_t m = i < reach ? 0 : i - reach; i < n + reach && m <= i && m < n; m++) {
            for (size_t r = 0; r < n_row; r++) {
                const float f = (float)rows[r * stride + m];
                const float up = f + (fabsf(f) * 0x1p-22f + 0x1p-120f);
                out[i] = up > out[i] ? up : out[i];
            }
        }
    }
}

void TESS_KFN(events_bounds)(const float *restrict rows, size_t stride,
                             const int32_t *restrict shift, const int32_t *restrict n_item,
                             size_t n_row, int32_t first, size_t n_tile, float *restrict out)
{
    for (size_t j = 0; j < n_tile; j++) {
        out[j] = -INFINITY;
        for (size_t l = 0; l < TESS_EVENTS_LINES; l++) {
            float sum = 0;
            for (size_t k = 0; k < n_row; k++) {
                const int64_t at = first + (int64_t)(j * TESS_EVENTS_LINES + l) + shift[k];
                sum += at >= 0 && at < n_item[k] ? rows[k * stride + (size_t)at] : 0;
            }
            out[j] = sum > out[j] ? sum : out[j];
        }
    }
}

void TESS_KFN(events_tile)(const tess_events_tile *restrict t, double *restrict best)
{
    *best = -(double)INFINITY;
    for (int64_t d = t->slope; d < t->slope + t->n_slope; d++) {
        for (int64_t i = t->first; i < t->first + t->n_line; i++) {
            if (2 * i + d < 0 || 2 * i + d > t->last) {
                continue;
            }
            double sum = t->base;
            for (size_t a = 0; a < t->n; a++) {
                const int64_t product = d * t->time[a];
                const int64_t shift = product / t->n_step - (product % t->n_step < 0);
                const int64_t c = t->class_of[product - shift * t->n_step];
                const double *row = t->rows + ((int64_t)a * t->n_class + c) * t->width;
                sum += i + shift >= 0 && i + shift < t->n_item[c] ? row[i + shift] : 0;
            }
            *best = sum > *best ? sum : *best;
        }
    }
}
