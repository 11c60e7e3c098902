// Searches for other minima, rescues from bad starts, and the block bootstrap.
#include "xpcs_fit_fixture.h"

#include "systems/xpcs/fit/engine.h"
#include "systems/xpcs/fit/phases.h"

#include <string.h>

static const double TRUTH[7] = {68481, -1.327, 1708, 1.991e-3, -0.212, -6.07e-4, 2.0};

static tess_xpcs_simulation laminar(int64_t n_angle, int64_t n_frame)
{
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.n_angle = n_angle;
    s.n_frame = n_frame;
    s.sigma = 0.02;
    s.contrast_scatter = 0.1;
    s.model.mode = TESS_XPCS_LAMINAR_FLOW;
    s.model.dt_s = 0.1;
    s.model.gap_angstrom = 2e6;
    s.theta = TRUTH;
    return s;
}

// Starts are inside the bounds, one in every stratum, and the same for the same seed.
static void starts_fill_the_bounds(void **state)
{
    (void)state;
    enum { N = 40 };
    golden_fit g = golden_fit_open(1, 1);
    tess_xp_problem problem;
    double thetas[N][7];
    double again[N][7];
    assert_ok(tess_xp_problem_open(g.ctx, g.data, &g.model, &g.config, &problem));
    tess_xp_start_latin(&problem, N, thetas[0], 7);
    tess_xp_start_latin(&problem, N, again[0], 7);
    assert_memory_equal(thetas, again, sizeof thetas);
    static const int uniform[] = {1, 4, 6};
    for (size_t k = 0; k < ARRAY_LEN(uniform); k++) {
        const int64_t c = uniform[k];
        int count[N] = {0};
        for (int64_t i = 0; i < N; i++) {
            const double width = problem.upper[c] - problem.lower[c];
            count[(int)((thetas[i][c] - problem.lower[c]) / width * N)]++;
        }
        for (int64_t i = 0; i < N; i++) {
            assert_int_equal(count[i], 1);
        }
    }
    for (int64_t i = 0; i < N; i++) {
        for (int64_t k = 0; k < 7; k++) {
            assert_true(thetas[i][k] >= problem.lower[k] && thetas[i][k] <= problem.upper[k]);
        }
    }
    tess_xp_problem_close(&problem);
    golden_fit_close(&g);
}

static void the_golden_minimum_is_found_from_anywhere(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 2);
    double *want = golden_f64(g.ctx, g.file, "theta_individual", NULL);
    double *chi2 = golden_f64(g.ctx, g.file, "chi2_individual", NULL);
    // A start from which nothing is seen: the others have to do.
    const double far[7] = {100, 2, 0, 1e-6, 2, 0, -10};
    g.config.start = far;
    g.config.n_start = 12;
    for (int64_t seed = 1; seed <= (unit_is_quick() ? 1 : 4); seed++) {
        g.config.seed = seed;
        tess_xpcs_result *result = golden_fit_run(&g);
        const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
        print_message("seed %lld: %lld basins, %lld starts in the best, %lld passes\n",
                      (long long)seed, (long long)info->n_basin, (long long)info->basins[0].n_start,
                      (long long)info->n_pass);
        assert_true(fabs(info->chi2 - *chi2) <= 1e-9 * *chi2);
        for (int64_t k = 0; k < 7; k++) {
            assert_true(fabs(info->theta[k] - want[k]) <= 1e-4 * info->sd[k]);
        }
        assert_true(info->n_basin >= 1 && info->basins[0].n_start >= 1);
        assert_true(fabs(2 * info->basins[0].cost - *chi2) <= 1e-6 * *chi2);
        tess_xpcs_result_destroy(result);
    }
    free(want);
    free(chi2);
    golden_fit_close(&g);
}

// One angle cannot tell phi0 from its mirror image.
static void two_minima_are_told(void **state)
{
    (void)state;
    static const double phi[1] = {0};
    static const double tilted[7] = {68481, -1.327, 1708, 4e-3, -0.212, -6.07e-4, 6.0};
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_simulation s = laminar(1, 120);
    s.phi = phi;
    s.theta = tilted;
    s.sigma = 0.002;
    tess_xpcs_data *data = simulated(ctx, &s);
    tess_xpcs_fit_config config;
    tess_xpcs_fit_config_init(&config, sizeof config);
    // phi0 alone with the shear rate: both signs fit alike.
    const double start[7] = {68481, -1.327, 1708, 4e-3, -0.212, -6.07e-4, 3.0};
    const uint8_t is_fixed[7] = {1, 1, 1, 1, 1, 1, 0};
    config.sigma = s.sigma;
    config.start = start;
    config.is_fixed = is_fixed;
    config.n_start = 8;
    config.screen_keep = 1;
    tess_xpcs_result *result = NULL;
    assert_ok(tess_xpcs_fit(ctx, data, &s.model, &config, &result));
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
    assert_int_equal(info->n_basin, 2);
    assert_true(info->basins[0].theta[6] * info->basins[1].theta[6] < 0);
    assert_contains(info->warnings, "Another minimum has chi2 within");
    assert_contains(info->warnings, "phi0");
    tess_xpcs_result_destroy(result);
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

// Where the model is flat there is no gradient: that is a failure, and other starts are tried.
static void a_start_without_gradient_is_left(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(0, 1);
    double *want = golden_f64(g.ctx, g.file, "theta_individual", NULL);
    const double lower[3] = {1e-30, -2, 0};
    const double upper[3] = {1e5, 2, 1e5};
    const double flat[3] = {1e-30, 0, 0};
    g.config.lower = lower;
    g.config.upper = upper;
    g.config.start = flat;
    g.config.n_start = 1;
    tess_xpcs_result *result = golden_fit_run(&g);
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
    print_message("%s | %s\n", info->message, info->recovery);
    assert_int_equal(info->convergence, TESS_XPCS_CONVERGED);
    for (int64_t k = 0; k < 3; k++) {
        assert_true(fabs(info->theta[k] - want[k]) <= 1e-3 * info->sd[k]);
    }
    assert_contains(info->recovery, "default start was tried");
    tess_xpcs_result_destroy(result);
    // Bounds within which nothing can be seen: it fails, and says so.
    const double dark[3] = {1e-29, 0.1, 1e-29};
    g.config.lower = flat;
    g.config.upper = dark;
    result = golden_fit_run(&g);
    info = tess_xpcs_result_get_info(result);
    print_message("%s | %s\n", info->message, info->recovery);
    assert_int_not_equal(info->convergence, TESS_XPCS_CONVERGED);
    assert_int_equal(info->quality, TESS_XPCS_POOR);
    assert_contains(info->recovery, "Latin hypercube");
    assert_contains(info->warnings, "no signal");
    tess_xpcs_result_destroy(result);
    free(want);
    golden_fit_close(&g);
}

static void blocks_are_drawn_with_replacement(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(0, 1);
    tess_xp_problem problem;
    double weight[80];
    g.config.block_frames = 7;
    assert_ok(tess_xp_problem_open(g.ctx, g.data, &g.model, &g.config, &problem));
    double zeros = 0;
    for (int64_t b = 0; b < 200; b++) {
        tess_xp_bootstrap_weights(&problem, b, weight);
        double blocks = 0;
        for (int64_t i = 0; i < 80; i++) {
            assert_true(weight[i] == floor(weight[i]) && weight[i] == weight[i / 7 * 7]);
            blocks += i % 7 == 0 ? weight[i] : 0;
            zeros += weight[i] == 0;
        }
        assert_true(blocks == 12);
    }
    // (1 - 1/12)^12 of the frames are left out on average.
    assert_true(fabs(zeros / (200 * 80) - 0.352) < 0.02);
    tess_xp_problem_close(&problem);
    golden_fit_close(&g);
}

// Weights of pairs are products of two frames', whose square is 4 on average: with noise that is
// independent from pair to pair the bootstrap's errors are larger by sqrt(3), and more where a few
// frames decide.
static void the_bootstrap_is_on_the_safe_side(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(0, 2);
    g.config.uncertainty = 1;
    g.config.n_bootstrap = unit_is_quick() ? 8 : 60;
    g.config.block_frames = 2;
    tess_xpcs_result *result = golden_fit_run(&g);
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
    assert_int_equal(info->n_bootstrap, g.config.n_bootstrap);
    for (int64_t k = 0; k < 3; k++) {
        const double ratio = info->bootstrap_sd[k] / info->sd[k];
        print_message("%s: bootstrap / covariance %.2f\n", info->names[k], ratio);
        assert_true(ratio > 1 && ratio < 5);
    }
    for (int64_t b = 0; b < info->n_bootstrap; b++) {
        assert_true(isfinite(info->bootstrap[b * 3]));
    }
    tess_xpcs_result_destroy(result);
    golden_fit_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_fill_the_bounds),
        cmocka_unit_test(the_golden_minimum_is_found_from_anywhere),
        cmocka_unit_test(two_minima_are_told),
        cmocka_unit_test(a_start_without_gradient_is_left),
        cmocka_unit_test(blocks_are_drawn_with_replacement),
        cmocka_unit_test(the_bootstrap_is_on_the_safe_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
