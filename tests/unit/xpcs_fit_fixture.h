// Data with known fits: the golden sets, and simulations.
#ifndef TESS_TESTS_XPCS_FIT_FIXTURE_H
#define TESS_TESTS_XPCS_FIT_FIXTURE_H

#include "unit.h"
#include "unit_golden.h"

#include "tessera/xpcs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct golden_fit {
    tess_context *ctx;
    const char *file; // "xpcs/fit_laminar"
    tess_xpcs_data *data;
    tess_xpcs_model model;
    tess_xpcs_fit_config config;
    int64_t n_angle;
    int64_t n_param;
    double sigma;
} golden_fit;

// Frame 0 is the one that a reader drops.
static inline tess_xpcs_data *golden_fit_data(tess_context *ctx, const char *file)
{
    int64_t n_angle = 0;
    const int64_t n = (int64_t)golden_scalar(ctx, file, "n");
    double *phi = golden_f64(ctx, file, "phi", &n_angle);
    double *y = golden_f64(ctx, file, "y", NULL);
    double *q = malloc((size_t)n_angle * sizeof *q);
    const int64_t shape[3] = {n_angle, n + 1, n + 1};
    double *c2 = calloc((size_t)(n_angle * (n + 1) * (n + 1)), sizeof *c2);
    const double *next = y;
    for (int64_t a = 0; a < n_angle; a++) {
        double *matrix = c2 + a * (n + 1) * (n + 1);
        q[a] = golden_scalar(ctx, file, "q");
        for (int64_t i = 1; i <= n; i++) {
            for (int64_t j = i + 1; j <= n; j++) {
                matrix[i * (n + 1) + j] = matrix[j * (n + 1) + i] = *next++;
            }
        }
    }
    tess_xpcs_data_config config;
    tess_xpcs_data_config_init(&config, sizeof config);
    config.dt_s = golden_scalar(ctx, file, "dt");
    if (!strstr(file, "two_component")) { // which has no gap
        config.gap_angstrom = golden_scalar(ctx, file, "L");
    }
    tess_array view;
    assert_ok(tess_array_init(&view, c2, TESS_F64, 3, shape));
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_data_from_array(ctx, &view, phi, q, NULL, &config, &data));
    free(c2);
    free(q);
    free(y);
    free(phi);
    return data;
}

// The defaults; where every step is slow without the search, which only repeats those of a fit.
static inline void xpcs_config_init(tess_xpcs_fit_config *config)
{
    tess_xpcs_fit_config_init(config, sizeof *config);
    config->n_start = unit_is_quick() ? 1 : 0;
}

static inline golden_fit golden_fit_open(int is_laminar, int32_t n_thread)
{
    golden_fit g = {.file = is_laminar ? "xpcs/fit_laminar" : "xpcs/fit_static"};
    g.ctx = unit_context(n_thread, 0);
    g.data = golden_fit_data(g.ctx, g.file);
    g.n_angle = tess_xpcs_data_get_info(g.data)->n_angle;
    g.n_param = is_laminar ? TESS_XPCS_N_LAMINAR : TESS_XPCS_N_STATIC;
    g.sigma = golden_scalar(g.ctx, g.file, "sigma");
    tess_xpcs_model_init(&g.model, sizeof g.model);
    g.model.mode = is_laminar ? TESS_XPCS_LAMINAR_FLOW : TESS_XPCS_STATIC_ANISOTROPIC;
    xpcs_config_init(&g.config);
    g.config.sigma = g.sigma;
    g.config.absolute_sigma = 1;
    return g;
}

static inline void golden_fit_close(golden_fit *g)
{
    tess_xpcs_data_destroy(g->data);
    tess_context_destroy(g->ctx);
}

static inline tess_xpcs_result *golden_fit_run(golden_fit *g)
{
    tess_xpcs_result *result = NULL;
    assert_ok(tess_xpcs_fit(g->ctx, g->data, &g->model, &g->config, &result));
    return result;
}

// A member "what_suffix" of the golden file.
static inline double *golden_fit_member(const golden_fit *g, const char *what, const char *suffix,
                                        int64_t *n)
{
    char name[96];
    snprintf(name, sizeof name, "%s_%s", what, suffix);
    return golden_f64(g->ctx, g->file, name, n);
}

// Data of a simulation, in memory.
static inline tess_xpcs_data *simulated(tess_context *ctx, const tess_xpcs_simulation *simulation)
{
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_simulate(ctx, simulation, 1, &data));
    return data;
}

#endif
