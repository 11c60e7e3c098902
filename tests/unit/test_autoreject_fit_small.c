// The golden case of the specification that needs no file, and what any fit obeys.
#include "autoreject_data.h"

#include <string.h>

enum { N_EPOCH = 40, N_CHAN = 16, N_TIME = 50 };

// Digits as the specification prints them.
static const double compat[N_CHAN] = {119.16977235, 54.732715010, 44.252994317, 37.114811302,
                                      41.357046356, 56.593247537, 65.687001750, 40.289779092,
                                      56.056995806, 38.618247158, 64.628046466, 40.802199030,
                                      50.605962038, 78.137023112, 102.05106230, 111.02677785};
static const double exact[N_CHAN] = {114.55557138, 54.732715010, 43.497562702, 37.114811302,
                                     41.357046356, 57.452695792, 65.951129996, 40.289779092,
                                     65.134745133, 37.918781962, 53.379655943, 40.802199030,
                                     55.864051056, 78.137023112, 102.05106230, 106.52840483};

static ar_data make(tess_context *ctx)
{
    ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 1);
    const double pi = 3.14159265358979323846;
    int64_t s = 12345;
    double sum = 0;
    for (int64_t e = 0; e < N_EPOCH; e++) {
        for (int64_t c = 0; c < N_CHAN; c++) {
            for (int64_t t = 0; t < N_TIME; t++) {
                s = (1103515245 * s + 12345) % 2147483648;
                const double u = (double)s / 2147483648.0;
                double x =
                    10e-6 * sin(2 * pi * (double)t / 25 + 0.3 * (double)c) + 20e-6 * (u - 0.5);
                x += (7 * e + 3 * c) % 23 == 0 ? 80e-6 * sin(2 * pi * (double)t / 10) : 0;
                x *= e == 5 || e == 12 || e == 22 ? 3 : 1;
                d.x[(e * N_CHAN + c) * N_TIME + t] = x;
                sum += fabs(x);
            }
        }
    }
    assert_true(fabs(sum - 0.33941474039730535) < 1e-12);
    return d;
}

static tess_autoreject_model *fit(tess_context *ctx, const ar_data *d, int32_t search,
                                  int32_t rho_mode)
{
    tess_autoreject_fit_config config;
    tess_autoreject_fit_config_init(&config, sizeof config);
    config.search = search;
    config.rho_mode = rho_mode;
    config.seed = 42;
    tess_autoreject_model *model = NULL;
    assert_ok(tess_autoreject_fit(ctx, d->epochs, &config, &model));
    return model;
}

static double mean_loss(const tess_autoreject_type_fit *type, int64_t consensus, int64_t column)
{
    double sum = 0;
    for (int f = 0; f < 10; f++) {
        sum += type->loss[(consensus * 3 + column) * 10 + f];
    }
    return 1e6 * sum / 10;
}

static void check_losses(const tess_autoreject_type_fit *type, bool is_cumulative)
{
    for (int64_t i = 0; i <= 10; i++) {
        const double want[3] = {i == 0   ? (double)INFINITY
                                : i == 1 ? 4.21880206
                                : i < 9  ? 4.21066546
                                         : 4.31227304,
                                i < 3   ? (double)INFINITY
                                : i < 9 ? 4.21768533
                                        : (is_cumulative ? 4.34340817 : 4.34940250),
                                // Three epochs have one good channel: the original repairs from it,
                                // else they are left out.
                                i < 10 ? (double)INFINITY
                                       : (is_cumulative ? 4.46351196 : 4.21768533)};
        for (int64_t j = 0; j < 3; j++) {
            const double got = mean_loss(type, i, j);
            assert_true(got == want[j] || fabs(got - want[j]) < 1e-8);
        }
    }
}

static void check_clean(tess_context *ctx, const tess_autoreject_model *model, const ar_data *d)
{
    tess_autoreject_log *log = NULL;
    assert_ok(tess_autoreject_log_compute(ctx, model, d->epochs, &log));
    const tess_autoreject_log_info *info = tess_autoreject_log_get_info(log);
    int64_t n[3] = {0, 0, 0};
    for (int64_t i = 0; i < N_EPOCH * N_CHAN; i++) {
        n[info->labels[i]]++;
    }
    assert_int_equal(n[0], 566);
    assert_int_equal(n[1], 41);
    assert_int_equal(n[2], 33);
    for (int64_t e = 0; e < N_EPOCH; e++) {
        assert_int_equal(info->bad_epochs[e], e == 5 || e == 12 || e == 22);
    }
    const int64_t shape[3] = {37, N_CHAN, N_TIME};
    static double clean[37 * N_CHAN * N_TIME];
    tess_array out;
    assert_ok(tess_array_init(&out, clean, TESS_F64, 3, shape));
    assert_ok(tess_autoreject_transform(ctx, model, d->epochs, log, NULL, &out, NULL, NULL));
    double sum = 0;
    for (int64_t i = 0; i < 37 * N_CHAN * N_TIME; i++) {
        sum += fabs(clean[i]);
    }
    assert_true(fabs(sum - 0.2221925294831747) < 1e-11);
    tess_autoreject_log_destroy(log);
}

static void the_small_case_is_met(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    ar_data d = make(ctx);
    for (int32_t mode = 0; mode < 2; mode++) {
        tess_autoreject_model *model = fit(ctx, &d, TESS_AUTOREJECT_SEARCH_COMPAT, mode);
        const tess_autoreject_type_fit *type = &tess_autoreject_model_get_info(model)->types[0];
        for (int c = 0; c < N_CHAN; c++) {
            assert_true(fabs(1e6 * type->thresholds[c] - compat[c]) <= 1e-9 * compat[c]);
        }
        check_losses(type, mode == TESS_AUTOREJECT_RHO_CUMULATIVE);
        assert_true(type->consensus == 0.2);
        assert_int_equal(type->n_interpolate, 1);
        check_clean(ctx, model, &d);
        tess_autoreject_model_destroy(model);
    }
    tess_autoreject_model *model =
        fit(ctx, &d, TESS_AUTOREJECT_SEARCH_EXACT, TESS_AUTOREJECT_RHO_INDEPENDENT);
    const tess_autoreject_type_fit *type = &tess_autoreject_model_get_info(model)->types[0];
    for (int c = 0; c < N_CHAN; c++) {
        assert_true(fabs(1e6 * type->thresholds[c] - exact[c]) <= 1e-9 * exact[c]);
    }
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

// Twice the samples, twice the thresholds and losses: exactly.
static void powers_of_two_scale_exactly(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    ar_data d = make(ctx);
    tess_autoreject_model *one =
        fit(ctx, &d, TESS_AUTOREJECT_SEARCH_EXACT, TESS_AUTOREJECT_RHO_INDEPENDENT);
    for (int64_t i = 0; i < N_EPOCH * N_CHAN * N_TIME; i++) {
        d.x[i] *= 1024;
    }
    tess_autoreject_model *two =
        fit(ctx, &d, TESS_AUTOREJECT_SEARCH_EXACT, TESS_AUTOREJECT_RHO_INDEPENDENT);
    const tess_autoreject_type_fit *a = &tess_autoreject_model_get_info(one)->types[0];
    const tess_autoreject_type_fit *b = &tess_autoreject_model_get_info(two)->types[0];
    for (int c = 0; c < N_CHAN; c++) {
        assert_true(1024 * a->thresholds[c] == b->thresholds[c]);
    }
    for (int i = 0; i < 11 * 3 * 10; i++) {
        assert_true(1024 * a->loss[i] == b->loss[i]);
    }
    tess_autoreject_model_destroy(one);
    tess_autoreject_model_destroy(two);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

// Epochs that are all alike: every candidate is as good, the smallest is taken.
static void identical_epochs_are_no_trouble(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    ar_data d = make(ctx);
    for (int64_t e = 1; e < N_EPOCH; e++) {
        memcpy(d.x + e * N_CHAN * N_TIME, d.x, N_CHAN * N_TIME * sizeof *d.x);
    }
    tess_autoreject_model *model =
        fit(ctx, &d, TESS_AUTOREJECT_SEARCH_EXACT, TESS_AUTOREJECT_RHO_INDEPENDENT);
    tess_autoreject_log *log = NULL;
    assert_ok(tess_autoreject_log_compute(ctx, model, d.epochs, &log));
    tess_autoreject_log_destroy(log);
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_small_case_is_met),
        cmocka_unit_test(powers_of_two_scale_exactly),
        cmocka_unit_test(identical_epochs_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
