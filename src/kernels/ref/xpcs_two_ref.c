// Two components, and sums over a model with any derivatives, as plainly as they can be said.

#include "kernels/isa.h"
#include "kernels/xpcs_two.h"

#include <math.h>
#include <string.h>

enum { RUN = TESS_XP_RUN, SAMPLE = 4, VELOCITY = 8, COSINE = 12, SINE = 13, MIXING = 14 };

typedef double lanes[8];

// Neighbours, pairs, halves.
static double total(const double *x)
{
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

// exp(-w2 I) of a run and -w2 dI/d difference.
static void decays(const tess_xp_two_source *s, const double *sums, double *decay, double *slope)
{
    double exponent[RUN];
    for (size_t c = 0; c < s->n; c++) {
        const double way = fabs(sums[s->column + c] - sums[s->row]);
        const double rounded = s->eps == 0 ? way : sqrt(fma(way, way, s->eps));
        slope[c] = s->eps == 0 ? -s->w2 : -s->w2 * (way / rounded);
        exponent[c] = -s->w2 * rounded;
    }
    TESS_KFN(exp_f64)(exponent, s->n, decay);
    for (size_t c = 0; c < s->n; c++) {
        decay[c] = exponent[c] < TESS_XP_EXPONENT_LEAST ? 0 : decay[c];
    }
}

void TESS_KFN(xpcs_two_pairs)(const tess_xp_two_source *restrict s, tess_xp_two_pairs *restrict out)
{
    double hr[RUN], hs[RUN], slope_r[RUN], slope_s[RUN];
    decays(s, s->grid, hr, slope_r);
    decays(s, s->grid + SAMPLE * s->stride, hs, slope_s);
    const double *cosine = s->grid + COSINE * s->stride, *sine = s->grid + SINE * s->stride;
    const double *velocity = s->grid + VELOCITY * s->stride;
    double(*all)[TESS_XP_ROW] = (double(*)[TESS_XP_ROW])(void *)out;
    for (size_t k = 0; k < sizeof *out / sizeof *all && (k < 3 || s->has_derivatives); k++) {
        memset(all[k], 0, tess_xp_padded(s->n) * sizeof(double));
    }
    for (size_t c = 0; c < s->n; c++) {
        const size_t i = s->row, j = s->column + c;
        out->x[c] = cosine[i] * cosine[j] * hr[c];
        out->y[c] = sine[i] * sine[j] * hs[c];
        out->way[c] = velocity[j] - velocity[i];
        for (size_t k = 0; k < 3 && s->has_derivatives; k++) {
            const double *r = s->grid + (1 + k) * s->stride;
            const double *t = s->grid + (SAMPLE + 1 + k) * s->stride;
            const double *v = velocity + (1 + k) * s->stride;
            out->x_rate[k][c] = out->x[c] * slope_r[c] * (r[j] - r[i]);
            out->y_rate[k][c] = out->y[c] * slope_s[c] * (t[j] - t[i]);
            out->way_rate[k][c] = v[j] - v[i];
        }
        const double sc = sine[i] * cosine[j], cs = cosine[i] * sine[j];
        for (size_t k = 0; k < 4 && s->has_derivatives; k++) {
            const double *d = s->grid + (MIXING + k) * s->stride;
            out->x_mixing[k][c] = -hr[c] * fma(sc, d[i], cs * d[j]);
            out->y_mixing[k][c] = hs[c] * fma(cs, d[i], sc * d[j]);
        }
    }
}

void TESS_KFN(xpcs_two_points)(const tess_xp_two_pairs *restrict p, size_t n, double amplitude,
                               double tau, double *restrict m, tess_xp_slopes *restrict slopes)
{
    double psi[TESS_XP_ROW] = {0}, sine[TESS_XP_ROW], cosine[TESS_XP_ROW];
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        psi[c] = amplitude * p->way[c];
    }
    TESS_KFN(sincos_f64)(psi, tess_xp_padded(n), sine, cosine);
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        const double x = p->x[c], y = p->y[c];
        const double by_x = fma(y, cosine[c], x), by_y = fma(x, cosine[c], y);
        const double by_psi = -2 * (x * y) * sine[c];
        m[c] = fma(x, by_x, y * by_y);
        for (int k = 0; k < 3 && slopes; k++) {
            slopes->j[k][c] = 2 * by_x * p->x_rate[k][c];
            slopes->j[3 + k][c] = 2 * by_y * p->y_rate[k][c];
            slopes->j[6 + k][c] = by_psi * amplitude * p->way_rate[k][c];
        }
        for (int k = 0; k < 4 && slopes; k++) {
            slopes->j[9 + k][c] = fma(2 * by_x, p->x_mixing[k][c], 2 * by_y * p->y_mixing[k][c]);
        }
        if (slopes) {
            slopes->j[13][c] = by_psi * tau * p->way[c];
        }
    }
}

void TESS_KFN(xpcs_dense_sums)(const double *restrict m, const double *restrict w,
                               const double *restrict g, tess_xp_slopes *restrict slopes, size_t n,
                               int n_param, int want, double *restrict sums)
{
    const int p = n_param, n_slope = want == TESS_XP_COST ? 0 : p;
    const int n_sum = 6 + 3 * n_slope + (want == TESS_XP_HESSIAN ? p * (p + 1) / 2 : 0);
    lanes s[TESS_XP_DENSE_SUMS] = {{0}};
    for (size_t c = 0; c < tess_xp_padded(n); c++) {
        const size_t lane = c % 8;
        const double weight = w ? w[c] : 1;
        s[0][lane] += w ? w[c] : 0;
        s[1][lane] += weight * m[c];
        s[2][lane] = fma(weight * m[c], m[c], s[2][lane]);
        s[3][lane] += w ? g[c] : 0;
        s[5][lane] = fma(m[c], g[c], s[5][lane]);
        for (int k = 0, at = 6 + 3 * p; k < n_slope; k++) {
            const double j = slopes->j[k][c], wj = weight * j;
            s[6 + k][lane] += wj;
            s[6 + p + k][lane] = fma(wj, m[c], s[6 + p + k][lane]);
            s[6 + 2 * p + k][lane] = fma(j, g[c], s[6 + 2 * p + k][lane]);
            for (int l = k; l < p && want == TESS_XP_HESSIAN; l++, at++) {
                s[at][lane] = fma(wj, slopes->j[l][c], s[at][lane]);
            }
        }
    }
    for (int k = 0; k < n_sum; k++) {
        sums[k] = total(s[k]);
    }
}
