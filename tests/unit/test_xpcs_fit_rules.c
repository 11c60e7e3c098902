// What holds for every fit: the same bits however it runs, parameters that stay where they should,
// failures that say so.
#include "xpcs_fit_fixture.h"

#include "systems/xpcs/fit/engine.h"
#include "systems/xpcs/fit/plan.h"

#include <string.h>

static void assert_same_fit(const tess_xpcs_result *a, const tess_xpcs_result *b)
{
    const tess_xpcs_result_info *x = tess_xpcs_result_get_info(a);
    const tess_xpcs_result_info *y = tess_xpcs_result_get_info(b);
    assert_memory_equal(x->theta, y->theta, (size_t)x->n_param * sizeof *x->theta);
    assert_memory_equal(x->contrast, y->contrast, (size_t)x->n_angle * sizeof *x->contrast);
    assert_memory_equal(x->covariance, y->covariance,
                        (size_t)(x->n_covariance * x->n_covariance) * sizeof *x->covariance);
    assert_memory_equal(&x->chi2, &y->chi2, sizeof x->chi2);
    assert_int_equal(x->n_pass, y->n_pass);
    assert_int_equal(x->nfev, y->nfev);
}

// A laminar simulation large enough for several leaves.
static tess_xpcs_simulation small_laminar(void)
{
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.n_angle = 5;
    s.n_frame = 150;
    s.sigma = 0.02;
    s.contrast_scatter = 0.1;
    s.offset_scatter = 0.01;
    s.model.mode = TESS_XPCS_LAMINAR_FLOW;
    s.model.dt_s = 0.1;
    s.model.gap_angstrom = 2e6;
    return s;
}

static tess_xpcs_fit_config with_sigma(double sigma)
{
    tess_xpcs_fit_config config;
    xpcs_config_init(&config);
    config.sigma = sigma;
    return config;
}

static void the_same_bits_however_it_runs(void **state)
{
    (void)state;
    static const int32_t threads[] = {1, 2, 3, 7};
    static const int64_t chunks[] = {0, 16, 48};
    const tess_xpcs_simulation s = small_laminar();
    tess_xpcs_fit_config config = with_sigma(0.02);
    tess_xpcs_result *first = NULL;
    tess_context *first_ctx = NULL;
    for (size_t t = 0; t < (unit_is_quick() ? 2 : ARRAY_LEN(threads)); t++) {
        tess_context *ctx = unit_context(threads[t], 0);
        for (int32_t strategy = 1; strategy <= 4; strategy++) {
            tess_xpcs_data *data = NULL;
            assert_ok(tess_xpcs_simulate(ctx, &s, strategy < 4, &data));
            tess_xpcs_result *result = NULL;
            config.strategy = strategy;
            config.chunk_tiles = chunks[(size_t)strategy % ARRAY_LEN(chunks)];
            assert_ok(tess_xpcs_fit(ctx, data, &s.model, &config, &result));
            if (!first) {
                first = result;
                first_ctx = ctx;
            } else {
                assert_same_fit(first, result);
                tess_xpcs_result_destroy(result);
            }
            tess_xpcs_data_destroy(data);
        }
        if (ctx != first_ctx) {
            tess_context_destroy(ctx);
        }
    }
    tess_xpcs_result_destroy(first);
    tess_context_destroy(first_ctx);
}

// Stops the engine after every pass, and goes on with a copy of its state in a new one.
typedef struct stopper {
    int64_t left; // passes until it stops
} stopper;

static tess_status stop(void *self, tess_xp_engine *engine, bool is_mid_pass)
{
    (void)engine;
    stopper *s = self;
    return !is_mid_pass && --s->left == 0 ? TESS_CANCELLED : TESS_OK;
}

// An engine from a state (NULL: from the beginning) over so many passes; theta [n_param], if it is
// not NULL, is where it ended without ever looking at part of the data.
static void run_engine(tess_context *ctx, tess_xpcs_data *data, const tess_xpcs_model *model,
                       const tess_xpcs_fit_config *config, int64_t n_pass, void **state,
                       size_t *bytes, double *theta)
{
    tess_xp_problem problem;
    tess_xp_pass pass;
    tess_xp_engine engine;
    tess_xp_plan plan;
    stopper s = {n_pass};
    assert_ok(tess_xp_problem_open(ctx, data, model, config, &problem));
    assert_ok(tess_xp_plan_make(ctx, data, problem.n_param, &problem.config, &plan));
    const tess_xp_pass_setup setup = {.device = ctx->device,
                                      .data = data,
                                      .model = &problem.model,
                                      .f_scale = 1,
                                      .inverse_variance = problem.weights.inverse_variance,
                                      .leaves_per_chunk = plan.leaves_per_chunk};
    assert_ok(tess_xp_pass_open(ctx, &setup, &pass));
    assert_ok(tess_xp_engine_create(ctx, &problem, &pass, &engine));
    engine.checkpoint = stop;
    engine.self = &s;
    engine.every = theta ? 0 : engine.every;
    if (*state) {
        assert_int_equal(*bytes, engine.state_bytes);
        memcpy(engine.state, *state, *bytes);
    } else {
        assert_ok(tess_xp_engine_begin(&engine));
        *bytes = engine.state_bytes;
        *state = malloc(*bytes);
    }
    const tess_status status = tess_xp_engine_run(&engine);
    assert_true(status == TESS_OK || status == TESS_CANCELLED);
    memcpy(*state, engine.state, *bytes);
    if (theta) {
        memcpy(theta, engine.final_theta, (size_t)problem.n_param * sizeof *theta);
    }
    tess_xp_engine_destroy(&engine);
    tess_xp_pass_close(&pass);
    tess_xp_problem_close(&problem);
}

static void a_stop_after_every_pass_changes_nothing(void **unused)
{
    (void)unused;
    golden_fit g = golden_fit_open(1, 2);
    g.config.uncertainty = 1;
    g.config.n_bootstrap = 2;
    for (int k = 0; k < 3; k++) {
        g.config.loss = k == 1 ? TESS_XPCS_LOSS_HUBER : TESS_XPCS_LOSS_LINEAR;
        g.config.n_start = k == 2 ? 5 : 1;
        g.config.precision = k == 2;
        void *whole = NULL;
        void *state = NULL;
        size_t bytes = 0;
        run_engine(g.ctx, g.data, &g.model, &g.config, INT64_MAX, &whole, &bytes, NULL);
        run_engine(g.ctx, g.data, &g.model, &g.config, 1, &state, &bytes, NULL);
        while (((tess_xp_state *)state)->phase != TESS_XP_PHASE_DONE) {
            run_engine(g.ctx, g.data, &g.model, &g.config, 1, &state, &bytes, NULL);
        }
        assert_memory_equal(state, whole, bytes);
        free(state);
        free(whole);
    }
    golden_fit_close(&g);
}

// All points alone lead to the same minimum.
static void check_whole(tess_context *ctx, tess_xpcs_data *data, const tess_xpcs_model *model,
                        const tess_xpcs_fit_config *config, const tess_xpcs_result_info *info)
{
    void *state = NULL;
    size_t bytes = 0;
    double theta[7];
    run_engine(ctx, data, model, config, INT64_MAX, &state, &bytes, theta);
    for (int64_t i = 0; i < 7; i++) {
        assert_true(fabs(theta[i] - info->theta[i]) <= 1e-5 * info->sd[i]);
    }
    free(state);
}

// Data large enough for a look at part of them first: the result is that of all points, and the
// same bits however it runs.
static void a_look_at_part_of_the_data_changes_nothing(void **unused)
{
    (void)unused;
    if (unit_is_quick()) {
        skip();
    }
    tess_xpcs_simulation s = small_laminar();
    s.n_frame = 700;
    tess_xpcs_fit_config config = with_sigma(0.02);
    double theta[3][7];
    for (int k = 0; k < 3; k++) {
        static const int32_t threads[] = {2, 2, 3};
        tess_context *ctx = unit_context(threads[k], 0);
        tess_xpcs_data *data = NULL;
        tess_xpcs_result *result = NULL;
        config.chunk_tiles = k == 2 ? 16 : 0;
        config.strategy = k == 2 ? 4 : 0;
        assert_ok(tess_xpcs_simulate(ctx, &s, k < 2, &data));
        assert_ok(tess_xpcs_fit(ctx, data, &s.model, &config, &result));
        const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
        print_message("%lld passes, %lld evaluations\n", (long long)info->n_pass,
                      (long long)info->nfev);
        assert_true(info->n_pass < info->nfev);
        memcpy(theta[k], info->theta, sizeof theta[k]);
        if (k == 0) {
            check_whole(ctx, data, &s.model, &config, info);
        }
        tess_xpcs_result_destroy(result);
        tess_xpcs_data_destroy(data);
        tess_context_destroy(ctx);
    }
    assert_memory_equal(theta[0], theta[1], sizeof theta[0]);
    assert_memory_equal(theta[0], theta[2], sizeof theta[0]);
}

static void fixed_parameters_stay(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 1);
    const double nan = (double)NAN;
    const double start[7] = {nan, nan, 1500, nan, nan, nan, nan};
    const uint8_t is_fixed[7] = {0, 0, 1, 0, 0, 0, 0};
    double lower[7];
    double upper[7];
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params(TESS_XPCS_LAMINAR_FLOW, &n);
    for (int64_t k = 0; k < n; k++) {
        lower[k] = params[k].lower;
        upper[k] = params[k].upper;
    }
    lower[6] = upper[6] = 2.5; // equal bounds fix as well
    g.config.start = start;
    g.config.is_fixed = is_fixed;
    g.config.lower = lower;
    g.config.upper = upper;
    tess_xpcs_result *result = golden_fit_run(&g);
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
    assert_true(info->theta[2] == 1500 && info->theta[6] == 2.5);
    assert_int_equal(info->status[2], TESS_XPCS_FIXED);
    assert_int_equal(info->status[6], TESS_XPCS_FIXED);
    assert_true(info->sd[2] == 0 && info->sd[0] > 0);
    assert_int_equal(info->n_free, 2 * 6 + 5);
    assert_int_equal(info->convergence, TESS_XPCS_CONVERGED);
    tess_xpcs_result_destroy(result);
    // Nothing free at all: one look at the cost.
    const double all[7] = {5e4, -1.2, 2000, 3e-3, -0.3, -4e-4, 2.5};
    const uint8_t every[7] = {1, 1, 1, 1, 1, 1, 1};
    g.config.start = all;
    g.config.is_fixed = every;
    result = golden_fit_run(&g);
    info = tess_xpcs_result_get_info(result);
    assert_memory_equal(info->theta, all, sizeof all);
    assert_int_equal(info->convergence, TESS_XPCS_CONVERGED);
    assert_true(info->contrast_sd[0] > 0);
    tess_xpcs_result_destroy(result);
    golden_fit_close(&g);
}

static void starts_outside_bounds_are_moved_in(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(0, 1);
    const double start[3] = {5e6, -1.5, 0};
    tess_xpcs_result *want = golden_fit_run(&g);
    g.config.start = start;
    tess_xpcs_result *result = golden_fit_run(&g);
    const tess_xpcs_result_info *a = tess_xpcs_result_get_info(want);
    const tess_xpcs_result_info *b = tess_xpcs_result_get_info(result);
    assert_contains(b->warnings, "start of D0, 5e+06, lies outside its bounds 100 to 100000");
    assert_true(b->start[0] == 1e5);
    for (int64_t k = 0; k < 3; k++) {
        assert_true(fabs(a->theta[k] - b->theta[k]) <= 1e-4 * a->sd[k]);
    }
    tess_xpcs_result_destroy(result);
    tess_xpcs_result_destroy(want);
    golden_fit_close(&g);
}

// The bound as a fixed value gives the same minimum.
static void an_optimum_on_its_bound_says_so(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 1);
    double lower[7];
    double upper[7];
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params(TESS_XPCS_LAMINAR_FLOW, &n);
    for (int64_t k = 0; k < n; k++) {
        lower[k] = params[k].lower;
        upper[k] = params[k].upper;
    }
    upper[1] = -1.25; // the free optimum is -1.175
    g.config.lower = lower;
    g.config.upper = upper;
    tess_xpcs_result *result = golden_fit_run(&g);
    lower[1] = upper[1];
    tess_xpcs_result *fixed = golden_fit_run(&g);
    const tess_xpcs_result_info *a = tess_xpcs_result_get_info(result);
    const tess_xpcs_result_info *b = tess_xpcs_result_get_info(fixed);
    print_message("at the bound: %lld evaluations, %lld passes\n", (long long)a->nfev,
                  (long long)a->n_pass);
    assert_int_equal(a->status[1], TESS_XPCS_AT_UPPER);
    assert_true(a->theta[1] == -1.25 && a->sd[1] > 0 && isfinite(a->sd[1]));
    assert_contains(a->warnings, "alpha is at its upper bound");
    assert_true(fabs(a->chi2 - b->chi2) <= 1e-9 * b->chi2);
    for (int64_t k = 0; k < 7; k++) {
        assert_true(fabs(a->theta[k] - b->theta[k]) <= 1e-3 * a->sd[k]);
        assert_true(k == 1 || fabs(a->sd[k] - b->sd[k]) <= 1e-3 * b->sd[k]);
    }
    tess_xpcs_result_destroy(result);
    tess_xpcs_result_destroy(fixed);
    golden_fit_close(&g);
}

static void too_few_evaluations_are_not_good(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 1);
    g.config.max_nfev = 2;
    g.config.n_start = 1; // a search would leave nothing to do
    g.config.bad_chunk = 1;
    tess_xpcs_result *result = golden_fit_run(&g);
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
    assert_int_equal(info->convergence, TESS_XPCS_MAX_ITER);
    assert_int_equal(info->termination, 0);
    assert_int_not_equal(info->quality, TESS_XPCS_GOOD);
    assert_contains(info->message, "Not converged after 2 evaluations");
    assert_contains(info->message, "max_nfev");
    assert_contains(info->warnings, info->message);
    assert_null(strstr(info->warnings, "left out")); // nothing to mask in memory
    tess_xpcs_result_destroy(result);
    golden_fit_close(&g);
}

static void impossible_settings_are_refused(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(0, 1);
    tess_xpcs_result *result = NULL;
    const double infinite[3] = {(double)INFINITY, 0, 0};
    const double low[3] = {100, 1, -1e5};
    const double high[3] = {1e5, -1, 1e5};
    g.config.start = infinite;
    assert_fails(tess_xpcs_fit(g.ctx, g.data, &g.model, &g.config, &result), TESS_E_CONFIG,
                 "start of D0: inf");
    g.config.start = NULL;
    g.config.lower = low;
    g.config.upper = high;
    assert_fails(tess_xpcs_fit(g.ctx, g.data, &g.model, &g.config, &result), TESS_E_CONFIG,
                 "bounds of alpha: 1 to -1");
    g.config.lower = g.config.upper = NULL;
    g.config.scaling = TESS_XPCS_SCALING_FOURIER;
    assert_fails(tess_xpcs_fit(g.ctx, g.data, &g.model, &g.config, &result), TESS_E_CONFIG,
                 "needs 5 angles, the data have 3");
    g.config.scaling = 17;
    assert_fails(tess_xpcs_fit(g.ctx, g.data, &g.model, &g.config, &result), TESS_E_RANGE,
                 "scaling");
    g.config.scaling = 0;
    g.config.sigma_mode = TESS_XPCS_SIGMA_DATASET;
    assert_fails(tess_xpcs_fit(g.ctx, g.data, &g.model, &g.config, &result), TESS_E_ARGUMENT,
                 "sigma_mode");
    assert_null(result);
    assert_fails(tess_xpcs_fit(g.ctx, NULL, &g.model, &g.config, &result), TESS_E_ARGUMENT, "data");
    golden_fit_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bits_however_it_runs),
        cmocka_unit_test(a_stop_after_every_pass_changes_nothing),
        cmocka_unit_test(a_look_at_part_of_the_data_changes_nothing),
        cmocka_unit_test(fixed_parameters_stay),
        cmocka_unit_test(starts_outside_bounds_are_moved_in),
        cmocka_unit_test(an_optimum_on_its_bound_says_so),
        cmocka_unit_test(too_few_evaluations_are_not_good),
        cmocka_unit_test(impossible_settings_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
