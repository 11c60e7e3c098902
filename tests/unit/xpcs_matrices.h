// Random two-time matrices for tests of xpcs data.
#ifndef TESS_TESTS_XPCS_MATRICES_H
#define TESS_TESTS_XPCS_MATRICES_H

#include "base/rng.h"
#include "systems/xpcs/store/store.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct xp_matrices {
    int64_t n_angle;
    int64_t n_frame;
    tess_dtype dtype;
    void *items;     // [n_angle][n_frame][n_frame]
    double *sigma;   // [n_angle][n_frame][n_frame]
    double *phi;     // [n_angle]
    double *q;       // [n_angle]
    tess_array view; // of items
    tess_array sigma_view;
} xp_matrices;

static inline double xp_at(const xp_matrices *m, int64_t a, int64_t i, int64_t j)
{
    const int64_t at = (a * m->n_frame + i) * m->n_frame + j;
    return m->dtype == TESS_F32 ? (double)((const float *)m->items)[at]
                                : ((const double *)m->items)[at];
}

static inline void xp_set(xp_matrices *m, int64_t a, int64_t i, int64_t j, double value)
{
    const int64_t at = (a * m->n_frame + i) * m->n_frame + j;
    if (m->dtype == TESS_F32) {
        ((float *)m->items)[at] = (float)value;
    } else {
        ((double *)m->items)[at] = value;
    }
}

// Values near 1 that fall with the lag, nan_share of them NaN; symmetric, a spike on the diagonal.
static inline xp_matrices xp_matrices_make(int64_t n_angle, int64_t n_frame, tess_dtype dtype,
                                           double nan_share, uint64_t seed)
{
    xp_matrices m = {.n_angle = n_angle, .n_frame = n_frame, .dtype = dtype};
    const size_t n = (size_t)(n_angle * n_frame * n_frame);
    const int64_t shape[3] = {n_angle, n_frame, n_frame};
    m.items = malloc(n * tess_dtype_bytes(dtype));
    m.sigma = malloc(n * sizeof *m.sigma);
    m.phi = malloc((size_t)n_angle * sizeof *m.phi);
    m.q = malloc((size_t)n_angle * sizeof *m.q);
    const tess_philox_stream draw = tess_philox_open(seed, 0, 1);
    const tess_philox_stream nan = tess_philox_open(seed, 0, 2);
    for (int64_t a = 0; a < n_angle; a++) {
        m.phi[a] = -80 + 160.0 * (double)a / (double)n_angle;
        m.q[a] = 0.0054;
        for (int64_t i = 0; i < n_frame; i++) {
            for (int64_t j = i; j < n_frame; j++) {
                const uint64_t at = (uint64_t)((a * n_frame + i) * n_frame + j);
                double normal;
                tess_philox_normals(&draw, 2 * at, 1, &normal);
                double value = 1 + 0.3 * exp(-6.0 * (double)(j - i) / (double)n_frame) +
                               0.02 * normal + (i == j ? 0.5 : 0);
                value = tess_philox_uniform(&nan, at) < nan_share ? (double)NAN : value;
                xp_set(&m, a, i, j, value);
                xp_set(&m, a, j, i, value);
                m.sigma[at] = m.sigma[(a * n_frame + j) * n_frame + i] =
                    0.01 + 0.001 * (double)((i + 2 * j + a) % 7);
            }
        }
    }
    assert_ok(tess_array_init(&m.view, m.items, dtype, 3, shape));
    assert_ok(tess_array_init(&m.sigma_view, m.sigma, TESS_F64, 3, shape));
    return m;
}

static inline void xp_matrices_free(xp_matrices *m)
{
    free(m->items);
    free(m->sigma);
    free(m->phi);
    free(m->q);
}

// The data of these matrices with frame 0 kept.
static inline tess_xpcs_data *xp_data_of(tess_context *ctx, const xp_matrices *m, bool has_sigma)
{
    tess_xpcs_data_config config;
    tess_xpcs_data_config_init(&config, sizeof config);
    config.keep_t0 = 1;
    config.dt_s = 0.1;
    config.gap_angstrom = 2e6;
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_data_from_array(ctx, &m->view, m->phi, m->q,
                                        has_sigma ? &m->sigma_view : NULL, &config, &data));
    return data;
}

#endif
