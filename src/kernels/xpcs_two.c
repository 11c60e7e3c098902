// Values and derivatives of two components whose fields interfere; built once per ISA.

#include "kernels/xpcs_two.h"
#include "kernels/isa.h"
#include "kernels/simd/math.h"
#include "kernels/xpcs_lanes.h"

#include <string.h>

enum { SAMPLE = 4, VELOCITY = 8, COSINE = 12, SINE = 13, MIXING = 14 };

// Frames from column c of a run on; those behind its end count as the row's.
static inline v_f64 at_columns(const tess_xp_two_source *s, const double *frames, size_t c)
{
    const size_t left = s->n - c, most = lanes() < v_len_f64() ? lanes() : v_len_f64();
    const double *from = frames + s->column + c;
    return left >= v_len_f64() ? v_load_f64(from)
                               : v_load_n_f64(from, left < most ? left : most, frames[s->row]);
}

static inline v_f64 at_row(const tess_xp_two_source *s, const double *frames)
{
    return v_set1_f64(frames[s->row]);
}

static inline v_f64 difference(const tess_xp_two_source *s, const double *frames, size_t c)
{
    return v_sub_f64(at_columns(s, frames, c), at_row(s, frames));
}

// exp(-w2 I) and -w2 dI/d difference.
static inline v_f64 decay(const tess_xp_two_source *s, const double *sums, size_t c, v_f64 *slope)
{
    const v_f64 minus_w2 = v_set1_f64(-s->w2);
    v_f64 way = v_abs_f64(difference(s, sums, c));
    *slope = minus_w2;
    if (s->eps != 0) {
        const v_f64 rounded = v_sqrt_f64(v_fma_f64(way, way, v_set1_f64(s->eps)));
        *slope = v_mul_f64(minus_w2, v_div_f64(way, rounded));
        way = rounded;
    }
    const v_f64 exponent = v_mul_f64(minus_w2, way);
    return v_select_f64(v_lt_f64(exponent, v_set1_f64(TESS_XP_EXPONENT_LEAST)), v_set1_f64(0),
                        v_exp_f64(exponent));
}

static inline void rate_slopes(const tess_xp_two_source *s, const double *sums, size_t c, v_f64 by,
                               double (*out)[TESS_XP_ROW])
{
    for (size_t k = 0; k < 3; k++) {
        const double *of = sums + (1 + k) * s->stride;
        store(out[k] + c, v_mul_f64(by, difference(s, of, c)));
    }
}

// dx = -hr (s_i c_j dm_i + c_i s_j dm_j), dy = hs (c_i s_j dm_i + s_i c_j dm_j).
static inline void mixing_slopes(const tess_xp_two_source *s, size_t c, v_f64 hr, v_f64 hs,
                                 tess_xp_two_pairs *out)
{
    const double *cosine = s->grid + COSINE * s->stride, *sine = s->grid + SINE * s->stride;
    const v_f64 ci = at_row(s, cosine), cj = at_columns(s, cosine, c);
    const v_f64 si = at_row(s, sine), sj = at_columns(s, sine, c);
    const v_f64 sc = v_mul_f64(si, cj), cs = v_mul_f64(ci, sj);
    const v_f64 minus_hr = v_mul_f64(v_set1_f64(-1), hr);
    for (size_t k = 0; k < 4; k++) {
        const double *of = s->grid + (MIXING + k) * s->stride;
        const v_f64 di = at_row(s, of), dj = at_columns(s, of, c);
        store(out->x_mixing[k] + c, v_mul_f64(minus_hr, v_fma_f64(sc, di, v_mul_f64(cs, dj))));
        store(out->y_mixing[k] + c, v_mul_f64(hs, v_fma_f64(cs, di, v_mul_f64(sc, dj))));
    }
}

static inline void pairs_at(const tess_xp_two_source *s, size_t c, tess_xp_two_pairs *out)
{
    const double *cosine = s->grid + COSINE * s->stride, *sine = s->grid + SINE * s->stride;
    const double *sample = s->grid + SAMPLE * s->stride;
    const double *velocity = s->grid + VELOCITY * s->stride;
    v_f64 slope_r, slope_s;
    const v_f64 hr = decay(s, s->grid, c, &slope_r), hs = decay(s, sample, c, &slope_s);
    const v_f64 x = v_mul_f64(v_mul_f64(at_row(s, cosine), at_columns(s, cosine, c)), hr);
    const v_f64 y = v_mul_f64(v_mul_f64(at_row(s, sine), at_columns(s, sine, c)), hs);
    store(out->x + c, x);
    store(out->y + c, y);
    store(out->way + c, difference(s, velocity, c));
    if (s->has_derivatives) {
        rate_slopes(s, s->grid, c, v_mul_f64(x, slope_r), out->x_rate);
        rate_slopes(s, sample, c, v_mul_f64(y, slope_s), out->y_rate);
        rate_slopes(s, velocity, c, v_set1_f64(1), out->way_rate);
        mixing_slopes(s, c, hr, hs, out);
    }
}

void TESS_KFN(xpcs_two_pairs)(const tess_xp_two_source *restrict s, tess_xp_two_pairs *restrict out)
{
    const size_t tail = tess_xp_padded(s->n) - s->n;
    for (size_t c = 0; c < s->n; c += lanes()) {
        pairs_at(s, c, out);
    }
    double(*all)[TESS_XP_ROW] = (double(*)[TESS_XP_ROW])(void *)out;
    for (size_t k = 0; k < sizeof *out / sizeof *all && (k < 3 || s->has_derivatives); k++) {
        memset(all[k] + s->n, 0, tail * sizeof(double));
    }
}

// by_x, by_y: half of what m changes by them; by_psi: all.
static inline void slopes_at(const tess_xp_two_pairs *p, size_t c, v_f64 by_x, v_f64 by_y,
                             v_f64 by_psi, double amplitude, double tau, tess_xp_slopes *out)
{
    const v_f64 two = v_set1_f64(2), by_rate = v_mul_f64(by_psi, v_set1_f64(amplitude));
    const v_f64 x = v_mul_f64(two, by_x), y = v_mul_f64(two, by_y);
    for (int k = 0; k < 3; k++) {
        store(out->j[k] + c, v_mul_f64(x, load(p->x_rate[k] + c)));
        store(out->j[3 + k] + c, v_mul_f64(y, load(p->y_rate[k] + c)));
        store(out->j[6 + k] + c, v_mul_f64(by_rate, load(p->way_rate[k] + c)));
    }
    for (int k = 0; k < 4; k++) {
        const v_f64 of_y = v_mul_f64(y, load(p->y_mixing[k] + c));
        store(out->j[9 + k] + c, v_fma_f64(x, load(p->x_mixing[k] + c), of_y));
    }
    const v_f64 by_angle = v_mul_f64(by_psi, v_set1_f64(tau));
    store(out->j[13] + c, v_mul_f64(by_angle, load(p->way + c)));
}

void TESS_KFN(xpcs_two_points)(const tess_xp_two_pairs *restrict p, size_t n, double amplitude,
                               double tau, double *restrict m, tess_xp_slopes *restrict slopes)
{
    for (size_t c = 0; c < tess_xp_padded(n); c += lanes()) {
        const v_f64 x = load(p->x + c), y = load(p->y + c);
        v_f64 sine, cosine;
        v_sincos_f64(v_mul_f64(v_set1_f64(amplitude), load(p->way + c)), &sine, &cosine);
        const v_f64 by_x = v_fma_f64(y, cosine, x), by_y = v_fma_f64(x, cosine, y);
        store(m + c, v_fma_f64(x, by_x, v_mul_f64(y, by_y)));
        if (slopes) {
            const v_f64 by_psi = v_mul_f64(v_mul_f64(v_set1_f64(-2), v_mul_f64(x, y)), sine);
            slopes_at(p, c, by_x, by_y, by_psi, amplitude, tau, slopes);
        }
    }
}
