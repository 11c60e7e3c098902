// Robust losses: the golden minima, and outliers that do no harm.
#include "xpcs_fit_fixture.h"

#include <string.h>

static const struct {
    const char *suffix;
    int32_t loss;
} LOSSES[] = {{"individual_soft_l1", TESS_XPCS_LOSS_SOFT_L1},
              {"individual_huber", TESS_XPCS_LOSS_HUBER},
              {"individual_cauchy", TESS_XPCS_LOSS_CAUCHY},
              {"individual_arctan", TESS_XPCS_LOSS_ARCTAN}};

// Contrasts, offsets and physical parameters in one vector.
static void collect(const tess_xpcs_result_info *info, double *x, double *sd)
{
    const int64_t n = info->n_angle;
    const size_t bytes = (size_t)n * sizeof *x;
    memcpy(x, info->contrast, bytes);
    memcpy(x + n, info->offset, bytes);
    memcpy(x + 2 * n, info->theta, (size_t)info->n_param * sizeof *x);
    memcpy(sd, info->contrast_sd, bytes);
    memcpy(sd + n, info->offset_sd, bytes);
    memcpy(sd + 2 * n, info->sd, (size_t)info->n_param * sizeof *sd);
}

static void golden_minima_of_all_losses(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 2);
    for (size_t k = 0; k < ARRAY_LEN(LOSSES); k++) {
        int64_t n = 0;
        double x[32];
        double sd[32];
        double *want = golden_fit_member(&g, "x", LOSSES[k].suffix, &n);
        double *cost = golden_fit_member(&g, "cost", LOSSES[k].suffix, NULL);
        g.config.loss = LOSSES[k].loss;
        tess_xpcs_result *result = golden_fit_run(&g);
        const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
        collect(info, x, sd);
        double worst = 0;
        for (int64_t i = 0; i < n; i++) {
            worst = fmax(worst, fabs(x[i] - want[i]) / sd[i]);
        }
        print_message("%s: %.2g sd, %lld evaluations, %lld passes, status %d\n", LOSSES[k].suffix,
                      worst, (long long)info->nfev, (long long)info->n_pass, info->termination);
        assert_true(worst <= 1e-4);
        assert_true(fabs(info->cost - *cost) <= 1e-9 * *cost);
        assert_int_equal(info->convergence, TESS_XPCS_CONVERGED);
        assert_true(info->chi2 > 0.9 * (double)info->dof && info->chi2 < 1.1 * (double)info->dof);
        tess_xpcs_result_destroy(result);
        free(want);
        free(cost);
    }
    golden_fit_close(&g);
}

// A loss that never bends is the linear one.
static void a_wide_scale_is_linear(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 1);
    double x[2][32];
    double sd[2][32];
    for (int k = 0; k < 2; k++) {
        g.config.loss = k ? TESS_XPCS_LOSS_SOFT_L1 : TESS_XPCS_LOSS_LINEAR;
        g.config.f_scale = 1e6;
        tess_xpcs_result *result = golden_fit_run(&g);
        collect(tess_xpcs_result_get_info(result), x[k], sd[k]);
        tess_xpcs_result_destroy(result);
    }
    for (int64_t i = 0; i < 19; i++) {
        assert_true(fabs(x[0][i] - x[1][i]) <= 1e-4 * sd[0][i]);
        assert_true(fabs(sd[0][i] - sd[1][i]) <= 1e-4 * sd[0][i]);
    }
    golden_fit_close(&g);
}

// Every scaling mode has a robust fit that stays near the linear one.
static void all_scaling_modes_have_one(void **state)
{
    (void)state;
    golden_fit g = golden_fit_open(1, 1);
    g.config.f_scale = 1e6;
    for (int32_t mode = TESS_XPCS_SCALING_INDIVIDUAL; mode <= TESS_XPCS_SCALING_FOURIER; mode++) {
        double x[2][32];
        double sd[2][32];
        g.config.scaling = mode;
        for (int k = 0; k < 2; k++) {
            g.config.loss = k ? TESS_XPCS_LOSS_HUBER : TESS_XPCS_LOSS_LINEAR;
            tess_xpcs_result *result = golden_fit_run(&g);
            collect(tess_xpcs_result_get_info(result), x[k], sd[k]);
            tess_xpcs_result_destroy(result);
        }
        for (int64_t i = 0; i < 19; i++) {
            assert_true(fabs(x[0][i] - x[1][i]) <= 1e-3 * sd[0][i] + 1e-14);
            assert_true(fabs(sd[0][i] - sd[1][i]) <= 1e-3 * sd[0][i]);
        }
    }
    golden_fit_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_minima_of_all_losses),
        cmocka_unit_test(a_wide_scale_is_linear),
        cmocka_unit_test(all_scaling_modes_have_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
