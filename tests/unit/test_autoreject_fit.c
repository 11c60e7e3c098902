// Whole fits against the original, and everything that is refused before the work.
#include "autoreject_data.h"
#include "unit_golden.h"

#include <string.h>

// Golden epochs with all their channels.
static ar_data open_all(tess_context *ctx, const char *file, int32_t extra_type)
{
    int64_t n_pick = 0;
    int64_t n_position = 0;
    int64_t n_delta = 0;
    int64_t n_x = 0;
    int64_t *picks = golden_i64(ctx, file, "picks", &n_pick);
    double *position = golden_f64(ctx, file, "pos", &n_position);
    free(golden_f64(ctx, file, "delta", &n_delta));
    double *x = golden_f64(ctx, file, "X", &n_x);
    const int64_t n_chan = n_position / 3;
    const int64_t n_epoch = n_delta / n_pick;
    ar_data d = ar_data_make(ctx, n_epoch, n_chan, n_x / n_chan / n_epoch, 1);
    tess_autoreject_epochs_close(d.epochs);
    free(d.x);
    d.x = x;
    for (int64_t c = 0; c < n_chan; c++) {
        memcpy(d.channels[c].loc, position + 3 * c, 3 * sizeof *position);
        bool is_picked = false;
        for (int64_t i = 0; i < n_pick; i++) {
            is_picked = is_picked || picks[i] == c;
        }
        d.channels[c].type = is_picked ? TESS_AUTOREJECT_EEG : extra_type;
    }
    ar_data_open(ctx, &d);
    free(picks);
    free(position);
    return d;
}

static tess_autoreject_fit_config config_of(tess_context *ctx, const char *file)
{
    tess_autoreject_fit_config config;
    tess_autoreject_fit_config_init(&config, sizeof config);
    config.search = TESS_AUTOREJECT_SEARCH_COMPAT;
    config.rho_mode = TESS_AUTOREJECT_RHO_CUMULATIVE;
    config.seed = (int64_t)golden_scalar(ctx, file, "seed");
    return config;
}

static void check_model(tess_context *ctx, const tess_autoreject_model *model, const char *file)
{
    const tess_autoreject_model_info *info = tess_autoreject_model_get_info(model);
    int64_t n = 0;
    double *thresholds = golden_f64(ctx, file, "thr_bo", &n);
    double *loss = golden_f64(ctx, file, "loss", NULL);
    assert_int_equal(info->n_type, 1);
    const tess_autoreject_type_fit *type = &info->types[0];
    assert_int_equal(type->n_chan, n);
    for (int64_t c = 0; c < n; c++) {
        assert_true(fabs(type->thresholds[c] - thresholds[c]) <= 1e-9 * thresholds[c]);
    }
    for (int64_t i = 0; i < info->n_consensus * info->n_n_interpolate * info->n_fold; i++) {
        assert_true(type->loss[i] == loss[i] || fabs(type->loss[i] - loss[i]) <= 1e-10 * loss[i]);
    }
    assert_true(type->consensus == golden_scalar(ctx, file, "kappa"));
    assert_true((double)type->n_interpolate == golden_scalar(ctx, file, "rho"));
    free(thresholds);
    free(loss);
}

static void check_log(tess_context *ctx, const tess_autoreject_log *log, const char *file)
{
    const tess_autoreject_log_info *info = tess_autoreject_log_get_info(log);
    int64_t *labels = golden_i64(ctx, file, "labels", NULL);
    int64_t *bad = golden_i64(ctx, file, "bad_epochs", NULL);
    for (int64_t e = 0; e < info->n_epoch; e++) {
        assert_int_equal(info->bad_epochs[e], bad[e]);
        for (int64_t c = 0; c < info->n_chan; c++) {
            assert_int_equal(info->labels[e * info->n_chan + c], labels[e * info->n_chan + c]);
        }
    }
    free(labels);
    free(bad);
}

static void check_clean(tess_context *ctx, const tess_array *clean, const char *file)
{
    int64_t n = 0;
    double *first = golden_f64(ctx, file, "clean_first", &n);
    const double *got = clean->data;
    double peak = 0;
    for (int64_t i = 0; i < n; i++) {
        peak = fmax(peak, fabs(first[i]));
    }
    assert_near(got, first, n, 1e-9 * peak);
    double sum = 0;
    for (int64_t i = 0; i < tess_array_items(clean); i++) {
        sum += fabs(got[i]);
    }
    const double want = golden_scalar(ctx, file, "clean_sum_abs");
    assert_true(fabs(sum - want) <= 1e-9 * want);
    free(first);
}

static void the_original_is_met(void **state)
{
    (void)state;
    static const char *const files[] = {"autoreject/ar01_eeg_40x24x60",
                                        "autoreject/ar02_eeg_odd_37x20x45"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        tess_context *ctx = unit_context(2, 0);
        ar_data d = open_all(ctx, files[i], TESS_AUTOREJECT_EOG);
        tess_autoreject_fit_config config = config_of(ctx, files[i]);
        int64_t *rhos = golden_i64(ctx, files[i], "n_interpolate", &config.n_n_interpolate);
        config.n_interpolate = rhos;
        tess_autoreject_model *model = NULL;
        tess_autoreject_log *log = NULL;
        assert_ok(tess_autoreject_fit(ctx, d.epochs, &config, &model));
        check_model(ctx, model, files[i]);
        assert_ok(tess_autoreject_log_compute(ctx, model, d.epochs, &log));
        check_log(ctx, log, files[i]);
        int64_t n_kept = 0;
        assert_ok(tess_autoreject_transform(ctx, model, d.epochs, log, NULL, NULL, NULL, &n_kept));
        const int64_t shape[3] = {n_kept, d.n_chan, d.n_time};
        double *clean = malloc((size_t)(n_kept * d.n_chan * d.n_time) * sizeof *clean);
        tess_array out;
        assert_ok(tess_array_init(&out, clean, TESS_F64, 3, shape));
        assert_ok(tess_autoreject_transform(ctx, model, d.epochs, log, NULL, &out, NULL, NULL));
        check_clean(ctx, &out, files[i]);
        free(clean);
        free(rhos);
        tess_autoreject_log_destroy(log);
        tess_autoreject_model_destroy(model);
        ar_data_free(&d);
        tess_context_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_original_is_met)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
