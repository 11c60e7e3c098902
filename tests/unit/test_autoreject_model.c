// Models: made from parts, saved, loaded; files that are none.
#include "autoreject_data.h"

#include <string.h>

static tess_autoreject_model *fitted(tess_context *ctx, const ar_data *d, int thresholds_only)
{
    tess_autoreject_fit_config config;
    tess_autoreject_fit_config_init(&config, sizeof config);
    static const double origin[3] = {0.001, 0, -0.002};
    config.n_fold = 3;
    config.seed = 4294967295;
    config.eeg_origin = origin;
    tess_autoreject_model *model = NULL;
    assert_ok(thresholds_only ? tess_autoreject_thresholds(ctx, d->epochs, &config, &model)
                              : tess_autoreject_fit(ctx, d->epochs, &config, &model));
    return model;
}

static void check_same(const tess_autoreject_model_info *a, const tess_autoreject_model_info *b)
{
    assert_int_equal(a->search, b->search);
    assert_int_equal(a->rho_mode, b->rho_mode);
    assert_int_equal(a->augment, b->augment);
    assert_int_equal(a->seed, b->seed);
    assert_int_equal(a->n_fold, b->n_fold);
    assert_int_equal(a->n_epoch, b->n_epoch);
    assert_true(a->sampling_hz == b->sampling_hz);
    assert_int_equal(a->n_chan, b->n_chan);
    for (int64_t c = 0; c < a->n_chan; c++) {
        assert_string_equal(a->channel_names[c], b->channel_names[c]);
    }
    assert_int_equal(a->n_pick, b->n_pick);
    assert_memory_equal(a->picks, b->picks, (size_t)a->n_pick * sizeof *a->picks);
    assert_memory_equal(a->eeg_origin, b->eeg_origin, 3 * sizeof(double));
    assert_int_equal(a->n_consensus, b->n_consensus);
    assert_int_equal(a->n_type, b->n_type);
    assert_string_equal(a->notes, b->notes);
    for (int64_t i = 0; i < a->n_type; i++) {
        const tess_autoreject_type_fit *x = &a->types[i];
        const tess_autoreject_type_fit *y = &b->types[i];
        assert_int_equal(x->type, y->type);
        assert_int_equal(x->n_chan, y->n_chan);
        const size_t bytes = (size_t)x->n_chan * sizeof(double);
        assert_memory_equal(x->channels, y->channels, bytes);
        assert_memory_equal(x->thresholds, y->thresholds, bytes);
        assert_memory_equal(x->standard_errors, y->standard_errors, bytes);
        assert_int_equal(x->consensus_index, y->consensus_index);
        assert_int_equal(x->n_interpolate, y->n_interpolate);
        assert_true(x->consensus == y->consensus);
        assert_int_equal(x->loss == NULL, y->loss == NULL);
        if (x->loss) {
            assert_memory_equal(x->loss, y->loss,
                                (size_t)(a->n_consensus * a->n_n_interpolate * a->n_fold) *
                                    sizeof(double));
        }
    }
}

static void files_hold_all_of_a_model(void **state)
{
    (void)state;
    for (int thresholds_only = 0; thresholds_only < 2; thresholds_only++) {
        tess_context *ctx = unit_context(2, 0);
        ar_data d = ar_data_make(ctx, 30, 8, 20, 1);
        tess_autoreject_model *model = fitted(ctx, &d, thresholds_only);
        tess_autoreject_model *again = NULL;
        const char *path = unit_path("model.json");
        assert_ok(tess_autoreject_model_save(ctx, model, path, 1));
        assert_fails(tess_autoreject_model_save(ctx, model, path, 0), TESS_E_EXISTS, path);
        assert_ok(tess_autoreject_model_load(ctx, path, &again));
        check_same(tess_autoreject_model_get_info(model), tess_autoreject_model_get_info(again));
        tess_autoreject_model_destroy(again);
        assert_ok(tess_autoreject_model_create(ctx, tess_autoreject_model_get_info(model), &again));
        check_same(tess_autoreject_model_get_info(model), tess_autoreject_model_get_info(again));
        tess_autoreject_model_destroy(again);
        tess_autoreject_log *log = NULL;
        if (thresholds_only) {
            assert_fails(tess_autoreject_log_compute(ctx, model, d.epochs, &log), TESS_E_ARGUMENT,
                         "thresholds only");
        } else {
            assert_ok(tess_autoreject_log_compute(ctx, model, d.epochs, &log));
        }
        tess_autoreject_log_destroy(log);
        tess_autoreject_model_destroy(model);
        ar_data_free(&d);
        tess_context_destroy(ctx);
    }
}

// Every prefix of a model file, and the file with one byte changed: an error, or a model.
static void damaged_files_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    ar_data d = ar_data_make(ctx, 30, 8, 20, 1);
    tess_autoreject_model *model = fitted(ctx, &d, 0);
    const char *path = unit_path("damaged.json");
    assert_ok(tess_autoreject_model_save(ctx, model, path, 1));
    size_t n = 0;
    char *bytes = unit_read_file(path, &n);
    tess_autoreject_model *again = NULL;
    const size_t step = unit_is_quick() ? 97 : 7;
    for (size_t i = 0; i + 2 < n; i += step) {
        unit_write_file(path, bytes, i);
        assert_int_not_equal(tess_autoreject_model_load(ctx, path, &again), TESS_OK);
        assert_true(strlen(tess_last_error()) > 10);
    }
    uint64_t s = 3;
    for (size_t i = 0; i < n; i += step) {
        const char kept = bytes[i];
        bytes[i] = (char)(256 * ar_uniform(&s));
        unit_write_file(path, bytes, n);
        if (tess_autoreject_model_load(ctx, path, &again) == TESS_OK) {
            tess_autoreject_model_destroy(again);
        }
        bytes[i] = kept;
    }
    free(bytes);
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void foreign_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        tess_status status;
        const char *part;
    } cases[] = {
        {"", TESS_E_FORMAT, "the text ends"},
        {"[]", TESS_E_FORMAT, "'schema' should be a text"},
        {"{\"schema\": \"other/1\"}", TESS_E_VERSION, "is 'other/1'"},
        {"{\"schema\": \"tessera.autoreject.model/1\"}", TESS_E_FORMAT,
         "'options' should be an object"},
    };
    tess_context *ctx = unit_context(1, 0);
    const char *path = unit_path("foreign.json");
    tess_autoreject_model *model = NULL;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        unit_write_file(path, cases[i].text, strlen(cases[i].text));
        assert_fails(tess_autoreject_model_load(ctx, path, &model), cases[i].status, cases[i].part);
        assert_null(model);
    }
    assert_fails(tess_autoreject_model_load(ctx, unit_path("none.json"), &model), TESS_E_NOT_FOUND,
                 "none.json");
    tess_context_destroy(ctx);
}

static void parts_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static const char *const names[] = {"A", "B"};
    int64_t channels[2] = {0, 1};
    double thresholds[2] = {1e-5, 2e-5};
    tess_autoreject_type_fit type = {.struct_size = sizeof type,
                                     .type = TESS_AUTOREJECT_EEG,
                                     .n_chan = 2,
                                     .channels = channels,
                                     .thresholds = thresholds,
                                     .consensus = 0.5,
                                     .n_interpolate = 1};
    tess_autoreject_model_info info = {.struct_size = sizeof info,
                                       .n_chan = 2,
                                       .channel_names = names,
                                       .n_type = 1,
                                       .types = &type};
    tess_autoreject_model *model = NULL;
    assert_ok(tess_autoreject_model_create(ctx, &info, &model));
    tess_autoreject_model_destroy(model);
    channels[1] = 2;
    assert_fails(tess_autoreject_model_create(ctx, &info, &model), TESS_E_FORMAT, "ascending");
    channels[1] = 1;
    thresholds[0] = (double)NAN;
    assert_fails(tess_autoreject_model_create(ctx, &info, &model), TESS_E_FORMAT,
                 "the threshold of channel 'A'");
    thresholds[0] = 1;
    type.consensus = 1.5;
    assert_fails(tess_autoreject_model_create(ctx, &info, &model), TESS_E_FORMAT, "consensus 1.5");
    type.consensus = 1;
    type.type = TESS_AUTOREJECT_EOG;
    assert_fails(tess_autoreject_model_create(ctx, &info, &model), TESS_E_FORMAT, "'eog'");
    info.n_type = 0;
    assert_fails(tess_autoreject_model_create(ctx, &info, &model), TESS_E_ARGUMENT, "0 types");
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_hold_all_of_a_model),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(foreign_files_are_refused),
        cmocka_unit_test(parts_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
