// Evidence from draws, against quadrature and importance sampling; models of known data.
#include "xpcs_posterior_fixture.h"

#include "tessera/xpcs/compare.h"

#include <math.h>
#include <string.h>

static const char *const files[] = {"xpcs/posterior_static", "xpcs/posterior_laminar"};

static void bridge_finds_the_golden_evidence(void **state)
{
    (void)state;
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        golden g;
        golden_fit fit;
        tess_xpcs_posterior *draws = NULL;
        double evidence = 0;
        double error = 0;
        golden_open(&g, files[f]);
        golden_fit_open(&g, &fit);
        fit.config.n_draw = 1000;
        golden_sample(&g, &fit, &draws);
        assert_ok(tess_xpcs_bridge(g.ctx, g.data, &g.model, fit.fit, &fit.fit_config, &fit.config,
                                   draws, &evidence, &error));
        const double want = golden_scalar(g.ctx, g.file, "log_evidence");
        const double own = golden_scalar(g.ctx, g.file, "log_evidence_err");
        print_message("%s: bridge %+.4f +- %.4f\n", files[f], evidence - want, error);
        assert_true(error > 0 && error < 0.05);
        assert_true(fabs(evidence - want) < 4 * hypot(error, own) + 1e-3);

        // Of other options: not these draws.
        fit.config.noise_scale *= 1.5;
        assert_fails(tess_xpcs_bridge(g.ctx, g.data, &g.model, fit.fit, &fit.fit_config,
                                      &fit.config, draws, &evidence, &error),
                     TESS_E_MISMATCH, "posterior: its density");
        fit.config.method = TESS_XPCS_METHOD_LAPLACE;
        assert_fails(tess_xpcs_bridge(g.ctx, g.data, &g.model, fit.fit, &fit.fit_config,
                                      &fit.config, draws, &evidence, &error),
                     TESS_E_ARGUMENT, "method nuts");
        tess_xpcs_posterior_destroy(draws);
        golden_fit_close(&fit);
        golden_close(&g);
    }
}

static tess_xpcs_data *simulated(tess_context *ctx, int32_t mode, double scatter)
{
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.model.mode = mode;
    s.n_angle = 3;
    s.n_frame = 31;
    s.contrast_scatter = scatter;
    s.dtype = 1;
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_simulate(ctx, &s, 1, &data));
    return data;
}

typedef struct known {
    int32_t mode;    // that made the data
    int32_t method;  // of the comparison
    int64_t n_model; // of the list below
    int64_t n_thread;
} known;

static void compare(const known *k, int32_t n_thread, tess_xpcs_evidence *rows, bool is_written)
{
    static const int32_t modes[] = {TESS_XPCS_STATIC_ISOTROPIC, TESS_XPCS_STATIC_ANISOTROPIC,
                                    TESS_XPCS_LAMINAR_FLOW};
    tess_context *ctx = unit_context(n_thread, 0);
    const bool is_isotropic = k->mode == TESS_XPCS_STATIC_ISOTROPIC;
    tess_xpcs_data *data = simulated(ctx, k->mode, is_isotropic ? 0 : 0.3);
    tess_xpcs_model model;
    tess_xpcs_sample_config config;
    tess_xpcs_model_init(&model, sizeof model);
    tess_xpcs_sample_config_init(&config, sizeof config);
    config.n_draw = 200;
    config.n_warmup = 200;
    config.method = k->method;
    memset(rows, 0, (size_t)k->n_model * sizeof *rows);
    assert_ok(
        tess_xpcs_compare(ctx, data, &model, modes, k->n_model, NULL, &config, rows, sizeof *rows));
    if (is_written) {
        const char *path = unit_path("m.json");
        assert_ok(tess_xpcs_compare_write(ctx, rows, k->n_model, unit_path("m.html"), 0));
        assert_ok(tess_xpcs_compare_write(ctx, rows, k->n_model, path, 0));
        assert_fails(tess_xpcs_compare_write(ctx, rows, k->n_model, path, 0), TESS_E_EXISTS,
                     "m.json");
    }
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

// The model that made the data has the largest evidence; bits do not depend on threads.
static void the_right_model_wins(void **state)
{
    (void)state;
    static const known knowns[] = {
        {TESS_XPCS_STATIC_ISOTROPIC, TESS_XPCS_METHOD_LAPLACE, 2, 1},
        {TESS_XPCS_STATIC_ANISOTROPIC, TESS_XPCS_METHOD_NUTS, 2, 3},
        {TESS_XPCS_LAMINAR_FLOW, TESS_XPCS_METHOD_LAPLACE, 3, 1},
    };
    for (size_t k = 0; k < ARRAY_LEN(knowns); k++) {
        tess_xpcs_evidence rows[3];
        tess_xpcs_evidence again[3];
        double sum = 0;
        compare(&knowns[k], 1, rows, k == 1);
        for (int64_t m = 0; m < knowns[k].n_model; m++) {
            const tess_xpcs_evidence *e = &rows[m];
            const bool has_bridge = knowns[k].method == TESS_XPCS_METHOD_NUTS;
            sum += e->probability;
            assert_true((e->log_bayes_factor == 0) == (e->mode == knowns[k].mode));
            assert_true(isfinite(e->bridge) == has_bridge);
            if (has_bridge) { // three ways to the same number
                assert_true(fabs(e->bridge - e->importance) < 4 * e->bridge_error + 0.02);
                assert_true(fabs(e->laplace - e->importance) < 0.2);
                assert_false(e->is_doubtful);
            }
        }
        assert_true(fabs(sum - 1) < 1e-12);
        if (knowns[k].n_thread > 1) {
            compare(&knowns[k], (int32_t)knowns[k].n_thread, again, false);
            assert_memory_equal(rows, again, (size_t)knowns[k].n_model * sizeof *rows);
        }
    }
}

static void words_know_how_sure_they_are(void **state)
{
    (void)state;
    assert_string_equal(tess_xpcs_bayes_words(0, 0), "the best");
    assert_contains(tess_xpcs_bayes_words(-0.1, 0.2), "not decided");
    assert_contains(tess_xpcs_bayes_words(-0.5, 0.1), "hardly");
    assert_contains(tess_xpcs_bayes_words(-4, 0.1), "strong");
    assert_contains(tess_xpcs_bayes_words(-40, 0.1), "very strong");
}

static void what_cannot_be_compared_is_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_data *data = simulated(ctx, TESS_XPCS_STATIC_ISOTROPIC, 0);
    const int32_t twice[] = {0, 0};
    tess_xpcs_model model;
    tess_xpcs_model_init(&model, sizeof model);
    tess_xpcs_fit_config fit;
    tess_xpcs_fit_config_init(&fit, sizeof fit);
    tess_xpcs_evidence rows[2];
    assert_fails(tess_xpcs_compare(ctx, data, &model, twice, 2, NULL, NULL, rows, sizeof *rows),
                 TESS_E_ARGUMENT, "twice");
    const double start[7] = {1};
    fit.start = start;
    assert_fails(tess_xpcs_compare(ctx, data, &model, twice, 1, &fit, NULL, rows, sizeof *rows),
                 TESS_E_ARGUMENT, "starts");
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bridge_finds_the_golden_evidence),
        cmocka_unit_test(the_right_model_wins),
        cmocka_unit_test(words_know_how_sure_they_are),
        cmocka_unit_test(what_cannot_be_compared_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
