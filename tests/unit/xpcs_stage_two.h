// Two components in the problems of the stages' tests: grids and points by definition.
#ifndef TESS_TESTS_XPCS_STAGE_TWO_H
#define TESS_TESTS_XPCS_STAGE_TWO_H

#include "stage/xpcs.h"

#include <math.h>

#pragma GCC diagnostic ignored "-Wdouble-promotion"

enum { XP_TWO = TESS_XP_TWO_PARAMS };

// Integrals over seconds, as the stages take them; the mixing angle m with arrays of derivatives
// that are smooth and otherwise any.
static inline void xp_two_fill(const double *theta, double dt, int64_t n, double *out)
{
    long double sum[3][4] = {{0}}, last[3][4] = {{0}};
    for (int64_t k = 0; k < n; k++) {
        const long double t = (long double)dt * (k + 1);
        for (int r = 0; r < 3; r++) {
            const double *of = theta + 3 * r;
            const long double power = powl(t, of[1]);
            const long double now[4] = {of[0] * power + of[2], power, of[0] * power * logl(t), 1};
            for (int m = 0; m < 4; m++) {
                sum[r][m] += k > 0 ? 0.5L * dt * (last[r][m] + now[m]) : 0;
                last[r][m] = now[m];
                out[(4 * r + m) * n + k] = (double)sum[r][m];
            }
        }
        const long double angle = 0.7L + 0.3L * sinl(0.9L * t);
        out[TESS_XP_TWO_COSINE * n + k] = (double)cosl(angle);
        out[TESS_XP_TWO_SINE * n + k] = (double)sinl(angle);
        for (int m = 0; m < 4; m++) {
            out[(TESS_XP_TWO_MIXING_D + m) * n + k] = (double)cosl(0.4L * (m + 1) * t + m);
        }
    }
}

static inline void xp_two_angle(tess_xp_angle *angle, double q, double phi, double phi0)
{
    const long double degree = 3.14159265358979323846264338L / 180;
    const long double turn = degree * ((long double)phi + phi0);
    angle->w2 = 0.5 * q * q;
    angle->amplitude = (double)(q * cosl(turn));
    angle->tau = (double)(-q * sinl(turn) * degree);
}

// exp(-w2 I) between two frames, and by what it is multiplied in its derivatives.
static inline long double xp_two_decay(const tess_xp_grid *grid, int64_t array, double w2,
                                       int64_t i, int64_t j, long double by[3])
{
    const double *sums = grid->two + array * grid->two_stride;
    const long double d = (long double)sums[j] - sums[i];
    const long double far = sqrtl(d * d + grid->eps_abs);
    for (int k = 0; k < 3; k++) {
        const double *of = sums + (1 + k) * grid->two_stride;
        by[k] = -w2 * (d / far) * ((long double)of[j] - of[i]);
    }
    return expl(-w2 * far);
}

static inline void xp_two_point(const tess_xp_grid *grid, const tess_xp_angle *a, int64_t i,
                                int64_t j, long double *m, long double *jacobian)
{
    const int64_t n = grid->two_stride;
    const double *c = grid->two + TESS_XP_TWO_COSINE * n, *s = grid->two + TESS_XP_TWO_SINE * n;
    const double *v = grid->two + TESS_XP_TWO_VELOCITY * n;
    long double by_r[3], by_s[3];
    const long double hr = xp_two_decay(grid, TESS_XP_TWO_REFERENCE, a->w2, i, j, by_r);
    const long double hs = xp_two_decay(grid, TESS_XP_TWO_SAMPLE, a->w2, i, j, by_s);
    const long double x = (long double)c[i] * c[j] * hr, y = (long double)s[i] * s[j] * hs;
    const long double way = (long double)v[j] - v[i], psi = a->amplitude * way;
    const long double dx = 2 * (x + y * cosl(psi)), dy = 2 * (y + x * cosl(psi));
    const long double by_psi = -2 * x * y * sinl(psi);
    *m = x * x + y * y + 2 * x * y * cosl(psi);
    for (int k = 0; k < 3; k++) {
        const double *of = v + (1 + k) * n;
        jacobian[k] = dx * x * by_r[k];
        jacobian[3 + k] = dy * y * by_s[k];
        jacobian[6 + k] = by_psi * a->amplitude * ((long double)of[j] - of[i]);
    }
    for (int k = 0; k < 4; k++) {
        const double *of = grid->two + (TESS_XP_TWO_MIXING_D + k) * n;
        const long double mi = of[i], mj = of[j];
        jacobian[9 + k] = -dx * hr * (s[i] * c[j] * mi + c[i] * s[j] * mj) +
                          dy * hs * (c[i] * s[j] * mi + s[i] * c[j] * mj);
    }
    jacobian[13] = by_psi * a->tau * way;
}

#endif
