// Rates of any shape: sums against definitions, slopes against differences, truths of every kind
// within their bands, and which of them are power laws.
#include "xpcs_rates_truth.h"

#include "numerics/cholesky.h"
#include "systems/xpcs/rates/rates.h"
#include "systems/xpcs/xpcs.h"

#include <string.h>

// ---- One point ----------------------------------------------------------------------------------

typedef struct place {
    tess_context *ctx;
    tess_xpcs_data *data;
    tess_xp_density density;
    tess_xp_rates_fit fit;
} place;

static const int64_t n_knot = 6;

// Unknowns far from any optimum, shear of both signs.
static void open_place(const truth *t, int32_t shape, int32_t scaled, place *p)
{
    const double mean[2] = {8, 0};
    const double sd[2] = {4, 3};
    double x[TRUTH_FRAMES];
    *p = (place){.ctx = unit_context(2, 0)};
    p->data = truth_data(p->ctx, t);
    p->density = (tess_xp_density){.n_angle = t->n_angle,
                                   .mean = p->data->info.mean,
                                   .scaled = (tess_xp_scaled)scaled,
                                   .contrast = {.mean = 0.3, .sd = 0.25, .upper = 1},
                                   .offset = {.mean = 1, .sd = 0.25, .lower = 0.5, .upper = 1.5},
                                   .noise_scale = 0.02};
    tess_xp_prior_close(&p->density.contrast);
    tess_xp_prior_close(&p->density.offset);
    tess_xp_rates_fit *fit = &p->fit;
    *fit = (tess_xp_rates_fit){.ctx = p->ctx,
                               .data = p->data,
                               .model = truth_model(t),
                               .density = &p->density,
                               .n_kind = t->shear ? 2 : 1,
                               .n_basis = n_knot + 2,
                               .has_phi0 = t->shear != NULL,
                               .phi0 = {.mean = 0, .sd = 5, .lower = -10, .upper = 10},
                               .log_lambda = {1, 2},
                               .n_expected = 10};
    tess_xp_prior_close(&fit->phi0);
    fit->n = fit->n_kind * fit->n_basis + fit->has_phi0;
    tess_blocks_init(&fit->memory, &p->ctx->heap);
    tess_watch_begin(&fit->watch, p->ctx, "xpcs.rates", "passes", 0, 0, TESS_STRATEGY_STANDARD);
    assert_ok(tess_xp_rates_open(fit));
    for (int64_t f = 0; f < t->n_frame; f++) {
        x[f] = log(truth_time(f));
    }
    for (int64_t kind = 0; kind < fit->n_kind; kind++) {
        tess_xp_spline *s = &fit->splines[kind];
        assert_ok(tess_xp_spline_create(&fit->memory, x, t->n_frame, n_knot, shape, mean, sd, s));
        s->is_log = kind == 0;
        s->scale = kind == 0 ? 1 : 3e-3;
        s->sign = -1;
        for (int64_t k = 0; k < fit->n_basis; k++) {
            const double smooth = kind == 0 ? 8 - 0.2 * (double)k : 1.5 - 0.5 * (double)k;
            fit->at.x[kind * fit->n_basis + k] =
                shape == TESS_XPCS_RATES_SMOOTH || k == 0 ? smooth : -1 - 0.1 * (double)k;
        }
    }
    if (fit->has_phi0) {
        fit->at.x[fit->n - 1] = 3;
    }
    fit->at.s = fit->trial.s = 0.02;
}

static void close_place(place *p)
{
    tess_xp_rates_close(&p->fit);
    tess_xpcs_data_destroy(p->data);
    tess_context_destroy(p->ctx);
}

// Sums over all points by definition: J'J with its weights, slopes by pair, and derivatives of M.
typedef struct dense {
    long double *jacobian; // [n]
    long double *squares;  // [n][n] of an angle
    long double *slope;    // [2][n] of an angle: sum of J, of J M
    long double *gradient; // [n]
    long double *hessian;  // [n][n]
    long double six[6];
} dense;

// M and its derivatives by the unknowns at one pair.
static long double plain_point(const tess_xp_rates_fit *fit, int64_t a, int64_t i, int64_t j,
                               long double *jacobian)
{
    const int64_t k = fit->n_basis;
    const tess_xp_angle *angle = &fit->angles[a];
    const long double decay = expl(-(long double)angle->w2 * ((long double)fit->integral[0][j] -
                                                              (long double)fit->integral[0][i]));
    long double sinc = 1;
    long double slope = 0; // d sinc / dz
    long double b = 0;
    if (fit->n_kind > 1) {
        b = (long double)fit->integral[1][j] - (long double)fit->integral[1][i];
        const long double z = (long double)angle->amplitude * b;
        sinc = fabsl(z) < 1e-6L ? 1 - z * z / 6 : sinl(z) / z;
        slope = fabsl(z) < 1e-6L ? -z / 3 : (cosl(z) - sinc) / z;
    }
    const long double m = decay * sinc * sinc * sinc * sinc;
    const long double by_z = 4 * decay * sinc * sinc * sinc * slope;
    for (int64_t l = 0; l < fit->n; l++) {
        const int64_t kind = l / k;
        const double *basis = kind < fit->n_kind ? fit->basis[kind] : NULL;
        const long double way =
            basis ? (long double)basis[j * k + l % k] - (long double)basis[i * k + l % k] : 0;
        jacobian[l] = !basis ? by_z * (long double)angle->amplitude * (long double)angle->tau * b
                      : kind == 0 ? -(long double)angle->w2 * m * way
                                  : by_z * (long double)angle->amplitude * way;
    }
    return m;
}

static void add_angle(const tess_xp_rates_fit *fit, int64_t a, const double *rows, dense *d)
{
    const int64_t n = fit->n;
    const int64_t n_frame = fit->data->info.n_frame;
    const tess_xp_rates_angle *by = &fit->weights[a];
    for (int64_t i = 0; i < n_frame; i++) {
        for (int64_t j = i + 1; j < n_frame; j++) {
            const double sample = rows[i * n_frame + j];
            if (isnan(sample)) {
                continue;
            }
            const long double y = (long double)sample - (long double)fit->data->info.mean[a];
            const long double m = plain_point(fit, a, i, j, d->jacobian);
            const long double error = (long double)by->by_model * m + (long double)by->by_one -
                                      (long double)by->by_sample * y;
            const long double terms[6] = {1, m, m * m, y, y * y, m * y};
            for (int k = 0; k < 6; k++) {
                d->six[k] += terms[k];
            }
            for (int64_t k = 0; k < n; k++) {
                d->gradient[k] += error * d->jacobian[k];
                d->slope[k] += d->jacobian[k];
                d->slope[n + k] += d->jacobian[k] * m;
                for (int64_t l = 0; l < n; l++) {
                    d->squares[k * n + l] += d->jacobian[k] * d->jacobian[l];
                }
            }
        }
    }
}

// hessian += c^2 / s^2 J'J; less what the angle's own contrast and offset take, by the inverse of
// their precision.
static void fold_angle(const place *p, int64_t a, dense *d)
{
    const int64_t n = p->fit.n;
    const long double w = 1 / ((long double)p->fit.at.s * (long double)p->fit.at.s);
    const long double o2 = (long double)(p->density.offset.sd * p->density.offset.sd);
    const long double c2 = (long double)(p->density.contrast.sd * p->density.contrast.sd);
    const long double oo = 1 / o2 + w * d->six[0];
    const long double oc = w * d->six[1];
    const long double cc = 1 / c2 + w * d->six[2];
    const long double of =
        (long double)(p->density.offset.mean - p->density.mean[a]) / o2 + w * d->six[3];
    const long double cf = (long double)p->density.contrast.mean / c2 + w * d->six[5];
    const long double det = oo * cc - oc * oc;
    const long double contrast = (oo * cf - oc * of) / det;
    for (int64_t k = 0; k < n; k++) {
        for (int64_t l = 0; l < n; l++) {
            const long double *o = d->slope;
            const long double *c = d->slope + n;
            const long double taken =
                cc * o[k] * o[l] - oc * (o[k] * c[l] + c[k] * o[l]) + oo * c[k] * c[l];
            d->hessian[k * n + l] +=
                w * contrast * contrast * (d->squares[k * n + l] - w * taken / det);
        }
    }
}

static void sums_are_those_of_the_definition(void **state)
{
    (void)state;
    static const truth cases[] = {
        {.transport = ageing, .n_angle = 2, .n_frame = 300, .sigma = 0.01},
        {.transport = ageing,
         .shear = oscillating_shear,
         .n_angle = 3,
         .n_frame = 70,
         .sigma = 0.01,
         .nan_part = 0.1},
        {.transport = ageing, .shear = power_shear, .n_angle = 1, .n_frame = 50, .sigma = 0.01},
    };
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        place p;
        open_place(&cases[c], TESS_XPCS_RATES_SMOOTH, TESS_XP_SCALED_EACH, &p);
        const int64_t n = p.fit.n;
        const int64_t n_frame = cases[c].n_frame;
        long double *room = calloc((size_t)(2 * n * n + 4 * n), sizeof *room);
        double *rows = malloc((size_t)(n_frame * n_frame) * sizeof *rows);
        dense d = {.jacobian = room,
                   .slope = room + n,
                   .gradient = room + 3 * n,
                   .squares = room + 4 * n,
                   .hessian = room + 4 * n + n * n};
        assert_ok(tess_xp_rates_value(&p.fit, &p.fit.at));
        assert_ok(tess_xp_rates_slopes(&p.fit, &p.fit.at));
        for (int64_t a = 0; a < cases[c].n_angle; a++) {
            memset(d.squares, 0, (size_t)(n * n) * sizeof *room);
            memset(d.slope, 0, (size_t)(2 * n) * sizeof *room);
            memset(d.six, 0, sizeof d.six);
            assert_ok(tess_xpcs_data_rows(p.ctx, p.data, a, 0, n_frame, rows));
            add_angle(&p.fit, a, rows, &d);
            fold_angle(&p, a, &d);
            for (int k = 0; k < 6; k++) {
                assert_true(fabsl((long double)p.fit.at.six[6 * a + k] - d.six[k]) <=
                            1e-11L * (1 + fabsl(d.six[k])));
            }
        }
        for (int64_t k = 0; k < n; k++) {
            const long double unit = sqrtl(d.hessian[k * (n + 1)]);
            assert_true(fabsl((long double)p.fit.at.gradient[k] - d.gradient[k]) <= 1e-8L * unit);
            for (int64_t l = 0; l < n; l++) {
                const long double scale = unit * sqrtl(d.hessian[l * (n + 1)]);
                assert_true(fabsl((long double)p.fit.at.hessian[k * n + l] -
                                  d.hessian[k * n + l]) <= 1e-9L * scale);
            }
        }
        free(rows);
        free(room);
        close_place(&p);
    }
}

// Of the log density of data and prior, for both shapes and every way of contrasts.
static void slopes_are_those_of_differences(void **state)
{
    (void)state;
    static const truth laminar = {.transport = ageing,
                                  .shear = oscillating_shear,
                                  .n_angle = 3,
                                  .n_frame = 60,
                                  .sigma = 0.01,
                                  .nan_part = 0.05};
    for (int32_t c = 0; c < 6; c++) {
        place p;
        double held[6] = {0.2, 0.21, 0.19, 1, 1.01, 1.02};
        double pull[TESS_XP_RATES_MOST];
        open_place(&laminar, c % 2, c / 2, &p);
        p.density.held = held;
        tess_xp_rates_fit *fit = &p.fit;
        assert_ok(tess_xp_rates_value(fit, &fit->at));
        assert_ok(tess_xp_rates_slopes(fit, &fit->at));
        tess_xp_rates_precision(fit, fit->log_lambda, fit->work);
        tess_xp_rates_pull(fit, fit->work, fit->at.x, pull);
        for (int64_t k = 0; k < fit->n; k++) {
            double value[2];
            const double step = k == fit->n - 1 ? 1e-3 : 1e-4;
            for (int side = 0; side < 2; side++) {
                memcpy(fit->trial.x, fit->at.x, (size_t)fit->n * sizeof(double));
                fit->trial.x[k] += side ? step : -step;
                assert_ok(tess_xp_rates_value(fit, &fit->trial));
                value[side] = fit->trial.log_data + fit->trial.log_prior;
            }
            const double slope = -(value[1] - value[0]) / (2 * step);
            const double size = sqrt(fit->at.hessian[k * (fit->n + 1)]);
            assert_true(fabs(fit->at.gradient[k] + pull[k] - slope) < 1e-4 * (fabs(slope) + size));
        }
        close_place(&p);
    }
}

// The prior is a density: its constant is that of the determinant of its precision.
static void the_prior_is_a_density(void **state)
{
    (void)state;
    static const truth t = {.transport = ageing, .n_angle = 1, .n_frame = 40, .sigma = 0.01};
    for (int32_t shape = 0; shape < 2; shape++) {
        place p;
        open_place(&t, shape, TESS_XP_SCALED_EACH, &p);
        tess_xp_rates_fit *fit = &p.fit;
        const int64_t n = fit->n;
        double pull[TESS_XP_RATES_MOST];
        tess_xp_rates_precision(fit, fit->log_lambda, fit->work);
        tess_xp_rates_pull(fit, fit->work, fit->at.x, pull);
        double form = 0;
        for (int64_t k = 0; k < n; k++) {
            form += pull[k] * (fit->at.x[k] - fit->splines[0].centre[k]);
        }
        assert_true(tess_cholesky(fit->work, n));
        double log_root = 0;
        for (int64_t k = 0; k < n; k++) {
            log_root += log(fit->work[k * (n + 1)]);
        }
        const double want = log_root - 0.5 * form - 0.91893853320467274 * (double)n;
        const double got = tess_xp_rates_log_prior(fit, fit->log_lambda, fit->at.x);
        assert_true(fabs(got - want) < 1e-9 * fabs(want));
        close_place(&p);
    }
}

// ---- Fits ---------------------------------------------------------------------------------------

typedef struct fitted {
    tess_context *ctx;
    tess_xpcs_data *data;
    tess_xpcs_rates *rates;
    const tess_xpcs_rates_info *info;
} fitted;

static fitted fit_truth(const truth *t, int32_t n_thread, int32_t shape, int32_t spacing)
{
    fitted f = {.ctx = unit_context(n_thread, 0)};
    tess_xpcs_rates_config config;
    tess_xpcs_rates_config_init(&config, sizeof config);
    config.shape = shape;
    config.spacing = spacing;
    const tess_xpcs_model model = truth_model(t);
    f.data = truth_data(f.ctx, t);
    assert_ok(tess_xpcs_fit_rates(f.ctx, f.data, &model, NULL, &config, &f.rates));
    f.info = tess_xpcs_rates_get_info(f.rates);
    return f;
}

static void close_fitted(fitted *f)
{
    tess_xpcs_rates_destroy(f->rates);
    tess_xpcs_data_destroy(f->data);
    tess_context_destroy(f->ctx);
}

// Share of the frames at which the truth lies within the band.
static double covered(const tess_xpcs_rates_info *info, const tess_xpcs_rate_curve *curve,
                      truth_rate rate)
{
    const double end = info->t[info->n_frame - 1];
    int64_t n = 0;
    for (int64_t f = 0; f < info->n_frame; f++) {
        const double right = rate(info->t[f], end);
        n += right >= curve->low[f] && right <= curve->high[f];
        assert_true(curve->sd[f] > 0 && curve->low[f] < curve->value[f]);
    }
    return (double)n / (double)info->n_frame;
}

static void truths_are_found_and_power_laws_told(void **state)
{
    (void)state;
    static const struct {
        truth of;
        int32_t shape;
        double least; // of the ln Bayes factor
        double most;
    } cases[] = {
        {{.transport = power_law, .n_angle = 3, .n_frame = 90, .sigma = 0.01}, 0, -20, 0},
        {{.transport = power_law, .n_angle = 3, .n_frame = 90, .sigma = 0.01}, 1, -20, 0},
        {{.transport = ageing, .n_angle = 3, .n_frame = 90, .sigma = 0.01, .nan_part = 0.1},
         0,
         20,
         (double)INFINITY},
        {{.transport = ageing, .n_angle = 1, .n_frame = 90, .sigma = 0.01, .has_sigma = 1},
         1,
         20,
         (double)INFINITY},
        {{.transport = smooth_step, .n_angle = 2, .n_frame = 90, .sigma = 0.01},
         0,
         20,
         (double)INFINITY},
        {{.transport = power_law, .shear = power_shear, .n_angle = 6, .n_frame = 70, .sigma = 0.01},
         0,
         -20,
         0},
        {{.transport = ageing,
          .shear = oscillating_shear,
          .n_angle = 6,
          .n_frame = 70,
          .sigma = 0.01},
         0,
         20,
         (double)INFINITY},
    };
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        const truth *t = &cases[c].of;
        fitted f = fit_truth(t, 2, cases[c].shape, TESS_XPCS_RATES_AUTO);
        const double factor = f.info->log_bayes_factor;
        const double transport = covered(f.info, &f.info->transport, t->transport);
        const double shear = t->shear ? covered(f.info, &f.info->shear, t->shear) : 1;
        print_message(
            "case %zu: ln Bayes factor %.2f, covered %.3f %.3f, noise %.4f, %lld passes\n", c,
            factor, transport, shear, f.info->noise, (long long)f.info->n_pass);
        assert_true(factor > cases[c].least && factor < cases[c].most);
        assert_true(transport > 0.75 && shear > 0.75);
        assert_true(fabs(f.info->noise / t->sigma - 1) < 0.03);
        assert_true(f.info->is_converged);
        close_fitted(&f);
    }
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    static const truth t = {
        .transport = ageing, .shear = power_shear, .n_angle = 2, .n_frame = 60, .sigma = 0.01};
    fitted one = fit_truth(&t, 1, TESS_XPCS_RATES_SMOOTH, TESS_XPCS_RATES_LOG);
    fitted many = fit_truth(&t, 3, TESS_XPCS_RATES_SMOOTH, TESS_XPCS_RATES_LOG);
    const size_t bytes = (size_t)t.n_frame * sizeof(double);
    assert_memory_equal(one.info->transport.value, many.info->transport.value, bytes);
    assert_memory_equal(one.info->transport.sd, many.info->transport.sd, bytes);
    assert_memory_equal(one.info->shear.value, many.info->shear.value, bytes);
    assert_memory_equal(&one.info->log_evidence, &many.info->log_evidence, sizeof(double));
    assert_memory_equal(&one.info->log_bayes_factor, &many.info->log_bayes_factor, sizeof(double));
    assert_ok(tess_xpcs_rates_write(one.ctx, one.rates, unit_path("rates"), 0));
    assert_fails(tess_xpcs_rates_write(one.ctx, one.rates, unit_path("rates"), 0), TESS_E_EXISTS,
                 "rates.json");
    assert_ok(tess_xpcs_rates_write(one.ctx, one.rates, unit_path("rates"), 1));
    close_fitted(&one);
    close_fitted(&many);
}

static void few_frames_are_refused_as_such(void **state)
{
    (void)state;
    static const truth t = {.transport = ageing, .n_angle = 1, .n_frame = 3, .sigma = 0.01};
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_data *data = truth_data(ctx, &t);
    tess_xpcs_model model = truth_model(&t);
    tess_xpcs_rates *out = NULL;
    assert_fails(tess_xpcs_fit_rates(ctx, data, &model, NULL, NULL, &out), TESS_E_ARGUMENT,
                 "the data have 3 frames");
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const truth t = {.transport = ageing, .n_angle = 1, .n_frame = 20, .sigma = 0.01};
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_data *data = truth_data(ctx, &t);
    tess_xpcs_model model = truth_model(&t);
    tess_xpcs_fit_config config;
    tess_xpcs_rates_config rates;
    tess_xpcs_rates *out = NULL;
    const uint8_t fixed[3] = {0, 1, 0};
    tess_xpcs_rates_config_init(&rates, sizeof rates);
    rates.n_knot = 21;
    assert_fails(tess_xpcs_fit_rates(ctx, data, &model, NULL, &rates, &out), TESS_E_ARGUMENT,
                 "knots: 21; expected 4 to 20");
    rates.n_knot = 6;
    rates.smoothness = -1;
    assert_fails(tess_xpcs_fit_rates(ctx, data, &model, NULL, &rates, &out), TESS_E_ARGUMENT,
                 "smoothness: -1");
    rates.smoothness = 0;
    rates.shape = 2;
    assert_fails(tess_xpcs_fit_rates(ctx, data, &model, NULL, &rates, &out), TESS_E_ARGUMENT,
                 "shape: 2");
    rates.shape = 0;
    tess_xpcs_fit_config_init(&config, sizeof config);
    config.is_fixed = fixed;
    assert_fails(tess_xpcs_fit_rates(ctx, data, &model, &config, &rates, &out), TESS_E_CONFIG,
                 "alpha is fixed");
    config.is_fixed = NULL;
    config.loss = TESS_XPCS_LOSS_HUBER;
    assert_fails(tess_xpcs_fit_rates(ctx, data, &model, &config, &rates, &out), TESS_E_CONFIG,
                 "loss");
    model.mode = TESS_XPCS_TWO_COMPONENT;
    assert_fails(tess_xpcs_fit_rates(ctx, data, &model, NULL, &rates, &out), TESS_E_UNSUPPORTED,
                 "two_component");
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
    tess_xp_rates_fit fit = {.ctx = unit_context(1, 4 << 20), .n_kind = 2, .n_basis = 102};
    fit.data = truth_data(fit.ctx, &t);
    assert_fails(tess_xp_rates_open(&fit), TESS_E_LIMIT, "raise it, or take fewer frames");
    tess_xpcs_data_destroy(fit.data);
    tess_context_destroy(fit.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_those_of_the_definition),
                                       cmocka_unit_test(slopes_are_those_of_differences),
                                       cmocka_unit_test(the_prior_is_a_density),
                                       cmocka_unit_test(truths_are_found_and_power_laws_told),
                                       cmocka_unit_test(bits_do_not_depend_on_threads),
                                       cmocka_unit_test(few_frames_are_refused_as_such),
                                       cmocka_unit_test(what_cannot_be_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
