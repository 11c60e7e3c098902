// The posterior density and its gradient against 50-digit arithmetic; draws against quadrature.
#include "xpcs_posterior_fixture.h"

#include "systems/xpcs/posterior/bent.h"
#include "systems/xpcs/posterior/truncate.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const files[] = {"xpcs/posterior_static", "xpcs/posterior_laminar"};

static void density_and_gradient(void **state)
{
    (void)state;
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        golden g;
        golden_open(&g, files[f]);
        const int64_t n = g.density.n_param + 1;
        double *points = golden_f64(g.ctx, g.file, "point", NULL);
        double *want[4];
        static const char *const names[] = {"point_loglik", "point_logprior_theta",
                                            "point_logprior_s", "point_grad"};
        for (int i = 0; i < 4; i++) {
            want[i] = golden_f64(g.ctx, g.file, names[i], NULL);
        }
        double *sd = golden_f64(g.ctx, g.file, "sd", NULL);
        for (int64_t k = 0; k < N_POINT; k++) {
            const double *theta = points + k * n;
            const tess_xp_point point = {
                .theta = theta, .contrast = g.ones, .want = TESS_XP_WANT_GRADIENT};
            tess_xp_density_value got;
            assert_ok(tess_xp_pass_run(&g.pass, &point, g.sums));
            tess_xp_density_at(&g.density, g.sums, theta, theta[n - 1], &got);
            const double parts[] = {got.log_likelihood, got.log_prior, got.log_prior_noise};
            for (int i = 0; i < 3; i++) {
                assert_near(&parts[i], &want[i][k], 1, 1e-9 * fabs(want[i][k]) + 1e-7);
            }
            for (int64_t p = 0; p < n; p++) {
                const double wanted = want[3][k * n + p];
                assert_near(&got.gradient[p], &wanted, 1, 1e-8 * fabs(wanted) + 1e-5 / sd[p]);
            }
        }
        free(points), free(sd);
        for (int i = 0; i < 4; i++) {
            free(want[i]);
        }
        golden_close(&g);
    }
}

// The same in coordinates without edges; the files have amplitudes as they are, not by logarithm.
static void coordinates(void **state)
{
    (void)state;
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        golden g;
        golden_open(&g, files[f]);
        const int64_t n = g.density.n_param + 1;
        double *points = golden_f64(g.ctx, g.file, "point", NULL);
        double *values = golden_f64(g.ctx, g.file, "point_logpost_u", NULL);
        double *slopes = golden_f64(g.ctx, g.file, "point_grad_u", NULL);
        tess_xp_coords coords;
        tess_xp_coords_make(&g.density, points, &coords);
        assert_int_equal(coords.n, n);
        for (int64_t k = 0; k < n - 1; k++) {
            coords.is_log[k] = 0;
            coords.lower[k] = g.density.theta[k].lower;
            coords.upper[k] = g.density.theta[k].upper;
        }
        for (int64_t k = 0; k < N_POINT; k++) {
            double u[TESS_XP_MAX_COORD];
            double gradient[TESS_XP_MAX_COORD];
            tess_xp_place place;
            tess_xp_density_value value;
            // Exact places, also nearer to a bound than a chain would begin.
            for (int64_t i = 0; i < n - 1; i++) {
                const double share =
                    (points[k * n + i] - coords.lower[i]) / (coords.upper[i] - coords.lower[i]);
                u[i] = log(share / (1 - share));
            }
            u[n - 1] = log(points[k * n + n - 1]);
            tess_xp_coords_place(&coords, u, &place);
            const tess_xp_point point = {
                .theta = place.theta, .contrast = g.ones, .want = TESS_XP_WANT_GRADIENT};
            assert_ok(tess_xp_pass_run(&g.pass, &point, g.sums));
            tess_xp_density_at(&g.density, g.sums, place.theta, place.s, &value);
            const double got = tess_xp_coords_density(&coords, &place, &value, gradient);
            assert_near(&got, &values[k], 1, 1e-8 * fabs(values[k]) + 1e-6);
            for (int64_t i = 0; i < n; i++) {
                const double want = slopes[k * n + i];
                assert_near(&gradient[i], &want, 1, 1e-6 * fabs(want) + 1e-4);
            }
        }
        free(points), free(values), free(slopes);
        golden_close(&g);
    }
}

// By differences, amplitudes by their logarithms: density and volume as a whole.
static void logarithms(void **state)
{
    (void)state;
    golden g;
    golden_open(&g, "xpcs/posterior_laminar");
    double *points = golden_f64(g.ctx, g.file, "point", NULL);
    tess_xp_coords coords;
    tess_xp_coords_make(&g.density, points, &coords);
    assert_true(coords.is_log[0] && coords.is_log[3]);
    double u[TESS_XP_MAX_COORD];
    double again[TESS_XP_MAX_COORD];
    tess_xp_place place;
    tess_xp_coords_of(&coords, points, points[7], u);
    tess_xp_coords_place(&coords, u, &place);
    tess_xp_coords_of(&coords, place.theta, place.s, again);
    assert_near(again, u, coords.n, 1e-12);
    for (int64_t i = 0; i < coords.n; i++) {
        const double h = 1e-6;
        const double middle = u[i];
        tess_xp_place high;
        tess_xp_place low;
        u[i] = middle + h;
        tess_xp_coords_place(&coords, u, &high);
        u[i] = middle - h;
        tess_xp_coords_place(&coords, u, &low);
        u[i] = middle;
        const int64_t k = i < coords.n - 1 ? coords.index[i] : -1;
        const double up = k < 0 ? high.s : high.theta[k];
        const double down = k < 0 ? low.s : low.theta[k];
        const double slope = (up - down) / (2 * h) / place.slope[i];
        const double one = 1;
        assert_near(&slope, &one, 1, 1e-7);
        const double bent = (high.log_volume - low.log_volume) / (2 * h);
        assert_near(&bent, &place.volume_slope[i], 1, 1e-7);
    }
    free(points);
    golden_close(&g);
}

static double determinant3(double a[3][3])
{
    return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) -
           a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
           a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
}

// Straight coordinates of a rate, near the fit, far from it and at the bounds: there and back, by
// differences, and the volume by the determinant.
static void rates_are_straightened(void **state)
{
    (void)state;
    static const double lower[3] = {100, -2, -1e5};
    static const double upper[3] = {1e5, 2, 1e5};
    static const double fits[][3] = {{6.8e4, -1.3, 1700}, {3000, 0.02, -500}, {150, 1.9, 9.9e4}};
    static const double points[][3] = {
        {0, 0, 0}, {0.3, -0.2, 0.1}, {-1, 2, -3}, {4, -5, 6}, {-6, 0.5, 0.2}};
    static const double taus[] = {0.05, 1, 30};
    for (size_t i = 0; i < ARRAY_LEN(fits) * ARRAY_LEN(points) * ARRAY_LEN(taus); i++) {
        const double *fit = fits[i % ARRAY_LEN(fits)];
        const double *u = points[i / ARRAY_LEN(fits) % ARRAY_LEN(points)];
        tess_xp_bent bent;
        tess_xp_bent_place at;
        double again[3];
        assert_true(tess_xp_bent_make(lower, upper, fit, 0.1 * fit[0], taus[i / 15], &bent));
        tess_xp_bent_at(&bent, u, &at);
        for (int k = 0; k < 3; k++) {
            assert_true(at.theta[k] >= lower[k] && at.theta[k] <= upper[k]);
            tess_xp_bent_place high;
            tess_xp_bent_place low;
            const double h = 1e-6;
            double moved[3] = {u[0], u[1], u[2]};
            moved[k] = u[k] + h;
            tess_xp_bent_at(&bent, moved, &high);
            moved[k] = u[k] - h;
            tess_xp_bent_at(&bent, moved, &low);
            for (int j = 0; j < 3; j++) {
                const double slope = (high.theta[j] - low.theta[j]) / (2 * h);
                const double scale = fabs(at.theta[j]) + fabs(slope);
                const double tau = taus[i / 15];
                const double most = upper[0] * fmax(tau * tau, 1 / (tau * tau)); // of a rate
                const double rounding = j == 2 ? 2 * DBL_EPSILON * most / h : 0;
                assert_near(&at.jacobian[k][j], &slope, 1, 1e-5 * scale + rounding);
            }
            const double bend = (high.log_volume - low.log_volume) / (2 * h);
            assert_near(&at.volume_slope[k], &bend, 1, 1e-5 * (1 + fabs(bend)));
        }
        const double volume = log(fabs(determinant3(at.jacobian)));
        assert_near(&at.log_volume, &volume, 1, 1e-6);
        if (fabs(u[0]) < 2 && i / ARRAY_LEN(fits) % ARRAY_LEN(points) < 2) {
            tess_xp_bent_of(&bent, at.theta, again);
            assert_near(again, u, 3, 1e-6);
        }
    }
    // The fit itself is where the curve is.
    tess_xp_bent bent;
    double u[3];
    const double none = 0;
    assert_true(tess_xp_bent_make(lower, upper, fits[0], 100, 3, &bent));
    tess_xp_bent_of(&bent, fits[0], u);
    assert_near(u + 2, &none, 1, 1e-9);
    const double below[3] = {-1, -2, -1e5};
    assert_false(tess_xp_bent_make(below, upper, fits[0], 100, 3, &bent));
}

// Moments of a pair within bounds against sums over a grid.
static void bounds_of_a_pair(void **state)
{
    (void)state;
    static const double means[][2] = {{0.9, 0.02}, {1.2, 0.5}, {0.45, -0.05}};
    static const double covariances[][3] = {
        {0.01, -0.004, 0.0025}, {0.04, 0.019, 0.01}, {0.0004, 0, 0.001}};
    static const double lower[2] = {0.5, 0};
    static const double upper[2] = {1.5, 1};
    enum { N = 2000 };
    for (size_t i = 0; i < ARRAY_LEN(means); i++) {
        const double *m = means[i];
        const double *c = covariances[i];
        const double det = c[0] * c[2] - c[1] * c[1];
        double sums[6] = {0};
        tess_xp_pair_moments got;
        tess_xp_truncate(m, c, lower, upper, &got);
        for (int64_t k = 0; k < N * N; k++) {
            const double x = lower[0] + (upper[0] - lower[0]) * ((double)(k / N) + 0.5) / N;
            const double y = lower[1] + (upper[1] - lower[1]) * ((double)(k % N) + 0.5) / N;
            const double dx = x - m[0];
            const double dy = y - m[1];
            const double q = (c[2] * dx * dx - 2 * c[1] * dx * dy + c[0] * dy * dy) / det;
            const double w = exp(-0.5 * q) / (2 * 3.14159265358979323846 * sqrt(det)) / (N * N);
            const double terms[6] = {w, w * x, w * y, w * x * x, w * x * y, w * y * y};
            for (int t = 0; t < 6; t++) {
                sums[t] += terms[t];
            }
        }
        const double log_mass = log(sums[0]);
        const double want[5] = {sums[1] / sums[0], sums[2] / sums[0], sums[3] / sums[0],
                                sums[4] / sums[0], sums[5] / sums[0]};
        assert_near(&got.log_mass, &log_mass, 1, 1e-3);
        assert_near(got.mean, want, 2, 1e-4);
        assert_near(got.square, want + 2, 3, 1e-4);
    }
}

// With bounds in the density its slopes are those by differences, near the bounds, too.
static void truncated_density(void **state)
{
    (void)state;
    golden g;
    golden_open(&g, "xpcs/posterior_laminar");
    const uint8_t all[MAX_ANGLE] = {1, 1, 1, 1, 1};
    const int64_t n = g.density.n_param;
    double *points = golden_f64(g.ctx, g.file, "point", NULL);
    double *sd = golden_f64(g.ctx, g.file, "sd", NULL);
    g.density.is_truncated = all;
    g.density.contrast.lower = 0.29; // through the middle of what the data say
    g.density.contrast.upper = 1;
    g.density.offset.lower = 0.5;
    g.density.offset.upper = 1.5;
    tess_xp_prior_close(&g.density.contrast);
    tess_xp_prior_close(&g.density.offset);
    for (int64_t k = 0; k <= n; k++) {
        tess_xp_density_value values[3];
        const double h = 1e-4 * sd[k];
        for (int side = 0; side < 3; side++) {
            double theta[TESS_XPCS_MAX_PARAM + 1];
            memcpy(theta, points, (size_t)(n + 1) * sizeof *theta);
            theta[k] += (side - 1) * h;
            const tess_xp_point point = {
                .theta = theta, .contrast = g.ones, .want = TESS_XP_WANT_GRADIENT};
            assert_ok(tess_xp_pass_run(&g.pass, &point, g.sums));
            tess_xp_density_at(&g.density, g.sums, theta, theta[n], &values[side]);
        }
        const double slope =
            (values[2].log_likelihood + values[2].log_prior + values[2].log_prior_noise -
             values[0].log_likelihood - values[0].log_prior - values[0].log_prior_noise) /
            (2 * h);
        assert_near(&values[1].gradient[k], &slope, 1, 1e-3 / sd[k] + 1e-5 * fabs(slope));
    }
    free(points), free(sd);
    golden_close(&g);
}

// Draws [n] of one quantity: mean, sd and the quantiles of the files.
static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void summarize(double *x, int64_t n, double out[5])
{
    static const double levels[] = {0.05, 0.5, 0.95};
    double mean = 0;
    double squares = 0;
    for (int64_t i = 0; i < n; i++) {
        mean += x[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        squares += (x[i] - mean) * (x[i] - mean);
    }
    qsort(x, (size_t)n, sizeof *x, by_value);
    out[0] = mean;
    out[1] = sqrt(squares / (double)(n - 1));
    for (int i = 0; i < 3; i++) {
        out[2 + i] = x[(int64_t)(levels[i] * (double)n)];
    }
}

static void check_summary(golden *g, const char *what, int64_t k, int64_t n_item, double *x,
                          int64_t n)
{
    char name[64];
    double got[5];
    double *want[3];
    static const char *const parts[] = {"mean", "sd", "q"};
    const bool is_scaling = what[0] != '\0';
    summarize(x, n, got);
    for (int i = 0; i < (is_scaling ? 2 : 3); i++) {
        snprintf(name, sizeof name, "%s%s", what, parts[i]);
        want[i] = golden_f64(g->ctx, g->file, name, NULL);
    }
    const double fewer = n < 4000 ? sqrt(4000 / (double)n) : 1; // the limits are for 4,000 draws
    const double sd = fewer * want[1][k];
    assert_near(&got[0], &want[0][k], 1, 0.08 * sd);
    assert_near(&got[1], &want[1][k], 1, 0.08 * sd);
    for (int i = 0; i < 3 && !is_scaling; i++) {
        assert_near(&got[2 + i], &want[2][i * n_item + k], 1, 0.15 * sd);
    }
    for (int i = 0; i < (is_scaling ? 2 : 3); i++) {
        free(want[i]);
    }
}

// surrogate: as the option.
static void run_sampler(golden *g, int64_t n_draw, int32_t method, int32_t surrogate,
                        tess_xpcs_posterior **out)
{
    golden_fit f;
    golden_fit_open(g, &f);
    f.config.n_draw = n_draw;
    f.config.method = method;
    f.config.surrogate = surrogate;
    golden_sample(g, &f, out);
    golden_fit_close(&f);
}

static void check_moments(golden *g, const tess_xpcs_posterior_info *info)
{
    const int64_t n = info->n_chain * info->n_draw;
    const int64_t n_param = info->n_param;
    double *x = malloc((size_t)n * sizeof *x);
    for (int64_t k = 0; k <= n_param; k++) {
        for (int64_t i = 0; i < n; i++) {
            x[i] = k < n_param ? info->theta[i * n_param + k] : info->noise[i];
        }
        check_summary(g, "", k, n_param + 1, x, n);
    }
    for (int64_t a = 0; a < info->n_angle; a++) {
        for (int64_t i = 0; i < n; i++) {
            x[i] = info->contrast[i * info->n_angle + a];
        }
        check_summary(g, "contrast_", a, 0, x, n);
        for (int64_t i = 0; i < n; i++) {
            x[i] = info->offset[i * info->n_angle + a];
        }
        check_summary(g, "offset_", a, 0, x, n);
    }
    free(x);
}

static void draws_have_the_moments(void **state)
{
    (void)state;
    const int64_t n_draw = unit_is_quick() ? 400 : 1000;
    for (size_t i = 0; i < 2 * ARRAY_LEN(files); i++) {
        const size_t f = i / 2;
        const int32_t surrogate = i % 2 == 0 ? 1 : 2;
        golden g;
        tess_xpcs_posterior *posterior = NULL;
        golden_open(&g, files[f]);
        run_sampler(&g, n_draw, TESS_XPCS_METHOD_NUTS, surrogate, &posterior);
        const tess_xpcs_posterior_info *info = tess_xpcs_posterior_get_info(posterior);
        check_moments(&g, info);
        int64_t n_diverged = 0;
        for (int64_t k = 0; k < info->n_chain * info->n_draw; k++) {
            n_diverged += info->diverged[k];
        }
        print_message("%s: %lld diverged, %lld evaluations, surrogate %.3f, %g s\n", files[f],
                      (long long)n_diverged, (long long)info->n_evaluation, info->surrogate_accept,
                      info->seconds);
        assert_true(info->has_surrogate == (surrogate == 2));
        assert_true(n_diverged < info->n_draw / 25 && info->outside < 0.01);
        tess_xpcs_posterior_destroy(posterior);
        golden_close(&g);
    }
}

// A normal at the top, weighed: the same moments, and the evidence that quadrature finds.
static void laplace_has_moments_and_evidence(void **state)
{
    (void)state;
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        golden g;
        tess_xpcs_posterior *posterior = NULL;
        golden_open(&g, files[f]);
        run_sampler(&g, 3000, TESS_XPCS_METHOD_LAPLACE, 0, &posterior);
        const tess_xpcs_posterior_info *info = tess_xpcs_posterior_get_info(posterior);
        const double evidence = golden_scalar(g.ctx, g.file, "log_evidence");
        print_message("%s: k %.3f, %.0f effective of %lld, evidence %+.5f, %g s\n", files[f],
                      info->pareto_k, info->effective_weights,
                      (long long)(info->n_chain * info->n_draw), info->log_evidence - evidence,
                      info->seconds);
        assert_true(info->pareto_k < 0.7 && info->warnings[0] == '\0');
        assert_near(&info->log_evidence, &evidence, 1, 0.05);
        check_moments(&g, info);
        tess_xpcs_posterior_destroy(posterior);
        golden_close(&g);
    }
}

// A context of one thread draws what one of two does.
static void threads_change_nothing(void **state)
{
    (void)state;
    enum { N_DRAW = 20 };
    tess_xpcs_posterior *found[2] = {NULL, NULL};
    golden g;
    golden_open(&g, "xpcs/posterior_laminar");
    run_sampler(&g, N_DRAW, TESS_XPCS_METHOD_NUTS, 0, &found[0]);
    tess_context *two = g.ctx;
    g.ctx = unit_context(1, 0);
    run_sampler(&g, N_DRAW, TESS_XPCS_METHOD_NUTS, 0, &found[1]);
    const tess_xpcs_posterior_info *a = tess_xpcs_posterior_get_info(found[0]);
    const tess_xpcs_posterior_info *b = tess_xpcs_posterior_get_info(found[1]);
    const size_t n = (size_t)(a->n_chain * a->n_draw);
    assert_memory_equal(a->theta, b->theta, n * (size_t)a->n_param * sizeof(double));
    assert_memory_equal(a->noise, b->noise, n * sizeof(double));
    assert_memory_equal(a->contrast, b->contrast, n * (size_t)a->n_angle * sizeof(double));
    assert_memory_not_equal(a->theta, a->theta + N_DRAW * a->n_param, N_DRAW * sizeof(double));
    tess_xpcs_posterior_destroy(found[0]);
    tess_xpcs_posterior_destroy(found[1]);
    tess_context_destroy(g.ctx);
    g.ctx = two;
    golden_close(&g);
}

static void mistakes_are_refused(void **state)
{
    (void)state;
    golden g;
    golden_open(&g, "xpcs/posterior_static");
    tess_xpcs_result *fit = NULL;
    tess_xpcs_posterior *out = NULL;
    tess_xpcs_fit_config fit_config;
    tess_xpcs_sample_config config;
    tess_xpcs_fit_config_init(&fit_config, sizeof fit_config);
    tess_xpcs_sample_config_init(&config, sizeof config);
    assert_ok(tess_xpcs_fit(g.ctx, g.data, &g.model, &fit_config, &fit));
    config.n_draw = 0;
    assert_fails(tess_xpcs_sample(g.ctx, g.data, &g.model, fit, NULL, &config, &out), TESS_E_RANGE,
                 "n_draw");
    config.n_draw = 1;
    const double sd[3] = {1000, 0, 1};
    config.prior_sd = sd;
    assert_fails(tess_xpcs_sample(g.ctx, g.data, &g.model, fit, NULL, &config, &out),
                 TESS_E_ARGUMENT, "prior of alpha");
    const double mean[3] = {1000, -1e6, 0};
    const double narrow[3] = {1000, 1, 1};
    config.prior_mean = mean;
    config.prior_sd = narrow;
    assert_fails(tess_xpcs_sample(g.ctx, g.data, &g.model, fit, NULL, &config, &out),
                 TESS_E_ARGUMENT, "leave nothing between its bounds");
    config.prior_mean = config.prior_sd = NULL;
    config.offset_prior[1] = 0;
    assert_fails(tess_xpcs_sample(g.ctx, g.data, &g.model, fit, NULL, &config, &out),
                 TESS_E_ARGUMENT, "offset_prior");
    tess_xpcs_model other = g.model;
    other.mode = TESS_XPCS_LAMINAR_FLOW;
    assert_fails(tess_xpcs_sample(g.ctx, g.data, &other, fit, NULL, NULL, &out), TESS_E_MISMATCH,
                 "another model");
    assert_fails(tess_xpcs_sample(g.ctx, g.data, &g.model, NULL, NULL, NULL, &out), TESS_E_ARGUMENT,
                 "fit: NULL");
    assert_null(out);
    tess_xpcs_result_destroy(fit);
    golden_close(&g);
}

// Parameters that the fit kept fixed stay where they are.
static void fixed_parameters_are_not_drawn(void **state)
{
    (void)state;
    golden g;
    golden_open(&g, "xpcs/posterior_laminar");
    tess_xpcs_result *fit = NULL;
    tess_xpcs_posterior *out = NULL;
    tess_xpcs_fit_config fit_config;
    tess_xpcs_sample_config config;
    const uint8_t is_fixed[7] = {0, 1, 0, 0, 1, 0, 1};
    const double start[7] = {2500, 0.6, 90, 1.1e-3, 0.7, 2e-4, 3};
    tess_xpcs_fit_config_init(&fit_config, sizeof fit_config);
    fit_config.is_fixed = is_fixed;
    fit_config.start = start;
    tess_xpcs_sample_config_init(&config, sizeof config);
    config.n_draw = 50;
    config.n_chain = 2;
    assert_ok(tess_xpcs_fit(g.ctx, g.data, &g.model, &fit_config, &fit));
    assert_ok(tess_xpcs_sample(g.ctx, g.data, &g.model, fit, &fit_config, &config, &out));
    const tess_xpcs_posterior_info *info = tess_xpcs_posterior_get_info(out);
    for (int64_t i = 0; i < 100; i++) {
        for (int64_t k = 0; k < 7; k++) {
            const double x = info->theta[i * 7 + k];
            assert_true(!is_fixed[k] || x == start[k]);
        }
    }
    assert_true(info->theta[0] != info->theta[7 * 7]);
    tess_xpcs_posterior_destroy(out);
    tess_xpcs_result_destroy(fit);
    golden_close(&g);
}

// Mass of a normal between bounds far out in either tail, and on both sides.
static void priors_are_densities(void **state)
{
    (void)state;
    static const double bounds[][2] = {{-1, 2}, {8, 9}, {-9, -8}, {-40, 40}, {0, 1e-3}, {30, 31}};
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        tess_xp_prior p = {.mean = 3, .sd = 2, .lower = 3 + 2 * bounds[i][0]};
        p.upper = 3 + 2 * bounds[i][1];
        tess_xp_prior_close(&p);
        enum { N = 20000 };
        double mass = 0;
        for (int k = 0; k < N; k++) {
            const double x = p.lower + (p.upper - p.lower) * ((double)k + 0.5) / N;
            const double z = (x - p.mean) / p.sd;
            mass += exp(p.log_norm - 0.5 * z * z) * (p.upper - p.lower) / N;
        }
        const double one = 1;
        assert_near(&mass, &one, 1, 1e-5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(density_and_gradient),
        cmocka_unit_test(coordinates),
        cmocka_unit_test(logarithms),
        cmocka_unit_test(rates_are_straightened),
        cmocka_unit_test(bounds_of_a_pair),
        cmocka_unit_test(truncated_density),
        cmocka_unit_test(draws_have_the_moments),
        cmocka_unit_test(laplace_has_moments_and_evidence),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(mistakes_are_refused),
        cmocka_unit_test(fixed_parameters_are_not_drawn),
        cmocka_unit_test(priors_are_densities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
