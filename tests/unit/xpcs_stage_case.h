// Cases of passes: a problem of every kind, with holes, weights and angles.
#ifndef TESS_TESTS_XPCS_STAGE_CASE_H
#define TESS_TESTS_XPCS_STAGE_CASE_H

#include "xpcs_stage.h"

static const double laminar_theta[] = {68481, -1.327, 1708, 1.991e-3, -0.212, -6.07e-4, 2.0};
static const double static_theta[] = {16918, -1.572, 3.05};
// The last is the angle of the flow; fractions are those of the grid.
static const double two_theta[XP_TWO] = {2e5,  0.3, 1e4, 6e4, -0.4, 1e3, 1e3,
                                         0.43, 50,  0,   0,   0,    0,   -2.1};

typedef struct pass_case {
    const char *name;
    int64_t n_angle, n_frame;
    int32_t n_param, kernel;
    int32_t item_bytes; // 0: 8
    int32_t has_sigma, loss, has_holes, has_lags, is_perpendicular;
    int32_t n_group; // of equal q; 0: 1
    int32_t no_hessian, no_gradient;
    double eps_abs;
    double time_scale;  // of the rates: below 1 nothing is dark
    int32_t has_frames; // weights of frames
    int32_t is_mixed;
    double tolerance; // 0: 1e-13
} pass_case;

static int64_t n_sum_of(const xp_problem *p)
{
    return p->n_angle * (6 + 3 * p->n_param) + p->n_param * (p->n_param + 1) / 2 + 1;
}

static int32_t is_hole(uint64_t *state, int64_t angle)
{
    // Angle 1 has few holes, so that most of its tiles are complete.
    return xp_random(state) % (angle == 1 ? 4000 : 7) == 0;
}

static void fill_samples(xp_problem *p, const pass_case *c)
{
    uint64_t state = 11;
    for (int64_t k = 0; k < p->tiles.n_tile; k++) {
        const tess_xp_tile tile = tess_xp_tiles_at(&p->tiles, k);
        for (int64_t a = 0; a < p->n_angle; a++) {
            for (int64_t col = 0; col < tile.width; col++) {
                const int32_t hole = c->has_holes && a > 0 && is_hole(&state, a);
                const double y = 1.1 + 0.1 * (xp_uniform(&state) - 0.5);
                xp_put(p, &tile, a, col, hole ? (double)NAN : y);
                if (p->tiles.has_sigma) {
                    *xp_sd(p, &tile, a, col) = 0.5 + xp_uniform(&state);
                }
            }
        }
    }
    xp_finish_records(p);
}

static xp_problem make_case(tess_context *ctx, const pass_case *c)
{
    double theta[XP_TWO];
    memcpy(theta,
           c->n_param == 7        ? laminar_theta
           : c->n_param == XP_TWO ? two_theta
                                  : static_theta,
           (size_t)c->n_param * sizeof *theta);
    const double phi0 = xp_phi0(theta, c->n_param);
    for (int k = 0; k < 3 && c->time_scale != 0; k += 2) {
        theta[k] *= c->time_scale;
    }
    xp_problem p = xp_make(ctx, c->n_angle, c->n_frame, theta, c->n_param, c->kernel,
                           c->item_bytes ? c->item_bytes : 8, c->has_sigma);
    p.grid.eps_abs = c->eps_abs;
    for (int64_t a = 0; a < c->n_angle; a++) {
        p.q[a] = 0.0054 * (1 + 0.3 * (double)(c->n_group ? a * c->n_group / c->n_angle : 0));
        p.phi[a] = c->is_perpendicular && a == 0 ? 90 + (c->n_param == 7 ? phi0 : -phi0) : p.phi[a];
        xp_fill_angle(&p, a, phi0);
        p.angles[a].mean = 1.1 + 0.001 * (double)a;
        p.angles[a].weight = 0.09 + 0.01 * (double)a;
        p.angles[a].contrast = 0.3 + 0.01 * (double)a;
        p.angles[a].offset = 1.06 + 0.002 * (double)a;
        p.angles[a].inverse_variance = 900 + 10 * (double)a;
    }
    if (c->has_lags) {
        uint64_t state = 5;
        p.lag_weight = malloc((size_t)(p.n_angle * p.n_frame) * sizeof(double));
        for (int64_t k = 0; k < p.n_angle * p.n_frame; k++) {
            p.lag_weight[k] = 0.25 + xp_uniform(&state);
        }
    }
    if (c->has_frames) {
        p.frame_weight = malloc((size_t)p.n_frame * sizeof(double));
        for (int64_t k = 0; k < p.n_frame; k++) {
            p.frame_weight[k] = (double)(k * 7 % 4);
        }
    }
    fill_samples(&p, c);
    return p;
}

#endif
