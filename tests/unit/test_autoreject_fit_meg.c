// A whole MEG fit of the original, with the rounded table of dot products and without.
#include "autoreject_data.h"
#include "unit_golden.h"

#include <string.h>

#define FILE_NAME "autoreject/ar06_meg"

enum { N_EPOCH = 24, N_CHAN = 72, N_TIME = 24 };

static ar_data open_meg(tess_context *ctx)
{
    ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 1);
    tess_autoreject_epochs_close(d.epochs);
    free(d.x);
    d.x = golden_f64(ctx, FILE_NAME, "X", NULL);
    double *loc = golden_f64(ctx, FILE_NAME, "a_loc", NULL);
    double *to_head = golden_f64(ctx, FILE_NAME, "dev_head_t", NULL);
    int64_t *coils = golden_i64(ctx, FILE_NAME, "a_coil_type", NULL);
    for (int64_t c = 0; c < N_CHAN; c++) {
        const bool is_grad = coils[c] == 3012 || coils[c] == 3014;
        memcpy(d.channels[c].loc, loc + 12 * c, 12 * sizeof *loc);
        d.channels[c].coil_type = (int32_t)coils[c];
        d.channels[c].type = is_grad ? TESS_AUTOREJECT_GRAD : TESS_AUTOREJECT_MAG;
    }
    memcpy(d.sensors.device_to_head, to_head, 16 * sizeof *to_head);
    d.sensors.has_device_to_head = 1;
    ar_data_open(ctx, &d);
    free(loc);
    free(to_head);
    free(coils);
    return d;
}

static const char *name_of(const char *kind, const char *what, int32_t type)
{
    static char name[64];
    const char *suffix = type == TESS_AUTOREJECT_GRAD  ? "_grad"
                         : type == TESS_AUTOREJECT_MAG ? "_mag"
                                                       : "";
    snprintf(name, sizeof name, "%s_%s%s", kind, what, suffix);
    return name;
}

static void check_types(tess_context *ctx, const tess_autoreject_model_info *info, const char *kind)
{
    double *thresholds = golden_f64(ctx, FILE_NAME, name_of(kind, "thr", -1), NULL);
    assert_int_equal(info->n_type, 2);
    for (int64_t i = 0; i < info->n_type; i++) {
        const tess_autoreject_type_fit *type = &info->types[i];
        int64_t n = 0;
        double *loss = golden_f64(ctx, FILE_NAME, name_of(kind, "loss", type->type), &n);
        for (int64_t c = 0; c < type->n_chan; c++) {
            const double want = thresholds[type->channels[c]];
            assert_true(fabs(type->thresholds[c] - want) <= 1e-8 * want);
        }
        for (int64_t k = 0; k < n; k++) {
            assert_true(type->loss[k] == loss[k] ||
                        fabs(type->loss[k] - loss[k]) <= 1e-8 * loss[k]);
        }
        assert_true(type->consensus ==
                    golden_scalar(ctx, FILE_NAME, name_of(kind, "kappa", type->type)));
        assert_true((double)type->n_interpolate ==
                    golden_scalar(ctx, FILE_NAME, name_of(kind, "rho", type->type)));
        free(loss);
    }
    free(thresholds);
}

static void check_repair(tess_context *ctx, const tess_autoreject_model *model, const ar_data *d,
                         const tess_autoreject_log *log, const char *kind)
{
    int64_t n_kept = 0;
    assert_ok(tess_autoreject_transform(ctx, model, d->epochs, log, NULL, NULL, NULL, &n_kept));
    const int64_t shape[3] = {n_kept, N_CHAN, N_TIME};
    double *clean = malloc((size_t)(n_kept * N_CHAN * N_TIME) * sizeof *clean);
    tess_array out;
    assert_ok(tess_array_init(&out, clean, TESS_F64, 3, shape));
    assert_ok(tess_autoreject_transform(ctx, model, d->epochs, log, NULL, &out, NULL, NULL));
    double *first = golden_f64(ctx, FILE_NAME, name_of(kind, "clean_first2", -1), NULL);
    double *sums = golden_f64(ctx, FILE_NAME, name_of(kind, "clean_sum_abs_by_channel", -1), NULL);
    for (int64_t c = 0; c < N_CHAN; c++) {
        double peak = 0;
        for (int64_t i = 0; i < 2 * N_TIME; i++) {
            peak = fmax(peak, fabs(first[(i / N_TIME * N_CHAN + c) * N_TIME + i % N_TIME]));
        }
        for (int64_t e = 0; e < 2; e++) {
            const int64_t at = (e * N_CHAN + c) * N_TIME;
            assert_near(clean + at, first + at, N_TIME, 1e-7 * peak);
        }
        double sum = 0;
        for (int64_t i = 0; i < n_kept * N_TIME; i++) {
            sum += fabs(clean[(i / N_TIME * N_CHAN + c) * N_TIME + i % N_TIME]);
        }
        assert_true(fabs(sum - sums[c]) <= 1e-8 * sums[c]);
    }
    free(clean);
    free(first);
    free(sums);
}

static void the_original_is_met(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        int32_t dots;
    } kinds[] = {{"direct", TESS_AUTOREJECT_DOTS_DIRECT}, {"lut", TESS_AUTOREJECT_DOTS_TABLE}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        tess_context *ctx = unit_context(2, 0);
        ar_data d = open_meg(ctx);
        tess_autoreject_fit_config config;
        tess_autoreject_fit_config_init(&config, sizeof config);
        config.search = TESS_AUTOREJECT_SEARCH_COMPAT;
        config.rho_mode = TESS_AUTOREJECT_RHO_CUMULATIVE;
        config.meg_dots = kinds[i].dots;
        config.seed = (int64_t)golden_scalar(ctx, FILE_NAME, "seed");
        config.n_fold = (int64_t)golden_scalar(ctx, FILE_NAME, "cv");
        int64_t *rhos = golden_i64(ctx, FILE_NAME, "n_interpolate", &config.n_n_interpolate);
        config.n_interpolate = rhos;
        tess_autoreject_model *model = NULL;
        tess_autoreject_log *log = NULL;
        assert_ok(tess_autoreject_fit(ctx, d.epochs, &config, &model));
        check_types(ctx, tess_autoreject_model_get_info(model), kinds[i].kind);
        assert_ok(tess_autoreject_log_compute(ctx, model, d.epochs, &log));
        const tess_autoreject_log_info *info = tess_autoreject_log_get_info(log);
        int64_t *labels = golden_i64(ctx, FILE_NAME, name_of(kinds[i].kind, "labels", -1), NULL);
        int64_t *bad = golden_i64(ctx, FILE_NAME, name_of(kinds[i].kind, "bad_epochs", -1), NULL);
        for (int64_t k = 0; k < N_EPOCH * N_CHAN; k++) {
            assert_int_equal(info->labels[k], labels[k]);
            assert_int_equal(info->bad_epochs[k / N_CHAN], bad[k / N_CHAN]);
        }
        check_repair(ctx, model, &d, log, kinds[i].kind);
        free(rhos);
        free(labels);
        free(bad);
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
