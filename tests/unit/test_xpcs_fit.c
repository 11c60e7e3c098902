// Fits of the golden sets: parameters, chi2 and covariance of all modes, kernels and losses.
#include "xpcs_fit_fixture.h"

#include <string.h>

typedef struct golden_case {
    const char *suffix;
    int32_t scaling;
    int32_t kernel;
    int32_t loss;
} golden_case;

static const golden_case CASES[] = {
    {"individual", TESS_XPCS_SCALING_INDIVIDUAL, TESS_XPCS_KERNEL_UPSTREAM, 0},
    {"averaged", TESS_XPCS_SCALING_AVERAGED, TESS_XPCS_KERNEL_UPSTREAM, 0},
    {"constant", TESS_XPCS_SCALING_CONSTANT, TESS_XPCS_KERNEL_UPSTREAM, 0},
    {"constant_averaged", TESS_XPCS_SCALING_CONSTANT_AVERAGED, TESS_XPCS_KERNEL_UPSTREAM, 0},
    // Laminar only from here on.
    {"fourier", TESS_XPCS_SCALING_FOURIER, TESS_XPCS_KERNEL_UPSTREAM, 0},
    {"individual_upstream_v1", TESS_XPCS_SCALING_INDIVIDUAL, TESS_XPCS_KERNEL_UPSTREAM_V1, 0},
    {"individual_physical", TESS_XPCS_SCALING_INDIVIDUAL, TESS_XPCS_KERNEL_PHYSICAL, 0},
};

// How contrasts, offsets and physical parameters follow the free ones: map [2 n_angle +
// n_param][n].
static double *free_map(const golden_fit *g, const golden_case *c, int64_t n)
{
    int64_t n_angle = 0;
    double *phi = golden_f64(g->ctx, g->file, "phi", &n_angle);
    const int64_t m = 2 * n_angle + g->n_param;
    const int64_t nb = (n - g->n_param) / 2;
    double *map = calloc((size_t)(m * n), sizeof *map);
    for (int64_t a = 0; a < n_angle; a++) {
        for (int64_t k = 0; k < nb; k++) {
            const double x = phi[a] * 3.14159265358979323846 / 180 * (double)((k + 1) / 2);
            double b = k == 0 ? 1 : k % 2 ? cos(x) : sin(x);
            b = c->scaling == TESS_XPCS_SCALING_INDIVIDUAL ? a == k : b;
            map[a * n + k] = b;
            map[(n_angle + a) * n + nb + k] = b;
        }
    }
    for (int64_t k = 0; k < g->n_param; k++) {
        map[(2 * n_angle + k) * n + 2 * nb + k] = 1;
    }
    free(phi);
    return map;
}

// Covariance of everything from that of the free parameters; NULL where the file has none.
static double *expected_covariance(const golden_fit *g, const golden_case *c)
{
    int64_t n2 = 0;
    double *cov = golden_fit_member(g, "cov", c->suffix, &n2);
    const int64_t n = (int64_t)(sqrt((double)n2) + 0.5);
    const int64_t m = 2 * g->n_angle + g->n_param;
    double *map = free_map(g, c, n);
    double *out = calloc((size_t)(m * m), sizeof *out);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t k = 0; k < n; k++) {
            for (int64_t l = 0; l < n && map[i * n + k] != 0; l++) {
                for (int64_t j = 0; j < m; j++) {
                    out[i * m + j] += map[i * n + k] * cov[k * n + l] * map[j * n + l];
                }
            }
        }
    }
    free(map);
    free(cov);
    return out;
}

static void check_values(const double *got, const double *want, int64_t n, const double *cov,
                         int64_t stride, double tolerance)
{
    for (int64_t i = 0; i < n; i++) {
        const double sd = sqrt(cov[i * stride]);
        const double scale = sd > 0 ? sd : 1e-8;
        if (!(fabs(got[i] - want[i]) <= tolerance * scale)) {
            fail_msg("item %lld: %.17g, expected %.17g: %.3g sd", (long long)i, got[i], want[i],
                     (got[i] - want[i]) / scale);
        }
    }
}

static void check_case(golden_fit *g, const golden_case *c, double tolerance)
{
    tess_xpcs_result *result = golden_fit_run(g);
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
    const int64_t m = info->n_covariance;
    double *cov = expected_covariance(g, c);
    double *theta = golden_fit_member(g, "theta", c->suffix, NULL);
    double *contrast = golden_fit_member(g, "contrast", c->suffix, NULL);
    double *offset = golden_fit_member(g, "offset", c->suffix, NULL);
    double *chi2 = golden_fit_member(g, "chi2", c->suffix, NULL);
    double *dof = golden_fit_member(g, "dof", c->suffix, NULL);
    print_message("%s: %s, %lld evaluations, %lld passes\n", c->suffix, info->message,
                  (long long)info->nfev, (long long)info->n_pass);
    assert_int_equal(info->convergence, TESS_XPCS_CONVERGED);
    const int32_t quality = info->reduced_chi2 < 1.5 ? TESS_XPCS_GOOD
                            : info->reduced_chi2 < 3 ? TESS_XPCS_MARGINAL
                                                     : TESS_XPCS_POOR;
    assert_int_equal(info->quality, quality);
    check_values(info->theta, theta, g->n_param, cov + 2 * g->n_angle * (m + 1), m + 1, tolerance);
    check_values(info->contrast, contrast, g->n_angle, cov, m + 1, tolerance);
    check_values(info->offset, offset, g->n_angle, cov + g->n_angle * (m + 1), m + 1, tolerance);
    assert_true(fabs(info->chi2 - *chi2) <= 1e-9 * *chi2);
    assert_int_equal(info->dof, (int64_t)*dof);
    for (int64_t i = 0; i < m * m; i++) {
        const double scale = sqrt(cov[i / m * (m + 1)] * cov[i % m * (m + 1)]);
        assert_true(fabs(info->covariance[i] - cov[i]) <= 1e-6 * scale);
    }
    void *const owned[] = {cov, theta, contrast, offset, chi2, dof};
    for (size_t k = 0; k < ARRAY_LEN(owned); k++) {
        free(owned[k]);
    }
    tess_xpcs_result_destroy(result);
}

static void golden_fits_of_all_modes(void **state)
{
    (void)state;
    for (int is_laminar = 0; is_laminar < 2; is_laminar++) {
        golden_fit g = golden_fit_open(is_laminar, 2);
        for (size_t k = 0; k < (is_laminar ? ARRAY_LEN(CASES) : 4); k++) {
            g.config.scaling = CASES[k].scaling;
            g.model.kernel = CASES[k].kernel;
            check_case(&g, &CASES[k], 1e-4);
        }
        golden_fit_close(&g);
    }
}

static void tight_tolerances_come_closer(void **state)
{
    (void)state;
    for (int is_laminar = 0; is_laminar < 2; is_laminar++) {
        golden_fit g = golden_fit_open(is_laminar, 2);
        g.config.ftol = g.config.xtol = g.config.gtol = 1e-12;
        check_case(&g, &CASES[0], 1e-5);
        golden_fit_close(&g);
    }
}

static void static_isotropic_is_one_pair(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(0, 1);
    g.model.mode = TESS_XPCS_STATIC_ISOTROPIC;
    check_case(&g, &CASES[1], 1e-4);
    golden_fit_close(&g);
}

static void the_default_start_is_the_golden_one(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 1);
    double *start = golden_f64(g.ctx, g.file, "start_theta", NULL);
    g.config.start = start;
    check_case(&g, &CASES[0], 1e-4);
    tess_xpcs_result *result = golden_fit_run(&g);
    assert_near(tess_xpcs_result_get_info(result)->start, start, 7, 0);
    tess_xpcs_result_destroy(result);
    free(start);
    golden_fit_close(&g);
}

static void mixed_precision_finishes_in_double(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 2);
    g.config.precision = 1;
    check_case(&g, &CASES[0], 1e-4);
    golden_fit_close(&g);
}

static void rates_of_the_first_kernel_are_smaller_by_pi(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 1);
    g.config.ftol = g.config.xtol = 1e-12;
    tess_xpcs_result *result = golden_fit_run(&g);
    g.model.kernel = TESS_XPCS_KERNEL_UPSTREAM_V1;
    tess_xpcs_result *first = golden_fit_run(&g);
    const tess_xpcs_result_info *a = tess_xpcs_result_get_info(result);
    const tess_xpcs_result_info *b = tess_xpcs_result_get_info(first);
    assert_true(fabs(a->chi2 - b->chi2) <= 1e-10 * a->chi2);
    assert_true(fabs(a->theta[3] / b->theta[3] - 3.14159265358979) < 1e-5);
    assert_true(fabs(a->theta[5] / b->theta[5] - 3.14159265358979) < 1e-5);
    tess_xpcs_result_destroy(first);
    tess_xpcs_result_destroy(result);
    golden_fit_close(&g);
}

static void counting_twice_shrinks_errors_only(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 1);
    g.config.absolute_sigma = 0;
    tess_xpcs_result *half = golden_fit_run(&g);
    g.config.counting = 1;
    tess_xpcs_result *full = golden_fit_run(&g);
    const tess_xpcs_result_info *a = tess_xpcs_result_get_info(half);
    const tess_xpcs_result_info *b = tess_xpcs_result_get_info(full);
    assert_memory_equal(a->theta, b->theta, 7 * sizeof *a->theta);
    assert_memory_equal(a->contrast, b->contrast, 6 * sizeof *a->contrast);
    for (int64_t k = 0; k < 7; k++) {
        assert_true(fabs(b->sd[k] * sqrt(2) - a->sd[k]) <= 1e-14 * a->sd[k]);
    }
    assert_true(b->chi2 == 2 * a->chi2);
    assert_int_equal(b->n_used, 2 * a->n_used);
    assert_contains(b->warnings, "too small by sqrt 2");
    tess_xpcs_result_destroy(full);
    tess_xpcs_result_destroy(half);
    golden_fit_close(&g);
}

// Errors follow the scatter of the residuals unless sigma is absolute.
static void relative_errors_follow_chi2(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(0, 1);
    tess_xpcs_result *absolute = golden_fit_run(&g);
    g.config.absolute_sigma = 0;
    g.config.sigma *= 3;
    tess_xpcs_result *relative = golden_fit_run(&g);
    const tess_xpcs_result_info *a = tess_xpcs_result_get_info(absolute);
    const tess_xpcs_result_info *b = tess_xpcs_result_get_info(relative);
    for (int64_t k = 0; k < 3; k++) {
        const double want = a->sd[k] * sqrt(a->reduced_chi2);
        assert_true(fabs(b->sd[k] - want) <= 1e-5 * want);
    }
    tess_xpcs_result_destroy(relative);
    tess_xpcs_result_destroy(absolute);
    golden_fit_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_fits_of_all_modes),
        cmocka_unit_test(tight_tolerances_come_closer),
        cmocka_unit_test(static_isotropic_is_one_pair),
        cmocka_unit_test(the_default_start_is_the_golden_one),
        cmocka_unit_test(mixed_precision_finishes_in_double),
        cmocka_unit_test(rates_of_the_first_kernel_are_smaller_by_pi),
        cmocka_unit_test(counting_twice_shrinks_errors_only),
        cmocka_unit_test(relative_errors_follow_chi2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
