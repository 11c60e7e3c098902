// Small problems for the stages of xpcs: grids and records made in the test, and every sum by its
// definition in long double.
#ifndef TESS_TESTS_XPCS_STAGE_H
#define TESS_TESTS_XPCS_STAGE_H

#include "runtime/context.h"
#include "stage/xpcs.h"
#include "systems/xpcs/store/tiles.h"
#include "unit.h"
#include "unit_golden.h"
#include "xpcs_run.h"
#include "xpcs_stage_two.h"

#include "tessera/xpcs/fit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// The references are long double on purpose.
#pragma GCC diagnostic ignored "-Wdouble-promotion"

enum { XP_MAX_PARAM = TESS_STAGE_XPCS_MAX_PARAM, XP_MOST_ANGLES = 64 };

typedef struct xp_problem {
    int64_t n_frame, n_angle;
    int32_t n_param, power;
    double dt, gap, kappa; // z = kappa x
    double *block;
    tess_xp_grid grid;
    double phi[XP_MOST_ANGLES], q[XP_MOST_ANGLES];
    tess_xp_angle angles[XP_MOST_ANGLES];
    tess_xp_tiles tiles;
    unsigned char *records;
    double *lag_weight, *frame_weight;
} xp_problem;

static inline uint64_t xp_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline double xp_uniform(uint64_t *state)
{
    return (double)(xp_random(state) >> 11) * 0x1p-53;
}

// Integral and its derivatives of amplitude t^exponent + offset, floored: section by section.
static inline void xp_fill_sums(const double *theta, double dt, int64_t n, double *sum, double **d)
{
    long double total[4] = {0}, last[4] = {0};
    for (int64_t k = 0; k < n; k++) {
        const long double t = (long double)dt * (k + 1), power = powl(t, theta[1]);
        const long double rate = theta[0] * power + theta[2];
        const int is_free = rate > 1e-10L;
        const long double now[4] = {is_free ? rate : 1e-10L, is_free ? power : 0,
                                    is_free ? theta[0] * power * logl(t) : 0, is_free};
        for (int m = 0; m < 4; m++) {
            total[m] += k > 0 ? 0.5L * (last[m] + now[m]) : 0;
            last[m] = now[m];
        }
        sum[k] = (double)total[0];
        for (int m = 0; m < 3; m++) {
            d[m][k] = (double)total[1 + m];
        }
    }
}

static inline void xp_fill_angle(xp_problem *p, int64_t a, double phi0)
{
    const long double degree = 3.14159265358979323846264338L / 180;
    const double turn = remainder(phi0 - p->phi[a], 360);
    tess_xp_angle *angle = &p->angles[a];
    if (p->n_param == XP_TWO) {
        xp_two_angle(angle, p->q[a], p->phi[a], phi0);
        return;
    }
    angle->w2 = (double)((long double)p->q[a] * p->q[a] * p->dt);
    if (p->n_param == 3) {
        return;
    }
    angle->amplitude =
        fabs(turn) == 90
            ? 0
            : (double)(p->kappa * p->q[a] * p->gap * p->dt * cosl(degree * (long double)turn));
    angle->tau = fabs(turn) == 90 ? 0 : (double)(-tanl(degree * (long double)turn) * degree);
}

// The angle of the flow in theta.
static inline double xp_phi0(const double *theta, int32_t n_param)
{
    return n_param == 3 ? 0 : theta[n_param - 1];
}

static inline void xp_bind_two(xp_problem *p, const double *theta)
{
    xp_two_fill(theta, p->dt, p->n_frame, p->block);
    p->grid = (tess_xp_grid){.two = p->block, .two_stride = p->n_frame};
}

// theta: 3, 7 or 14 values; kernel of tess_xpcs_kernel.
static inline xp_problem xp_make(tess_context *ctx, int64_t n_angle, int64_t n_frame,
                                 const double *theta, int32_t n_param, int32_t kernel,
                                 int32_t item_bytes, int32_t has_sigma)
{
    xp_problem p = {.n_frame = n_frame,
                    .n_angle = n_angle,
                    .n_param = n_param,
                    .power = kernel == TESS_XPCS_KERNEL_PHYSICAL ? 2 : 4,
                    .dt = 0.1,
                    .gap = 2e6};
    p.kappa =
        kernel == TESS_XPCS_KERNEL_UPSTREAM ? (double)(0.5L / 3.14159265358979323846264L) : 0.5;
    p.block = malloc((size_t)n_frame * TESS_XP_TWO_ARRAYS * sizeof(double));
    double *d[8];
    for (int k = 0; k < 8; k++) {
        d[k] = p.block + k * n_frame;
    }
    xp_fill_sums(theta, p.dt, n_frame, d[0], d + 1);
    p.grid.diffusion = d[0];
    if (n_param == 7) {
        xp_fill_sums(theta + 3, p.dt, n_frame, d[4], d + 5);
        p.grid.shear = d[4];
    }
    for (int k = 0; k < 3; k++) {
        p.grid.diffusion_d[k] = d[1 + k];
        p.grid.shear_d[k] = n_param == 7 ? d[5 + k] : NULL;
    }
    if (n_param == XP_TWO) {
        xp_bind_two(&p, theta);
    }
    for (int64_t a = 0; a < n_angle; a++) {
        p.phi[a] = -90 + 180.0 * (double)a / (double)n_angle;
        p.q[a] = 0.0054;
        p.angles[a].weight = 1;
        xp_fill_angle(&p, a, xp_phi0(theta, n_param));
    }
    assert_ok(tess_xp_tiles_create(ctx, n_angle, n_frame, item_bytes, has_sigma, &p.tiles));
    p.records = aligned_alloc(64, (size_t)p.tiles.row_offset[n_frame - 1]);
    memset(p.records, 0, (size_t)p.tiles.row_offset[n_frame - 1]);
    return p;
}

static inline void xp_drop(tess_context *ctx, xp_problem *p)
{
    tess_xp_tiles_destroy(ctx, &p->tiles);
    free(p->block);
    free(p->records);
    free(p->lag_weight);
    free(p->frame_weight);
}

static inline double *xp_head(xp_problem *p, const tess_xp_tile *tile, int64_t angle)
{
    return (double *)(void *)(p->records + tile->offset) + 3 * angle;
}

static inline unsigned char *xp_sample(xp_problem *p, const tess_xp_tile *tile, int64_t angle,
                                       int64_t c)
{
    return p->records + tile->offset + 24 * p->n_angle +
           (angle * tile->width + c) * p->tiles.item_bytes;
}

static inline double *xp_sd(xp_problem *p, const tess_xp_tile *tile, int64_t angle, int64_t c)
{
    return (double *)(void *)xp_sample(p, tile, p->n_angle, 0) + angle * tile->width + c;
}

static inline double xp_get(xp_problem *p, const tess_xp_tile *tile, int64_t angle, int64_t c)
{
    const unsigned char *at = xp_sample(p, tile, angle, c);
    return p->tiles.item_bytes == 4 ? (double)*(const float *)(const void *)at
                                    : *(const double *)(const void *)at;
}

static inline void xp_put(xp_problem *p, const tess_xp_tile *tile, int64_t angle, int64_t c,
                          double y)
{
    unsigned char *at = xp_sample(p, tile, angle, c);
    if (p->tiles.item_bytes == 4) {
        *(float *)(void *)at = (float)y;
    } else {
        *(double *)(void *)at = y;
    }
}

// Heads from the samples, NaN behind the last column, and sd 0 where there is no sample.
static inline void xp_finish_records(xp_problem *p)
{
    for (int64_t k = 0; k < p->tiles.n_tile; k++) {
        const tess_xp_tile tile = tess_xp_tiles_at(&p->tiles, k);
        for (int64_t a = 0; a < p->n_angle; a++) {
            long double sums[3] = {0};
            for (int64_t c = 0; c < tile.width; c++) {
                if (c >= tile.n_column) {
                    xp_put(p, &tile, a, c, (double)NAN);
                }
                const double y = xp_get(p, &tile, a, c);
                if (y == y) {
                    const long double d = (long double)y - p->angles[a].mean;
                    sums[0] += 1, sums[1] += d, sums[2] += d * d;
                } else if (p->tiles.has_sigma) {
                    *xp_sd(p, &tile, a, c) = 0;
                }
            }
            for (int m = 0; m < 3; m++) {
                xp_head(p, &tile, a)[m] = (double)sums[m];
            }
        }
    }
}

// M and dM/dtheta of a point, from the grid as it is.
static inline void xp_point(const xp_problem *p, int64_t angle, int64_t i, int64_t j,
                            long double *m, long double *jacobian)
{
    const tess_xp_angle *a = &p->angles[angle];
    const tess_xp_grid *grid = &p->grid;
    if (grid->two) {
        xp_two_point(grid, a, i, j, m, jacobian);
        return;
    }
    const long double d = (long double)grid->diffusion[j] - grid->diffusion[i];
    const long double far = sqrtl(d * d + grid->eps_abs);
    const long double e = expl(-a->w2 * far);
    long double s = 1, slope = 0, strain = 0, b = 1;
    if (p->n_param == 7) {
        strain = (long double)grid->shear[j] - grid->shear[i];
        b = sqrtl(strain * strain + grid->eps_abs);
        const long double z = a->amplitude * b;
        s = fabsl(z) < 1e-3L ? 1 - z * z / 6 + z * z * z * z / 120 : sinl(z) / z;
        slope = fabsl(z) < 1e-2L ? z * z * (-1.0L / 3 + z * z * (1.0L / 30 - z * z / 840))
                                 : cosl(z) - s;
    }
    *m = e * powl(s, p->n_param == 7 ? p->power : 0);
    const long double t = p->power * e * powl(s, p->power - 1) * slope;
    for (int k = 0; k < 3; k++) {
        const long double dd = (long double)grid->diffusion_d[k][j] - grid->diffusion_d[k][i];
        jacobian[k] = -a->w2 * dd * (d / far) * *m;
        if (p->n_param == 7) {
            const long double ds = (long double)grid->shear_d[k][j] - grid->shear_d[k][i];
            jacobian[3 + k] = t * ds * (strain / b) / b;
        }
    }
    if (p->n_param == 7) {
        jacobian[6] = t * a->tau;
    }
}

#endif
