// Sums over a run of a model with any derivatives, nothing shared by angles; built once per ISA.

#include "kernels/isa.h"
#include "kernels/xpcs_lanes.h"
#include "kernels/xpcs_two.h"

#include <string.h>

enum { ROWS = 2, COLUMNS = 4 }; // of products that are summed together

typedef struct dense {
    const double *m;
    const double *w; // NULL: 1
    const double *g;
    const tess_xp_slopes *slopes;
    size_t width;
} dense;

static inline v_f64 weighted(const dense *d, const double *x, size_t c)
{
    return d->w ? v_mul_f64(load(d->w + c), load(x + c)) : load(x + c);
}

static inline void plain_sums(const dense *d, size_t at, double *rows)
{
    const v_f64 zero = v_set1_f64(0);
    v_f64 s1 = zero, sf = zero, sff = zero, sy = zero, sfy = zero;
    for (size_t c = at; c < d->width; c += LANES) {
        const v_f64 m = load(d->m + c), g = load(d->g + c), wm = weighted(d, d->m, c);
        if (d->w) {
            s1 = v_add_f64(s1, load(d->w + c));
            sy = v_add_f64(sy, g);
        }
        sf = v_add_f64(sf, wm);
        sff = v_fma_f64(wm, m, sff);
        sfy = v_fma_f64(m, g, sfy);
    }
    store(rows, s1), store(rows + LANES, sf), store(rows + 2 * LANES, sff);
    store(rows + 3 * LANES, sy), store(rows + 5 * LANES, sfy);
}

// P, Q and R of one derivative.
static inline void slope_sums(const dense *d, int k, int n_param, size_t at, double *rows)
{
    const v_f64 zero = v_set1_f64(0);
    v_f64 p = zero, q = zero, r = zero;
    for (size_t c = at; c < d->width; c += LANES) {
        const v_f64 j = load(d->slopes->j[k] + c), wj = weighted(d, d->slopes->j[k], c);
        p = v_add_f64(p, wj);
        q = v_fma_f64(wj, load(d->m + c), q);
        r = v_fma_f64(j, load(d->g + c), r);
    }
    store(rows + (6 + k) * LANES, p), store(rows + (6 + n_param + k) * LANES, q);
    store(rows + (6 + 2 * n_param + k) * LANES, r);
}

// Products of derivatives k and k + 1 with l..l+3. Rows behind the last parameter are 0.
static inline void product_sums(const dense *d, int k, int l, size_t at, double *tile)
{
    const double(*j)[TESS_XP_ROW] = d->slopes->j;
    v_f64 s0 = v_set1_f64(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    for (size_t c = at; c < d->width; c += LANES) {
        const v_f64 a = weighted(d, j[k], c), b = weighted(d, j[k + 1], c);
        const v_f64 j0 = load(j[l] + c), j1 = load(j[l + 1] + c);
        const v_f64 j2 = load(j[l + 2] + c), j3 = load(j[l + 3] + c);
        s0 = v_fma_f64(a, j0, s0), s1 = v_fma_f64(a, j1, s1);
        s2 = v_fma_f64(a, j2, s2), s3 = v_fma_f64(a, j3, s3);
        s4 = v_fma_f64(b, j0, s4), s5 = v_fma_f64(b, j1, s5);
        s6 = v_fma_f64(b, j2, s6), s7 = v_fma_f64(b, j3, s7);
    }
    store(tile, s0), store(tile + LANES, s1), store(tile + 2 * LANES, s2);
    store(tile + 3 * LANES, s3), store(tile + 4 * LANES, s4), store(tile + 5 * LANES, s5);
    store(tile + 6 * LANES, s6), store(tile + 7 * LANES, s7);
}

static void totals_of(const double *rows, int n, double *out)
{
    for (int k = 0; k < n; k += 8) {
        double total[8];
        v_row_sums_f64(rows + k * LANES, total);
        for (int i = 0; i < 8 && k + i < n; i++) {
            out[k + i] = total[i];
        }
    }
}

// The upper triangle by rows.
static void all_products(const dense *d, int n_param, double *out)
{
    for (int k = 0; k < n_param; k += ROWS) {
        // From a multiple of COLUMNS on, so that no tile leaves the sixteen rows.
        for (int l = k - k % COLUMNS; l < n_param; l += COLUMNS) {
            double rows[ROWS * COLUMNS * LANES] __attribute__((aligned(64)));
            double tile[ROWS * COLUMNS];
            for (size_t at = 0; at < LANES; at += lanes()) {
                product_sums(d, k, l, at, rows + at);
            }
            totals_of(rows, ROWS * COLUMNS, tile);
            for (int a = k; a < k + ROWS && a < n_param; a++) {
                for (int b = l > a ? l : a; b < l + COLUMNS && b < n_param; b++) {
                    out[a * n_param - a * (a - 1) / 2 + b - a] = tile[(a - k) * COLUMNS + b - l];
                }
            }
        }
    }
}

void TESS_KFN(xpcs_dense_sums)(const double *restrict m, const double *restrict w,
                               const double *restrict g, tess_xp_slopes *restrict slopes, size_t n,
                               int n_param, int want, double *restrict sums)
{
    double rows[(6 + 3 * TESS_XP_DENSE_MAX + 2) * LANES] __attribute__((aligned(64))) = {0};
    const dense d = {.m = m, .w = w, .g = g, .slopes = slopes, .width = tess_xp_padded(n)};
    const int n_slope = want == TESS_XP_COST ? 0 : n_param;
    for (size_t at = 0; at < LANES; at += lanes()) {
        plain_sums(&d, at, rows + at);
        for (int k = 0; k < n_slope; k++) {
            slope_sums(&d, k, n_param, at, rows + at);
        }
    }
    totals_of(rows, 6 + 3 * n_slope, sums);
    if (want == TESS_XP_HESSIAN) {
        for (int k = n_param; k % COLUMNS != 0; k++) {
            memset(slopes->j[k], 0, d.width * sizeof(double));
        }
        all_products(&d, n_param, sums + 6 + 3 * n_param);
    }
}
