// Simulated samples; built once per ISA. Hashes are whole numbers, which the compiler spreads over
// vectors by itself where a set multiplies them.

#include "kernels/isa.h"
#include "kernels/simd/math.h"
#include "kernels/xpcs_constants.h"
#include "kernels/xpcs_lanes.h"

#include <math.h>
#include <string.h>

enum { RUN = TESS_XP_RUN };

static inline uint64_t splitmix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// In (0, 1): keys first, first + 2, ...
static void uniforms(uint64_t first, size_t n, double *u)
{
    for (size_t c = 0; c < n; c++) {
        const int64_t whole = (int64_t)(splitmix64(first + 2 * c) >> 11);
        u[c] = ((double)whole + 0.5) * 0x1p-53;
    }
}

// cos(2 pi u), 0 <= u <= 1: half turns by sign, the rest by the polynomial.
static inline v_f64 cosine_of_turns(v_f64 u)
{
    const v_f64 magic = v_set1_f64(tess_xp_magic_f64), turns = v_add_f64(u, u);
    const v_f64 k = v_sub_f64(v_add_f64(turns, magic), magic);
    const v_f64 r = v_mul_f64(v_sub_f64(turns, k), v_set1_f64(tess_xp_pi_1_f64));
    const v_f64 q = v_mul_f64(r, r);
    v_f64 sum = v_set1_f64(tess_xp_cos_tail_f64[0]);
    for (size_t i = 1; i < sizeof tess_xp_cos_tail_f64 / sizeof(double); i++) {
        sum = v_fma_f64(sum, q, v_set1_f64(tess_xp_cos_tail_f64[i]));
    }
    const v_f64 one = v_set1_f64(1), cosine = v_fma_f64(sum, q, one);
    return v_select_f64(v_eq_f64(k, one), v_sub_f64(v_set1_f64(-0.0), cosine), cosine);
}

// Model and noise, without a thought for holes.
static void noisy(const tess_xp_simulation *s, const double *m, size_t width, double *y)
{
    double u1[RUN] __attribute__((aligned(64))), u2[RUN] __attribute__((aligned(64)));
    const v_f64 sigma = v_set1_f64(s->sigma), minus_two = v_set1_f64(-2);
    const v_f64 contrast = v_set1_f64(s->contrast), offset = v_set1_f64(s->offset);
    uniforms(s->key, width, u1);
    uniforms(s->key + 1, width, u2);
    for (size_t c = 0; c < width; c += lanes()) {
        const v_f64 log_u = v_log_f64(load(u1 + c));
        const v_f64 radius = v_mul_f64(sigma, v_sqrt_f64(v_mul_f64(minus_two, log_u)));
        const v_f64 model = v_fma_f64(contrast, load(m + c), offset);
        store(y + c, v_fma_f64(radius, cosine_of_turns(load(u2 + c)), model));
    }
}

static void make_holes(const tess_xp_simulation *s, size_t width, double *y)
{
    for (size_t c = 0; c < s->n && s->is_bad; c++) {
        y[c] = s->is_bad[c] ? (double)NAN : y[c];
    }
    for (size_t c = 0; c < s->n && s->nan_fraction > 0; c++) {
        const uint64_t key = (s->key + 2 * c) ^ (UINT64_C(1) << 63);
        y[c] = (double)splitmix64(key) * 0x1p-64 < s->nan_fraction ? (double)NAN : y[c];
    }
    for (size_t c = s->n; c < width; c++) {
        y[c] = (double)NAN;
    }
}

static void sum_head(const double *y, size_t width, double mean, double *head)
{
    double rows[8 * LANES] __attribute__((aligned(64))) = {0};
    const v_f64 zero = v_set1_f64(0), one = v_set1_f64(1), shift = v_set1_f64(mean);
    for (size_t at = 0; at < LANES; at += lanes()) {
        v_f64 count = zero, sum = zero, square = zero;
        for (size_t c = at; c < width; c += LANES) {
            const v_f64 sample = load(y + c);
            const v_mask_f64 is_hole = v_isnan_f64(sample);
            const v_f64 d = v_select_f64(is_hole, zero, v_sub_f64(sample, shift));
            count = v_add_f64(count, v_select_f64(is_hole, zero, one));
            sum = v_add_f64(sum, d);
            square = v_fma_f64(d, d, square);
        }
        store(rows + at, count), store(rows + LANES + at, sum);
        store(rows + 2 * LANES + at, square);
    }
    double totals[8];
    v_row_sums_f64(rows, totals);
    memcpy(head, totals, 3 * sizeof *head);
}

void TESS_KFN(xpcs_simulate_f64)(const tess_xp_simulation *restrict s, const double *restrict m,
                                 double *restrict y, double *restrict head)
{
    const size_t width = tess_xp_padded(s->n);
    noisy(s, m, width, y);
    make_holes(s, width, y);
    sum_head(y, width, s->mean, head);
}

void TESS_KFN(xpcs_simulate_f32)(const tess_xp_simulation *restrict s, const double *restrict m,
                                 float *restrict y, double *restrict head)
{
    double wide[RUN] __attribute__((aligned(64)));
    const size_t width = tess_xp_padded(s->n);
    noisy(s, m, width, wide);
    make_holes(s, width, wide);
    for (size_t c = 0; c < width; c++) {
        y[c] = (float)wide[c];
        wide[c] = (double)y[c];
    }
    sum_head(wide, width, s->mean, head);
}
