#include "autoreject_recordings.h"

static void a_continuous_set_is_read(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    ar_file file;
    assert_ok(ar_file_open(ctx, &tess_ar_eeglab, FORMATS "tiny_cont.set", NULL, &file));
    assert_true(file.is_continuous);
    assert_true(file.continuous.sampling_hz == 128);
    assert_string_equal(file.epochs->info.format, "eeglab");
    assert_contains(file.epochs->info.notes, "millimetres");
    ar_file_check_channels(&file, "set_cont");
    ar_file_check_annotations(&file, "set_cont", 0);
    ar_file_check_samples(&file, "set_cont", 0);
    ar_file_check_pieces(&file);
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

static void epochs_of_a_set_are_read(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    ar_file file;
    assert_ok(ar_file_open(ctx, &tess_ar_eeglab, FORMATS "tiny_epochs.set", NULL, &file));
    assert_false(file.is_continuous);
    const tess_autoreject_epochs_info *info = &file.epochs->info;
    assert_int_equal(info->n_epoch, 4);
    assert_int_equal(info->n_time, 20);
    assert_true(info->sampling_hz == 128);
    assert_true(info->tmin == golden_scalar(ctx, "autoreject/ar08_formats", "set_epochs_tmin"));
    ar_file_check_channels(&file, "set_epochs");
    ar_file_check_samples(&file, "set_epochs", 0);
    int64_t *events = golden_i64(ctx, "autoreject/ar08_formats", "set_epochs_events", NULL);
    for (int i = 0; i < 12; i++) {
        // The file is of MNE 1.3, whose samples of epochs count from 1.
        assert_int_equal(info->events[i], events[i] - (i % 3 == 0));
    }
    free(events);
    assert_int_equal(info->n_original, 4);
    assert_int_equal(info->n_event_name, 2);
    assert_string_equal(info->event_names[0], "stim0");
    assert_string_equal(info->event_names[1], "stim1");
    assert_int_equal(info->event_codes[1], 2);
    // Some channels of some epochs.
    const int64_t channels[] = {3, 1};
    double *part = malloc(2 * 2 * 20 * sizeof *part);
    int64_t n = 0;
    double *whole = ar_file_samples(&file, &n);
    assert_ok(file.epochs->reader.read(ctx, file.epochs->reader.impl, 2, 2, channels, 2, part));
    for (int k = 0; k < 4; k++) {
        assert_memory_equal(part + 20 * k, whole + ((2 + k / 2) * 5 + channels[k % 2]) * 20,
                            20 * sizeof *part);
    }
    free(part);
    free(whole);
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

static void what_is_not_read_is_explained(void **state)
{
    (void)state;
    char head[512] = "MATLAB 7.3 MAT-file, Platform: GLNXA64";
    tess_context *ctx = unit_context(1, 0);
    ar_file file;
    const char *path = unit_path("other.set");
    unit_write_file(path, head, sizeof head);
    assert_fails(ar_file_open(ctx, &tess_ar_eeglab, path, NULL, &file), TESS_E_FORMAT,
                 "MNE-Python"); // version 7.3 without HDF5 behind it
    ar_file_close(&file);
    snprintf(head, sizeof head, "MATLAB 5.0 MAT-file");
    memcpy(head + 124, "\x01\x00MI", 4);
    unit_write_file(path, head, sizeof head);
    assert_fails(ar_file_open(ctx, &tess_ar_eeglab, path, NULL, &file), TESS_E_FORMAT,
                 "EEG.nbchan is missing"); // big-endian, then zeros
    ar_file_close(&file);
    memcpy(head + 124, "\x00\x01IM", 4);
    unit_write_file(path, head, 128);
    assert_fails(ar_file_open(ctx, &tess_ar_eeglab, path, NULL, &file), TESS_E_FORMAT,
                 "EEG.nbchan is missing");
    ar_file_close(&file);
    // The samples beside the file.
    ar_file_copy("tiny_epochs.set");
    remove(unit_path("tiny_epochs.fdt"));
    assert_fails(ar_file_open(ctx, &tess_ar_eeglab, unit_path("tiny_epochs.set"), NULL, &file),
                 TESS_E_NOT_FOUND, "tiny_epochs.fdt");
    ar_file_close(&file);
    unit_write_file(unit_path("tiny_epochs.fdt"), head, 400);
    assert_fails(ar_file_open(ctx, &tess_ar_eeglab, unit_path("tiny_epochs.set"), NULL, &file),
                 TESS_E_TRUNCATED, "tiny_epochs.fdt: 80 samples of 5 channels");
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

static void spoiled_files_never_crash(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *packed = ar_file_copy("tiny_cont.set");
    const char *plain = ar_file_copy("tiny_epochs.set");
    ar_file_copy("tiny_epochs.fdt");
    ar_file_spoil(ctx, &tess_ar_eeglab, packed, packed, 4000);
    ar_file_spoil(ctx, &tess_ar_eeglab, plain, plain, 8000);
    tess_context_destroy(ctx);
}

// A compressed variable may not grow beyond what memory is allowed.
static void unpacking_keeps_to_the_limit(void **state)
{
    (void)state;
    ar_file file;
    tess_context *ctx = unit_context(1, 64 << 20);
    ctx->memory_limit_bytes = 4096;
    assert_fails(ar_file_open(ctx, &tess_ar_eeglab, FORMATS "tiny_cont.set", NULL, &file),
                 TESS_E_LIMIT, ".fdt");
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_continuous_set_is_read),
        cmocka_unit_test(epochs_of_a_set_are_read),
        cmocka_unit_test(what_is_not_read_is_explained),
        cmocka_unit_test(spoiled_files_never_crash),
        cmocka_unit_test(unpacking_keeps_to_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
