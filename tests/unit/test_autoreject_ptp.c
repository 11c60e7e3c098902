#include "tessera/autoreject.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tess_context *ctx;

static tess_array view(void *data, tess_dtype dtype, int32_t rank, int64_t a, int64_t b, int64_t c)
{
    const int64_t shape[3] = {a, b, c};
    tess_array array;
    assert_ok(tess_array_init(&array, data, dtype, rank, shape));
    return array;
}

// The definition, at any strides.
static double expected_at(const tess_array *x, int64_t e, int64_t c)
{
    double low = (double)INFINITY;
    double high = (double)-INFINITY;
    for (int64_t t = 0; t < x->shape[2]; t++) {
        const int64_t at = e * x->stride[0] + c * x->stride[1] + t * x->stride[2];
        const double v = x->dtype == TESS_F32 ? (double)((const float *)x->data)[at]
                                              : ((const double *)x->data)[at];
        if (isnan(v)) {
            return (double)NAN;
        }
        low = fmin(low, v);
        high = fmax(high, v);
    }
    return x->dtype == TESS_F32 ? (double)((float)high - (float)low) : high - low;
}

static void check(const tess_array *x)
{
    const int64_t n = x->shape[0] * x->shape[1];
    void *result = malloc((size_t)n * 8 + 8);
    tess_array out = view(result, (tess_dtype)x->dtype, 2, x->shape[0], x->shape[1], 0);
    assert_ok(tess_autoreject_ptp(ctx, x, NULL, &out));
    for (int64_t i = 0; i < n; i++) {
        const double got =
            x->dtype == TESS_F32 ? (double)((float *)result)[i] : ((double *)result)[i];
        const double want = expected_at(x, i / x->shape[1], i % x->shape[1]);
        if (!(got == want || (isnan(got) && isnan(want)))) {
            fail_msg("row %lld: got %g, expected %g", (long long)i, got, want);
        }
    }
    free(result);
}

static void fill(double *data, size_t n)
{
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        data[i] = (double)(int64_t)x * 0x1p-60;
    }
}

static void both_dtypes_follow_the_definition(void **state)
{
    (void)state;
    static double data[7 * 5 * 33];
    static float floats[7 * 5 * 33];
    fill(data, ARRAY_LEN(data));
    for (size_t i = 0; i < ARRAY_LEN(data); i++) {
        floats[i] = (float)data[i];
    }
    tess_array x = view(data, TESS_F64, 3, 7, 5, 33);
    check(&x);
    x = view(floats, TESS_F32, 3, 7, 5, 33);
    check(&x);
    x = view(data, TESS_F64, 3, 7 * 5 * 33, 1, 1);
    check(&x);
    data[100] = (double)NAN;
    data[200] = (double)INFINITY;
    data[300] = (double)-INFINITY;
    x = view(data, TESS_F64, 3, 7, 5, 33);
    check(&x);
}

static void strided_epochs_and_channels(void **state)
{
    (void)state;
    static double data[6 * 4 * 20];
    fill(data, ARRAY_LEN(data));
    static const struct {
        int64_t shape[3];
        int64_t stride[3];
        int start;
    } layouts[] = {
        {{3, 4, 20}, {160, 20, 1}, 0},    // every other epoch
        {{6, 2, 20}, {80, 40, 1}, 0},     // every other channel
        {{4, 6, 20}, {20, 80, 1}, 0},     // axes exchanged
        {{6, 4, 20}, {-80, 20, 1}, 400},  // epochs backwards
        {{6, 4, 20}, {80, -20, 1}, 60},   // channels backwards
        {{6, 4, 20}, {-80, -20, 1}, 460}, // both
        {{5, 4, 20}, {0, 20, 1}, 0},      // one epoch five times
        {{5, 3, 20}, {0, 0, 1}, 0},       // one row everywhere
        {{9, 1, 10}, {20, 12345, 1}, 0},  // the stride of one channel says nothing
        {{1, 4, 1}, {999, 20, 77}, 0},    // nor that of one epoch or sample
    };
    for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
        tess_array x = view(data + layouts[i].start, TESS_F64, 3, layouts[i].shape[0],
                            layouts[i].shape[1], layouts[i].shape[2]);
        memcpy(x.stride, layouts[i].stride, sizeof layouts[i].stride);
        check(&x);
    }
}

// Large enough for the pipeline; broadcast so that it costs no memory.
static void large_arrays_go_through_tiles(void **state)
{
    (void)state;
    static double data[64 * 1000];
    fill(data, ARRAY_LEN(data));
    tess_array x = view(data, TESS_F64, 3, 40, 64, 1000);
    x.stride[0] = 0;
    static double first[40 * 64];
    for (int32_t n_thread = 1; n_thread <= 3; n_thread++) {
        for (int64_t tile = 0; tile <= 16; tile += 8) {
            tess_context *own = unit_context(n_thread, 0);
            tess_autoreject_ptp_config config;
            tess_autoreject_ptp_config_init(&config, sizeof config);
            config.tile_epochs = tile;
            static double result[40 * 64];
            memset(result, 0, sizeof result);
            tess_array out = view(result, TESS_F64, 2, 40, 64, 0);
            assert_ok(tess_autoreject_ptp(own, &x, &config, &out));
            if (n_thread == 1 && tile == 0) {
                memcpy(first, result, sizeof first);
                assert_true(result[65] == expected_at(&x, 1, 1));
            }
            assert_memory_equal(result, first, sizeof first);
            tess_context_destroy(own);
        }
    }
}

static void empty_axes(void **state)
{
    (void)state;
    double data[4] = {0};
    double result[4];
    tess_array x = view(data, TESS_F64, 3, 0, 4, 5);
    tess_array out = view(result, TESS_F64, 2, 0, 4, 0);
    assert_ok(tess_autoreject_ptp(ctx, &x, NULL, &out));
    x = view(data, TESS_F64, 3, 4, 0, 5);
    out = view(result, TESS_F64, 2, 4, 0, 0);
    assert_ok(tess_autoreject_ptp(ctx, &x, NULL, &out));
    x = view(data, TESS_F64, 3, 2, 2, 0);
    out = view(result, TESS_F64, 2, 2, 2, 0);
    assert_fails(tess_autoreject_ptp(ctx, &x, NULL, &out), TESS_E_SHAPE,
                 "x: epochs have no samples (shape 2 x 2 x 0)");
}

static void wrong_arrays_are_named(void **state)
{
    (void)state;
    static double data[24];
    static double result[24];
    tess_array x = view(data, TESS_F64, 3, 2, 3, 4);
    tess_array out = view(result, TESS_F64, 2, 2, 3, 0);
    tess_array bad = view(data, TESS_F64, 2, 6, 4, 0);
    assert_fails(tess_autoreject_ptp(ctx, &bad, NULL, &out), TESS_E_SHAPE,
                 "x: expected 3 axes (epochs, channels, samples), got 2");
    bad = view(data, TESS_I32, 3, 2, 3, 4);
    assert_fails(tess_autoreject_ptp(ctx, &bad, NULL, &out), TESS_E_DTYPE,
                 "x: expected f32 or f64, got i32");
    bad = x;
    bad.stride[2] = 2;
    assert_fails(tess_autoreject_ptp(ctx, &bad, NULL, &out), TESS_E_SHAPE,
                 "stride of the last axis is 2 items");
    bad = view(result, TESS_F64, 2, 3, 2, 0);
    assert_fails(tess_autoreject_ptp(ctx, &x, NULL, &bad), TESS_E_SHAPE,
                 "out: expected shape 2 x 3, got 2 axes of 3 x 2");
    bad = view(result, TESS_F32, 2, 2, 3, 0);
    assert_fails(tess_autoreject_ptp(ctx, &x, NULL, &bad), TESS_E_DTYPE,
                 "out: expected f64 as x, got f32");
    bad = out;
    bad.stride[0] = 4;
    assert_fails(tess_autoreject_ptp(ctx, &x, NULL, &bad), TESS_E_SHAPE, "out: must be C-contig");
    bad = x;
    bad.data = NULL;
    assert_fails(tess_autoreject_ptp(ctx, &bad, NULL, &out), TESS_E_ARGUMENT, "x: data is NULL");
    bad = out;
    bad.data = NULL;
    assert_fails(tess_autoreject_ptp(ctx, &x, NULL, &bad), TESS_E_ARGUMENT, "out: data is NULL");
    assert_ok(tess_autoreject_ptp(ctx, &x, NULL, &out));
    assert_string_equal(tess_last_error(), "");
}

static void overlap_is_refused(void **state)
{
    (void)state;
    static double data[40];
    tess_array x = view(data, TESS_F64, 3, 2, 3, 4);
    for (int at = 0; at <= 34; at++) {
        tess_array out = view(data + at, TESS_F64, 2, 2, 3, 0);
        if (at < 24) {
            assert_fails(tess_autoreject_ptp(ctx, &x, NULL, &out), TESS_E_ARGUMENT,
                         "out: overlaps x");
        } else {
            assert_ok(tess_autoreject_ptp(ctx, &x, NULL, &out));
        }
    }
    // Backwards epochs reach below their first item.
    x.data = data + 20;
    x.stride[0] = -12;
    tess_array out = view(data + 10, TESS_F64, 2, 2, 3, 0);
    assert_fails(tess_autoreject_ptp(ctx, &x, NULL, &out), TESS_E_ARGUMENT, "overlaps");
}

static void device_memory_needs_a_device(void **state)
{
    (void)state;
    static double data[24];
    static double result[6];
    tess_array x = view(data, TESS_F64, 3, 2, 3, 4);
    tess_array out = view(result, TESS_F64, 2, 2, 3, 0);
    x.space = TESS_SPACE_DEVICE;
    assert_fails(tess_autoreject_ptp(ctx, &x, NULL, &out), TESS_E_SPACE, "same memory");
    out.space = TESS_SPACE_DEVICE;
    assert_fails(tess_autoreject_ptp(ctx, &x, NULL, &out), TESS_E_SPACE,
                 "context with device 'cuda'");
}

static void nonfinite_names_the_first_place(void **state)
{
    (void)state;
    static double data[40 * 64 * 1000];
    tess_autoreject_ptp_config config;
    tess_autoreject_ptp_config_init(&config, sizeof config);
    config.nonfinite = TESS_AUTOREJECT_NONFINITE_ERROR;
    static double result[40 * 64];
    const int64_t shapes[2] = {3, 40}; // at once, and through tiles
    for (int i = 0; i < 2; i++) {
        memset(data, 0, sizeof data);
        tess_array x = view(data, TESS_F64, 3, shapes[i], 64, 1000);
        tess_array out = view(result, TESS_F64, 2, shapes[i], 64, 0);
        config.tile_epochs = i == 0 ? 0 : 5;
        assert_ok(tess_autoreject_ptp(ctx, &x, &config, &out));
        data[(shapes[i] - 1) * 64 * 1000] = (double)NAN;
        data[((shapes[i] - 2) * 64 + 17) * 1000 + 999] = (double)INFINITY;
        char expected[64];
        snprintf(expected, sizeof expected, "epoch %lld, channel 17 (counted from 0)",
                 (long long)shapes[i] - 2);
        assert_fails(tess_autoreject_ptp(ctx, &x, &config, &out), TESS_E_NUMERIC, expected);
        assert_contains(tess_last_error(), "nonfinite=propagate");
    }
}

static void configs_are_checked(void **state)
{
    (void)state;
    static double data[24];
    static double result[6];
    tess_array x = view(data, TESS_F64, 3, 2, 3, 4);
    tess_array out = view(result, TESS_F64, 2, 2, 3, 0);
    struct {
        tess_autoreject_ptp_config known;
        int64_t newer;
    } config = {.newer = 0};
    tess_autoreject_ptp_config_init(&config.known, sizeof config.known);
    config.known.nonfinite = 2;
    assert_fails(tess_autoreject_ptp(ctx, &x, &config.known, &out), TESS_E_RANGE,
                 "nonfinite: choice 2 does not exist; choose one of propagate|error");
    config.known.nonfinite = 0;
    config.known.tile_epochs = -1;
    assert_fails(tess_autoreject_ptp(ctx, &x, &config.known, &out), TESS_E_RANGE,
                 "tile_epochs: -1 is out of range");
    config.known.tile_epochs = 0;
    config.known.struct_size = 0;
    assert_fails(tess_autoreject_ptp(ctx, &x, &config.known, &out), TESS_E_VERSION, "struct_size");
    config.known.struct_size = sizeof config;
    assert_ok(tess_autoreject_ptp(ctx, &x, &config.known, &out));
    config.newer = 1;
    assert_fails(tess_autoreject_ptp(ctx, &x, &config.known, &out), TESS_E_VERSION, "not know");
    config.known.struct_size = 8; // an older caller
    config.known.tile_epochs = -99;
    assert_ok(tess_autoreject_ptp(ctx, &x, &config.known, &out));
}

static void cancel_stops_both_ways(void **state)
{
    (void)state;
    static double data[64 * 1000];
    static double result[40 * 64];
    tess_context_cancel(ctx);
    tess_array x = view(data, TESS_F64, 3, 1, 64, 1000);
    tess_array out = view(result, TESS_F64, 2, 1, 64, 0);
    assert_fails(tess_autoreject_ptp(ctx, &x, NULL, &out), TESS_CANCELLED, "stopped on request");
    x = view(data, TESS_F64, 3, 40, 64, 1000);
    x.stride[0] = 0;
    out = view(result, TESS_F64, 2, 40, 64, 0);
    assert_fails(tess_autoreject_ptp(ctx, &x, NULL, &out), TESS_CANCELLED, "stopped on request");
    tess_context_cancel_clear(ctx);
    assert_ok(tess_autoreject_ptp(ctx, &x, NULL, &out));
}

// Through plan and run, from a file without channels: no buffer exists anywhere.
static void runs_over_files_without_channels(void **state)
{
    (void)state;
    static const char *const names[] = {"none.npy", "none.npz"};
    const int64_t shape[3] = {5, 0, 7};
    const int64_t out_shape[2] = {5, 0};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        tess_sink *sink = NULL;
        tess_source *source = NULL;
        tess_plan *plan = NULL;
        tess_run *run = NULL;
        assert_ok(tess_sink_create(ctx, unit_path(names[i]), NULL, TESS_F32, 3, shape, &sink));
        assert_ok(tess_sink_write(sink, 0, 5, NULL, 0));
        assert_ok(tess_sink_commit(sink));
        tess_sink_close(sink);

        double nothing = 0;
        tess_array out;
        assert_ok(tess_array_init(&out, &nothing, TESS_F32, 2, out_shape));
        assert_ok(tess_source_open(ctx, unit_path(names[i]), NULL, &source));
        assert_ok(tess_sink_from_array(ctx, &out, &sink));
        tess_autoreject_ptp_config config;
        tess_autoreject_ptp_config_init(&config, sizeof config);
        config.tile_epochs = 2;
        assert_ok(tess_autoreject_ptp_plan_create(ctx, source, &config, &plan));
        assert_ok(tess_run_create(ctx, plan, source, sink, NULL, &run));
        assert_ok(tess_run_execute(run));
        tess_run_destroy(run);
        tess_plan_destroy(plan);
        tess_sink_close(sink);
        tess_source_close(source);
        unlink(unit_path(names[i]));
    }
}

static void a_run_wants_the_source_of_its_plan(void **state)
{
    (void)state;
    static double data[24];
    static double result[6];
    tess_array x = view(data, TESS_F64, 3, 2, 3, 4);
    tess_array smaller = view(data, TESS_F64, 3, 1, 3, 4);
    tess_array out = view(result, TESS_F64, 2, 2, 3, 0);
    tess_source *source = NULL;
    tess_source *wrong = NULL;
    tess_sink *sink = NULL;
    tess_plan *plan = NULL;
    tess_run *run = NULL;
    assert_ok(tess_source_from_array(ctx, &x, &source));
    assert_ok(tess_source_from_array(ctx, &smaller, &wrong));
    assert_ok(tess_sink_from_array(ctx, &out, &sink));
    assert_ok(tess_autoreject_ptp_plan_create(ctx, source, NULL, &plan));
    assert_fails(tess_run_create(ctx, plan, wrong, sink, NULL, &run), TESS_E_SHAPE, "source: ");
    assert_fails(tess_run_create(ctx, plan, NULL, sink, NULL, &run), TESS_E_ARGUMENT,
                 "source: this plan needs one");
    assert_null(run);
    tess_plan_destroy(plan);
    tess_sink_close(sink);
    tess_source_close(wrong);
    tess_source_close(source);
}

int main(void)
{
    ctx = unit_context(2, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_dtypes_follow_the_definition),
        cmocka_unit_test(strided_epochs_and_channels),
        cmocka_unit_test(large_arrays_go_through_tiles),
        cmocka_unit_test(empty_axes),
        cmocka_unit_test(wrong_arrays_are_named),
        cmocka_unit_test(overlap_is_refused),
        cmocka_unit_test(device_memory_needs_a_device),
        cmocka_unit_test(nonfinite_names_the_first_place),
        cmocka_unit_test(configs_are_checked),
        cmocka_unit_test(cancel_stops_both_ways),
        cmocka_unit_test(runs_over_files_without_channels),
        cmocka_unit_test(a_run_wants_the_source_of_its_plan),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return n_failed;
}
