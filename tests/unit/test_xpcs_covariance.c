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
    const int64_t kept[2] = {0, 2};
    for (int64_t i = 0; i < 4; i++) {
        plain[i] = a[kept[i / 2] * N + kept[i % 2]];
    }
    tess_xp_invert(plain, 2, want, is_lost, work);
    tess_xp_invert(a, N, inverse, is_lost, work);
    const uint8_t expected[N] = {0, 1, 0, 1, 1};
    assert_memory_equal(is_lost, expected, N);
    for (int64_t i = 0; i < 4; i++) {
        const double got = inverse[kept[i / 2] * N + kept[i % 2]];
        assert_true(fabs(got - want[i]) <= 1e-12 * sqrt(want[0] * want[3]));
    }
    assert_true(inverse[1 * N + 1] == 0 && inverse[4 * N + 4] == 0);
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

static void warnings_name_a_remedy(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 1);
    g.config.sigma = 0.01;
    g.config.chi2_threshold = 2;
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
        cmocka_unit_test(warnings_name_a_remedy),
        cmocka_unit_test(contrasts_at_their_bound_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
