// Errors where the data say little or nothing.
#include "xpcs_fit_fixture.h"

#include "systems/xpcs/fit/covariance.h"

#include <string.h>

enum { N = 5 };

// b^T b of random rows, parameters of very different size.
static void random_matrix(double *a, int64_t n, int64_t n_row, uint32_t seed)
{
    double row[40];
    memset(a, 0, (size_t)(n * n) * sizeof *a);
    for (int64_t r = 0; r < n_row; r++) {
        for (int64_t k = 0; k < n; k++) {
            seed = seed * 1664525u + 1013904223u;
            row[k] = ((double)seed / 4294967296.0 - 0.5) * pow(10, (double)(k % 7) * 2 - 6);
        }
        for (int64_t i = 0; i < n * n; i++) {
            a[i] += row[i / n] * row[i % n];
        }
    }
}

static void inverses_are_inverses(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 3, 7, 33};
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        const int64_t n = sizes[k];
        double *a = malloc((size_t)(n * n) * 3 * sizeof *a);
        double *work = malloc((size_t)(n * (3 * n + 4)) * sizeof *work);
        uint8_t is_lost[33];
        random_matrix(a, n, 3 * n, (uint32_t)n);
        memcpy(a + n * n, a, (size_t)(n * n) * sizeof *a);
        double *inverse = a + 2 * n * n;
        const double condition = tess_xp_invert(a + n * n, n, inverse, is_lost, work);
        assert_true(condition >= 1 && condition < 1e4);
        for (int64_t i = 0; i < n * n; i++) {
            double sum = 0;
            const int64_t row = i / n;
            const int64_t column = i % n;
            for (int64_t l = 0; l < n; l++) {
                sum += a[row * n + l] * inverse[l * n + column];
            }
            const double scale = sqrt(a[row * (n + 1)] / a[column * (n + 1)]);
            assert_true(fabs(sum - (row == column)) < 1e-10 * scale);
            assert_false(is_lost[row]);
        }
        free(a);
        free(work);
    }
}

// Two parameters that do the same, and one that does nothing, are lost; the others are not.
static void what_cannot_be_told_is_lost(void **state)
{
    (void)state;
    double a[N * N];
    double plain[9];
    double inverse[N * N];
    double want[9];
    double work[N * (3 * N + 4)];
    uint8_t is_lost[N];
    random_matrix(a, N, 20, 3);
    // Parameter 3 becomes twice parameter 1, parameter 4 nothing.
    for (int64_t i = 0; i < N; i++) {
        a[3 * N + i] = 2 * a[1 * N + i];
        a[4 * N + i] = 0;
    }
    for (int64_t i = 0; i < N; i++) {
        a[i * N + 3] = 2 * a[i * N + 1];
        a[i * N + 4] = 0;
    }
    // One of the two that do the same stands for both: errors of others hold whatever it is.
    for (int64_t i = 0; i < 9; i++) {
        plain[i] = a[i / 3 * N + i % 3];
    }
    tess_xp_invert(plain, 3, want, is_lost, work);
    tess_xp_invert(a, N, inverse, is_lost, work);
    const uint8_t expected[N] = {0, 1, 0, 1, 1};
    assert_memory_equal(is_lost, expected, N);
    for (int64_t i = 0; i < 9; i += 2) { // rows and columns 0 and 2, and what is in the middle
        const double got = inverse[i / 3 * N + i % 3];
        assert_true(i == 4 || fabs(got - want[i]) <= 1e-12 * sqrt(want[0] * want[8]));
    }
    assert_true(inverse[4 * N + 4] == 0);
}

// With alpha at 0 both rates are constant in time: only their sum is known.
static void degenerate_parameters_are_unidentified(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(0, 1);
    const double start[3] = {10000, 0, 100};
    const uint8_t is_fixed[3] = {0, 1, 0};
    g.config.start = start;
    g.config.is_fixed = is_fixed;
    tess_xpcs_result *result = golden_fit_run(&g);
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
    assert_int_equal(info->status[0], TESS_XPCS_UNIDENTIFIED);
    assert_int_equal(info->status[2], TESS_XPCS_UNIDENTIFIED);
    assert_int_equal(info->status[1], TESS_XPCS_FIXED);
    assert_true(isinf(info->sd[0]) && isinf(info->sd[2]) && info->sd[1] == 0);
    assert_contains(info->warnings, "D0 is unidentified");
    assert_int_not_equal(info->quality, TESS_XPCS_GOOD);
    const int64_t m = info->n_covariance;
    for (int64_t i = 0; i < m * m; i++) {
        assert_true(!isnan(info->covariance[i]) && !isnan(info->correlation[i]));
        assert_true(fabs(info->correlation[i]) <= 1);
    }
    assert_true(info->contrast_sd[0] > 0 && isfinite(info->contrast_sd[0]));
    tess_xpcs_result_destroy(result);
    golden_fit_close(&g);
}

static tess_xpcs_simulation small_simulation(tess_xpcs_mode mode, int64_t n_angle)
{
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.dtype = 1;
    s.n_angle = n_angle;
    s.n_frame = 60;
    s.model.mode = (int32_t)mode;
    s.model.dt_s = 0.1;
    s.model.gap_angstrom = 2e6;
    return s;
}

// One angle tells shear rate and direction together alone. What else it tells has the errors that
// it has where the direction is known, not those it has where the rate is known, too.
static void errors_of_the_rest_hold_whatever_is_lost(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_simulation s = small_simulation(TESS_XPCS_LAMINAR_FLOW, 1);
    const double phi = 0;
    const uint8_t is_fixed[7] = {0, 0, 0, 0, 0, 0, 1};
    double start[7] = {
        (double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN, 2};
    tess_xpcs_fit_config config;
    xpcs_config_init(&config);
    config.has_sigma = 1;
    s.phi = &phi;
    s.n_frame = 100;
    tess_xpcs_data *data = simulated(ctx, &s);
    for (int32_t loss = 0; loss < 2; loss++) {
        tess_xpcs_result *all = NULL;
        tess_xpcs_result *known = NULL;
        config.loss = loss;
        config.start = NULL;
        config.is_fixed = NULL;
        assert_ok(tess_xpcs_fit(ctx, data, &s.model, &config, &all));
        const tess_xpcs_result_info *a = tess_xpcs_result_get_info(all);
        assert_true(isinf(a->sd[3]) && isinf(a->sd[5]) && a->sd[6] > 1e3);
        start[6] = a->theta[6];
        config.start = start;
        config.is_fixed = is_fixed;
        assert_ok(tess_xpcs_fit(ctx, data, &s.model, &config, &known));
        const tess_xpcs_result_info *b = tess_xpcs_result_get_info(known);
        static const int rest[] = {0, 1, 2, 4};
        for (size_t k = 0; k < ARRAY_LEN(rest); k++) {
            assert_true(fabs(a->sd[rest[k]] / b->sd[rest[k]] - 1) < 0.02);
        }
        assert_true(fabs(a->contrast_sd[0] / b->contrast_sd[0] - 1) < 0.02);
        tess_xpcs_result_destroy(all);
        tess_xpcs_result_destroy(known);
    }
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

static void noise_alone_is_no_good_fit(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_simulation s = small_simulation(TESS_XPCS_STATIC_ANISOTROPIC, 3);
    tess_xpcs_fit_config config;
    xpcs_config_init(&config);
    s.contrast = 0;
    for (int32_t scaling = 0; scaling < 2; scaling++) {
        for (int32_t loss = 0; loss < 2; loss++) {
            tess_xpcs_result *result = NULL;
            tess_xpcs_data *data = simulated(ctx, &s);
            config.loss = loss;
            config.scaling = scaling;
            assert_ok(tess_xpcs_fit(ctx, data, &s.model, &config, &result));
            const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
            assert_int_equal(info->quality, TESS_XPCS_POOR);
            assert_contains(info->warnings, "No signal");
            tess_xpcs_result_destroy(result);
            tess_xpcs_data_destroy(data);
        }
    }
    config.sigma = 10; // a large sigma makes a small chi2, which is no merit
    s.contrast = 0.3;
    tess_xpcs_data *data = simulated(ctx, &s);
    tess_xpcs_result *result = NULL;
    assert_ok(tess_xpcs_fit(ctx, data, &s.model, &config, &result));
    assert_contains(tess_xpcs_result_get_info(result)->warnings, "sigma is too large");
    assert_null(strstr(tess_xpcs_result_get_info(result)->warnings, "No signal"));
    tess_xpcs_result_destroy(result);
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

static void warnings_name_a_remedy(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 1);
    g.config.sigma = 0.01;
    g.config.chi2_threshold = 2;
    g.config.uncertainty = 0; // the profile excludes an offset of zero
    tess_xpcs_result *result = golden_fit_run(&g);
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
    assert_true(info->sigma_is_default);
    assert_contains(info->warnings, "sigma is a default (0.01): chi2 is not interpretable");
    assert_contains(info->warnings, "Reduced chi2 is");
    assert_contains(info->warnings, "gamma_dot_t_offset");
    assert_contains(info->warnings, "insignificant");
    assert_int_equal(info->quality, TESS_XPCS_POOR);
    tess_xpcs_result_destroy(result);
    g.config.has_sigma = 1;
    result = golden_fit_run(&g);
    assert_false(tess_xpcs_result_get_info(result)->sigma_is_default);
    tess_xpcs_result_destroy(result);
    // No shear at all: the model says that it is static.
    g.config.sigma = g.sigma;
    const double start[7] = {5e4, -1.2, 2000, 2e-6, 0, 0, 0};
    const uint8_t is_fixed[7] = {0, 0, 0, 1, 1, 1, 1};
    g.config.start = start;
    g.config.is_fixed = is_fixed;
    result = golden_fit_run(&g);
    info = tess_xpcs_result_get_info(result);
    assert_contains(info->warnings, "shear collapse");
    tess_xpcs_result_destroy(result);
    golden_fit_close(&g);
}

static void contrasts_at_their_bound_say_so(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 1);
    for (int k = 0; k < 2; k++) {
        g.config.loss = k ? TESS_XPCS_LOSS_SOFT_L1 : TESS_XPCS_LOSS_LINEAR;
        g.config.scaling_upper[0] = 0.25;
        tess_xpcs_result *result = golden_fit_run(&g);
        const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
        int64_t n_bound = 0;
        for (int64_t a = 0; a < info->n_angle; a++) {
            if (info->contrast_status[a] == TESS_XPCS_AT_UPPER) {
                assert_true(fabs(info->contrast[a] - 0.25) < 1e-9);
                n_bound++;
            }
            assert_true(info->contrast_sd[a] > 0 && isfinite(info->contrast_sd[a]));
            assert_true(info->offset_sd[a] > 0 && isfinite(info->offset_sd[a]));
        }
        assert_true(n_bound > 0);
        assert_contains(info->warnings, "at a bound");
        tess_xpcs_result_destroy(result);
    }
    golden_fit_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverses_are_inverses),
        cmocka_unit_test(what_cannot_be_told_is_lost),
        cmocka_unit_test(degenerate_parameters_are_unidentified),
        cmocka_unit_test(errors_of_the_rest_hold_whatever_is_lost),
        cmocka_unit_test(noise_alone_is_no_good_fit),
        cmocka_unit_test(warnings_name_a_remedy),
        cmocka_unit_test(contrasts_at_their_bound_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
