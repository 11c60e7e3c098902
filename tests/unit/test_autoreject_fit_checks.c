// What a fit refuses before it computes, and what it says of its input.
#include "autoreject_data.h"

#include <string.h>

enum { N_EPOCH = 24, N_CHAN = 8, N_TIME = 20 };

static tess_autoreject_fit_config defaults(void)
{
    tess_autoreject_fit_config config;
    tess_autoreject_fit_config_init(&config, sizeof config);
    config.n_fold = 4;
    return config;
}

// A fit that must fail; the channels may have been changed.
static void refused(tess_context *ctx, ar_data *d, const tess_autoreject_fit_config *config,
                    tess_status status, const char *part)
{
    tess_autoreject_model *model = NULL;
    tess_autoreject_epochs_close(d->epochs);
    ar_data_open(ctx, d);
    assert_fails(tess_autoreject_fit(ctx, d->epochs, config, &model), status, part);
    assert_null(model);
}

static void counts_are_checked_first(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 1);
    d.x[7] = (double)NAN; // would be an error of its own if anything were read
    tess_autoreject_fit_config config = defaults();
    config.n_fold = 25;
    refused(ctx, &d, &config, TESS_E_SHAPE,
            "Cannot have number of splits n_splits=25 greater than the number of samples: "
            "n_samples=24.");
    config = defaults();
    config.n_fold = 1;
    refused(ctx, &d, &config, TESS_E_RANGE, "n_fold: 1 is out of range");
    config = defaults();
    static const int64_t one[] = {3};
    config.picks = one;
    config.n_pick = 1;
    refused(ctx, &d, &config, TESS_E_SHAPE, "autoreject is unlikely to be effective: 1 are picked");
    static const int64_t three[] = {3, 1, 5, 3};
    config.picks = three;
    config.n_pick = 4;
    refused(ctx, &d, &config, TESS_E_SHAPE, "Too few channels. autoreject is unlikely");
    static const int64_t wrong[] = {3, 8};
    config.picks = wrong;
    config.n_pick = 2;
    refused(ctx, &d, &config, TESS_E_RANGE, "8 is not a channel");
    d.channels[2].type = TESS_AUTOREJECT_EOG;
    static const int64_t eog[] = {0, 1, 2, 3, 4};
    config.picks = eog;
    config.n_pick = 5;
    refused(ctx, &d, &config, TESS_E_ARGUMENT, "E03 (eog)");
    ar_data_free(&d);
    d = ar_data_make(ctx, 1, N_CHAN, N_TIME, 1);
    config = defaults();
    config.folds = (const uint8_t *)"\1\1\1\1";
    refused(ctx, &d, &config, TESS_E_SHAPE, "folds: fold 0 trains with 1 epochs and tests with 0");
    config.folds = (const uint8_t *)"\3\1\1\1";
    refused(ctx, &d, &config, TESS_E_RANGE, "epoch 0 of fold 0 is 3");
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void grids_are_checked_first(void **state)
{
    (void)state;
    static const double above[] = {0.5, 1.5};
    static const double nan_value[] = {(double)NAN};
    static const int64_t many[] = {9, 8};
    static const int64_t negative[] = {-1};
    tess_context *ctx = unit_context(1, 0);
    ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 1);
    d.x[7] = (double)NAN;
    tess_autoreject_fit_config config = defaults();
    config.consensus = above;
    config.n_consensus = 2;
    refused(ctx, &d, &config, TESS_E_RANGE, "consensus[1]: 1.5");
    config.consensus = nan_value;
    config.n_consensus = 1;
    refused(ctx, &d, &config, TESS_E_RANGE, "consensus[0]: nan");
    config.n_consensus = 0;
    refused(ctx, &d, &config, TESS_E_ARGUMENT, "consensus: is empty");
    config = defaults();
    config.n_interpolate = many;
    config.n_n_interpolate = 2;
    refused(ctx, &d, &config, TESS_E_RANGE, "no pair is admissible for the 8 eeg channels");
    config.n_interpolate = negative;
    config.n_n_interpolate = 1;
    refused(ctx, &d, &config, TESS_E_RANGE, "n_interpolate[0]: -1");
    config.n_n_interpolate = 0;
    refused(ctx, &d, &config, TESS_E_ARGUMENT, "n_interpolate: is empty");
    config = defaults();
    config.seed = -1;
    refused(ctx, &d, &config, TESS_E_RANGE, "seed");
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

// Types of few channels, down to one, and more repairs than a type has channels.
static void small_types_are_fitted(void **state)
{
    (void)state;
    static const int64_t many[] = {1, 8};
    tess_context *ctx = unit_context(1, 0);
    ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 1);
    tess_autoreject_fit_config config = defaults();
    tess_autoreject_model *model = NULL;
    config.n_interpolate = many;
    config.n_n_interpolate = 2;
    assert_ok(tess_autoreject_fit(ctx, d.epochs, &config, &model));
    assert_non_null(strstr(tess_autoreject_model_get_info(model)->notes,
                           "n_interpolate: 8 is skipped for type eeg, which has 8 channels"));
    tess_autoreject_model_destroy(model);
    config = defaults();
    d.channels[0].type = TESS_AUTOREJECT_ECOG;
    d.channels[1].type = TESS_AUTOREJECT_SEEG;
    d.channels[2].type = TESS_AUTOREJECT_SEEG;
    for (int c = 3; c < N_CHAN - 1; c++) {
        d.channels[c].type = TESS_AUTOREJECT_HBO;
    }
    tess_autoreject_epochs_close(d.epochs);
    ar_data_open(ctx, &d);
    assert_ok(tess_autoreject_fit(ctx, d.epochs, &config, &model)); // one ecog, one EEG
    const tess_autoreject_model_info *info = tess_autoreject_model_get_info(model);
    assert_int_equal(info->n_type, 4);
    assert_int_equal(info->n_n_interpolate, 4); // 0 for those that are alone
    assert_int_equal(info->types[0].n_interpolate, 0);
    assert_true(info->types[0].consensus > 0);
    assert_non_null(strstr(info->notes, "There is a single eeg channel"));
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void samples_and_positions_are_checked(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 1);
    tess_autoreject_fit_config config = defaults();
    const double kept = d.channels[3].loc[0];
    d.channels[3].loc[0] = (double)NAN;
    refused(ctx, &d, &config, TESS_E_NUMERIC,
            "Valid channel positions are needed for autoreject to work");
    tess_autoreject_model *model = NULL;
    config.augment = 0; // thresholds alone need none
    assert_ok(tess_autoreject_thresholds(ctx, d.epochs, &config, &model));
    tess_autoreject_model_destroy(model);
    config = defaults();
    d.channels[3].loc[0] = kept;
    d.x[(5 * N_CHAN + 2) * N_TIME + 7] = (double)NAN;
    refused(ctx, &d, &config, TESS_E_NUMERIC,
            "epoch 5, channel 'E03', sample 7 is NaN; 1 of 24 epochs");
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void the_smallest_limit_is_named(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 100000);
    ar_data d = ar_data_make(ctx, 200, N_CHAN, N_TIME, 1);
    tess_autoreject_fit_config config = defaults();
    tess_autoreject_model *model = NULL;
    assert_fails(tess_autoreject_fit(ctx, d.epochs, &config, &model), TESS_E_LIMIT,
                 "100000 bytes are too few for 200 epochs of 8 eeg channels; at least ");
    const char *at = strstr(tess_last_error(), "at least ");
    const uint64_t least = strtoull(at + 9, NULL, 10);
    ar_data_free(&d);
    tess_context_destroy(ctx);
    ctx = unit_context(1, least);
    d = ar_data_make(ctx, 200, N_CHAN, N_TIME, 1);
    assert_ok(tess_autoreject_fit(ctx, d.epochs, &config, &model));
    uint64_t now = 0;
    uint64_t peak = 0;
    tess_context_memory(ctx, &now, &peak);
    assert_true(peak <= least + (1 << 20));
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static const char *notes_of(tess_context *ctx, ar_data *d, const tess_autoreject_fit_config *config,
                            tess_autoreject_model **model)
{
    tess_autoreject_epochs_close(d->epochs);
    ar_data_open(ctx, d);
    assert_ok(tess_autoreject_fit(ctx, d->epochs, config, model));
    return tess_autoreject_model_get_info(*model)->notes;
}

static void what_is_odd_is_noted(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 1);
    static const int64_t one[] = {1};
    tess_autoreject_fit_config config = defaults();
    config.n_interpolate = one;
    config.n_n_interpolate = 1;
    tess_autoreject_model *model = NULL;
    assert_string_equal(notes_of(ctx, &d, &config, &model), "");
    tess_autoreject_model_destroy(model);
    for (int64_t i = 0; i < N_EPOCH * N_CHAN * N_TIME; i++) {
        d.x[i] *= 1e6;
    }
    for (int64_t e = 0; e < N_EPOCH; e++) {
        for (int64_t t = 0; t < N_TIME; t++) {
            d.x[(e * N_CHAN + 4) * N_TIME + t] = 2;
            d.x[(N_CHAN + 5) * N_TIME + t] = 0;
        }
    }
    memcpy(d.channels[2].loc, d.channels[1].loc, sizeof d.channels[1].loc);
    d.channels[6].is_bad = 1;
    const char *notes = notes_of(ctx, &d, &config, &model);
    assert_contains(notes, "are the samples in volts?");
    assert_contains(notes, "Channel 'E05' is flat in every epoch.");
    assert_contains(notes,
                    "Channels of type eeg that are flat in an epoch but not in all: 1 times");
    assert_contains(notes, "Channels 'E02' and 'E03' are in the same place.");
    assert_contains(notes, "1 channels are marked as bad. These will be ignored.");
    assert_int_equal(tess_autoreject_model_get_info(model)->n_pick, N_CHAN - 1);
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void types_without_prediction_are_labelled(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 1);
    for (int c = 0; c < N_CHAN; c++) {
        d.channels[c].type = TESS_AUTOREJECT_SEEG;
    }
    for (int32_t compat = 0; compat < 2; compat++) {
        tess_autoreject_fit_config config = defaults();
        config.compat_types = compat;
        tess_autoreject_model *model = NULL;
        assert_contains(notes_of(ctx, &d, &config, &model), "type seeg cannot be predicted");
        tess_autoreject_log *log = NULL;
        assert_ok(tess_autoreject_log_compute(ctx, model, d.epochs, &log));
        const tess_autoreject_log_info *info = tess_autoreject_log_get_info(log);
        int64_t n[3] = {0, 0, 0};
        for (int64_t i = 0; i < N_EPOCH * N_CHAN; i++) {
            n[info->labels[i]]++;
        }
        assert_true(n[1] + n[2] > 0);
        assert_true(compat ? n[2] > 0 : n[2] == 0);
        // Nothing is repaired.
        tess_autoreject_transform_config keep;
        tess_autoreject_transform_config_init(&keep, sizeof keep);
        keep.keep_bad = 1;
        double *clean = malloc(N_EPOCH * N_CHAN * N_TIME * sizeof *clean);
        const int64_t shape[3] = {N_EPOCH, N_CHAN, N_TIME};
        tess_array out;
        assert_ok(tess_array_init(&out, clean, TESS_F64, 3, shape));
        assert_ok(tess_autoreject_transform(ctx, model, d.epochs, log, &keep, &out, NULL, NULL));
        assert_memory_equal(clean, d.x, N_EPOCH * N_CHAN * N_TIME * sizeof *clean);
        free(clean);
        tess_autoreject_log_destroy(log);
        tess_autoreject_model_destroy(model);
    }
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_checked_first),
        cmocka_unit_test(grids_are_checked_first),
        cmocka_unit_test(small_types_are_fitted),
        cmocka_unit_test(samples_and_positions_are_checked),
        cmocka_unit_test(the_smallest_limit_is_named),
        cmocka_unit_test(what_is_odd_is_noted),
        cmocka_unit_test(types_without_prediction_are_labelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
