#include "autoreject_recordings.h"

#include "runtime/bundle.h"

// Golden inputs of whole fits are recordings: X, pos, ch_names, ch_types, bads, sfreq.
static void golden_inputs_are_recordings(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        int64_t n_epoch, n_chan, n_time;
    } cases[] = {{"autoreject/ar01_eeg_40x24x60", 40, 24, 60},
                 {"autoreject/ar02_eeg_odd_37x20x45", 37, 22, 45}};
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[512];
        ar_file file;
        int64_t n = 0;
        snprintf(path, sizeof path, TESS_GOLDEN "/%s.npz", cases[i].file);
        assert_ok(ar_file_open(ctx, &tess_ar_numpy, path, NULL, &file));
        assert_false(file.is_continuous);
        const tess_autoreject_epochs_info *info = &file.epochs->info;
        assert_int_equal(info->n_epoch, cases[i].n_epoch);
        assert_int_equal(file.epochs->sensors.n_chan, cases[i].n_chan);
        assert_int_equal(info->n_time, cases[i].n_time);
        assert_string_equal(info->format, "npz");
        assert_true(info->sampling_hz == golden_scalar(ctx, cases[i].file, "sfreq"));
        double *x = ar_file_samples(&file, &n);
        double *golden = golden_f64(ctx, cases[i].file, "X", NULL);
        assert_memory_equal(x, golden, (size_t)n * sizeof *x);
        double *pos = golden_f64(ctx, cases[i].file, "pos", NULL);
        int n_bad = 0;
        int n_eog = 0;
        for (int64_t c = 0; c < cases[i].n_chan; c++) {
            const tess_autoreject_channel *channel = &file.epochs->sensors.channels[c];
            assert_near(channel->loc, pos + 3 * c, 3, 0);
            n_bad += channel->is_bad;
            n_eog += channel->type == TESS_AUTOREJECT_EOG;
        }
        assert_int_equal(n_bad, i);
        assert_int_equal(n_eog, i);
        free(x);
        free(golden);
        free(pos);
        ar_file_close(&file);
    }
    tess_context_destroy(ctx);
}

static double value_of(int64_t i)
{
    return (double)((i * 7919) % 1000) / 16;
}

// An array in a file, of a type.
static const char *write_array(tess_context *ctx, const char *name, tess_dtype dtype, int32_t rank,
                               const int64_t *shape)
{
    int64_t n = 1;
    for (int32_t i = 0; i < rank; i++) {
        n *= shape[i];
    }
    double *f64 = malloc((size_t)n * sizeof *f64);
    float *f32 = malloc((size_t)n * sizeof *f32);
    int16_t *i16 = malloc((size_t)n * sizeof *i16);
    for (int64_t i = 0; i < n; i++) {
        f64[i] = value_of(i);
        f32[i] = (float)f64[i];
        i16[i] = (int16_t)(16 * f64[i]);
    }
    const void *data = dtype == TESS_F64   ? (void *)f64
                       : dtype == TESS_F32 ? (void *)f32
                                           : (void *)i16;
    const char *path = unit_path(name);
    tess_sink_config config;
    tess_sink *sink = NULL;
    tess_sink_config_init(&config, sizeof config);
    config.overwrite = 1;
    assert_ok(tess_sink_create(ctx, path, &config, dtype, rank, shape, &sink));
    assert_ok(tess_sink_write(sink, 0, shape[0], data, (uint64_t)n * tess_dtype_bytes(dtype)));
    assert_ok(tess_sink_commit(sink));
    tess_sink_close(sink);
    free(f64);
    free(f32);
    free(i16);
    return path;
}

static void arrays_of_any_type_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        tess_dtype dtype;
        double factor;
    } cases[] = {{"a.npy", TESS_F64, 1},
                 {"b.npy", TESS_F32, 1},
                 {"c.npy", TESS_I16, 16},
                 {"d.npz", TESS_F32, 1},
                 {"e.h5", TESS_F64, 1}};
    static const int64_t shape[] = {5, 3, 7};
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        ar_file file;
        int64_t n = 0;
        const char *path = write_array(ctx, cases[i].name, cases[i].dtype, 3, shape);
        assert_ok(ar_file_open(ctx, &tess_ar_numpy, path, NULL, &file));
        assert_int_equal(file.epochs->info.n_epoch, 5);
        assert_string_equal(file.epochs->sensors.channels[2].name, "002");
        assert_contains(file.epochs->info.notes, "taken as 1 Hz");
        double *x = ar_file_samples(&file, &n);
        for (int64_t k = 0; k < n; k++) {
            assert_true(x[k] == cases[i].factor * value_of(k));
        }
        const int64_t channels[] = {2, 0};
        double part[2 * 2 * 7];
        assert_ok(file.epochs->reader.read(ctx, file.epochs->reader.impl, 3, 2, channels, 2, part));
        for (int k = 0; k < 4; k++) {
            assert_memory_equal(part + 7 * k, x + ((3 + k / 2) * 3 + channels[k % 2]) * 7,
                                7 * sizeof *part);
        }
        free(x);
        ar_file_close(&file);
    }
    tess_context_destroy(ctx);
}

static void continuous_arrays_need_a_rate(void **state)
{
    (void)state;
    static const int64_t shape[] = {3, 500};
    tess_context *ctx = unit_context(1, 0);
    static const char *const names[] = {"f.npy", "g.npz", "h.h5"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        tess_autoreject_epochs_config config;
        ar_file file;
        int64_t n = 0;
        const char *path = write_array(ctx, names[i], TESS_F32, 2, shape);
        assert_fails(ar_file_open(ctx, &tess_ar_numpy, path, NULL, &file), TESS_E_ARGUMENT,
                     "sampling rate is not known");
        ar_file_close(&file);
        tess_autoreject_epochs_config_init(&config, sizeof config);
        config.sampling_hz = 100;
        assert_ok(ar_file_open(ctx, &tess_ar_numpy, path, &config, &file));
        assert_true(file.is_continuous);
        assert_int_equal(file.continuous.n_sample, 500);
        double *x = ar_file_samples(&file, &n);
        for (int64_t k = 0; k < n; k++) {
            assert_true(x[k] == value_of(k));
        }
        free(x);
        ar_file_check_pieces(&file);
        ar_file_close(&file);
    }
    tess_context_destroy(ctx);
}

// A sound bundle, spoiled one array at a time.
enum { DATA, NAMES, TYPES, LOC, CAL, EVENTS, EVENT_NAMES, EVENT_CODES, TMIN, SFREQ, BADS, N_ARRAY };

static const int16_t samples[2 * 3 * 4] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const char channel_names[] = "Fp1\0Cz\0\0Oz\0";
static const uint32_t channel_types[] = {'e', 'e', 'g', 'e', 'o', 'g', 'h', 'b', 'o'};
static double loc[36];
static const double cal[3] = {1e-6, 2, 0.5};
static const int32_t events[6] = {10, 0, 3, 20, 0, 9};
static const char event_names[] = "left\0right";
static const int64_t event_codes[2] = {3, 9};
static const double tmin = -0.25;
static const double sfreq = 250;
static const uint8_t bads[3] = {0, 1, 0};

static void sound(tess_format_writer_input *in)
{
    static const struct {
        const char *name;
        tess_dtype dtype;
        int32_t rank;
        int64_t shape[3];
        const void *data;
        int64_t item;
    } arrays[N_ARRAY] = {
        {"data", TESS_I16, 3, {2, 3, 4}, samples, 2},
        {"ch_names", TESS_BYTES, 1, {3}, channel_names, 4},
        {"ch_types", TESS_UCS4, 1, {3}, channel_types, 12},
        {"loc", TESS_F64, 2, {3, 12}, loc, 8},
        {"cal", TESS_F64, 1, {3}, cal, 8},
        {"events", TESS_I32, 2, {2, 3}, events, 4},
        {"event_names", TESS_BYTES, 1, {2}, event_names, 5},
        {"event_codes", TESS_I64, 1, {2}, event_codes, 8},
        {"tmin", TESS_F64, 0, {0}, &tmin, 8},
        {"sfreq", TESS_F64, 0, {0}, &sfreq, 8},
        {"bads", TESS_U8, 1, {3}, bads, 1},
    };
    for (int i = 0; i < 36; i++) {
        loc[i] = i;
    }
    for (int i = 0; i < N_ARRAY; i++) {
        tess_bundle_input(&in[i], arrays[i].name, arrays[i].dtype, arrays[i].rank, arrays[i].shape,
                          arrays[i].data);
        in[i].item_bytes = arrays[i].item;
        in[i].data_bytes = (uint64_t)arrays[i].item;
        for (int32_t k = 0; k < arrays[i].rank; k++) {
            in[i].data_bytes *= (uint64_t)arrays[i].shape[k];
        }
    }
}

static tess_status open_bundle(tess_context *ctx, const tess_format_writer_input *in, ar_file *file)
{
    const char *path = unit_path("bundle.npz");
    assert_ok(tess_bundle_write(ctx, path, in, N_ARRAY, 1));
    return ar_file_open(ctx, &tess_ar_numpy, path, NULL, file);
}

static void named_arrays_tell_the_rest(void **state)
{
    (void)state;
    tess_format_writer_input in[N_ARRAY];
    tess_context *ctx = unit_context(1, 0);
    ar_file file;
    int64_t n = 0;
    sound(in);
    assert_ok(open_bundle(ctx, in, &file));
    const tess_autoreject_epochs_info *info = &file.epochs->info;
    const tess_autoreject_channel *channels = file.epochs->sensors.channels;
    assert_true(info->tmin == -0.25 && info->sampling_hz == 250);
    assert_string_equal(channels[0].name, "Fp1");
    assert_string_equal(channels[1].name, "Cz");
    assert_int_equal(channels[1].type, TESS_AUTOREJECT_EOG);
    assert_int_equal(channels[2].type, TESS_AUTOREJECT_HBO);
    assert_int_equal(channels[1].is_bad, 1);
    assert_int_equal(channels[0].is_bad, 0);
    assert_memory_equal(channels[2].loc, loc + 24, sizeof channels[2].loc);
    assert_memory_equal(info->events, events, sizeof events);
    assert_string_equal(info->event_names[1], "right");
    assert_int_equal(info->event_codes[1], 9);
    double *x = ar_file_samples(&file, &n);
    for (int64_t i = 0; i < n; i++) {
        assert_true(x[i] == samples[i] * cal[i / 4 % 3]);
    }
    const int64_t last = 2;
    double row[4];
    assert_ok(file.epochs->reader.read(ctx, file.epochs->reader.impl, 0, 1, &last, 1, row));
    assert_memory_equal(row, x + 8, sizeof row);
    free(x);
    ar_file_close(&file);
    // Codes without names are called by their numbers.
    in[EVENT_NAMES].dataset = "a";
    in[EVENT_CODES].dataset = "b";
    assert_ok(open_bundle(ctx, in, &file));
    assert_int_equal(file.epochs->info.n_event_name, 2);
    assert_string_equal(file.epochs->info.event_names[1], "9");
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

static void wrong_arrays_are_explained(void **state)
{
    (void)state;
    static const struct {
        int array;
        int64_t shape[2];
        tess_dtype dtype;
        tess_status status;
        const char *part;
    } cases[] = {
        {NAMES, {2}, 0, TESS_E_SHAPE, "array 'ch_names' has 2 items, expected 3"},
        {NAMES, {3}, TESS_I32, TESS_E_DTYPE, "no list of texts"},
        {LOC, {2, 12}, 0, TESS_E_SHAPE, "array 'loc' has 24 numbers, expected 3 x 12"},
        {CAL, {2}, 0, TESS_E_SHAPE, "'cal'"},
        {EVENTS, {1, 3}, 0, TESS_E_SHAPE, "'events'"},
        {EVENT_CODES, {1}, 0, TESS_E_SHAPE, "2 event_names but 1 event_codes"},
        {BADS, {2}, 0, TESS_E_SHAPE, "'bads'"},
    };
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tess_format_writer_input in[N_ARRAY];
        ar_file file;
        sound(in);
        tess_format_writer_input *one = &in[cases[i].array];
        one->dtype = cases[i].dtype ? (int32_t)cases[i].dtype : one->dtype;
        one->data_bytes = (uint64_t)one->item_bytes;
        for (int32_t k = 0; k < one->rank; k++) {
            one->shape[k] = cases[i].shape[k];
            one->data_bytes *= (uint64_t)one->shape[k];
        }
        assert_fails(open_bundle(ctx, in, &file), cases[i].status, cases[i].part);
        ar_file_close(&file);
    }
    tess_format_writer_input in[N_ARRAY];
    ar_file file;
    sound(in);
    in[DATA].dataset = "other";
    in[DATA].rank = 1;
    in[DATA].shape[0] = 24;
    assert_fails(open_bundle(ctx, in, &file), TESS_E_NOT_FOUND, "no array 'data'");
    ar_file_close(&file);
    static const int64_t shape[] = {4, 2, 2, 2};
    const char *path = write_array(ctx, "rank4.npy", TESS_F64, 4, shape);
    assert_fails(ar_file_open(ctx, &tess_ar_numpy, path, NULL, &file), TESS_E_SHAPE, "4 axes");
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

// An array has no names: those of the file of positions are taken in order.
static void positions_name_an_array(void **state)
{
    (void)state;
    static const int64_t shape[] = {5, 3, 7};
    static const char csv[] = "B,0,0,0.09\nA,0.09,0,0\nC,0,0.09,0\n";
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *epochs = NULL;
    tess_autoreject_epochs_config config;
    tess_autoreject_epochs_config_init(&config, sizeof config);
    config.montage = unit_path("p.csv");
    unit_write_file(config.montage, csv, sizeof csv - 1);
    const char *path = write_array(ctx, "p.npy", TESS_F64, 3, shape);
    assert_ok(tess_autoreject_epochs_open(ctx, path, &config, &epochs));
    const tess_autoreject_channel *channels = epochs->sensors.channels;
    assert_string_equal(channels[0].name, "B");
    assert_string_equal(channels[1].name, "A");
    assert_true(fabs(channels[1].loc[0] - 0.09) < 1e-15 && channels[0].loc[0] == 0);
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

// Options go by the names that the epochs have in the end; the array's own still do where the
// montage gave none of them to another channel.
static void options_go_by_the_names_of_the_montage(void **state)
{
    (void)state;
    static const int64_t shape[] = {5, 3, 7};
    static const char csv[] = "E1,0,0,0.09\nE2,0.09,0,0\n000x,0,0.09,0\n";
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *epochs = NULL;
    tess_autoreject_epochs_config config;
    tess_autoreject_epochs_config_init(&config, sizeof config);
    config.montage = unit_path("q.csv");
    unit_write_file(config.montage, csv, sizeof csv - 1);
    const char *path = write_array(ctx, "q.npy", TESS_F64, 3, shape);
    config.bads = "E2,000x";
    config.types = "eog=E1";
    assert_ok(tess_autoreject_epochs_open(ctx, path, &config, &epochs));
    const tess_autoreject_channel *channels = epochs->sensors.channels;
    assert_true(!channels[0].is_bad && channels[1].is_bad && channels[2].is_bad);
    assert_int_equal(channels[0].type, TESS_AUTOREJECT_EOG);
    assert_true(channels[1].loc[0] > 0.08);
    assert_int_equal(epochs->sensors.n_point, 2);
    tess_autoreject_epochs_close(epochs);
    config.bads = "000";
    config.types = "eog=001";
    assert_ok(tess_autoreject_epochs_open(ctx, path, &config, &epochs));
    channels = epochs->sensors.channels;
    assert_true(channels[0].is_bad && !channels[2].is_bad);
    assert_int_equal(channels[1].type, TESS_AUTOREJECT_EOG);
    tess_autoreject_epochs_close(epochs);
    config.bads = "E3";
    assert_fails(tess_autoreject_epochs_open(ctx, path, &config, &epochs), TESS_E_ARGUMENT,
                 "there is no channel 'E3'; there are E1, E2, 000x");
    // A continuous array is cut by a trigger channel, which has its name by then.
    static const int64_t long_shape[] = {3, 60};
    path = write_array(ctx, "long.npy", TESS_F64, 2, long_shape);
    config.bads = "E1";
    config.types = "misc=E2";
    config.sampling_hz = 10;
    config.window = 1;
    assert_ok(tess_autoreject_epochs_open(ctx, path, &config, &epochs));
    channels = epochs->sensors.channels;
    assert_true(channels[0].is_bad && channels[1].type == TESS_AUTOREJECT_MISC);
    assert_true(channels[1].loc[0] > 0.08);
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_inputs_are_recordings),
        cmocka_unit_test(arrays_of_any_type_are_read),
        cmocka_unit_test(continuous_arrays_need_a_rate),
        cmocka_unit_test(named_arrays_tell_the_rest),
        cmocka_unit_test(wrong_arrays_are_explained),
        cmocka_unit_test(positions_name_an_array),
        cmocka_unit_test(options_go_by_the_names_of_the_montage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
