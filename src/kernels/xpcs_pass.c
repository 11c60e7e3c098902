// The kernels of a pass over two-time correlations; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/math.h"
#include "kernels/xpcs_constants.h"

#include <math.h>
#include <string.h>

// Loops that are written once and built for constant flags.
#define XP_INLINE static inline __attribute__((always_inline))

#define T_BITS 64
#include "kernels/xpcs_body.h"

#define T_BITS 32
#include "kernels/xpcs_body.h"

void TESS_KFN(xpcs_sums_f64)(const tess_xp_pairs_f64 *restrict pairs,
                             const tess_xp_terms_f64 *restrict terms, size_t n, int want,
                             double *restrict sums, tess_xp_angle_sums_f64 *restrict angles)
{
    angle_sums_f64(pairs, terms, tess_xp_padded(n), want, sums, angles);
}

// Sf, Sfy, P and R have one factor of the scale, Sff and Q two, S1 and Sy none.
#define ONE 1 / TESS_XP_SCALE_F32
#define TWO 1 / (TESS_XP_SCALE_F32 * TESS_XP_SCALE_F32)
static const double unscale[TESS_XP_N_SUM] = {1,   ONE, TWO, 1,   1,   ONE, ONE, ONE, ONE,
                                              ONE, ONE, ONE, ONE, TWO, TWO, TWO, TWO, TWO,
                                              TWO, TWO, ONE, ONE, ONE, ONE, ONE, ONE, ONE};
#undef ONE
#undef TWO

void TESS_KFN(xpcs_sums_f32)(const tess_xp_pairs_f32 *restrict pairs,
                             const tess_xp_terms_f32 *restrict terms, size_t n, int want,
                             double *restrict sums, tess_xp_angle_sums_f32 *restrict angles)
{
    // Cleared as far as they are used, and nothing is added to what is not.
    float rows[TESS_XP_N_SUM][16] __attribute__((aligned(64)));
    const size_t n_row = want == TESS_XP_COST ? 6 : TESS_XP_N_SUM;
    memset(rows, 0, n_row * sizeof rows[0]);
    angle_sums_f32(pairs, terms, tess_xp_padded(n), want, rows[0], angles);
    for (size_t r = 0; r < n_row; r++) {
        v_add_widened(rows[r], unscale[r], sums + 8 * r);
    }
}

static inline v_f64 load_up_to(const double *p, size_t n, double fill)
{
    const size_t step = lanes_f64();
    return v_load_n_f64(p, n < step ? n : step, fill);
}

// Columns that are there in full, or with a fill behind them.
static inline v_f64 load_some(const double *p, size_t n, double fill)
{
    return n >= v_len_f64() ? v_load_f64(p) : load_up_to(p, n, fill);
}

// Distances of the sums of columns j and row i, and their slopes where they are rounded off.
static inline v_f64 integral(const double *sums, size_t i, size_t j, size_t left, double eps,
                             v_f64 *slope)
{
    const v_f64 row = v_set1_f64(sums[i]);
    const v_f64 d = v_abs_f64(v_sub_f64(load_some(sums + j, left, sums[i]), row));
    if (eps == 0) {
        *slope = v_set1_f64(1);
        return d;
    }
    const v_f64 rounded = v_sqrt_f64(v_fma_f64(d, d, v_set1_f64(eps)));
    *slope = v_div_f64(d, rounded);
    return rounded;
}

// by (sums[j] - sums[i]) slope.
static inline v_f64 difference(const double *sums, size_t i, size_t j, size_t left, v_f64 slope,
                               v_f64 by)
{
    const v_f64 d = v_sub_f64(load_some(sums + j, left, sums[i]), v_set1_f64(sums[i]));
    return v_mul_f64(by, v_mul_f64(d, slope));
}

static inline void diffusion_pairs(const tess_xp_source *s, size_t c, tess_xp_pairs_f64 *out)
{
    const size_t i = s->row, j = s->column + c, left = s->n - c;
    const v_f64 minus_w2 = v_set1_f64(-s->w2);
    v_f64 slope;
    const v_f64 exponent = v_mul_f64(minus_w2, integral(s->diffusion, i, j, left, s->eps, &slope));
    const v_f64 is_nothing = v_set1_f64(TESS_XP_EXPONENT_LEAST);
    const v_f64 e =
        v_select_f64(v_lt_f64(exponent, is_nothing), v_set1_f64(0), v_exp_f64(exponent));
    store_f64(out->e + c, e);
    for (int k = 0; k < 3 && s->diffusion_d[0]; k++) {
        const v_f64 u = difference(s->diffusion_d[k], i, j, left, slope, minus_w2);
        store_f64(out->u[k] + c, u);
        if (!s->shear) {
            store_f64(out->v[k] + c, v_mul_f64(e, u));
        }
    }
}

static inline void shear_pairs(const tess_xp_source *s, size_t c, tess_xp_pairs_f64 *out)
{
    const size_t i = s->row, j = s->column + c, left = s->n - c;
    const v_f64 zero = v_set1_f64(0);
    v_f64 slope;
    const v_f64 b = integral(s->shear, i, j, left, s->eps, &slope);
    const v_f64 inverse = v_select_f64(v_lt_f64(zero, b), v_div_f64(v_set1_f64(1), b), zero);
    const v_f64 by = v_mul_f64(v_set1_f64(s->power), inverse);
    store_f64(out->b + c, b);
    store_f64(out->inverse + c, inverse);
    for (int k = 0; k < 3 && s->shear_d[0]; k++) {
        store_f64(out->v[k] + c, difference(s->shear_d[k], i, j, left, slope, by));
    }
}

void TESS_KFN(xpcs_pairs)(const tess_xp_source *restrict s, tess_xp_pairs_f64 *restrict out)
{
    const size_t step = lanes_f64(), width = tess_xp_padded(s->n), tail = width - s->n;
    for (size_t c = 0; c < s->n; c += step) {
        diffusion_pairs(s, c, out);
        if (s->shear) {
            shear_pairs(s, c, out);
        }
    }
    memset(out->e + s->n, 0, tail * sizeof(double));
    memset(out->b + s->n, 0, tail * sizeof(double));
    memset(out->inverse + s->n, 0, tail * sizeof(double));
    for (int k = 0; k < 3; k++) {
        memset(out->u[k] + s->n, 0, tail * sizeof(double));
        memset(out->v[k] + s->n, 0, tail * sizeof(double));
    }
}

void TESS_KFN(xpcs_centre_f64)(const double *restrict y, size_t n, double mean, double *restrict g)
{
    const size_t step = lanes_f64();
    const v_f64 shift = v_set1_f64(mean);
    v_prefetch_ahead(y, n * sizeof *y);
    for (size_t c = 0; c < tess_xp_padded(n); c += step) {
        store_f64(g + c, c < n ? v_sub_f64(load_some(y + c, n - c, mean), shift) : v_set1_f64(0));
    }
}

void TESS_KFN(xpcs_centre_f32)(const float *restrict y, size_t n, double mean, double *restrict g)
{
    v_prefetch_ahead(y, n * sizeof *y);
    for (size_t c = 0; c < n; c++) {
        g[c] = (double)y[c] - mean;
    }
    memset(g + n, 0, (tess_xp_padded(n) - n) * sizeof *g);
}

void TESS_KFN(xpcs_mask)(const double *restrict by, const double *restrict frames, double row,
                         size_t n, double *restrict w, double *restrict g)
{
    const size_t step = lanes_f64();
    const v_f64 zero = v_set1_f64(0);
    for (size_t c = 0; c < n; c += step) {
        const v_f64 y = load_f64(g + c);
        v_f64 weight = v_set1_f64(row);
        if (frames) {
            weight = v_mul_f64(weight, load_some(frames + c, n - c, 0));
        }
        if (by) {
            weight = v_mul_f64(load_some(by + c, n - c, 0), weight);
        }
        store_f64(w + c, v_select_f64(v_isnan_f64(y), zero, weight));
        store_f64(g + c, v_select_f64(v_isnan_f64(y), zero, y));
    }
    memset(w + n, 0, (tess_xp_padded(n) - n) * sizeof *w);
}

void TESS_KFN(xpcs_weigh)(const double *restrict w, size_t n, double *restrict g,
                          double *restrict square)
{
    double lanes[TESS_XP_LANES * 8] = {0};
    for (size_t at = 0; at < TESS_XP_LANES; at += lanes_f64()) {
        v_f64 sum = v_set1_f64(0);
        for (size_t c = at; c < tess_xp_padded(n); c += TESS_XP_LANES) {
            const v_f64 y = load_f64(g + c), weighted = v_mul_f64(load_f64(w + c), y);
            store_f64(g + c, weighted);
            sum = v_fma_f64(weighted, y, sum);
        }
        store_f64(lanes + at, sum);
    }
    double totals[8];
    v_row_sums_f64(lanes, totals);
    *square = totals[0];
}

void TESS_KFN(xpcs_narrow)(const double *restrict x, size_t n, float *restrict y)
{
    for (size_t c = 0; c < tess_xp_padded(n); c += 16) {
        v_narrow_16(x + c, y + c);
    }
}

void TESS_KFN(xpcs_narrow_pairs)(const tess_xp_pairs_f64 *restrict pairs, size_t n,
                                 tess_xp_pairs_f32 *restrict out)
{
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        const double e = pairs->e[c] * TESS_XP_SCALE_F32;
        out->e[c] = (float)(e < TESS_XP_LEAST_F32 ? 0 : e);
    }
    TESS_KFN(xpcs_narrow)(pairs->b, n, out->b);
    TESS_KFN(xpcs_narrow)(pairs->inverse, n, out->inverse);
    for (int k = 0; k < 3; k++) {
        TESS_KFN(xpcs_narrow)(pairs->u[k], n, out->u[k]);
        TESS_KFN(xpcs_narrow)(pairs->v[k], n, out->v[k]);
    }
}

void TESS_KFN(xpcs_widen)(const tess_xp_angle_sums_f32 *restrict angles, size_t n,
                          tess_xp_angle_sums_f64 *restrict out)
{
    for (size_t k = 0; k < 6; k++) {
        for (size_t c = 0; c < tess_xp_padded(n); c++) {
            out->a[k][c] = (double)angles->a[k][c] / (TESS_XP_SCALE_F32 * TESS_XP_SCALE_F32);
        }
    }
}
