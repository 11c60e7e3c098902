// A pass over random data, for tests of what is built on passes.
#ifndef TESS_TESTS_XPCS_PASS_FIXTURE_H
#define TESS_TESTS_XPCS_PASS_FIXTURE_H

#include "xpcs_matrices.h"
#include "xpcs_naive.h"

#include "systems/xpcs/pass/pass.h"

enum { MAX_ANGLE = 6, MAX_PARAM = 7, MAX_SUM = MAX_ANGLE * (6 + 3 * MAX_PARAM) + 28 + 1 };

static const double THETA[7] = {3e4, 0.1, 300, 2e-3, -0.3, -4e-4, 2};

typedef struct fixture {
    tess_context *ctx;
    xp_matrices m;
    tess_xpcs_data *data;
    tess_xpcs_model model;
    double ones[MAX_ANGLE];
    tess_xp_pass_setup setup;
    tess_xp_point point;
} fixture;

static inline void fixture_open(fixture *f, int64_t leaves_per_chunk)
{
    f->ctx = unit_context(2, 0);
    f->m = xp_matrices_make(3, 300, TESS_F32, 0.001, 9);
    f->data = xp_data_of(f->ctx, &f->m, false);
    f->model = naive_constants(TESS_XPCS_LAMINAR_FLOW, 0);
    for (int a = 0; a < MAX_ANGLE; a++) {
        f->ones[a] = 1;
    }
    f->setup = (tess_xp_pass_setup){.device = f->ctx->device,
                                    .data = f->data,
                                    .model = &f->model,
                                    .f_scale = 1,
                                    .inverse_variance = f->ones,
                                    .leaves_per_chunk = leaves_per_chunk};
    f->point = (tess_xp_point){.theta = THETA,
                               .contrast = f->ones,
                               .offset = f->ones,
                               .want = TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN};
}

static inline void fixture_close(fixture *f)
{
    tess_xpcs_data_destroy(f->data);
    xp_matrices_free(&f->m);
    tess_context_destroy(f->ctx);
}

#endif
