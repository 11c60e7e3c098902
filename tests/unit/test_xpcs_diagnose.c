// What is told of draws whose faults are known.
#include "base/rng.h"
#include "tessera/warning.h"
#include "tessera/xpcs.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_CHAIN = 4, N_DRAW = 500, N_PARAM = 3, N_ANGLE = 2, N = N_CHAIN * N_DRAW };

typedef struct made {
    tess_xpcs_posterior_info info;
    double theta[N * N_PARAM];
    double noise[N];
    double contrast[N * N_ANGLE];
    double offset[N * N_ANGLE];
    double energy[N];
    double accept[N];
    int64_t depth[N];
    uint8_t diverged[N];
    double step[N_CHAIN];
} made;

static const char *const names[] = {"D0", "alpha", "D_offset"};
static tess_context *ctx;

// Independent normals: D0 1000 +- 10, alpha -1 +- 0.1, D_offset 5 +- 1.
static made *make_draws(void)
{
    made *m = calloc(1, sizeof *m);
    double z[N * 9];
    const tess_philox_stream stream = tess_philox_open(3, 0, 1);
    tess_philox_normals(&stream, 0, N * 9, z);
    for (int i = 0; i < N; i++) {
        m->theta[3 * i] = 1000 + 10 * z[9 * i];
        m->theta[3 * i + 1] = -1 + 0.1 * z[9 * i + 1];
        m->theta[3 * i + 2] = 5 + z[9 * i + 2];
        m->noise[i] = 0.01 * (1 + 0.01 * z[9 * i + 3]);
        for (int a = 0; a < N_ANGLE; a++) {
            m->contrast[2 * i + a] = 0.3 + 0.01 * z[9 * i + 4 + a];
            m->offset[2 * i + a] = 1 + 0.01 * z[9 * i + 6 + a];
        }
        m->energy[i] = z[9 * i + 8];
        m->accept[i] = 0.9;
        m->depth[i] = 3;
    }
    m->info = (tess_xpcs_posterior_info){.struct_size = sizeof m->info,
                                         .n_chain = N_CHAIN,
                                         .n_draw = N_DRAW,
                                         .n_param = N_PARAM,
                                         .n_angle = N_ANGLE,
                                         .names = names,
                                         .theta = m->theta,
                                         .noise = m->noise,
                                         .contrast = m->contrast,
                                         .offset = m->offset,
                                         .energy = m->energy,
                                         .accept = m->accept,
                                         .depth = m->depth,
                                         .diverged = m->diverged,
                                         .step = m->step,
                                         .noise_scale = 0.01};
    return m;
}

// Whose warnings are of these ids and no others.
static void assert_warned(const tess_xpcs_diagnosis_info *info, const char *const *ids, int n)
{
    int n_line = info->warnings[0] != '\0';
    for (const char *c = info->warnings; *c; c++) {
        n_line += *c == '\n';
    }
    for (int i = 0; i < n; i++) {
        assert_contains(info->warnings, ids[i]);
    }
    if (n_line != n) {
        fail_msg("expected %d warnings, got\n%s", n, info->warnings);
    }
}

static void good_draws_are_good(void **state)
{
    (void)state;
    made *m = make_draws();
    tess_xpcs_diagnosis *d = NULL;
    assert_ok(tess_xpcs_diagnose(ctx, &m->info, NULL, NULL, &d));
    const tess_xpcs_diagnosis_info *info = tess_xpcs_diagnosis_get_info(d);
    assert_int_equal(info->n_row, 3 + 1 + 2 + 2);
    assert_string_equal(info->names[3], "noise");
    assert_string_equal(info->names[5], "contrast[1]");
    assert_string_equal(info->names[7], "offset[1]");
    assert_int_equal(info->state, TESS_XPCS_CHAINS_CONVERGED);
    assert_warned(info, NULL, 0);
    assert_true(fabs(info->rows[0].mean - 1000) < 1 && fabs(info->rows[0].sd - 10) < 0.6);
    assert_true(fabs(info->rows[7].mean - 1) < 0.01 && info->rows[7].ess_bulk > 1000);
    assert_true(fabs(info->bfmi[2] - 2) < 0.3 && fabs(info->accept_mean - 0.9) < 1e-12);
    assert_true(info->r_hat_max < 1.02 && isnan(info->rows[0].contraction));
    assert_true(isnan(info->rows[0].distance) && info->divergence_rate == 0);
    tess_xpcs_summary alone;
    assert_ok(tess_xpcs_summarise(ctx, m->noise, N_CHAIN, N_DRAW, &alone));
    assert_true(alone.r_hat == info->rows[3].r_hat && alone.sd == info->rows[3].sd);
    tess_xpcs_diagnosis_destroy(d);
    // Only what must be there.
    tess_xpcs_posterior_info bare = {.struct_size = sizeof bare,
                                     .n_chain = 1,
                                     .n_draw = 2,
                                     .n_param = 3,
                                     .names = names,
                                     .theta = m->theta};
    assert_ok(tess_xpcs_diagnose(ctx, &bare, NULL, NULL, &d));
    info = tess_xpcs_diagnosis_get_info(d);
    assert_true(info->n_row == 3 && !info->bfmi && !info->step && isnan(info->rows[0].r_hat));
    assert_int_equal(info->state, TESS_XPCS_CHAINS_NOT_CONVERGED);
    assert_string_equal(tess_xpcs_chains_state_name((tess_xpcs_chains_state)info->state),
                        "not_converged");
    tess_xpcs_diagnosis_destroy(d);
    free(m);
}

static void faults_are_named(void **state)
{
    (void)state;
    made *m = make_draws();
    tess_xpcs_diagnosis *d = NULL;
    for (int i = 0; i < N; i++) {
        m->theta[3 * i] += i / N_DRAW == 2 ? 30 : 0; // a chain elsewhere
        m->theta[3 * i + 1] += i % 2 ? 1 : 0;        // two heaps that all chains visit
        m->energy[i] = sin(0.02 * i);
        m->diverged[i] = i % 5 == 0;
        m->depth[i] = i % 20 == 0 ? 10 : 4;
    }
    m->info.outside = 0.05;
    assert_ok(tess_xpcs_diagnose(ctx, &m->info, NULL, NULL, &d));
    const tess_xpcs_diagnosis_info *info = tess_xpcs_diagnosis_get_info(d);
    static const char *const ids[] = {"[xpcs.r-hat]",      "[xpcs.ess]",    "[xpcs.divergences]",
                                      "[xpcs.tree-depth]", "[xpcs.energy]", "[xpcs.two-modes]",
                                      "D0 has two modes",  "[xpcs.outside]"};
    assert_warned(info, ids, ARRAY_LEN(ids));
    assert_contains(info->warnings, "R-hat of D0");
    assert_contains(info->warnings, "alpha has two modes");
    assert_int_equal(info->state, TESS_XPCS_CHAINS_DIVERGENCES);
    assert_int_equal(info->n_diverged[1], 100);
    assert_int_equal(info->n_diverged_all, 400);
    assert_int_equal(info->n_deepest[0], 25);
    tess_xpcs_diagnosis_destroy(d);
    free(m);
}

// Against a fit of data: what the prior's width and the minimum are to the draws.
static void priors_and_fit_are_compared(void **state)
{
    (void)state;
    tess_xpcs_simulation s;
    tess_xpcs_data *data = NULL;
    tess_xpcs_result *fit = NULL;
    tess_xpcs_diagnosis *d = NULL;
    tess_xpcs_sample_config config;
    tess_xpcs_fit_config fit_config;
    const uint8_t is_fixed[3] = {0, 0, 1};
    const double start[3] = {1000, -1, 5};
    tess_xpcs_simulation_init(&s, sizeof s);
    tess_xpcs_sample_config_init(&config, sizeof config);
    tess_xpcs_fit_config_init(&fit_config, sizeof fit_config);
    s.n_angle = N_ANGLE;
    s.n_frame = 30;
    s.model.mode = TESS_XPCS_STATIC_ANISOTROPIC;
    fit_config.is_fixed = is_fixed;
    fit_config.start = start;
    assert_ok(tess_xpcs_simulate(ctx, &s, 1, &data));
    assert_ok(tess_xpcs_fit(ctx, data, &s.model, &fit_config, &fit));
    made *m = make_draws();
    for (int i = 0; i < N; i++) {
        m->theta[3 * i + 2] = 5;
    }
    const double mean[3] = {1000, -1, 0};
    const double sd[3] = {9.6, 0.2, 1};
    m->info.prior_mean = mean;
    m->info.prior_sd = sd;
    m->info.lower = tess_xpcs_result_get_info(fit)->lower;
    m->info.upper = tess_xpcs_result_get_info(fit)->upper;
    m->info.is_fixed = is_fixed;
    assert_ok(tess_xpcs_diagnose(ctx, &m->info, fit, &config, &d));
    const tess_xpcs_diagnosis_info *info = tess_xpcs_diagnosis_get_info(d);
    const tess_xpcs_result_info *f = tess_xpcs_result_get_info(fit);
    const tess_xpcs_summary *r = info->rows;
    assert_true(fabs(r[0].prior_sd - 9.6) < 1e-6 && fabs(r[1].prior_sd - 0.2) < 1e-6);
    assert_true(fabs(r[1].contraction - 0.75) < 0.05 && r[0].contraction < 0.1);
    assert_true(r[0].distance == (r[0].mean - f->theta[0]) / r[0].sd);
    assert_true(r[2].is_fixed && isnan(r[2].contraction) && r[2].sd == 0);
    // Half of a normal above 0.
    const double half = 0.015 * sqrt(1 - 2 / 3.14159265358979323846);
    assert_true(fabs(r[3].prior_sd - half) < 1e-6 && fabs(r[4].prior_sd - 0.25) < 1e-6);
    assert_true(r[4].fit == f->contrast[0] && r[7].fit == f->offset[1]);
    assert_contains(info->warnings, "[xpcs.prior]");
    assert_contains(info->warnings, "[xpcs.far-from-fit]");
    tess_xpcs_diagnosis_destroy(d);
    free(m);
    tess_xpcs_result_destroy(fit);
    tess_xpcs_data_destroy(data);
}

// What the sampler said stands behind what is found in its draws, a sentence per line.
static void warnings_of_the_sampler_are_kept(void **state)
{
    (void)state;
    made *m = make_draws();
    tess_xpcs_diagnosis *d = NULL;
    m->info.outside = 0.05;
    m->info.warnings = "shard 3 is left out\nonly 3 of 4 shards were used\n";
    assert_ok(tess_xpcs_diagnose(ctx, &m->info, NULL, NULL, &d));
    const char *text = tess_xpcs_diagnosis_get_info(d)->warnings;
    assert_contains(text, "[xpcs.");
    const char *own = strstr(text, "\nshard 3 is left out\nonly 3 of 4 shards were used");
    assert_non_null(own);
    assert_int_equal(text[strlen(text) - 1], 'd');
    tess_xpcs_diagnosis_destroy(d);
    free(m);
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    tess_xpcs_diagnosis *d = NULL;
    tess_xpcs_summary summary;
    const double x = 1;
    tess_xpcs_posterior_info info = {.struct_size = sizeof info, .n_chain = 1, .n_draw = 1};
    assert_fails(tess_xpcs_diagnose(ctx, NULL, NULL, NULL, &d), TESS_E_ARGUMENT, "draws: NULL");
    assert_fails(tess_xpcs_diagnose(ctx, &info, NULL, NULL, &d), TESS_E_ARGUMENT,
                 "theta and names");
    assert_fails(tess_xpcs_summarise(ctx, &x, 0, 1, &summary), TESS_E_ARGUMENT, "n_chain");
    assert_null(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_draws_are_good),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(priors_and_fit_are_compared),
        cmocka_unit_test(warnings_of_the_sampler_are_kept),
        cmocka_unit_test(mistakes_are_refused),
    };
    ctx = unit_context(1, 0);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return failed;
}
