#include "autoreject_files.h"
#include "systems/autoreject/files/fif_out.h"

#include <math.h>

static tess_autoreject_epochs *open_ok(tess_context *ctx, const char *path)
{
    tess_autoreject_epochs *epochs = NULL;
    assert_ok(ar_open_as_stored(ctx, path, &epochs));
    return epochs;
}

static double *all_samples(tess_context *ctx, tess_autoreject_epochs *epochs, int64_t *n_item)
{
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
    *n_item = info->n_epoch * info->sensors->n_chan * info->n_time;
    double *samples = malloc((size_t)*n_item * sizeof *samples);
    assert_ok(tess_autoreject_epochs_read(ctx, epochs, 0, info->n_epoch, NULL, 0, samples));
    return samples;
}

// Doubles what is written, and remembers which epochs it saw.
typedef struct seen {
    int64_t n_time_chan;
    int64_t epochs[16];
    int64_t n;
    int64_t fail_at; // -1: never
} seen;

static tess_status twice(void *user, int64_t first, int64_t count, double *samples)
{
    seen *s = user;
    for (int64_t e = 0; e < count; e++) {
        s->epochs[s->n++] = first + e;
        if (first + e == s->fail_at) {
            return TESS_E_NUMERIC;
        }
    }
    for (int64_t i = 0; i < count * s->n_time_chan; i++) {
        samples[i] *= 2;
    }
    return TESS_OK;
}

static void check_sensors(const tess_autoreject_sensors *got, const tess_autoreject_sensors *want)
{
    assert_int_equal(got->n_chan, want->n_chan);
    for (int64_t c = 0; c < got->n_chan; c++) {
        const tess_autoreject_channel *a = &got->channels[c];
        const tess_autoreject_channel *b = &want->channels[c];
        assert_string_equal(a->name, b->name);
        assert_int_equal(a->type, b->type);
        assert_int_equal(a->coil_type, b->coil_type);
        assert_int_equal(a->is_bad, b->is_bad);
        for (int i = 0; i < 12; i++) {
            assert_true(a->loc[i] == b->loc[i] || (isnan(a->loc[i]) && isnan(b->loc[i])));
        }
    }
    assert_int_equal(got->n_point, want->n_point);
    assert_memory_equal(got->points, want->points, (size_t)got->n_point * sizeof *got->points);
    assert_memory_equal(got->device_to_head, want->device_to_head, sizeof got->device_to_head);
    assert_int_equal(got->n_projector, want->n_projector);
    for (int64_t k = 0; k < got->n_projector; k++) {
        assert_string_equal(got->projectors[k].name, want->projectors[k].name);
        assert_int_equal(got->projectors[k].is_active, want->projectors[k].is_active);
        assert_memory_equal(got->projectors[k].vectors, want->projectors[k].vectors,
                            (size_t)(got->projectors[k].n_vector * got->projectors[k].n_chan) *
                                sizeof(double));
    }
}

// A written file against its source without epochs 1 and 3, its samples doubled.
static void check_copy(tess_context *ctx, tess_autoreject_epochs *source, const char *path)
{
    tess_autoreject_epochs *copy = open_ok(ctx, path);
    const tess_autoreject_epochs_info *got = tess_autoreject_epochs_get_info(copy);
    const tess_autoreject_epochs_info *want = tess_autoreject_epochs_get_info(source);
    check_sensors(got->sensors, want->sensors);
    assert_int_equal(got->n_epoch, want->n_epoch - 2);
    assert_true(got->sampling_hz == want->sampling_hz && got->tmin == want->tmin);
    assert_int_equal(got->has_baseline, want->has_baseline);
    assert_memory_equal(got->baseline, want->baseline, sizeof got->baseline);
    int64_t n_got;
    int64_t n_want;
    double *a = all_samples(ctx, copy, &n_got);
    double *b = all_samples(ctx, source, &n_want);
    const int64_t epoch = got->sensors->n_chan * got->n_time;
    for (int64_t e = 0, k = 0; e < want->n_epoch; e++) {
        const int64_t original = want->selection[e];
        if (e == 1 || e == 3) {
            assert_string_equal(got->drop_log[original], "AUTOREJECT");
            continue;
        }
        assert_memory_equal(got->events + 3 * k, want->events + 3 * e, 3 * sizeof *got->events);
        assert_int_equal(got->selection[k], original);
        assert_string_equal(got->drop_log[original], "");
        for (int64_t i = 0; i < epoch; i++) {
            assert_true(a[k * epoch + i] == 2 * b[e * epoch + i]);
        }
        k++;
    }
    assert_int_equal(got->n_original, want->n_original);
    assert_int_equal(got->n_event_name, want->n_event_name);
    assert_string_equal(got->event_names[0], want->event_names[0]);
    assert_int_equal(got->metadata != NULL, want->metadata != NULL);
    free(a);
    free(b);
    tess_autoreject_epochs_close(copy);
}

static void copies_are_their_sources(void **state)
{
    (void)state;
    static const char *const sources[] = {
        FORMATS "epochs-epo.fif", FORMATS "epochs_double-epo.fif.gz", FORMATS "meg-epo.fif"};
    static const char *const copies[] = {"copy-epo.fif", "copy-epo.fif.gz"};
    static const uint8_t drop[16] = {0, 1, 0, 1};
    tess_context *ctx = unit_context(1, 0);
    const int with_zlib = has_zlib(ctx);
    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        if (i == 1 && !with_zlib) {
            continue;
        }
        tess_autoreject_epochs *source = open_ok(ctx, sources[i]);
        const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(source);
        for (size_t k = 0; k < (with_zlib ? 4 : 2); k++) {
            seen user = {.n_time_chan = info->sensors->n_chan * info->n_time, .fail_at = -1};
            tess_autoreject_write_config config;
            tess_autoreject_write_config_init(&config, sizeof config);
            config.overwrite = 1;
            config.double_precision = i == 1; // its samples do not fit into float32
            config.drop = drop;
            config.edit = twice;
            config.user = &user;
            config.provenance = "{\"by\": \"test\"}";
            const char *path = unit_path(copies[k / 2]);
            if (k % 2 == 0) {
                assert_ok(tess_autoreject_epochs_write(ctx, source, path, &config));
            } else {
                // Two epochs in a part.
                const uint64_t epoch_bytes =
                    (uint64_t)user.n_time_chan * (config.double_precision ? 8 : 4);
                assert_ok(tess_ar_fif_write_parts(ctx, source, path, &config, 2 * epoch_bytes));
            }
            assert_int_equal(user.n, info->n_epoch - 2);
            assert_int_equal(user.epochs[1], 2);
            check_copy(ctx, source, path);
        }
        tess_autoreject_epochs_close(source);
    }
    assert_true(unit_exists(unit_path("copy-epo-1.fif")));
    assert_int_equal(unit_exists(unit_path("copy-epo-1.fif.gz")), with_zlib);
    tess_context_destroy(ctx);
}

static void rows_of_metadata_follow_their_epochs(void **state)
{
    (void)state;
    static const uint8_t drop[6] = {1, 0, 0, 0, 0, 1};
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *source = open_ok(ctx, FORMATS "epochs-epo.fif");
    const char *table = tess_autoreject_epochs_get_info(source)->metadata;
    tess_autoreject_write_config config;
    tess_autoreject_write_config_init(&config, sizeof config);
    config.drop = drop;
    const char *path = unit_path("rows-epo.fif");
    assert_ok(tess_ar_fif_write_parts(ctx, source, path, &config, 1));
    tess_autoreject_epochs *copy = open_ok(ctx, path);
    const char *kept = tess_autoreject_epochs_get_info(copy)->metadata;
    // Rows are objects without objects in them.
    const char *second = strchr(strchr(table, '{') + 1, '{');
    const size_t n = strlen(kept);
    assert_true(n > 2);
    assert_memory_equal(kept + 1, second, n - 2);
    const char *last = strrchr(table, '{');
    assert_int_equal(second + (n - 2) - table, last - 1 - table);
    tess_autoreject_epochs_close(copy);
    tess_autoreject_epochs_close(source);
    tess_context_destroy(ctx);
}

static void arrays_become_files(void **state)
{
    (void)state;
    enum { N_EPOCH = 5, N_CHAN = 3, N_TIME = 7 };
    static const char *const names[N_CHAN] = {"a name of more than fifteen",
                                              "a name of more than 15", "C\xc3\xb6:z"};
    tess_context *ctx = unit_context(1, 0);
    float x[N_EPOCH * N_CHAN * N_TIME];
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        x[i] = (float)i * 1.5e-6F;
    }
    tess_autoreject_channel channels[N_CHAN] = {{0}};
    for (int c = 0; c < N_CHAN; c++) {
        channels[c].name = names[c];
        channels[c].type = c < 2 ? TESS_AUTOREJECT_EEG : TESS_AUTOREJECT_EOG;
        channels[c].coil_type = c < 2;
        channels[c].is_bad = c > 0;
        channels[c].loc[0] = c == 2 ? (double)NAN : 0.5 * c;
    }
    const char *const projected[2] = {names[0], names[2]};
    const double vectors[2] = {0.5, 0.25};
    const tess_autoreject_projector projector = {
        .name = "p", .n_vector = 1, .n_chan = 2, .channel_names = projected, .vectors = vectors};
    const tess_autoreject_point point = {.kind = 4, .ident = 1, .position = {0, 0.125, 0.5}};
    tess_autoreject_sensors sensors;
    tess_autoreject_sensors_init(&sensors, sizeof sensors);
    sensors.n_chan = N_CHAN;
    sensors.channels = channels;
    sensors.n_projector = 1;
    sensors.projectors = &projector;
    sensors.n_point = 1;
    sensors.points = &point;
    sensors.has_device_to_head = 1;
    const int64_t shape[3] = {N_EPOCH, N_CHAN, N_TIME};
    tess_array array;
    tess_autoreject_epochs *epochs = NULL;
    assert_ok(tess_array_init(&array, x, TESS_F32, 3, shape));
    assert_ok(tess_autoreject_epochs_from_array(ctx, &array, &sensors, NULL, 128, -0.25, &epochs));
    const char *path = unit_path("array-epo.fif");
    assert_ok(tess_autoreject_epochs_write(ctx, epochs, path, NULL));
    tess_autoreject_epochs *copy = open_ok(ctx, path);
    check_sensors(tess_autoreject_epochs_get_info(copy)->sensors, &sensors);
    assert_true(tess_autoreject_epochs_get_info(copy)->tmin == -0.25);
    assert_true(tess_autoreject_epochs_get_info(copy)->sampling_hz == 128);
    int64_t n;
    double *samples = all_samples(ctx, copy, &n);
    assert_int_equal(n, ARRAY_LEN(x));
    for (int64_t i = 0; i < n; i++) {
        assert_true(samples[i] == (double)x[i]);
    }
    free(samples);
    tess_autoreject_epochs_close(copy);
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void plain_arrays_are_written(void **state)
{
    (void)state;
    static const uint8_t drop[6] = {0, 0, 1};
    static const char *const plain[] = {"array.npy", "array.npz"};
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *source = open_ok(ctx, FORMATS "epochs-epo.fif");
    int64_t n;
    double *want = all_samples(ctx, source, &n);
    double *got = malloc((size_t)n * sizeof *got);
    const int64_t epoch = n / 6;
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        tess_autoreject_write_config config;
        tess_source *copy = NULL;
        tess_autoreject_write_config_init(&config, sizeof config);
        config.drop = drop;
        const char *path = unit_path(plain[i]);
        assert_ok(tess_autoreject_epochs_write(ctx, source, path, &config));
        assert_fails(tess_autoreject_epochs_write(ctx, source, path, &config), TESS_E_EXISTS, path);
        tess_source_config source_config;
        tess_source_config_init(&source_config, sizeof source_config);
        source_config.dataset = i == 0 ? NULL : "data";
        assert_ok(tess_source_open(ctx, path, &source_config, &copy));
        assert_ok(tess_source_read(copy, 0, 5, got, (uint64_t)(5 * epoch) * sizeof *got));
        assert_memory_equal(got, want, (size_t)(2 * epoch) * sizeof *got);
        assert_memory_equal(got + 2 * epoch, want + 3 * epoch, (size_t)(3 * epoch) * sizeof *got);
        tess_source_close(copy);
    }
    // An .npz file holds what is known of the samples, and is a recording again.
    tess_autoreject_epochs *again = open_ok(ctx, unit_path("array.npz"));
    const tess_autoreject_epochs_info *a = tess_autoreject_epochs_get_info(again);
    const tess_autoreject_epochs_info *b = tess_autoreject_epochs_get_info(source);
    assert_int_equal(a->n_epoch, 5);
    assert_true(a->sampling_hz == b->sampling_hz && a->tmin == b->tmin);
    assert_int_equal(a->events[3 * 2], b->events[3 * 3]);
    for (int64_t c = 0; c < b->sensors->n_chan; c++) {
        assert_string_equal(a->sensors->channels[c].name, b->sensors->channels[c].name);
        assert_int_equal(a->sensors->channels[c].type, b->sensors->channels[c].type);
        assert_int_equal(a->sensors->channels[c].is_bad, b->sensors->channels[c].is_bad);
        const double *p = a->sensors->channels[c].loc;
        const double *q = b->sensors->channels[c].loc;
        assert_true(p[0] == q[0] || (isnan(p[0]) && isnan(q[0])));
    }
    tess_autoreject_epochs_close(again);
    free(got);
    free(want);
    tess_autoreject_epochs_close(source);
    tess_context_destroy(ctx);
}

static void cut_recordings_are_written(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs_config open;
    tess_autoreject_write_config config;
    tess_autoreject_epochs *source = NULL;
    tess_autoreject_epochs_config_init(&open, sizeof open);
    tess_autoreject_write_config_init(&config, sizeof config);
    open.window = 0.5;
    open.bads = "EEG 001";
    open.types = "ecg=EEG 002";
    // Its channels have ranges other than 1, which epochs must do without.
    assert_ok(tess_autoreject_epochs_open(ctx, FORMATS "cont_short_raw.fif", &open, &source));
    config.double_precision = 1;
    const char *path = unit_path("cut-epo.fif");
    assert_ok(tess_autoreject_epochs_write(ctx, source, path, &config));
    tess_autoreject_epochs *copy = open_ok(ctx, path);
    check_sensors(tess_autoreject_epochs_get_info(copy)->sensors,
                  tess_autoreject_epochs_get_info(source)->sensors);
    int64_t n;
    int64_t n_want;
    double *got = all_samples(ctx, copy, &n);
    double *want = all_samples(ctx, source, &n_want);
    assert_int_equal(n, n_want);
    for (int64_t i = 0; i < n; i++) {
        assert_true(fabs(got[i] - want[i]) <= 1e-15 * fabs(want[i]));
    }
    free(got);
    free(want);
    tess_autoreject_epochs_close(copy);
    tess_autoreject_epochs_close(source);
    tess_context_destroy(ctx);
}

static void nothing_is_written_half(void **state)
{
    (void)state;
    static const uint8_t all[16] = {1, 1, 1, 1, 1, 1};
    tess_context *ctx = unit_context(1, 0);
    size_t n_byte;
    char *bytes = unit_read_file(FORMATS "epochs-epo.fif", &n_byte);
    const char *input = unit_path("input-epo.fif");
    unit_write_file(input, bytes, n_byte);
    tess_autoreject_epochs *source = open_ok(ctx, input);
    tess_autoreject_write_config config;
    tess_autoreject_write_config_init(&config, sizeof config);
    config.overwrite = 1;
    const char *path = unit_path("half-epo.fif");
    const int n_file = unit_count_files();
    assert_fails(tess_autoreject_epochs_write(ctx, source, input, &config), TESS_E_ARGUMENT,
                 "which is read; give the result another name");
    seen user = {.n_time_chan = 9 * 26, .fail_at = 4};
    config.edit = twice;
    config.user = &user;
    assert_int_equal(tess_ar_fif_write_parts(ctx, source, path, &config, 1), TESS_E_NUMERIC);
    config.edit = NULL;
    config.drop = all;
    assert_fails(tess_autoreject_epochs_write(ctx, source, path, &config), TESS_E_SHAPE,
                 "all 6 epochs are dropped");
    config.drop = NULL;
    assert_fails(tess_autoreject_epochs_write(ctx, source, unit_path("x.txt"), &config),
                 TESS_E_ARGUMENT, "written as .fif");
    assert_fails(
        tess_autoreject_epochs_write(ctx, source, unit_path("no/such/folder-epo.fif"), &config),
        TESS_E_CREATE, "cannot create");
    tess_context_cancel(ctx);
    assert_int_equal(tess_autoreject_epochs_write(ctx, source, path, &config), TESS_CANCELLED);
    tess_context_cancel_clear(ctx);
    assert_int_equal(unit_count_files(), n_file);
    // A part of this name is in the way.
    config.overwrite = 0;
    unit_write_file(unit_path("half-epo-2.fif"), "mine", 4);
    assert_fails(tess_ar_fif_write_parts(ctx, source, path, &config, 1), TESS_E_EXISTS,
                 "half-epo-2.fif: exists");
    assert_int_equal(unit_count_files(), n_file + 1);
    char *after = unit_read_file(input, &n_byte);
    assert_memory_equal(after, bytes, n_byte);
    free(after);
    free(bytes);
    tess_autoreject_epochs_close(source);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_their_sources),
        cmocka_unit_test(rows_of_metadata_follow_their_epochs),
        cmocka_unit_test(arrays_become_files),
        cmocka_unit_test(plain_arrays_are_written),
        cmocka_unit_test(cut_recordings_are_written),
        cmocka_unit_test(nothing_is_written_half),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
