// The likelihood of noise that frames share: its gradient by differences, and draws against the
// errors of the fit.
#include "xpcs_posterior_fixture.h"

#include "systems/xpcs/posterior/adjust.h"
#include "tessera/xpcs/compare.h"
#include "tessera/xpcs/simulate.h"

#include <math.h>
#include <string.h>

enum { MAX_N = TESS_XP_MAX_COORD };

typedef struct flat {
    golden g;
    tess_xp_coords coords;
    tess_xp_adjust adjust;
    double *top;
} flat;

static void open_flat(flat *f, const char *file)
{
    golden_open(&f->g, file);
    double *theta = golden_f64(f->g.ctx, file, "mean", NULL);
    tess_xp_coords_make(&f->g.density, theta, &f->coords);
    tess_xp_coords_of(&f->coords, theta, 0.01, f->adjust.u);
    memcpy(f->adjust.theta, theta, (size_t)f->g.density.n_param * sizeof *theta);
    const int64_t n = f->coords.n - 1;
    double noisy[MAX_N * MAX_N];
    double own[MAX_N * MAX_N];
    for (int64_t i = 0; i < n * n; i++) {
        const int64_t row = i / n;
        const int64_t column = i % n;
        own[i] = row == column ? 0.01 + 0.001 * (double)row : 0.002;
        noisy[i] = row == column ? 0.1 + 0.02 * (double)row : -0.01;
    }
    assert_true(tess_xp_adjust_set(&f->adjust, n, noisy, own));
    f->top = malloc((size_t)f->g.pass.n_sum * sizeof *f->top);
    const tess_xp_point point = {
        .theta = theta, .contrast = f->g.ones, .want = TESS_XP_WANT_GRADIENT};
    assert_ok(tess_xp_pass_run(&f->g.pass, &point, f->top));
    f->adjust.sums = f->top;
    free(theta);
}

// The adjusted density at u, and the one that it was.
static double density_at(flat *f, const double *u, double *gradient, double *plain)
{
    tess_xp_place place;
    tess_xp_density_value value;
    double slope[MAX_N];
    double unused[MAX_N];
    tess_xp_coords_place(&f->coords, u, &place);
    const tess_xp_point point = {
        .theta = place.theta, .contrast = f->g.ones, .want = TESS_XP_WANT_GRADIENT};
    assert_ok(tess_xp_pass_run(&f->g.pass, &point, f->g.sums));
    tess_xp_density_at(&f->g.density, f->g.sums, place.theta, place.s, &value);
    *plain = tess_xp_coords_density(&f->coords, &place, &value, unused);
    tess_xp_adjust_apply(&f->adjust, &f->g.density, u, place.s, &value, slope);
    const double log_density = tess_xp_coords_density(&f->coords, &place, &value, gradient);
    for (int64_t i = 0; i < f->coords.n - 1; i++) {
        gradient[i] += slope[i];
    }
    return log_density;
}

static void gradient_is_that_of_the_density(void **state)
{
    (void)state;
    static const char *const files[] = {"xpcs/posterior_static", "xpcs/posterior_laminar"};
    for (size_t k = 0; k < 2; k++) {
        flat f = {0};
        open_flat(&f, files[k]);
        const int64_t n = f.coords.n;
        for (int turn = 0; turn < 5; turn++) {
            double u[MAX_N];
            double gradient[MAX_N];
            double plain;
            for (int64_t i = 0; i < n; i++) {
                u[i] = f.adjust.u[i] + 0.02 * sin((double)(3 * turn + 7 * i + 1));
            }
            const double here = density_at(&f, u, gradient, &plain);
            assert_true(fabs(here - plain) > 0.1); // it does something
            for (int64_t i = 0; i < n; i++) {
                double side[2];
                double unused[MAX_N];
                const double h = 1e-5;
                double at[MAX_N];
                for (int s = 0; s < 2; s++) {
                    memcpy(at, u, sizeof at);
                    at[i] += s ? h : -h;
                    side[s] = density_at(&f, at, unused, &plain);
                }
                const double got = (side[1] - side[0]) / (2 * h);
                assert_true(fabs(got - gradient[i]) < 1e-5 * (fabs(gradient[i]) + fabs(here)));
            }
        }
        double u[MAX_N];
        double gradient[MAX_N];
        double plain;
        memcpy(u, f.adjust.u, sizeof u);
        const double top = density_at(&f, u, gradient, &plain);
        assert_true(fabs(top - plain) <= 1e-12 * fabs(plain)); // nothing changes at the top
        free(f.top);
        golden_close(&f.g);
    }
}

typedef struct speckle {
    tess_context *ctx;
    tess_xpcs_data *data;
    tess_xpcs_model model;
    tess_xpcs_fit_config fit_config;
    tess_xpcs_sample_config config;
    tess_xpcs_result *fit;
} speckle;

static const double truth[] = {3e4, -0.3, 0};
static const uint8_t is_fixed[] = {0, 0, 1};

// Many pixels: errors so small that nothing bends.
static void open_speckle(speckle *s, int32_t n_thread)
{
    *s = (speckle){.ctx = unit_context(n_thread, 0)};
    tess_xpcs_simulation made;
    tess_xpcs_simulation_init(&made, sizeof made);
    made.model.mode = TESS_XPCS_STATIC_ANISOTROPIC;
    made.n_angle = 2;
    made.n_frame = 41;
    made.theta = truth;
    made.speckle = 1;
    made.photons = 3;
    made.n_pixel = 10000;
    s->model = made.model;
    assert_ok(tess_xpcs_simulate(s->ctx, &made, 1, &s->data));
    tess_xpcs_fit_config_init(&s->fit_config, sizeof s->fit_config);
    tess_xpcs_sample_config_init(&s->config, sizeof s->config);
    s->fit_config.noise = 1;
    s->fit_config.n_start = 1;
    s->fit_config.start = truth;
    s->fit_config.is_fixed = is_fixed;
    s->fit_config.sigma_mode = TESS_XPCS_SIGMA_ESTIMATE;
    assert_ok(tess_xpcs_fit(s->ctx, s->data, &s->model, &s->fit_config, &s->fit));
    s->config.method = TESS_XPCS_METHOD_LAPLACE;
    s->config.n_draw = 1000;
}

static void close_speckle(speckle *s)
{
    tess_xpcs_result_destroy(s->fit);
    tess_xpcs_data_destroy(s->data);
    tess_context_destroy(s->ctx);
}

static tess_status sample(const speckle *s, tess_xpcs_posterior **out)
{
    return tess_xpcs_sample(s->ctx, s->data, &s->model, s->fit, &s->fit_config, &s->config, out);
}

// Number i of a draw as rows of the covariance have it.
static double number_of(const tess_xpcs_posterior_info *info, int64_t draw, int64_t i)
{
    const int64_t n = info->n_angle;
    return i < n       ? info->contrast[draw * n + i]
           : i < 2 * n ? info->offset[draw * n + i - n]
                       : info->theta[draw * info->n_param + i - 2 * n];
}

static void draws_spread_as_the_errors_of_the_fit(void **state)
{
    (void)state;
    speckle s;
    tess_xpcs_posterior *out = NULL;
    open_speckle(&s, 2);
    assert_ok(sample(&s, &out));
    const tess_xpcs_posterior_info *info = tess_xpcs_posterior_get_info(out);
    const tess_xpcs_result_info *fit = tess_xpcs_result_get_info(s.fit);
    const int64_t m = fit->n_covariance - 1; // the last is fixed
    const int64_t n = info->n_chain * info->n_draw;
    assert_true(isnan(info->log_evidence) && isnan(info->mode_evidence[0]));
    assert_true(info->pareto_k < 0.7);
    assert_true(info->noise_photons == fit->noise_photons);
    // Far from what points as independent would have, or it would prove nothing.
    assert_true(fit->covariance[4 * fit->n_covariance + 4] > 4 * fit->independent_covariance[0]);
    for (int64_t i = 0; i < m * m; i++) {
        double sums[3] = {0};
        const double var[2] = {fit->covariance[i / m * (fit->n_covariance + 1)],
                               fit->covariance[i % m * (fit->n_covariance + 1)]};
        for (int64_t k = 0; k < n; k++) {
            const double x = number_of(info, k, i / m);
            const double y = number_of(info, k, i % m);
            sums[0] += x / (double)n;
            sums[1] += y / (double)n;
        }
        for (int64_t k = 0; k < n; k++) {
            sums[2] += (number_of(info, k, i / m) - sums[0]) *
                       (number_of(info, k, i % m) - sums[1]) / (double)n;
        }
        const double got = sums[2] / sqrt(var[0] * var[1]);
        const double want = fit->correlation[i / m * fit->n_covariance + i % m];
        // Four standard errors of a covariance of that many draws, and a little bend.
        const double error = sqrt((1 + want * want) / info->effective_weights);
        assert_true(fabs(got - want) < 4 * error + 0.02);
    }
    tess_xpcs_posterior_destroy(out);
    close_speckle(&s);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    enum { N = 2 * 20 };
    double theta[2][N * 3];
    double contrast[2][N * 2];
    for (int k = 0; k < 2; k++) {
        speckle s;
        tess_xpcs_posterior *out = NULL;
        open_speckle(&s, k == 0 ? 1 : 3);
        s.config.method = TESS_XPCS_METHOD_NUTS;
        s.config.n_chain = 2;
        s.config.n_warmup = 20;
        s.config.n_draw = 20;
        assert_ok(sample(&s, &out));
        memcpy(theta[k], tess_xpcs_posterior_get_info(out)->theta, sizeof theta[k]);
        memcpy(contrast[k], tess_xpcs_posterior_get_info(out)->contrast, sizeof contrast[k]);
        tess_xpcs_posterior_destroy(out);
        close_speckle(&s);
    }
    assert_memory_equal(theta[0], theta[1], sizeof theta[0]);
    assert_memory_equal(contrast[0], contrast[1], sizeof contrast[0]);
}

static void what_it_is_not_made_for_is_refused(void **state)
{
    (void)state;
    speckle s;
    tess_xpcs_posterior *out = NULL;
    open_speckle(&s, 2);
    s.config.method = TESS_XPCS_METHOD_CONSENSUS;
    assert_fails(sample(&s, &out), TESS_E_CONFIG, "without shards");
    s.config.method = TESS_XPCS_METHOD_NUTS;
    s.config.scaling = TESS_XPCS_DRAW_SCALING_AVERAGED;
    assert_fails(sample(&s, &out), TESS_E_CONFIG, "draws have that of the fit");
    s.config.scaling = TESS_XPCS_DRAW_SCALING_FIT;
    const int32_t mode = TESS_XPCS_STATIC_ANISOTROPIC;
    tess_xpcs_evidence row;
    tess_xpcs_fit_config plain;
    tess_xpcs_fit_config_init(&plain, sizeof plain);
    plain.noise = 1;
    assert_fails(
        tess_xpcs_compare(s.ctx, s.data, &s.model, &mode, 1, &plain, NULL, &row, sizeof row),
        TESS_E_CONFIG, "models no evidence");
    s.config.method = TESS_XPCS_METHOD_LAPLACE;
    s.config.n_draw = 50;
    assert_ok(sample(&s, &out));
    double evidence;
    double error;
    assert_fails(tess_xpcs_bridge(s.ctx, s.data, &s.model, s.fit, &s.fit_config, &s.config, out,
                                  &evidence, &error),
                 TESS_E_CONFIG, "there is no evidence");
    tess_xpcs_posterior_destroy(out);
    tess_xpcs_result_destroy(s.fit);
    s.fit_config.sigma_mode = TESS_XPCS_SIGMA_PER_LAG;
    assert_ok(tess_xpcs_fit(s.ctx, s.data, &s.model, &s.fit_config, &s.fit));
    assert_fails(sample(&s, &out), TESS_E_CONFIG, "not with per_lag");
    tess_xpcs_result_destroy(s.fit);
    s.fit_config.noise = 0;
    s.fit_config.sigma_mode = TESS_XPCS_SIGMA_ESTIMATE;
    assert_ok(tess_xpcs_fit(s.ctx, s.data, &s.model, &s.fit_config, &s.fit));
    s.fit_config.noise = 1;
    assert_fails(sample(&s, &out), TESS_E_CONFIG, "draw from a fit with noise frames");
    close_speckle(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_that_of_the_density),
        cmocka_unit_test(draws_spread_as_the_errors_of_the_fit),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(what_it_is_not_made_for_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
