// Reject logs: rules, files, and the repair of epochs by them.
#include "autoreject_data.h"
#include "unit_golden.h"

#include <string.h>

enum { N_EPOCH = 6, N_CHAN = 6, N_TIME = 20 };

static const int64_t all_channels[N_CHAN] = {0, 1, 2, 3, 4, 5};

// A model of given thresholds for the data's channels.
static tess_autoreject_model *model_of(tess_context *ctx, const ar_data *d, double threshold,
                                       double consensus, int64_t n_interpolate)
{
    const char *names[N_CHAN];
    double thresholds[N_CHAN];
    for (int c = 0; c < N_CHAN; c++) {
        names[c] = d->names[c];
        thresholds[c] = threshold;
    }
    const tess_autoreject_type_fit type = {.struct_size = sizeof type,
                                           .type = TESS_AUTOREJECT_EEG,
                                           .n_chan = N_CHAN,
                                           .channels = all_channels,
                                           .thresholds = thresholds,
                                           .consensus = consensus,
                                           .n_interpolate = n_interpolate};
    const tess_autoreject_model_info info = {.struct_size = sizeof info,
                                             .n_chan = N_CHAN,
                                             .channel_names = names,
                                             .n_type = 1,
                                             .types = &type};
    tess_autoreject_model *model = NULL;
    assert_ok(tess_autoreject_model_create(ctx, &info, &model));
    return model;
}

// Channel c of epoch e swings by e + c / 10.
static ar_data ramp(tess_context *ctx)
{
    ar_data d = ar_data_make(ctx, N_EPOCH, N_CHAN, N_TIME, 2);
    for (int64_t e = 0; e < N_EPOCH; e++) {
        for (int64_t c = 0; c < N_CHAN; c++) {
            for (int64_t t = 0; t < N_TIME; t++) {
                const double height = e % 2 ? (double)c : (double)(c == e);
                d.x[(e * N_CHAN + c) * N_TIME + t] = t == 3 ? height : 0.01 * (double)(c * t);
            }
        }
    }
    return d;
}

static void labels_follow_the_rules(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    ar_data d = ramp(ctx);
    tess_autoreject_model *model = model_of(ctx, &d, 0.98, 0.75, 2);
    tess_autoreject_log *log = NULL;
    assert_ok(tess_autoreject_log_compute(ctx, model, d.epochs, &log));
    const tess_autoreject_log_info *info = tess_autoreject_log_get_info(log);
    static const int8_t odd[N_CHAN] = {0, 1, 1, 1, 2, 2};
    for (int64_t e = 0; e < N_EPOCH; e++) {
        assert_int_equal(info->bad_epochs[e], e % 2); // five of six are bad
        for (int64_t c = 0; c < N_CHAN; c++) {
            const int want = e % 2 ? odd[c] : (c == e ? 2 : (c == 5 && e != 5) ? 0 : 0);
            assert_int_equal(info->labels[e * N_CHAN + c], want);
        }
    }
    assert_string_equal(info->channel_names[5], "E06");
    tess_autoreject_log_destroy(log);
    tess_autoreject_model_destroy(model);
    // Five of six to be repaired leaves one: the epoch is bad, and the log says so.
    model = model_of(ctx, &d, 0.98, 1, 5);
    assert_ok(tess_autoreject_log_compute(ctx, model, d.epochs, &log));
    info = tess_autoreject_log_get_info(log);
    assert_int_equal(info->bad_epochs[1], 1);
    assert_int_equal(info->bad_epochs[2], 0);
    assert_contains(
        info->notes,
        "channels of type eeg would be left to repair the others from: 3, the first is epoch 1.");
    tess_autoreject_log_destroy(log);
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void channels_are_matched_by_name(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    ar_data d = ramp(ctx);
    tess_autoreject_model *model = model_of(ctx, &d, 0.98, 0.75, 2);
    tess_autoreject_log *want = NULL;
    assert_ok(tess_autoreject_log_compute(ctx, model, d.epochs, &want));
    // The same channels in reverse order.
    ar_data other = ramp(ctx);
    for (int c = 0; c < N_CHAN; c++) {
        other.channels[c] = d.channels[N_CHAN - 1 - c];
        for (int64_t e = 0; e < N_EPOCH; e++) {
            memcpy(other.x + (e * N_CHAN + c) * N_TIME,
                   d.x + (e * N_CHAN + N_CHAN - 1 - c) * N_TIME, N_TIME * sizeof *d.x);
        }
    }
    tess_autoreject_epochs_close(other.epochs);
    ar_data_open(ctx, &other);
    tess_autoreject_log *got = NULL;
    assert_ok(tess_autoreject_log_compute(ctx, model, other.epochs, &got));
    for (int64_t i = 0; i < N_EPOCH * N_CHAN; i++) {
        const int64_t mirror = i / N_CHAN * N_CHAN + N_CHAN - 1 - i % N_CHAN;
        assert_int_equal(tess_autoreject_log_get_info(got)->labels[i],
                         tess_autoreject_log_get_info(want)->labels[mirror]);
    }
    tess_autoreject_log_destroy(got);
    other.channels[2].name = "Other";
    tess_autoreject_epochs_close(other.epochs);
    ar_data_open(ctx, &other);
    assert_fails(tess_autoreject_log_compute(ctx, model, other.epochs, &got), TESS_E_MISMATCH,
                 "channel 'E04' of the model is not among");
    tess_autoreject_log_destroy(want);
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    ar_data_free(&other);
    tess_context_destroy(ctx);
}

static void files_hold_all_of_a_log(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static const char *const names[] = {"Fz", "\xc3\x89lectrode", "a much longer name than others"};
    static const int8_t labels[] = {0, 1, 2, -1, 0, 0};
    static const uint8_t bad[] = {1, 0};
    tess_autoreject_log_info info = {.struct_size = sizeof info,
                                     .n_epoch = 2,
                                     .n_chan = 3,
                                     .channel_names = names,
                                     .labels = labels,
                                     .bad_epochs = bad};
    tess_autoreject_log *log = NULL;
    tess_autoreject_log *again = NULL;
    const char *path = unit_path("log.npz");
    assert_ok(tess_autoreject_log_create(ctx, &info, &log));
    assert_ok(tess_autoreject_log_save(ctx, log, path, 0));
    assert_fails(tess_autoreject_log_save(ctx, log, path, 0), TESS_E_EXISTS, "exists already");
    assert_ok(tess_autoreject_log_load(ctx, path, &again));
    const tess_autoreject_log_info *got = tess_autoreject_log_get_info(again);
    assert_int_equal(got->n_epoch, 2);
    assert_int_equal(got->n_chan, 3);
    for (int c = 0; c < 3; c++) {
        assert_string_equal(got->channel_names[c], names[c]);
    }
    assert_memory_equal(got->labels, labels, sizeof labels);
    assert_memory_equal(got->bad_epochs, bad, sizeof bad);
    tess_autoreject_log_destroy(again);
    size_t n = 0;
    char *bytes = unit_read_file(path, &n);
    for (size_t i = 0; i < n; i += 3) { // cut anywhere: an error, never a crash
        unit_write_file(unit_path("cut.npz"), bytes, i);
        assert_int_not_equal(tess_autoreject_log_load(ctx, unit_path("cut.npz"), &again), TESS_OK);
    }
    free(bytes);
    static const int8_t odd[] = {0, 1, 3, -1, 0, 0};
    tess_autoreject_log_destroy(log);
    info.labels = odd;
    assert_fails(tess_autoreject_log_create(ctx, &info, &log), TESS_E_RANGE,
                 "epoch 0, channel 2 is 3");
    tess_context_destroy(ctx);
}

static void transform_repairs_and_drops(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    ar_data d = ramp(ctx);
    tess_autoreject_model *model = model_of(ctx, &d, 0.98, 0.75, 2);
    tess_autoreject_log *log = NULL;
    assert_ok(tess_autoreject_log_compute(ctx, model, d.epochs, &log));
    double clean[N_EPOCH * N_CHAN * N_TIME];
    int64_t n_kept = 0;
    assert_ok(tess_autoreject_transform(ctx, model, d.epochs, log, NULL, NULL, NULL, &n_kept));
    assert_int_equal(n_kept, 3);
    int64_t shape[3] = {n_kept, N_CHAN, N_TIME};
    tess_array out;
    assert_ok(tess_array_init(&out, clean, TESS_F64, 3, shape));
    assert_ok(tess_autoreject_transform(ctx, model, d.epochs, log, NULL, &out, NULL, NULL));
    for (int64_t k = 0; k < 3; k++) { // epochs 0, 2, 4; channel e of each is predicted
        const int64_t e = 2 * k;
        double weights[N_CHAN];
        int64_t from[N_CHAN];
        int64_t n = 0;
        for (int64_t c = 0; c < N_CHAN; c++) {
            if (c != e) {
                from[n++] = c;
            }
        }
        assert_ok(tess_autoreject_weights(ctx, &d.sensors, from, n, &e, 1, NULL, weights));
        for (int64_t c = 0; c < N_CHAN; c++) {
            for (int64_t t = 0; t < N_TIME; t++) {
                double want = d.x[(e * N_CHAN + c) * N_TIME + t];
                if (c == e) {
                    want = 0;
                    for (int64_t i = 0; i < n; i++) {
                        want += weights[i] * d.x[(e * N_CHAN + from[i]) * N_TIME + t];
                    }
                }
                assert_true(fabs(clean[(k * N_CHAN + c) * N_TIME + t] - want) < 1e-9);
            }
        }
    }
    tess_autoreject_transform_config config;
    tess_autoreject_transform_config_init(&config, sizeof config);
    config.keep_bad = 1;
    assert_ok(tess_autoreject_transform(ctx, model, d.epochs, log, &config, NULL, NULL, &n_kept));
    assert_int_equal(n_kept, N_EPOCH);
    shape[0] = 2;
    assert_ok(tess_array_init(&out, clean, TESS_F64, 3, shape));
    assert_fails(tess_autoreject_transform(ctx, model, d.epochs, log, NULL, &out, NULL, NULL),
                 TESS_E_SHAPE, "out: must be f64 [3][6][20]");
    assert_fails(tess_autoreject_transform(ctx, model, d.epochs, log, NULL, &out, "x.npy", NULL),
                 TESS_E_ARGUMENT, "not both");
    assert_ok(tess_autoreject_transform(ctx, model, d.epochs, log, NULL, NULL,
                                        unit_path("clean.npy"), &n_kept));
    assert_true(unit_exists(unit_path("clean.npy")));
    tess_autoreject_log_destroy(log);
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

static void edited_logs_are_checked(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    ar_data d = ramp(ctx);
    tess_autoreject_model *model = model_of(ctx, &d, 0.98, 0.75, 2);
    tess_autoreject_log *log = NULL;
    tess_autoreject_log *edited = NULL;
    assert_ok(tess_autoreject_log_compute(ctx, model, d.epochs, &log));
    tess_autoreject_log_info info = *tess_autoreject_log_get_info(log);
    int8_t labels[N_EPOCH * N_CHAN];
    memcpy(labels, info.labels, sizeof labels);
    labels[0] = 1; // bad, but not repaired
    info.labels = labels;
    assert_ok(tess_autoreject_log_create(ctx, &info, &edited));
    tess_autoreject_transform_config config;
    tess_autoreject_transform_config_init(&config, sizeof config);
    config.drop_partial = 1;
    int64_t n_kept = 0;
    assert_ok(
        tess_autoreject_transform(ctx, model, d.epochs, edited, &config, NULL, NULL, &n_kept));
    assert_int_equal(n_kept, 2);
    tess_autoreject_log_destroy(edited);
    info.n_epoch = N_EPOCH - 1;
    assert_ok(tess_autoreject_log_create(ctx, &info, &edited));
    assert_fails(tess_autoreject_transform(ctx, model, d.epochs, edited, NULL, NULL, NULL, NULL),
                 TESS_E_SHAPE, "log: is a log of 5 epochs");
    tess_autoreject_log_destroy(edited);
    // One channel more than at the fit, marked in the log.
    ar_data more = ar_data_make(ctx, N_EPOCH, N_CHAN + 1, N_TIME, 3);
    int8_t more_labels[N_EPOCH * (N_CHAN + 1)] = {0};
    const char *names[N_CHAN + 1];
    for (int c = 0; c <= N_CHAN; c++) {
        names[c] = more.names[c];
    }
    more_labels[N_CHAN] = 2;
    info.n_epoch = N_EPOCH;
    info.n_chan = N_CHAN + 1;
    info.labels = more_labels;
    info.channel_names = names;
    assert_ok(tess_autoreject_log_create(ctx, &info, &edited));
    assert_fails(tess_autoreject_transform(ctx, model, more.epochs, edited, NULL, NULL, NULL, NULL),
                 TESS_E_MISMATCH, "You are passing channels which were not present at fit-time.");
    tess_autoreject_log_destroy(edited);
    tess_autoreject_log_destroy(log);
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    ar_data_free(&more);
    tess_context_destroy(ctx);
}

static tess_autoreject_log *log_of(tess_context *ctx, const tess_autoreject_model *model,
                                   tess_autoreject_epochs *epochs)
{
    tess_autoreject_log *log = NULL;
    assert_ok(tess_autoreject_log_compute(ctx, model, epochs, &log));
    return log;
}

static void assert_same_labels(tess_autoreject_log *a, tess_autoreject_log *b, int want_same)
{
    const tess_autoreject_log_info *x = tess_autoreject_log_get_info(a);
    const tess_autoreject_log_info *y = tess_autoreject_log_get_info(b);
    const size_t n = (size_t)(x->n_epoch * x->n_chan);
    const int is_same = memcmp(x->labels, y->labels, n) == 0 &&
                        memcmp(x->bad_epochs, y->bad_epochs, (size_t)x->n_epoch) == 0;
    assert_int_equal(is_same, want_same);
    tess_autoreject_log_destroy(a);
    tess_autoreject_log_destroy(b);
}

// A fit leaves its peak-to-peaks with the epochs of a file: the log must be that of the samples.
static void logs_after_a_fit_are_those_of_the_samples(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    tess_autoreject_epochs *fitted = NULL;
    tess_autoreject_epochs *fresh = NULL;
    tess_autoreject_model *model = NULL;
    tess_autoreject_fit_config config;
    tess_autoreject_fit_config_init(&config, sizeof config);
    config.n_fold = 4;
    const char *path = TESS_GOLDEN "/autoreject/ar02_eeg_odd_37x20x45.npz";
    assert_ok(tess_autoreject_epochs_open(ctx, path, NULL, &fitted));
    assert_ok(tess_autoreject_epochs_open(ctx, path, NULL, &fresh));
    assert_ok(tess_autoreject_fit(ctx, fitted, &config, &model));
    assert_same_labels(log_of(ctx, model, fitted), log_of(ctx, model, fresh), 1);
    tess_autoreject_model_destroy(model);
    tess_autoreject_epochs_close(fitted);
    tess_autoreject_epochs_close(fresh);
    tess_context_destroy(ctx);
}

// Arrays are their owner's, who may change them between a fit and a log.
static void logs_follow_arrays_that_change(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    ar_data d = ar_data_make(ctx, 24, N_CHAN, N_TIME, 5);
    tess_autoreject_fit_config config;
    tess_autoreject_fit_config_init(&config, sizeof config);
    config.n_fold = 4;
    tess_autoreject_model *model = NULL;
    assert_ok(tess_autoreject_fit(ctx, d.epochs, &config, &model));
    tess_autoreject_log *before = log_of(ctx, model, d.epochs);
    for (int64_t i = 0; i < N_CHAN * N_TIME; i++) {
        d.x[i] *= 1000;
    }
    assert_same_labels(before, log_of(ctx, model, d.epochs), 0);
    tess_autoreject_model_destroy(model);
    ar_data_free(&d);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_follow_the_rules),
        cmocka_unit_test(channels_are_matched_by_name),
        cmocka_unit_test(files_hold_all_of_a_log),
        cmocka_unit_test(transform_repairs_and_drops),
        cmocka_unit_test(edited_logs_are_checked),
        cmocka_unit_test(logs_after_a_fit_are_those_of_the_samples),
        cmocka_unit_test(logs_follow_arrays_that_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
