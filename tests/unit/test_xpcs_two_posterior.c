// The posterior of two components: gradients against differences, the same draws for any number of
// threads, exchanged components.
#include "xpcs_fit_fixture.h"

#include "systems/xpcs/model/two.h"
#include "systems/xpcs/posterior/sample.h"

#include <string.h>

enum { P = TESS_XPCS_N_TWO };

static const char FIT[] = "xpcs/two_component_fit";

typedef struct two_fit {
    tess_context *ctx;
    tess_xpcs_data *data;
    tess_xpcs_model model;
    tess_xpcs_fit_config config;
    tess_xpcs_result *result;
    double *start;
    double *contrast;
    double *offset;
} two_fit;

static two_fit two_open(int32_t n_thread, int32_t scaling)
{
    two_fit f = {.ctx = unit_context(n_thread, 0)};
    tess_xpcs_model_init(&f.model, sizeof f.model);
    f.model.mode = TESS_XPCS_TWO_COMPONENT;
    f.data = golden_fit_data(f.ctx, FIT);
    f.start = golden_f64(f.ctx, FIT, "theta", NULL);
    f.contrast = golden_f64(f.ctx, FIT, "contrast", NULL);
    f.offset = golden_f64(f.ctx, FIT, "offset", NULL);
    xpcs_config_init(&f.config);
    f.config.sigma = golden_scalar(f.ctx, FIT, "sigma");
    f.config.has_sigma = 1;
    f.config.start = f.start;
    f.config.n_start = 1;
    f.config.uncertainty = 0; // covariance
    f.config.scaling = scaling;
    if (scaling ==
        TESS_XPCS_SCALING_CONSTANT) { // quantiles would leave a poor fit at kinks of rates
        f.config.contrast = f.contrast;
        f.config.offset = f.offset;
    }
    assert_ok(tess_xpcs_fit(f.ctx, f.data, &f.model, &f.config, &f.result));
    return f;
}

static void two_close(two_fit *f)
{
    tess_xpcs_result_destroy(f->result);
    tess_xpcs_data_destroy(f->data);
    free(f->start);
    free(f->contrast);
    free(f->offset);
    tess_context_destroy(f->ctx);
}

// In coordinates u, half an error away from the fit in every one.
static void check_gradient(tess_xp_sampler *s, uint64_t seed)
{
    enum { N = TESS_XP_MAX_COORD };
    double u[N], sd[N], covariance[N * N], value, gradient[N];
    const int64_t n = s->coords.n;
    tess_xp_sampler_start(s, s->fit->theta, s->tally.noise, u);
    assert_true(tess_xp_sampler_covariance(s, u, 1, covariance));
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        sd[i] = fmin(sqrt(covariance[i * (n + 1)]), 0.05); // more, where the data say little
        u[i] += ((double)(seed >> 11) * 0x1p-53 - 0.5) * sd[i];
    }
    const double *at[] = {u};
    assert_ok(tess_xp_sampler_evaluate(s, at, 1, &value, gradient));
    assert_true(isfinite(value));
    for (int64_t i = 0; i < n; i++) {
        static const double steps[] = {2, 1, -1, -2};
        double moved[4][N], values[4];
        const double *points[4];
        const double step = 1e-3 * sd[i];
        for (int k = 0; k < 4; k++) {
            memcpy(moved[k], u, sizeof u);
            moved[k][i] += steps[k] * step;
            points[k] = moved[k];
        }
        assert_ok(tess_xp_sampler_evaluate(s, points, 4, values, NULL));
        const double slope = (8 * (values[1] - values[2]) - (values[0] - values[3])) / (12 * step);
        // In units of what an error changes.
        if (!(fabs(gradient[i] - slope) * sd[i] <= 1e-5 * (1 + fabs(slope) * sd[i]))) {
            fail_msg("coordinate %lld: %.12g, by differences %.12g (error %.3g)", (long long)i,
                     gradient[i], slope, sd[i]);
        }
    }
}

static void gradients_are_those_of_the_density(void **state)
{
    (void)state;
    static const int32_t scalings[] = {TESS_XPCS_SCALING_INDIVIDUAL, TESS_XPCS_SCALING_AVERAGED,
                                       TESS_XPCS_SCALING_CONSTANT};
    for (size_t k = 0; k < ARRAY_LEN(scalings); k++) {
        two_fit f = two_open(2, scalings[k]);
        for (int32_t coords = 0; coords < 2; coords++) {
            tess_xpcs_sample_config config;
            tess_xpcs_sample_config_init(&config, sizeof config);
            config.coords = coords;
            tess_xp_sampler s = {
                .ctx = f.ctx, .data = f.data, .fit = tess_xpcs_result_get_info(f.result)};
            assert_ok(tess_xp_sampler_begin(&s, &f.model, &f.config, &config));
            assert_ok(tess_xp_sampler_open(&s));
            assert_ok(tess_xp_sampler_find_noise(&s));
            assert_int_equal(s.coords.n, P); // f2 is fixed; the noise
            for (int r = 0; r < TESS_XP_MAX_RATE && coords == 0; r++) {
                assert_true(s.coords.is_bent[r]);
            }
            check_gradient(&s, 7 + k);
            check_gradient(&s, 70 + k);
            tess_xp_sampler_close(&s);
            tess_xpcs_posterior_destroy(s.out);
        }
        two_close(&f);
    }
}

static void draws_do_not_depend_on_threads(void **state)
{
    (void)state;
    tess_xpcs_posterior *draws[2] = {0};
    two_fit f[2];
    for (int k = 0; k < 2; k++) {
        tess_xpcs_sample_config config;
        tess_xpcs_sample_config_init(&config, sizeof config);
        config.n_chain = 2;
        config.n_warmup = 30;
        config.n_draw = 10;
        f[k] = two_open(1 + k, TESS_XPCS_SCALING_INDIVIDUAL);
        assert_ok(tess_xpcs_sample(f[k].ctx, f[k].data, &f[k].model, f[k].result, &f[k].config,
                                   &config, &draws[k]));
    }
    const tess_xpcs_posterior_info *one = tess_xpcs_posterior_get_info(draws[0]);
    const tess_xpcs_posterior_info *two = tess_xpcs_posterior_get_info(draws[1]);
    assert_int_equal(one->n_param, P);
    assert_memory_equal(one->theta, two->theta, 2 * 10 * P * sizeof(double));
    assert_memory_equal(one->contrast, two->contrast,
                        (size_t)(2 * 10 * one->n_angle) * sizeof(double));
    for (int64_t k = 0; k < 2 * 10; k++) { // f2 stays
        assert_true(one->theta[k * P + TESS_XP_F2] == one->fit_theta[TESS_XP_F2]);
    }
    for (int k = 0; k < 2; k++) {
        tess_xpcs_posterior_destroy(draws[k]);
        two_close(&f[k]);
    }
}

static void exchange_is_known(void **state)
{
    (void)state;
    double a[P] = {100, 0.3, 180, 1e4, 0, 0, 470, 0.4, 57, 0.3, 0, 0, 0.1, -2};
    double b[P];
    memcpy(b, a, sizeof b);
    assert_false(tess_xp_two_is_exchanged(a, b, 5));
    memcpy(b, a + 3, 3 * sizeof *b);
    memcpy(b + 3, a, 3 * sizeof *b);
    assert_true(tess_xp_two_is_exchanged(a, b, 5));
    b[0] *= 1.3;
    assert_true(tess_xp_two_is_exchanged(a, b, 5));
    a[TESS_XP_F1] = -0.4, a[TESS_XP_F2] = 0.5;
    assert_near(&(double){tess_xp_two_product(a)}, &(double){0.3 * exp(0.2)}, 1, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_the_density),
        cmocka_unit_test(draws_do_not_depend_on_threads),
        cmocka_unit_test(exchange_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
