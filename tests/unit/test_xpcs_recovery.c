// Simulated data: parameters come back, errors are honest. TESS_TEST_LONG=1 takes 300 draws a mode.
#include "xpcs_fit_fixture.h"

#include <string.h>

static const double STATIC_TRUTH[3] = {16918, -1.572, 3.05};
static const double LAMINAR_TRUTH[7] = {68481, -1.327, 1708, 1.991e-3, -0.212, -6.07e-4, 2.0};

static int64_t n_draw(int64_t few)
{
    return getenv("TESS_TEST_LONG") ? 300 : unit_is_quick() ? 2 : few;
}

static tess_xpcs_simulation simulation(int32_t mode, const double *theta, int64_t n_angle,
                                       int64_t n_frame, double sigma)
{
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.dtype = 1;
    s.n_angle = n_angle;
    s.n_frame = n_frame;
    s.sigma = sigma;
    s.model.mode = mode;
    s.model.dt_s = 0.1;
    s.model.gap_angstrom = 2e6;
    s.theta = theta;
    return s;
}

typedef struct tally {
    int64_t n;
    int64_t covered[7];
    double sum[7];    // of (x - truth) / sd
    double square[7]; // likewise
} tally;

static tess_xpcs_result *fit(tess_context *ctx, const tess_xpcs_simulation *s,
                             tess_xpcs_fit_config *config)
{
    tess_xpcs_result *result = NULL;
    tess_xpcs_data *data = simulated(ctx, s);
    config->sigma = s->sigma;
    assert_ok(tess_xpcs_fit(ctx, data, &s->model, config, &result));
    tess_xpcs_data_destroy(data);
    return result;
}

static void draw(tess_context *ctx, tess_xpcs_simulation *s, int64_t n, tally *t)
{
    tess_xpcs_fit_config config;
    xpcs_config_init(&config);
    memset(t, 0, sizeof *t);
    for (int64_t seed = 0; seed < n; seed++) {
        s->seed = 1000 + seed;
        tess_xpcs_result *result = fit(ctx, s, &config);
        const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
        assert_int_equal(info->convergence, TESS_XPCS_CONVERGED);
        assert_int_equal(info->quality, TESS_XPCS_GOOD);
        for (int64_t k = 0; k < info->n_param; k++) {
            const double z = (info->theta[k] - s->theta[k]) / info->sd[k];
            if (!(fabs(z) < 4.5)) {
                fail_msg("seed %lld: %s = %g +- %g, truth %g", (long long)s->seed, info->names[k],
                         info->theta[k], info->sd[k], s->theta[k]);
            }
            t->covered[k] += fabs(z) < 1.959964;
            t->sum[k] += z;
            t->square[k] += z * z;
        }
        t->n++;
        tess_xpcs_result_destroy(result);
    }
}

// Mean within three standard errors; spread and coverage where there are enough draws.
static void check_tally(const tally *t, int64_t n_param)
{
    const double n = (double)t->n;
    for (int64_t k = 0; k < n_param; k++) {
        const double mean = t->sum[k] / n;
        const double spread = sqrt(t->square[k] / n - mean * mean);
        const double coverage = (double)t->covered[k] / n;
        print_message("parameter %lld: mean %.3f sd, spread %.3f, 95 %% cover %.1f %%\n",
                      (long long)k, mean, spread, 100 * coverage);
        assert_true(fabs(mean) <= 3.2 / sqrt(n));
        if (t->n >= 200) {
            assert_true(spread > 0.9 && spread < 1.1);
            assert_true(coverage >= 0.92 && coverage <= 0.98);
        }
    }
}

static void static_parameters_come_back(void **state)
{
    (void)state;
    tally t;
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_simulation s = simulation(TESS_XPCS_STATIC_ANISOTROPIC, STATIC_TRUTH, 3, 200, 0.01);
    s.contrast = 0.05;
    s.offset = 1.0014;
    draw(ctx, &s, n_draw(20), &t);
    check_tally(&t, 3);
    tess_context_destroy(ctx);
}

static void isotropic_parameters_come_back(void **state)
{
    (void)state;
    tally t;
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_simulation s = simulation(TESS_XPCS_STATIC_ISOTROPIC, STATIC_TRUTH, 3, 120, 0.005);
    s.contrast = 0.1;
    draw(ctx, &s, n_draw(10), &t);
    check_tally(&t, 3);
    tess_context_destroy(ctx);
}

static void laminar_parameters_come_back(void **state)
{
    (void)state;
    tally t;
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_simulation s = simulation(TESS_XPCS_LAMINAR_FLOW, LAMINAR_TRUTH, 23, 200, 0.02);
    s.contrast_scatter = 0.1;
    s.offset_scatter = 0.01;
    draw(ctx, &s, n_draw(3), &t);
    check_tally(&t, 7);
    tess_context_destroy(ctx);
}

// Two angles, other kernels and signs, rates that hit their floor.
static void odd_samples_come_back(void **state)
{
    (void)state;
    static const double growing[7] = {2000, 0.4, 500, 1.991e-3, -0.2, 2e-4, 1};
    static const double floored[7] = {60000, -1.1, -4000, 3e-3, -0.2, -6e-4, -3};
    static const double two[2] = {0, 90};
    const struct {
        const double *theta;
        const double *phi;
        int64_t n_angle;
        int32_t kernel;
    } cases[] = {{LAMINAR_TRUTH, two, 2, TESS_XPCS_KERNEL_UPSTREAM},
                 {LAMINAR_TRUTH, NULL, 7, TESS_XPCS_KERNEL_PHYSICAL},
                 {growing, NULL, 7, TESS_XPCS_KERNEL_UPSTREAM},
                 {floored, NULL, 7, TESS_XPCS_KERNEL_UPSTREAM}};
    tess_context *ctx = unit_context(2, 0);
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        tess_xpcs_fit_config config;
        xpcs_config_init(&config);
        tess_xpcs_simulation s =
            simulation(TESS_XPCS_LAMINAR_FLOW, cases[k].theta, cases[k].n_angle, 200, 0.02);
        s.phi = cases[k].phi;
        s.contrast_scatter = 0.1;
        s.model.kernel = cases[k].kernel;
        tess_xpcs_result *result = fit(ctx, &s, &config);
        const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
        print_message("case %d: reduced chi2 %.4f, %lld evaluations\n", (int)k, info->reduced_chi2,
                      (long long)info->nfev);
        assert_int_equal(info->convergence, TESS_XPCS_CONVERGED);
        assert_true(fabs(info->reduced_chi2 - 1) < 0.03);
        for (int64_t i = 0; i < 7; i++) {
            // phi0 has no sign where the angles lie symmetrically about it.
            const int is_mirrored = i == 6 && cases[k].n_angle == 2;
            const double x = is_mirrored ? fabs(info->theta[i]) : info->theta[i];
            assert_true(fabs(x - cases[k].theta[i]) < 4.5 * info->sd[i]);
            assert_true(isfinite(info->sd[i]));
        }
        tess_xpcs_result_destroy(result);
    }
    tess_context_destroy(ctx);
}

// One pair for all angles is wrong where contrasts differ, and says nothing of it.
static void a_common_contrast_is_biased(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_simulation s = simulation(TESS_XPCS_LAMINAR_FLOW, LAMINAR_TRUTH, 23, 150, 0.02);
    s.contrast_scatter = 0.15;
    double off[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
        tess_xpcs_fit_config config;
        xpcs_config_init(&config);
        config.scaling = k ? TESS_XPCS_SCALING_AVERAGED : TESS_XPCS_SCALING_INDIVIDUAL;
        tess_xpcs_result *result = fit(ctx, &s, &config);
        const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
        for (int64_t i = 0; i < 7; i++) {
            off[k] = fmax(off[k], fabs(info->theta[i] - s.theta[i]) / info->sd[i]);
        }
        tess_xpcs_result_destroy(result);
    }
    print_message("off by %.1f sd individually, %.1f sd in common\n", off[0], off[1]);
    assert_true(off[0] < 4.5 && off[1] > 10);
    tess_context_destroy(ctx);
}

// A series of order 2 is all there is: both modes agree.
static void a_series_is_found_where_there_is_one(void **state)
{
    (void)state;
    enum { N = 9 };
    tess_context *ctx = unit_context(2, 0);
    double phi[N];
    double contrasts[N];
    double offsets[N];
    for (int64_t a = 0; a < N; a++) {
        phi[a] = -80 + 20.0 * (double)a;
        const double x = phi[a] * 3.14159265358979323846 / 180;
        contrasts[a] = 0.3 + 0.03 * cos(x) - 0.02 * sin(2 * x);
        offsets[a] = 1 + 0.01 * sin(x) + 0.005 * cos(2 * x);
    }
    tess_xpcs_simulation s = simulation(TESS_XPCS_LAMINAR_FLOW, LAMINAR_TRUTH, N, 100, 0.002);
    s.phi = phi;
    s.contrasts = contrasts;
    s.offsets = offsets;
    tess_xpcs_fit_config config;
    xpcs_config_init(&config);
    config.scaling = TESS_XPCS_SCALING_FOURIER;
    tess_xpcs_result *result = fit(ctx, &s, &config);
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
    for (int64_t a = 0; a < N; a++) {
        assert_true(fabs(info->contrast[a] - contrasts[a]) < 4.5 * info->contrast_sd[a]);
        assert_true(fabs(info->offset[a] - offsets[a]) < 4.5 * info->offset_sd[a]);
    }
    for (int64_t i = 0; i < 7; i++) {
        assert_true(fabs(info->theta[i] - s.theta[i]) < 4.5 * info->sd[i]);
    }
    tess_xpcs_result_destroy(result);
    // Constant scaling keeps what it is given.
    config.scaling = TESS_XPCS_SCALING_CONSTANT;
    config.contrast = contrasts;
    config.offset = offsets;
    result = fit(ctx, &s, &config);
    info = tess_xpcs_result_get_info(result);
    assert_memory_equal(info->contrast, contrasts, sizeof contrasts);
    assert_memory_equal(info->offset, offsets, sizeof offsets);
    for (int64_t i = 0; i < 7; i++) {
        assert_true(fabs(info->theta[i] - s.theta[i]) < 4.5 * info->sd[i]);
    }
    tess_xpcs_result_destroy(result);
    tess_context_destroy(ctx);
}

// Estimated noise gives a reduced chi2 of one, whatever the default says.
static void sigma_is_estimated(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_simulation s = simulation(TESS_XPCS_STATIC_ANISOTROPIC, STATIC_TRUTH, 3, 150, 0.004);
    s.contrast = 0.2;
    for (int32_t mode = TESS_XPCS_SIGMA_ESTIMATE; mode <= TESS_XPCS_SIGMA_PER_LAG; mode++) {
        tess_xpcs_fit_config config;
        xpcs_config_init(&config);
        config.sigma_mode = mode;
        tess_xpcs_result *result = fit(ctx, &s, &config);
        const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
        print_message("sigma_mode %d: reduced chi2 %.3f, sigma %.4g\n", mode, info->reduced_chi2,
                      info->sigma[0]);
        // Differences of neighbours hold the decay as well, which at short lags is not small.
        const double most = mode == TESS_XPCS_SIGMA_PER_LAG ? 0.4 : 0.1;
        assert_true(fabs(info->reduced_chi2 - 1) < most);
        assert_true(fabs(info->sigma[0] / 0.004 - 1) < most);
        assert_false(info->sigma_is_default);
        tess_xpcs_result_destroy(result);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(static_parameters_come_back),
        cmocka_unit_test(isotropic_parameters_come_back),
        cmocka_unit_test(laminar_parameters_come_back),
        cmocka_unit_test(odd_samples_come_back),
        cmocka_unit_test(a_common_contrast_is_biased),
        cmocka_unit_test(a_series_is_found_where_there_is_one),
        cmocka_unit_test(sigma_is_estimated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
