#include "systems/autoreject/epochs/epochs.h"
#include "tessera/autoreject.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_EPOCH = 3, N_CHAN = 4, N_TIME = 5 };

static tess_autoreject_channel channels[N_CHAN];
static const double scale[N_CHAN] = {1, 0.5, -2, 1e-6};

static tess_autoreject_sensors some_sensors(void)
{
    static const char *const names[N_CHAN] = {"Fz", "Cz", "HEOG", "A,B"};
    tess_autoreject_sensors sensors;
    tess_autoreject_sensors_init(&sensors, sizeof sensors);
    for (int c = 0; c < N_CHAN; c++) {
        channels[c] = (tess_autoreject_channel){.name = names[c], .type = TESS_AUTOREJECT_EEG};
        channels[c].loc[0] = 0.01 * (c + 1);
    }
    channels[2].type = TESS_AUTOREJECT_EOG;
    sensors.n_chan = N_CHAN;
    sensors.channels = channels;
    return sensors;
}

static double value_of(int64_t e, int64_t c, int64_t t)
{
    return (double)(100 * e - 10 * c + t);
}

// Fills one item of any of the four types.
static void set_item(void *data, tess_dtype dtype, int64_t at, double value)
{
    switch ((int)dtype) {
    case TESS_F64:
        ((double *)data)[at] = value;
        break;
    case TESS_F32:
        ((float *)data)[at] = (float)value;
        break;
    case TESS_I32:
        ((int32_t *)data)[at] = (int32_t)value;
        break;
    default:
        ((int16_t *)data)[at] = (int16_t)value;
    }
}

static void read_and_compare(tess_context *ctx, const tess_array *x, const double *calibration)
{
    const tess_autoreject_sensors sensors = some_sensors();
    static const int64_t subset[3] = {3, 0, 2};
    double got[2 * N_CHAN * N_TIME];
    tess_autoreject_epochs *epochs = NULL;
    assert_ok(tess_autoreject_epochs_from_array(ctx, x, &sensors, calibration, 100, -0.1, &epochs));
    assert_ok(tess_autoreject_epochs_read(ctx, epochs, 1, 2, subset, 3, got));
    for (int64_t k = 0; k < 2 * 3 * N_TIME; k++) {
        const int64_t c = subset[k / N_TIME % 3];
        const double want = value_of(1 + k / N_TIME / 3, c, k % N_TIME);
        assert_true(got[k] == want * (calibration ? calibration[c] : 1));
    }
    assert_ok(tess_autoreject_epochs_read(ctx, epochs, 2, 1, NULL, 0, got));
    for (int64_t k = 0; k < N_CHAN * N_TIME; k++) {
        const int64_t c = k / N_TIME;
        assert_true(got[k] == value_of(2, c, k % N_TIME) * (calibration ? calibration[c] : 1));
    }
    tess_autoreject_epochs_close(epochs);
}

static void arrays_of_any_type_and_order_are_read(void **state)
{
    (void)state;
    static const tess_dtype dtypes[] = {TESS_F64, TESS_F32, TESS_I32, TESS_I16};
    // Strides of the axes in items: C order, Fortran order, every second sample, backwards.
    static const int64_t strides[][3] = {{N_CHAN * N_TIME, N_TIME, 1},
                                         {1, N_EPOCH, N_EPOCH * N_CHAN},
                                         {2 * N_CHAN * N_TIME, 2 * N_TIME, 2},
                                         {N_CHAN * N_TIME, -N_TIME, -1}};
    tess_context *ctx = unit_context(1, 0);
    for (size_t d = 0; d < ARRAY_LEN(dtypes); d++) {
        for (size_t s = 0; s < ARRAY_LEN(strides); s++) {
            double memory[2 * N_EPOCH * N_CHAN * N_TIME];
            const int64_t shape[3] = {N_EPOCH, N_CHAN, N_TIME};
            tess_array x;
            assert_ok(tess_array_init(&x, memory, dtypes[d], 3, shape));
            memcpy(x.stride, strides[s], sizeof strides[s]);
            const int64_t start = s == 3 ? N_CHAN * N_TIME - 1 : 0;
            for (int64_t k = 0; k < N_EPOCH * N_CHAN * N_TIME; k++) {
                const int64_t e = k / N_TIME / N_CHAN;
                const int64_t c = k / N_TIME % N_CHAN;
                const int64_t t = k % N_TIME;
                set_item(memory, dtypes[d],
                         start + e * x.stride[0] + c * x.stride[1] + t * x.stride[2],
                         value_of(e, c, t));
            }
            x.data = (char *)memory + start * x.item_bytes;
            read_and_compare(ctx, &x, NULL);
            read_and_compare(ctx, &x, scale);
        }
    }
    tess_context_destroy(ctx);
}

static tess_autoreject_epochs *some_epochs(tess_context *ctx,
                                           const tess_autoreject_sensors *sensors)
{
    static double memory[N_EPOCH * N_CHAN * N_TIME];
    const int64_t shape[3] = {N_EPOCH, sensors->n_chan, N_TIME};
    tess_array x;
    tess_autoreject_epochs *epochs = NULL;
    assert_ok(tess_array_init(&x, memory, TESS_F64, 3, shape));
    assert_ok(tess_autoreject_epochs_from_array(ctx, &x, sensors, NULL, 250, -0.2, &epochs));
    return epochs;
}

static void arrays_say_what_they_are(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_sensors sensors = some_sensors();
    static const char *const projected[2] = {"Fz", "Cz"};
    static const double vectors[2] = {0.6, 0.8};
    const tess_autoreject_projector projector = {
        .name = "mean", .n_vector = 1, .n_chan = 2, .channel_names = projected, .vectors = vectors};
    const tess_autoreject_point point = {.kind = 3, .ident = 7, .position = {0, 0.1, 0}};
    sensors.n_projector = 1;
    sensors.projectors = &projector;
    sensors.n_point = 1;
    sensors.points = &point;
    tess_autoreject_epochs *epochs = some_epochs(ctx, &sensors);
    memset(channels, 0, sizeof channels); // they were copied
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
    assert_int_equal(info->n_epoch, N_EPOCH);
    assert_int_equal(info->n_time, N_TIME);
    assert_true(info->sampling_hz == 250 && info->tmin == -0.2);
    assert_string_equal(info->format, "array");
    assert_string_equal(info->path, "");
    assert_string_equal(info->notes, "");
    assert_int_equal(info->sensors->n_chan, N_CHAN);
    assert_string_equal(info->sensors->channels[2].name, "HEOG");
    assert_true(info->sensors->device_to_head[0] == 1 && info->sensors->device_to_head[1] == 0);
    assert_int_equal(info->sensors->points[0].ident, 7);
    assert_string_equal(info->sensors->projectors[0].channel_names[1], "Cz");
    assert_true(info->sensors->projectors[0].vectors[1] == 0.8);
    assert_int_equal(info->events[3 * 2], 2);
    assert_int_equal(info->events[3 * 2 + 2], 1);
    assert_int_equal(info->selection[2], 2);
    assert_int_equal(info->n_original, N_EPOCH);
    assert_string_equal(info->drop_log[1], "");
    assert_string_equal(info->event_names[0], "1");
    tess_ar_epochs_note(epochs, "first %d", 1);
    tess_ar_epochs_note(epochs, "second");
    assert_string_equal(info->notes, "first 1\nsecond");
    tess_autoreject_epochs_close(epochs);
    tess_autoreject_epochs_close(NULL);
    tess_context_destroy(ctx);
}

static void types_have_names(void **state)
{
    (void)state;
    assert_string_equal(tess_autoreject_type_name(TESS_AUTOREJECT_GRAD), "grad");
    assert_string_equal(tess_autoreject_type_name(-1), "unknown");
    assert_string_equal(tess_autoreject_type_name(99), "unknown");
    assert_int_equal(tess_autoreject_type_find("seeg"), TESS_AUTOREJECT_SEEG);
    assert_int_equal(tess_autoreject_type_find("EEG"), -1);
    assert_int_equal(tess_autoreject_type_find(NULL), -1);
}

static void repeated_names_of_files_are_numbered(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_sensors sensors = some_sensors();
    tess_autoreject_epochs *epochs = NULL;
    channels[0].name = "Cz";
    channels[3].name = "Cz-0";
    assert_ok(tess_ar_epochs_create(ctx, &epochs));
    assert_ok(tess_ar_epochs_set_sensors(epochs, &sensors));
    assert_string_equal(epochs->sensors.channels[0].name, "Cz-1");
    assert_string_equal(epochs->sensors.channels[1].name, "Cz-2");
    assert_string_equal(epochs->sensors.channels[3].name, "Cz-0");
    assert_contains(epochs->info.notes,
                    "1 names are those of several channels: Cz; these were numbered");
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void what_is_wrong_with_an_array_is_said(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_sensors sensors = some_sensors();
    double memory[N_EPOCH * N_CHAN * N_TIME] = {0};
    const int64_t shape[3] = {N_EPOCH, N_CHAN, N_TIME};
    tess_array good;
    tess_autoreject_epochs *epochs = NULL;
    assert_ok(tess_array_init(&good, memory, TESS_F64, 3, shape));
#define FROM(x) tess_autoreject_epochs_from_array(ctx, &(x), &sensors, NULL, 100, 0, &epochs)
    tess_array x = good;
    x.rank = 2;
    assert_fails(FROM(x), TESS_E_SHAPE, "expected 3 axes");
    x = good;
    x.dtype = (int32_t)TESS_U8;
    assert_fails(FROM(x), TESS_E_DTYPE, "got u8");
    x = good;
    x.shape[0] = 0;
    assert_fails(FROM(x), TESS_E_SHAPE, "0 x 4 x 5");
    x = good;
    x.data = NULL;
    assert_fails(FROM(x), TESS_E_ARGUMENT, "NULL");
    x = good;
    x.shape[1] = 3;
    assert_fails(FROM(x), TESS_E_SHAPE, "4 channels, but x has 3");
    x = good;
    x.space = TESS_SPACE_DEVICE;
    assert_fails(FROM(x), TESS_E_SPACE, "works on the CPU");
    channels[1].name = "Fz";
    assert_fails(FROM(good), TESS_E_ARGUMENT, "names must differ");
    channels[1].name = NULL;
    assert_fails(FROM(good), TESS_E_ARGUMENT, "channel 1 has no name");
    channels[1].name = "Cz";
    channels[1].type = 77;
    assert_fails(FROM(good), TESS_E_RANGE, "'Cz' has type 77");
    channels[1].type = TESS_AUTOREJECT_EEG;
#undef FROM
    assert_fails(tess_autoreject_epochs_from_array(ctx, &good, &sensors, NULL, 0, 0, &epochs),
                 TESS_E_RANGE, "sampling_hz");
    assert_fails(
        tess_autoreject_epochs_from_array(ctx, &good, &sensors, NULL, 100, (double)NAN, &epochs),
        TESS_E_RANGE, "tmin");
    assert_null(epochs);
    epochs = some_epochs(ctx, &sensors);
    const int64_t no_channel = N_CHAN;
    assert_fails(tess_autoreject_epochs_read(ctx, epochs, 2, 2, NULL, 0, memory), TESS_E_RANGE,
                 "epochs 2 to 3: there are 3");
    assert_fails(tess_autoreject_epochs_read(ctx, epochs, 0, 1, &no_channel, 1, memory),
                 TESS_E_RANGE, "4 is not a channel");
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    for (long long fail_at = 1;; fail_at++) {
        unit_allocator allocator;
        unit_allocator_init(&allocator, 0);
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.n_thread = 1;
        config.allocator = &allocator.table;
        tess_context *ctx = NULL;
        assert_ok(tess_context_create(&config, &ctx));
        allocator.fail_at = allocator.n_alloc + fail_at;
        double memory[N_EPOCH * N_CHAN * N_TIME] = {0};
        const int64_t shape[3] = {N_EPOCH, N_CHAN, N_TIME};
        const tess_autoreject_sensors sensors = some_sensors();
        tess_array x;
        tess_autoreject_epochs *epochs = NULL;
        assert_ok(tess_array_init(&x, memory, TESS_F64, 3, shape));
        const tess_status status =
            tess_autoreject_epochs_from_array(ctx, &x, &sensors, scale, 100, 0, &epochs);
        tess_autoreject_epochs_close(epochs);
        tess_context_destroy(ctx);
        assert_int_equal(allocator.n_live, 0);
        if (status == TESS_OK) {
            assert_true(fail_at > 5);
            return;
        }
        assert_int_equal(status, TESS_E_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_of_any_type_and_order_are_read),
        cmocka_unit_test(arrays_say_what_they_are),
        cmocka_unit_test(types_have_names),
        cmocka_unit_test(repeated_names_of_files_are_numbered),
        cmocka_unit_test(what_is_wrong_with_an_array_is_said),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
