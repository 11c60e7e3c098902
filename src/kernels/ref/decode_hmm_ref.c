// The steps of a hidden Markov model, as plainly as they can be said.

#include "kernels/isa.h"

#include <float.h>
#include <math.h>

void TESS_KFN(hmm_fill)(double value, size_t n, double *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = value;
    }
}

void TESS_KFN(hmm_sum)(const double *restrict x, size_t n, double *restrict sum)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        total += x[i];
    }
    *sum = total;
}

void TESS_KFN(hmm_multiply_f32)(const float *restrict a, const double *restrict b, size_t n,
                                double *restrict y, double *restrict sum)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        total += y[i] = (double)a[i] * b[i];
    }
    *sum = total;
}

void TESS_KFN(hmm_multiply_f64)(const double *restrict a, const double *restrict b, size_t n,
                                double *restrict y, double *restrict sum)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        total += y[i] = a[i] * b[i];
    }
    *sum = total;
}

void TESS_KFN(hmm_divide)(const double *restrict a, const double *restrict b, size_t n,
                          double *restrict y, double *restrict sum)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        total += y[i] = b[i] == 0 ? 0 : a[i] / b[i];
    }
    *sum = total;
}

static float rounded_f32(double x)
{
    return x < (double)FLT_MIN ? 0 : (float)x;
}

static double rounded_f64(double x)
{
    return x < DBL_MIN ? 0 : x;
}

void TESS_KFN(hmm_keep_f32)(const double *x, size_t n, double by, float *restrict kept, double *y,
                            double *restrict sum)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        kept[i] = rounded_f32(x[i] * by);
        total += (double)kept[i];
        if (y) {
            y[i] = (double)kept[i];
        }
    }
    *sum = total;
}

void TESS_KFN(hmm_keep_f64)(const double *x, size_t n, double by, double *restrict kept, double *y,
                            double *restrict sum)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        total += kept[i] = rounded_f64(x[i] * by);
        if (y) {
            y[i] = kept[i];
        }
    }
    *sum = total;
}

void TESS_KFN(hmm_scale_f32)(float *restrict kept, size_t n, double by, double *restrict sum)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        kept[i] = rounded_f32((double)kept[i] * by);
        total += (double)kept[i];
    }
    *sum = total;
}

void TESS_KFN(hmm_scale_f64)(double *restrict kept, size_t n, double by, double *restrict sum)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        total += kept[i] = rounded_f64(kept[i] * by);
    }
    *sum = total;
}

void TESS_KFN(hmm_take_f32)(const float *restrict kept, size_t n, double *restrict x,
                            double *restrict sum)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        total += (double)kept[i];
        if (x) {
            x[i] = (double)kept[i];
        }
    }
    *sum = total;
}

void TESS_KFN(hmm_take_f64)(const double *restrict kept, size_t n, double *restrict x,
                            double *restrict sum)
{
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        total += kept[i];
        if (x) {
            x[i] = kept[i];
        }
    }
    *sum = total;
}

void TESS_KFN(hmm_add_scaled)(double by, const double *restrict x, size_t n, double *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = fma(by, x[i], y[i]);
    }
}

void TESS_KFN(hmm_scatter)(const tess_tile_run *restrict runs, size_t n_run, double by,
                           const double *restrict x, const double *restrict before, int add,
                           double *restrict cells)
{
    for (const tess_tile_run *run = runs; run < runs + n_run; run++) {
        for (int32_t i = 0; i < run->n; i++) {
            const double word = by * x[run->bin + i] * (before ? before[run->bin + i] : 1);
            double *cell = &cells[run->cell + i];
            *cell = add ? *cell + word : word;
        }
    }
}

void TESS_KFN(hmm_gather)(const tess_tile_run *restrict runs, size_t n_run,
                          const double *restrict cells, const double *restrict after, double base,
                          double *restrict out)
{
    for (const tess_tile_run *run = runs; run < runs + n_run; run++) {
        for (int32_t i = 0; i < run->n; i++) {
            const double word = cells[run->cell + i] * (after ? after[run->bin + i] : 1);
            out[run->bin + i] = base + word;
        }
    }
}

void TESS_KFN(hmm_max_f32)(const float *restrict x, size_t n, double *restrict out)
{
    *out = -(double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        *out = (double)x[i] > *out ? (double)x[i] : *out;
    }
}

void TESS_KFN(hmm_max_f64)(const double *restrict x, size_t n, double *restrict out)
{
    *out = -(double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        *out = x[i] > *out ? x[i] : *out;
    }
}

void TESS_KFN(hmm_exp_f32)(const float *restrict x, size_t n, double shift, double *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = exp((double)x[i] - shift);
    }
}

void TESS_KFN(hmm_exp_f64)(const double *restrict x, size_t n, double shift, double *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = exp(x[i] - shift);
    }
}

// One item of a tile.
static double tile_sum(const tess_tile_sum *t, const double *w, const double *x, double start)
{
    double sum = start;
    for (ptrdiff_t k = 0; k < t->n_term; k++) {
        sum = fma(w[k * t->w_term], x[k * t->x_term], sum);
    }
    return sum;
}

static double tile_maximum(const tess_tile_sum *t, const double *w, const double *x, double start)
{
    double best = start;
    for (ptrdiff_t k = 0; k < t->n_term; k++) {
        const double sum = w[k * t->w_term] + x[k * t->x_term];
        best = sum > best ? sum : best;
    }
    return best;
}

void TESS_KFN(tile_sums)(const tess_tile_sum *restrict tiles, size_t n_tile,
                         const double *restrict w, const double *restrict x, double *restrict out)
{
    for (const tess_tile_sum *t = tiles; t < tiles + n_tile; t++) {
        for (ptrdiff_t r = 0; r < t->n_row; r++) {
            for (ptrdiff_t j = 0; j < t->n; j++) {
                double *to = out + t->out + r * t->out_row + j;
                *to = tile_sum(t, w + t->w + r * t->w_row, x + t->x + j, t->add ? *to : 0);
            }
        }
    }
}

void TESS_KFN(tile_maxima)(const tess_tile_sum *restrict tiles, size_t n_tile,
                           const double *restrict w, const double *restrict x, double *restrict out)
{
    for (const tess_tile_sum *t = tiles; t < tiles + n_tile; t++) {
        for (ptrdiff_t r = 0; r < t->n_row; r++) {
            for (ptrdiff_t j = 0; j < t->n; j++) {
                double *to = out + t->out + r * t->out_row + j;
                *to = tile_maximum(t, w + t->w + r * t->w_row, x + t->x + j,
                                   t->add ? *to : -(double)INFINITY);
            }
        }
    }
}
