#include "autoreject_files.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static const char GOLDEN[] = "autoreject/ar08_formats";

// An array of the golden file, by prefix and name.
static double *reals(tess_context *ctx, const char *prefix, const char *name, int64_t *n)
{
    char whole[64];
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    return golden_f64(ctx, GOLDEN, whole, n);
}

static golden_texts texts(tess_context *ctx, const char *prefix, const char *name)
{
    char whole[64];
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    return golden_read_texts(ctx, whole);
}

static double scalar(tess_context *ctx, const char *prefix, const char *name)
{
    double *value = reals(ctx, prefix, name, NULL);
    const double result = *value;
    free(value);
    return result;
}

static void check_sensors(tess_context *ctx, const char *prefix, const tess_autoreject_sensors *got)
{
    int64_t n;
    double *loc = reals(ctx, prefix, "loc", &n);
    golden_texts names = texts(ctx, prefix, "ch_names");
    golden_texts types = texts(ctx, prefix, "ch_types");
    golden_texts bads = texts(ctx, prefix, "bads");
    assert_int_equal(got->n_chan, names.n);
    assert_int_equal(n, 12 * names.n);
    int64_t n_bad = 0;
    for (int64_t c = 0; c < names.n; c++) {
        const tess_autoreject_channel *channel = &got->channels[c];
        assert_text(&names, c, channel->name);
        assert_text(&types, c, tess_autoreject_type_name(channel->type));
        for (int i = 0; i < 12; i++) {
            const double want = loc[12 * c + i];
            assert_true(channel->loc[i] == want || (isnan(want) && isnan(channel->loc[i])));
        }
        if (channel->is_bad) {
            assert_text(&bads, n_bad++, channel->name);
        }
    }
    assert_int_equal(n_bad, bads.n);
    free(loc);
    free(names.bytes);
    free(types.bytes);
    free(bads.bytes);
}

static void check_points(tess_context *ctx, const char *prefix, const tess_autoreject_sensors *got)
{
    int64_t n;
    double *dig = reals(ctx, prefix, "dig", &n);
    double *kind = reals(ctx, prefix, "dig_kind", NULL);
    assert_int_equal(n, 3 * got->n_point);
    for (int64_t i = 0; i < got->n_point; i++) {
        assert_true(kind[i] == got->points[i].kind);
        assert_memory_equal(dig + 3 * i, got->points[i].position, 3 * sizeof *dig);
    }
    free(dig);
    free(kind);
}

static void check_events(tess_context *ctx, const char *prefix,
                         const tess_autoreject_epochs_info *got)
{
    int64_t n;
    double *events = reals(ctx, prefix, "events", &n);
    double *selection = reals(ctx, prefix, "selection", NULL);
    double *codes = reals(ctx, prefix, "event_codes", NULL);
    golden_texts drop_log = texts(ctx, prefix, "drop_log");
    golden_texts names = texts(ctx, prefix, "event_names");
    assert_int_equal(n, 3 * got->n_epoch);
    for (int64_t i = 0; i < n; i++) {
        assert_true(events[i] == got->events[i]);
    }
    for (int64_t e = 0; e < got->n_epoch; e++) {
        assert_true(selection[e] == (double)got->selection[e]);
    }
    assert_int_equal(got->n_original, drop_log.n);
    for (int64_t i = 0; i < drop_log.n; i++) {
        assert_text(&drop_log, i, got->drop_log[i]);
    }
    assert_int_equal(got->n_event_name, names.n);
    for (int64_t i = 0; i < names.n; i++) {
        assert_text(&names, i, got->event_names[i]);
        assert_true(codes[i] == got->event_codes[i]);
    }
    free(events);
    free(selection);
    free(codes);
    free(drop_log.bytes);
    free(names.bytes);
}

// All samples, then some channels of the last epoch by themselves; bit by bit.
static void check_samples(tess_context *ctx, const char *prefix, tess_autoreject_epochs *epochs)
{
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
    const int64_t n_chan = info->sensors->n_chan;
    const int64_t channels[3] = {n_chan - 1, 0, 1};
    int64_t n;
    double *want = reals(ctx, prefix, "data", &n);
    assert_int_equal(n, info->n_epoch * n_chan * info->n_time);
    double *got = malloc((size_t)n * sizeof *got);
    assert_ok(tess_autoreject_epochs_read(ctx, epochs, 0, info->n_epoch, NULL, 0, got));
    assert_memory_equal(got, want, (size_t)n * sizeof *got);
    assert_ok(tess_autoreject_epochs_read(ctx, epochs, info->n_epoch - 1, 1, channels, 3, got));
    for (int i = 0; i < 3; i++) {
        const int64_t row = (info->n_epoch - 1) * n_chan + channels[i];
        assert_memory_equal(got + i * info->n_time, want + row * info->n_time,
                            (size_t)info->n_time * sizeof *got);
    }
    free(got);
    free(want);
}

static void check_epochs(tess_context *ctx, const char *prefix, const char *file)
{
    tess_autoreject_epochs *epochs = NULL;
    assert_ok(ar_open_as_stored(ctx, file, &epochs));
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
    assert_string_equal(info->format, "fif");
    assert_string_equal(info->path, file);
    assert_true(info->sampling_hz == scalar(ctx, prefix, "sfreq"));
    assert_true(info->tmin == scalar(ctx, prefix, "tmin"));
    double *baseline = reals(ctx, prefix, "baseline", NULL);
    assert_int_equal(info->has_baseline, !isnan(baseline[0]));
    if (info->has_baseline) {
        assert_near(info->baseline, baseline, 2, 1e-8); // stored as float32
    }
    free(baseline);
    check_sensors(ctx, prefix, info->sensors);
    check_events(ctx, prefix, info);
    check_samples(ctx, prefix, epochs);
    tess_autoreject_epochs_close(epochs);
}

static void golden_epochs_are_read(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    check_epochs(ctx, "fif_epochs_", FORMATS "epochs-epo.fif");
    if (has_zlib(ctx)) {
        check_epochs(ctx, "fif_epochs_double_", FORMATS "epochs_double-epo.fif.gz");
    }
    check_epochs(ctx, "fif_meg_", FORMATS "meg-epo.fif");
    tess_autoreject_epochs *epochs = NULL;
    assert_ok(ar_open_as_stored(ctx, FORMATS "epochs-epo.fif", &epochs));
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
    check_points(ctx, "fif_epochs_", info->sensors);
    golden_texts table = golden_read_texts(ctx, "fif_epochs_metadata_json");
    assert_text(&table, 0, info->metadata);
    free(table.bytes);
    assert_int_equal(info->stored_dtype, TESS_F32);
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void what_only_meg_has_is_read(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *epochs = NULL;
    assert_ok(ar_open_as_stored(ctx, FORMATS "meg-epo.fif", &epochs));
    const tess_autoreject_sensors *sensors = tess_autoreject_epochs_get_info(epochs)->sensors;
    double *transform = golden_f64(ctx, GOLDEN, "fif_meg_dev_head_t", NULL);
    double *coils = golden_f64(ctx, GOLDEN, "fif_meg_coil_type", NULL);
    double *vectors = golden_f64(ctx, GOLDEN, "fif_meg_proj_data", NULL);
    double *active = golden_f64(ctx, GOLDEN, "fif_meg_proj_active", NULL);
    golden_texts names = golden_read_texts(ctx, "fif_meg_proj_desc");
    assert_int_equal(sensors->has_device_to_head, 1);
    assert_memory_equal(sensors->device_to_head, transform, 16 * sizeof *transform);
    for (int64_t c = 0; c < sensors->n_chan; c++) {
        assert_true(sensors->channels[c].coil_type == coils[c]);
    }
    assert_int_equal(sensors->n_projector, names.n);
    for (int64_t k = 0; k < names.n; k++) {
        const tess_autoreject_projector *projector = &sensors->projectors[k];
        assert_text(&names, k, projector->name);
        assert_true(projector->is_active == active[k]);
        assert_int_equal(projector->n_chan, sensors->n_chan);
        assert_memory_equal(projector->vectors, vectors + k * sensors->n_chan,
                            (size_t)sensors->n_chan * sizeof *vectors);
        assert_string_equal(projector->channel_names[5], sensors->channels[5].name);
    }
    free(transform);
    free(coils);
    free(vectors);
    free(active);
    free(names.bytes);
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void golden_recordings_are_read(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"fif_raw_single_", FORMATS "cont_single_raw.fif"},
                                           {"fif_raw_short_", FORMATS "cont_short_raw.fif"}};
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tess_autoreject_epochs_config config;
        tess_autoreject_epochs *epochs = NULL;
        tess_autoreject_epochs_config_init(&config, sizeof config);
        config.keep_annotated = 1;
        config.window = 900 / scalar(ctx, cases[i][0], "sfreq"); // all of it
        assert_ok(tess_autoreject_epochs_open(ctx, cases[i][1], &config, &epochs));
        const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
        assert_int_equal(info->n_epoch, 1);
        assert_int_equal(info->n_time, 900);
        assert_true(info->events[0] == (int32_t)scalar(ctx, cases[i][0], "first_samp"));
        check_sensors(ctx, cases[i][0], info->sensors);
        check_points(ctx, cases[i][0], info->sensors);
        check_samples(ctx, cases[i][0], epochs);
        tess_autoreject_epochs_close(epochs);
    }
    tess_context_destroy(ctx);
}

// A file cut short anywhere is refused, with a byte of it in the message.
static void truncated_files_are_refused(void **state)
{
    (void)state;
    static const char *const files[] = {FORMATS "epochs-epo.fif", FORMATS "meg-epo.fif",
                                        FORMATS "cont_short_raw.fif",
                                        FORMATS "epochs_double-epo.fif.gz"};
    tess_context *ctx = unit_context(1, 0);
    const size_t n_file = ARRAY_LEN(files) - !has_zlib(ctx);
    for (size_t i = 0; i < n_file; i++) {
        const char *path = unit_path(i < 3 ? "cut.fif" : "cut.fif.gz");
        size_t n_byte;
        char *bytes = unit_read_file(files[i], &n_byte);
        unit_write_file(path, bytes, n_byte);
        const size_t step = unit_is_quick() ? 97 : i >= 2 ? 7 : 1;
        for (size_t n = n_byte - 1; n > step; n -= step) {
            tess_autoreject_epochs *epochs = NULL;
            assert_int_equal(truncate(path, (off_t)n), 0);
            const tess_status status = tess_autoreject_epochs_open(ctx, path, NULL, &epochs);
            // The closing tag alone may be missing.
            if (status == TESS_OK) {
                assert_true(n + 16 >= n_byte);
                tess_autoreject_epochs_close(epochs);
                continue;
            }
            assert_true(status == TESS_E_TRUNCATED || status == TESS_E_FORMAT);
            assert_contains(tess_last_error(), "byte ");
            assert_contains(tess_last_error(), path);
            assert_null(epochs);
        }
        free(bytes);
    }
    tess_context_destroy(ctx);
}

// Offset of the header of the n-th tag of a kind.
static size_t find_tag(const char *bytes, size_t n_byte, int32_t kind, int nth)
{
    for (size_t at = 0; at + 16 <= n_byte;) {
        uint32_t words[4];
        memcpy(words, bytes + at, sizeof words);
        if (__builtin_bswap32(words[0]) == (uint32_t)kind && nth-- == 0) {
            return at;
        }
        at += 16 + __builtin_bswap32(words[2]);
    }
    fail_msg("no tag %d", (int)kind);
    return 0;
}

static void set_word(char *bytes, size_t at, uint32_t value)
{
    const uint32_t word = __builtin_bswap32(value);
    memcpy(bytes + at, &word, sizeof word);
}

static void spoiled_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        int32_t kind; // of the tag that is spoiled
        int nth;
        size_t offset; // of the word in it, from its header
        uint32_t value;
        tess_status status;
        const char *part;
    } cases[] = {
        {"epochs-epo.fif", 100, 0, 0, 101, TESS_E_FORMAT, "not a FIF file"},
        {"epochs-epo.fif", 200, 0, 8, 0xfffffff0, TESS_E_FORMAT, "negative size (-16)"},
        {"epochs-epo.fif", 200, 0, 8, 0x7ffffff0, TESS_E_TRUNCATED, "2147483632 bytes, but"},
        {"epochs-epo.fif", 200, 0, 12, 36, TESS_E_FORMAT, "lead back to tags before them"},
        {"epochs-epo.fif", 200, 0, 12, 0x80000000, TESS_E_FORMAT, "said to be at byte -2147"},
        {"epochs-epo.fif", 200, 0, 12, 0x7fffffff, TESS_E_TRUNCATED, "expected the 16 bytes"},
        {"epochs-epo.fif", 200, 0, 16, 0, TESS_E_FORMAT, "says 0, but there are 9 tags 203"},
        {"epochs-epo.fif", 200, 0, 16, 10, TESS_E_FORMAT, "says 10, but there are 9"},
        {"epochs-epo.fif", 200, 0, 4, 4, TESS_E_FORMAT, "4 bytes of type 4; expected"},
        {"epochs-epo.fif", 201, 0, 16, 0, TESS_E_FORMAT, "(sampling rate) is 0"},
        {"epochs-epo.fif", 201, 0, 0, 999, TESS_E_FORMAT, "expected in it: tag 201"},
        {"epochs-epo.fif", 254, 2, 16, 0x7fc00000, TESS_E_FORMAT, "has calibration nan"},
        {"epochs-epo.fif", 208, 0, 16, 1000, TESS_E_FORMAT, "last from sample 1000 to"},
        {"epochs-epo.fif", 209, 0, 16, 0x7fffffff, TESS_E_FORMAT, "tag 302 (epoch data) has"},
        {"epochs-epo.fif", 302, 0, 4, 4, TESS_E_FORMAT, "is of type 4; expected a matrix"},
        {"epochs-epo.fif", 302, 0, 0, 999, TESS_E_FORMAT, "expected in it: tag 302 (epoch data)"},
        {"epochs-epo.fif", 3561, 0, 0, 999, TESS_E_FORMAT, "expected tag 3561 (event list)"},
        {"epochs-epo.fif", 3800, 0, 16, 99, TESS_E_FORMAT, "tag 3800 (selection) has 99"},
        {"epochs-epo.fif", 3801, 0, 16, 0x5b5b2278, TESS_E_FORMAT, "tag 3801 (drop log) is no"},
        {"epochs-epo.fif", 105, 0, 16, 77, TESS_E_FORMAT, "closes block 77, but block"},
        {"epochs-epo.fif", 104, 0, 8, 2, TESS_E_FORMAT, "expected 4 bytes or more of type 3"},
        {"cont_single_raw.fif", 300, 1, 4, 20, TESS_E_FORMAT, "expected whole samples of 9"},
        {"cont_single_raw.fif", 208, 0, 16, 0x80000001, TESS_E_FORMAT, "expected 0 or more"},
        {"meg-epo.fif", 3414, 0, 16, 7, TESS_E_FORMAT, "expected 7 vectors of 24 channels"},
    };
    tess_context *ctx = unit_context(1, 0);
    const char *path = unit_path("spoiled.fif");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char whole[512];
        size_t n_byte;
        snprintf(whole, sizeof whole, FORMATS "%s", cases[i].file);
        char *bytes = unit_read_file(whole, &n_byte);
        const size_t at = find_tag(bytes, n_byte, cases[i].kind, cases[i].nth);
        tess_autoreject_epochs *epochs = NULL;
        set_word(bytes, at + cases[i].offset, cases[i].value);
        unit_write_file(path, bytes, n_byte);
        assert_fails(tess_autoreject_epochs_open(ctx, path, NULL, &epochs), cases[i].status,
                     cases[i].part);
        free(bytes);
    }
    tess_context_destroy(ctx);
}

static void other_byte_order_is_named(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    size_t n_byte;
    char *bytes = unit_read_file(FORMATS "meg-epo.fif", &n_byte);
    for (size_t at = 0; at + 4 <= n_byte; at += 4) {
        uint32_t word;
        memcpy(&word, bytes + at, sizeof word);
        set_word(bytes, at, word);
    }
    const char *path = unit_path("swapped");
    tess_autoreject_epochs *epochs = NULL;
    unit_write_file(path, bytes, n_byte);
    assert_fails(tess_autoreject_epochs_open(ctx, path, NULL, &epochs), TESS_E_FORMAT,
                 "FIF files are big-endian");
    free(bytes);
    unit_write_file(path, "hello", 5);
    assert_fails(tess_autoreject_epochs_open(ctx, path, NULL, &epochs), TESS_E_FORMAT,
                 "is none of FIF, EDF");
    assert_fails(tess_autoreject_epochs_open(ctx, unit_path("none.fif"), NULL, &epochs),
                 TESS_E_NOT_FOUND, "none.fif");
    tess_context_destroy(ctx);
}

static void old_files_are_read(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    size_t n_byte;
    char *bytes = unit_read_file(FORMATS "epochs-epo.fif", &n_byte);
    // Before 2015: block 122, tags 304 and 305 for the baseline, neither selection nor drop log.
    for (int i = 0;; i++) {
        const size_t at = find_tag(bytes, n_byte, 104, i);
        uint32_t word;
        memcpy(&word, bytes + at + 16, sizeof word);
        if (__builtin_bswap32(word) == 373) {
            set_word(bytes, at + 16, 122);
            break;
        }
    }
    for (int i = 0;; i++) {
        const size_t at = find_tag(bytes, n_byte, 105, i);
        uint32_t word;
        memcpy(&word, bytes + at + 16, sizeof word);
        if (__builtin_bswap32(word) == 373) {
            set_word(bytes, at + 16, 122);
            break;
        }
    }
    set_word(bytes, find_tag(bytes, n_byte, 3568, 1), 304); // the first are the annotations'
    set_word(bytes, find_tag(bytes, n_byte, 3569, 1), 305);
    set_word(bytes, find_tag(bytes, n_byte, 3800, 0), 999);
    set_word(bytes, find_tag(bytes, n_byte, 3801, 0), 999);
    const char *path = unit_path("old-epo.fif");
    tess_autoreject_epochs *epochs = NULL;
    unit_write_file(path, bytes, n_byte);
    assert_ok(ar_open_as_stored(ctx, path, &epochs));
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
    assert_int_equal(info->n_epoch, 6);
    assert_int_equal(info->n_original, 6);
    assert_int_equal(info->selection[5], 5);
    assert_string_equal(info->drop_log[5], "");
    assert_int_equal(info->has_baseline, 1);
    check_samples(ctx, "fif_epochs_", epochs);
    tess_autoreject_epochs_close(epochs);
    free(bytes);
    tess_context_destroy(ctx);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    static const char *const files[] = {FORMATS "meg-epo.fif", FORMATS "cont_short_raw.fif",
                                        FORMATS "epochs_double-epo.fif.gz"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        const long long step = unit_is_quick() ? 7 : 1;
        for (long long fail_at = 1;; fail_at += step) {
            unit_allocator allocator;
            tess_context_config config;
            tess_context *ctx = NULL;
            tess_autoreject_epochs *epochs = NULL;
            unit_allocator_init(&allocator, 0);
            tess_context_config_init(&config, sizeof config);
            config.n_thread = 1;
            config.allocator = &allocator.table;
            assert_ok(tess_context_create(&config, &ctx));
            allocator.fail_at = allocator.n_alloc + fail_at;
            const tess_status status = tess_autoreject_epochs_open(ctx, files[i], NULL, &epochs);
            const int has_failed = allocator.n_alloc >= allocator.fail_at;
            tess_autoreject_epochs_close(epochs);
            tess_context_destroy(ctx);
            assert_int_equal(allocator.n_live, 0);
            if (!has_failed) {
                assert_true(status == TESS_OK || status == TESS_E_UNSUPPORTED);
                break;
            }
            // A note may be lost; everything else fails. Without zlib the last file is refused.
            assert_true(status == TESS_E_MEMORY || status == TESS_OK || i == 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_epochs_are_read),
        cmocka_unit_test(what_only_meg_has_is_read),
        cmocka_unit_test(golden_recordings_are_read),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(spoiled_files_are_refused),
        cmocka_unit_test(other_byte_order_is_named),
        cmocka_unit_test(old_files_are_read),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
