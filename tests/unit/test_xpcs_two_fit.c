// Fits of two components: the golden one, what is not identified, exchanged components.
#include "xpcs_fit_fixture.h"

enum { P = TESS_XPCS_N_TWO, F0 = 9, F1 = 10, F2 = 11, N_FREE = 23 };

static const char FIT[] = "xpcs/two_component_fit";

typedef struct two_fit {
    tess_context *ctx;
    tess_xpcs_data *data;
    tess_xpcs_model model;
    tess_xpcs_fit_config config;
} two_fit;

static two_fit two_open(int32_t n_thread)
{
    two_fit f = {.ctx = unit_context(n_thread, 0)};
    tess_xpcs_model_init(&f.model, sizeof f.model);
    f.model.mode = TESS_XPCS_TWO_COMPONENT;
    f.data = golden_fit_data(f.ctx, FIT);
    xpcs_config_init(&f.config);
    f.config.sigma = golden_scalar(f.ctx, FIT, "sigma");
    f.config.has_sigma = 1;
    f.config.absolute_sigma = 1;
    return f;
}

static void two_close(two_fit *f)
{
    tess_xpcs_data_destroy(f->data);
    tess_context_destroy(f->ctx);
}

static tess_xpcs_result *run(two_fit *f)
{
    tess_xpcs_result *result = NULL;
    assert_ok(tess_xpcs_fit(f->ctx, f->data, &f->model, &f->config, &result));
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
    print_message("%s %lld evaluations, %lld passes, %.3f s\n%s\n", info->message,
                  (long long)info->nfev, (long long)info->n_pass, info->seconds[4], info->warnings);
    return result;
}

static void expect(const char *what, double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance)) {
        fail_msg("%s: %.17g, expected %.17g: off by %.3g of the tolerance", what, got, want,
                 fabs(got - want) / tolerance);
    }
}

// Everything but what f2 says, within part of the errors.
static void expect_golden(two_fit *f, const tess_xpcs_result_info *info, double part)
{
    double *theta = golden_f64(f->ctx, FIT, "theta", NULL);
    double *contrast = golden_f64(f->ctx, FIT, "contrast", NULL);
    double *offset = golden_f64(f->ctx, FIT, "offset", NULL);
    double *cov = golden_f64(f->ctx, FIT, "cov", NULL);
    int64_t *index = golden_i64(f->ctx, FIT, "free_index", NULL);
    const double chi2 = golden_scalar(f->ctx, FIT, "chi2");
    assert_int_equal(info->convergence, TESS_XPCS_CONVERGED);
    expect("chi2", info->chi2, chi2, 1e-9 * chi2);
    const double sd = golden_scalar(f->ctx, FIT, "f_product_sd");
    expect("f_product", info->f_product, golden_scalar(f->ctx, FIT, "f_product"), part * sd);
    expect("f_product_sd", info->f_product_sd, sd, 1e-5 * sd);
    const int64_t m = info->n_covariance;
    for (int i = 0; i < N_FREE; i++) {
        const int64_t row = i < 10 ? i : 10 + index[i - 10];
        const double error = sqrt(cov[i * (N_FREE + 1)]);
        const double got = i < 5    ? info->contrast[i]
                           : i < 10 ? info->offset[i - 5]
                                    : info->theta[index[i - 10]];
        const double want = i < 5 ? contrast[i] : i < 10 ? offset[i - 5] : theta[index[i - 10]];
        if (row == 10 + F0 && info->status[F0] == TESS_XPCS_UNIDENTIFIED) {
            continue;
        }
        expect(i < 10 ? "scaling" : info->names[index[i - 10]], got, want, part * error);
        for (int j = 0; j < N_FREE; j++) {
            const int64_t column = j < 10 ? j : 10 + index[j - 10];
            const double scale = error * sqrt(cov[j * (N_FREE + 1)]);
            if (column != 10 + F0 || info->status[F0] != TESS_XPCS_UNIDENTIFIED) {
                expect("covariance", info->covariance[row * m + column], cov[i * N_FREE + j],
                       1e-6 * scale);
            }
        }
    }
    void *const owned[] = {theta, contrast, offset, cov, index};
    for (size_t k = 0; k < ARRAY_LEN(owned); k++) {
        free(owned[k]);
    }
}

static void the_golden_fit_from_its_start(void **state)
{
    (void)state;
    two_fit f = two_open(2);
    double *start = golden_f64(f.ctx, FIT, "start_theta", NULL);
    f.config.start = start;
    f.config.n_start = 1;
    for (int is_tight = 0; is_tight < 2; is_tight++) {
        f.config.ftol = f.config.xtol = f.config.gtol = is_tight ? 1e-12 : 1e-8;
        tess_xpcs_result *result = run(&f);
        const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
        expect_golden(&f, info, is_tight ? 1e-5 : 1e-4);
        assert_int_equal(info->status[F2], TESS_XPCS_FIXED);
        assert_int_equal(info->dof, 8850 - N_FREE);
        assert_int_equal(info->quality, TESS_XPCS_GOOD);
        tess_xpcs_result_destroy(result);
    }
    free(start);
    two_close(&f);
}

static void the_golden_fit_from_the_data(void **state)
{
    (void)state;
    two_fit f = two_open(2);
    f.config.n_start = 0;
    tess_xpcs_result *result = run(&f);
    expect_golden(&f, tess_xpcs_result_get_info(result), 1e-4);
    tess_xpcs_result_destroy(result);
    two_close(&f);
}

static void the_product_is_known_where_f0_and_f2_are_not(void **state)
{
    (void)state;
    two_fit f = two_open(2);
    static const uint8_t freed[P] = {[F2] = 2};
    double *start = golden_f64(f.ctx, FIT, "start_theta", NULL);
    start[F2] = 0.3;
    f.config.start = start;
    f.config.n_start = 1;
    f.config.is_fixed = freed;
    tess_xpcs_result *result = run(&f);
    const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
    assert_int_equal(info->status[F0], TESS_XPCS_UNIDENTIFIED);
    assert_int_equal(info->status[F2], TESS_XPCS_UNIDENTIFIED);
    assert_true(isinf(info->sd[F0]) && isinf(info->sd[F2]));
    assert_non_null(strstr(info->warnings, "f0 exp(-f1 f2)"));
    expect_golden(&f, info, 1e-3);
    tess_xpcs_result_destroy(result);
    free(start);
    two_close(&f);
}

// Threads and chunks change no bit.
static void threads_and_chunks_change_nothing(void **state)
{
    (void)state;
    double theta[3][P], chi2[3];
    for (int k = 0; k < 3; k++) {
        two_fit f = two_open(k == 0 ? 1 : 3);
        double *start = golden_f64(f.ctx, FIT, "start_theta", NULL);
        f.config.start = start;
        f.config.n_start = 1;
        f.config.uncertainty = 0;
        f.config.strategy = k == 2 ? 4 : 0; // streaming
        f.config.chunk_tiles = k == 2 ? 16 : 0;
        tess_xpcs_result *result = run(&f);
        const tess_xpcs_result_info *info = tess_xpcs_result_get_info(result);
        memcpy(theta[k], info->theta, sizeof theta[k]);
        chi2[k] = info->chi2;
        tess_xpcs_result_destroy(result);
        free(start);
        two_close(&f);
    }
    for (int k = 1; k < 3; k++) {
        assert_memory_equal(theta[0], theta[k], sizeof theta[0]);
        assert_memory_equal(&chi2[0], &chi2[k], sizeof chi2[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_golden_fit_from_its_start),
        cmocka_unit_test(the_golden_fit_from_the_data),
        cmocka_unit_test(the_product_is_known_where_f0_and_f2_are_not),
        cmocka_unit_test(threads_and_chunks_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
