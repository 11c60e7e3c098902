// The problems of the golden posteriors, and draws from them.
#ifndef TESS_TESTS_XPCS_POSTERIOR_FIXTURE_H
#define TESS_TESTS_XPCS_POSTERIOR_FIXTURE_H

#include "unit_golden.h"

#include "systems/xpcs/pass/pass.h"
#include "systems/xpcs/posterior/coords.h"
#include "systems/xpcs/posterior/density.h"
#include "tessera/xpcs/posterior.h"

#include <stdlib.h>

enum { MAX_ANGLE = 5, N_POINT = 20 };

typedef struct golden {
    tess_context *ctx;
    const char *file;
    tess_xpcs_data *data;
    tess_xpcs_model model;
    tess_xp_density density;
    double ones[MAX_ANGLE];
    tess_xp_pass pass;
    double *sums;
} golden;

// Pairs i < j one after another become matrices, with a frame before them that is left out.
static inline void open_data(golden *g)
{
    int64_t n_angle = 0;
    int64_t n_value = 0;
    const int64_t n = (int64_t)golden_scalar(g->ctx, g->file, "n");
    double *phi = golden_f64(g->ctx, g->file, "phi", &n_angle);
    double *y = golden_f64(g->ctx, g->file, "y", &n_value);
    double q[MAX_ANGLE];
    const int64_t m = n + 1;
    double *c2 = calloc((size_t)(n_angle * m * m), sizeof *c2);
    int64_t at = 0;
    for (int64_t a = 0; a < n_angle; a++) {
        q[a] = n_angle == 2 ? 0.02 : 0.012; // member q of the files holds quantiles
        for (int64_t i = 1; i < m; i++) {
            for (int64_t j = i + 1; j < m; j++) {
                c2[(a * m + i) * m + j] = c2[(a * m + j) * m + i] = y[at++];
            }
        }
    }
    assert_int_equal(at, n_value);
    const int64_t shape[3] = {n_angle, m, m};
    tess_array view;
    tess_xpcs_data_config config;
    tess_xpcs_data_config_init(&config, sizeof config);
    config.dt_s = golden_scalar(g->ctx, g->file, "dt");
    config.gap_angstrom = golden_scalar(g->ctx, g->file, "L");
    assert_ok(tess_array_init(&view, c2, TESS_F64, 3, shape));
    assert_ok(tess_xpcs_data_from_array(g->ctx, &view, phi, q, NULL, &config, &g->data));
    free(c2), free(phi), free(y);
}

static inline void open_priors(golden *g)
{
    tess_xp_density *d = &g->density;
    double *values[6];
    static const char *const names[] = {"prior_mean", "prior_sd",       "lower",
                                        "upper",      "contrast_prior", "offset_prior"};
    for (int i = 0; i < 6; i++) {
        values[i] = golden_f64(g->ctx, g->file, names[i], i == 0 ? &d->n_param : NULL);
    }
    for (int64_t k = 0; k < d->n_param; k++) {
        d->theta[k] = (tess_xp_prior){
            .mean = values[0][k], .sd = values[1][k], .lower = values[2][k], .upper = values[3][k]};
        tess_xp_prior_close(&d->theta[k]);
    }
    d->contrast = (tess_xp_prior){.mean = values[4][0], .sd = values[4][1]};
    d->offset = (tess_xp_prior){.mean = values[5][0], .sd = values[5][1]};
    d->noise_scale = golden_scalar(g->ctx, g->file, "s_prior_scale");
    d->n_angle = g->data->info.n_angle;
    d->mean = g->data->info.mean;
    for (int i = 0; i < 6; i++) {
        free(values[i]);
    }
}

static inline void golden_open(golden *g, const char *file)
{
    *g = (golden){.ctx = unit_context(2, 0), .file = file};
    open_data(g);
    open_priors(g);
    tess_xpcs_model_init(&g->model, sizeof g->model);
    g->model.mode = g->density.n_param == 7 ? TESS_XPCS_LAMINAR_FLOW : TESS_XPCS_STATIC_ANISOTROPIC;
    g->model.dt_s = g->data->info.dt_s;
    g->model.gap_angstrom = g->data->info.gap_angstrom;
    for (int a = 0; a < MAX_ANGLE; a++) {
        g->ones[a] = 1;
    }
    const tess_xp_pass_setup setup = {.device = g->ctx->device,
                                      .data = g->data,
                                      .model = &g->model,
                                      .f_scale = 1,
                                      .inverse_variance = g->ones,
                                      .leaves_per_chunk = 1000};
    assert_ok(tess_xp_pass_open(g->ctx, &setup, &g->pass));
    g->sums = malloc((size_t)g->pass.n_sum * sizeof *g->sums);
}

static inline void golden_close(golden *g)
{
    free(g->sums);
    tess_xp_pass_close(&g->pass);
    tess_xpcs_data_destroy(g->data);
    tess_context_destroy(g->ctx);
}

// The fit that chains begin from, within the bounds of the file, and options as its posterior has.
typedef struct golden_fit {
    tess_xpcs_fit_config fit_config;
    tess_xpcs_sample_config config;
    tess_xpcs_result *fit;
    double *lower;
    double *upper;
} golden_fit;

static inline void golden_fit_open(golden *g, golden_fit *f)
{
    *f = (golden_fit){0};
    tess_xpcs_fit_config_init(&f->fit_config, sizeof f->fit_config);
    tess_xpcs_sample_config_init(&f->config, sizeof f->config);
    f->config.priors = 1;
    f->config.noise_scale = golden_scalar(g->ctx, g->file, "noise_scale");
    f->lower = golden_f64(g->ctx, g->file, "lower", NULL);
    f->upper = golden_f64(g->ctx, g->file, "upper", NULL);
    f->fit_config.lower = f->lower;
    f->fit_config.upper = f->upper;
    assert_ok(tess_xpcs_fit(g->ctx, g->data, &g->model, &f->fit_config, &f->fit));
}

static inline void golden_fit_close(golden_fit *f)
{
    tess_xpcs_result_destroy(f->fit);
    free(f->lower), free(f->upper);
}

static inline void golden_sample(golden *g, const golden_fit *f, tess_xpcs_posterior **out)
{
    assert_ok(
        tess_xpcs_sample(g->ctx, g->data, &g->model, f->fit, &f->fit_config, &f->config, out));
}

#endif
