#include "runtime/bundle.h"
#include "tessera/decode/recording.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const tess_decode_recording_info *open_ok(tess_context *ctx, const char *path,
                                                 tess_decode_recording **out)
{
    assert_ok(tess_decode_recording_open(ctx, path, out));
    return tess_decode_recording_get_info(*out);
}

static void golden_files_are_recordings(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        int64_t n_electrode, n_sample, n_dim, n_time, n_first, n_feature, n_decode_first;
        int has_track;
        int64_t n_decode_position;
    } cases[] = {
        {"01_linear_1d", 5, 3000, 1, 251, 292, 4, 292, 0, 3000},
        {"02_local_nospike", 4, 3000, 1, 300, 197, 4, 73, 0, 63},
        {"03_open_field_2d", 4, 4800, 2, 121, 980, 4, 980, 0, 160},
        {"04_track_graph", 4, 4400, 2, 151, 626, 4, 626, 1, 170},
        {"05_edge_cases", 7, 1920, 2, 31, 548, 4, 87, 1, 480},
        {"06_cont_frag", 4, 3751, 1, 151, 210, 4, 210, 0, 3751},
        {"07_non_local", 4, 3751, 1, 151, 331, 4, 331, 0, 3751},
    };
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[512];
        tess_decode_recording *recording = NULL;
        snprintf(path, sizeof path, TESS_GOLDEN "/decode/%s.npz", cases[i].file);
        const tess_decode_recording_info *info = open_ok(ctx, path, &recording);
        assert_string_equal(info->format, "npz");
        assert_string_equal(info->path, path);
        assert_int_equal(info->training.spikes.n_electrode, cases[i].n_electrode);
        assert_int_equal(info->training.position.n_sample, cases[i].n_sample);
        assert_int_equal(info->training.position.n_dim, cases[i].n_dim);
        assert_int_equal(info->observation.n_time, cases[i].n_time);
        assert_int_equal(info->training.spikes.n_spike[0], cases[i].n_first);
        assert_int_equal(info->training.spikes.n_feature[0], cases[i].n_feature);
        assert_int_equal(info->observation.spikes.n_spike[0], cases[i].n_decode_first);
        assert_int_equal(info->has_track, cases[i].has_track);
        assert_int_equal(info->observation.position.n_sample, cases[i].n_decode_position);
        assert_true(info->place_bin_size > 0 && info->position_std > 0 && info->waveform_std > 0);
        tess_decode_recording_close(recording);
    }
    tess_context_destroy(ctx);
}

static void assert_same_reals(const double *a, const double *b, int64_t n)
{
    assert_int_equal(a != NULL, b != NULL);
    if (a) {
        assert_memory_equal(a, b, (size_t)n * sizeof *a);
    }
}

static void assert_same_spikes(const tess_decode_spikes *a, const tess_decode_spikes *b)
{
    assert_int_equal(a->n_electrode, b->n_electrode);
    assert_int_equal(a->mark_dtype, b->mark_dtype);
    for (int64_t e = 0; e < a->n_electrode; e++) {
        const size_t item = a->mark_dtype == TESS_F32 ? 4 : 8;
        assert_int_equal(a->n_spike[e], b->n_spike[e]);
        assert_int_equal(a->n_feature[e], b->n_feature[e]);
        assert_same_reals(a->times[e], b->times[e], a->n_spike[e]);
        assert_memory_equal(a->marks[e], b->marks[e],
                            (size_t)(a->n_spike[e] * a->n_feature[e]) * item);
    }
}

static void check_copy(const tess_decode_recording_info *a, const tess_decode_recording_info *b)
{
    const int64_t n_dim = a->training.position.n_dim;
    assert_same_spikes(&a->training.spikes, &b->training.spikes);
    assert_same_spikes(&a->observation.spikes, &b->observation.spikes);
    assert_same_reals(a->training.position.position, b->training.position.position,
                      a->training.position.n_sample * n_dim);
    assert_same_reals(a->observation.position.time, b->observation.position.time,
                      a->observation.position.n_sample);
    assert_same_reals(a->observation.time, b->observation.time, a->observation.n_time);
    assert_same_reals(a->true_position, b->true_position, a->observation.n_time * n_dim);
    assert_int_equal(a->training.is_training != NULL, b->training.is_training != NULL);
    assert_int_equal(a->observation.is_missing != NULL, b->observation.is_missing != NULL);
    assert_int_equal(a->has_track, b->has_track);
    assert_true(a->place_bin_size == b->place_bin_size && a->position_std == b->position_std);
    if (a->has_track) {
        assert_int_equal(a->track.n_order, b->track.n_order);
        assert_memory_equal(a->track.edges, b->track.edges, (size_t)a->track.n_edge * 16);
        assert_same_reals(a->track.edge_spacing, b->track.edge_spacing, a->track.n_spacing);
    }
}

static void round_trip(const char *extension)
{
    static const char *const files[] = {"01_linear_1d", "03_open_field_2d", "04_track_graph",
                                        "05_edge_cases", "07_non_local"};
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[512];
        tess_decode_recording *first = NULL;
        tess_decode_recording *second = NULL;
        snprintf(path, sizeof path, TESS_GOLDEN "/decode/%s.npz", files[i]);
        const tess_decode_recording_info *a = open_ok(ctx, path, &first);
        snprintf(path, sizeof path, "copy%s", extension);
        const char *copy = unit_path(path);
        const tess_status status = tess_decode_recording_save(ctx, first, copy, 1);
        if (status == TESS_E_UNSUPPORTED) {
            tess_decode_recording_close(first);
            tess_context_destroy(ctx);
            skip();
        }
        assert_ok(status);
        check_copy(a, open_ok(ctx, copy, &second));
        assert_fails(tess_decode_recording_save(ctx, first, copy, 0), TESS_E_EXISTS, "exists");
        tess_decode_recording_close(second);
        tess_decode_recording_close(first);
    }
    tess_context_destroy(ctx);
}

static void what_is_written_to_npz_is_read_back(void **state)
{
    (void)state;
    round_trip(".npz");
}

static void what_is_written_to_hdf5_is_read_back(void **state)
{
    (void)state;
    round_trip(".h5");
}

// A small sound recording, spoiled one array at a time.
enum { TIME, POSITION, TIMES, OFFSETS, MARKS, N_ARRAY };

static const double time_values[4] = {0, 1, 2, 3};
static const double position_values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
static const double spike_times[3] = {0.5, 1.5, 2.5};
static const float marks[6] = {1, 2, 3, 4, 5, 6};
static const int64_t offsets[3] = {0, 1, 3};

static int64_t sound(tess_format_writer_input *inputs)
{
    tess_bundle_input(&inputs[TIME], "position_time", TESS_F64, 1, (int64_t[]){4}, time_values);
    tess_bundle_input(&inputs[POSITION], "position", TESS_F64, 1, (int64_t[]){4}, position_values);
    tess_bundle_input(&inputs[TIMES], "spike_times", TESS_F64, 1, (int64_t[]){3}, spike_times);
    tess_bundle_input(&inputs[OFFSETS], "spike_offsets", TESS_I64, 1, (int64_t[]){3}, offsets);
    tess_bundle_input(&inputs[MARKS], "marks", TESS_F32, 2, (int64_t[]){3, 2}, marks);
    return N_ARRAY;
}

static void check_refused(tess_context *ctx, const tess_format_writer_input *inputs, int64_t n,
                          tess_status status, const char *message)
{
    const char *path = unit_path("bad.npz");
    tess_decode_recording *recording = NULL;
    assert_ok(tess_bundle_write(ctx, path, inputs, n, 1));
    assert_fails(tess_decode_recording_open(ctx, path, &recording), status, message);
    assert_null(recording);
}

static void a_small_recording(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_format_writer_input inputs[N_ARRAY + 1];
    const int64_t n = sound(inputs);
    const char *path = unit_path("small.npz");
    tess_decode_recording *recording = NULL;
    assert_ok(tess_bundle_write(ctx, path, inputs, n, 1));
    const tess_decode_recording_info *info = open_ok(ctx, path, &recording);
    assert_int_equal(info->training.spikes.n_electrode, 2);
    assert_int_equal(info->training.spikes.n_spike[0], 1);
    assert_int_equal(info->training.spikes.n_spike[1], 2);
    assert_int_equal(info->training.spikes.mark_dtype, TESS_F32);
    assert_true(((const float *)info->training.spikes.marks[1])[3] == 6);
    assert_int_equal(info->observation.n_time, 4); // time is position_time
    assert_true(info->true_position[2] == 2);
    tess_decode_recording_close(recording);

    // Electrodes of different feature counts.
    static const int64_t n_feature[2] = {4, 1};
    tess_bundle_input(&inputs[MARKS], "marks", TESS_F32, 1, (int64_t[]){6}, marks);
    tess_bundle_input(&inputs[N_ARRAY], "n_feature", TESS_I64, 1, (int64_t[]){2}, n_feature);
    assert_ok(tess_bundle_write(ctx, path, inputs, n + 1, 1));
    info = open_ok(ctx, path, &recording);
    assert_int_equal(info->training.spikes.n_feature[0], 4);
    assert_true(((const float *)info->training.spikes.marks[1])[1] == 6);
    tess_decode_recording_close(recording);

    // Without marks: sorted spikes.
    sound(inputs);
    assert_ok(tess_bundle_write(ctx, path, inputs, MARKS, 1));
    info = open_ok(ctx, path, &recording);
    assert_null(info->training.spikes.marks);
    tess_decode_recording_close(recording);
    tess_context_destroy(ctx);
}

static void bad_arrays_are_named(void **state)
{
    (void)state;
    static const int64_t falling[3] = {0, 4, 3};
    static const int64_t short_offsets[3] = {0, 1, 2};
    static const double fraction[3] = {0, 1.5, 3};
    tess_context *ctx = unit_context(1, 0);
    tess_format_writer_input in[N_ARRAY + 1];

    sound(in);
    in[TIME].dataset = "times";
    check_refused(ctx, in, N_ARRAY, TESS_E_FORMAT, "there is no data set 'position_time'");
    assert_contains(tess_last_error(), "found: times, position, spike_times");
    sound(in);
    tess_bundle_input(&in[POSITION], "position", TESS_F64, 1, (int64_t[]){3}, position_values);
    check_refused(ctx, in, N_ARRAY, TESS_E_SHAPE,
                  "'position' has 3 rows; expected 4, one per value of 'position_time'");
    tess_bundle_input(&in[POSITION], "position", TESS_F64, 2, (int64_t[]){1, 4}, position_values);
    check_refused(ctx, in, N_ARRAY, TESS_E_SHAPE, "'position' has 1 rows; expected 4");
    sound(in);
    in[OFFSETS].data = short_offsets;
    check_refused(ctx, in, N_ARRAY, TESS_E_FORMAT,
                  "'spike_offsets' runs from 0 to 2; expected 0 to 3");
    in[OFFSETS].data = falling;
    check_refused(ctx, in, N_ARRAY, TESS_E_FORMAT, "falls from 4 to 3 at electrode 1");
    tess_bundle_input(&in[OFFSETS], "spike_offsets", TESS_F64, 1, (int64_t[]){3}, fraction);
    check_refused(ctx, in, N_ARRAY, TESS_E_FORMAT, "item 1 is 1.5; expected a whole number");
    tess_bundle_input(&in[OFFSETS], "spike_offsets", TESS_I64, 1, (int64_t[]){0}, offsets);
    check_refused(ctx, in, N_ARRAY, TESS_E_SHAPE, "'spike_offsets' is empty");
    sound(in);
    tess_bundle_input(&in[MARKS], "marks", TESS_F32, 2, (int64_t[]){2, 3}, marks);
    check_refused(ctx, in, N_ARRAY, TESS_E_SHAPE, "'marks' has 2 rows; expected 3, one per spike");
    tess_bundle_input(&in[MARKS], "marks", TESS_F32, 1, (int64_t[]){6}, marks);
    check_refused(ctx, in, N_ARRAY, TESS_E_SHAPE, "features of every electrode in 'n_feature'");
    tess_bundle_input(&in[N_ARRAY], "n_feature", TESS_I64, 1, (int64_t[]){2}, offsets);
    check_refused(ctx, in, N_ARRAY + 1, TESS_E_SHAPE,
                  "'marks' has 6 values; 'n_feature' and the spike counts make 2");
    sound(in);
    tess_bundle_input(&in[N_ARRAY], "is_training", TESS_BOOL, 1, (int64_t[]){3}, marks);
    check_refused(ctx, in, N_ARRAY + 1, TESS_E_SHAPE, "'is_training' has 3 values; expected 4");
    tess_bundle_input(&in[N_ARRAY], "node_positions", TESS_F64, 2, (int64_t[]){2, 2},
                      position_values);
    check_refused(ctx, in, N_ARRAY + 1, TESS_E_FORMAT, "there is no data set 'edges'");
    tess_context_destroy(ctx);
}

static void missing_and_foreign_files(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_decode_recording *recording = NULL;
    assert_fails(tess_decode_recording_open(ctx, "none.npz", &recording), TESS_E_NOT_FOUND,
                 "none.npz");
    unit_write_file(unit_path("text.npz"), "hello", 5);
    assert_fails(tess_decode_recording_open(ctx, unit_path("text.npz"), &recording), TESS_E_FORMAT,
                 "not a format Tessera reads");
    tess_decode_recording_close(NULL);
    tess_context_destroy(ctx);
}

static void every_failed_allocation_is_clean(void **state)
{
    (void)state;
    // The first come once, later ones again for every array.
    for (long long k = 1; k < 2000; k += unit_is_quick() && k > 40 ? 3 : 1) {
        unit_allocator allocator;
        unit_allocator_init(&allocator, k);
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.n_thread = 1;
        config.allocator = &allocator.table;
        tess_context *ctx = NULL;
        tess_status status = tess_context_create(&config, &ctx);
        tess_decode_recording *recording = NULL;
        if (status == TESS_OK) {
            status = tess_decode_recording_open(ctx, TESS_GOLDEN "/decode/04_track_graph.npz",
                                                &recording);
        }
        if (status == TESS_OK) {
            status = tess_decode_recording_save(ctx, recording, unit_path("memory.npz"), 1);
        }
        tess_decode_recording_close(recording);
        tess_context_destroy(ctx);
        assert_int_equal(atomic_load(&allocator.n_live), 0);
        if (status == TESS_OK) {
            return;
        }
        assert_int_equal(status, TESS_E_MEMORY);
    }
    fail_msg("2000 allocations were not enough");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_are_recordings),
        cmocka_unit_test(what_is_written_to_npz_is_read_back),
        cmocka_unit_test(what_is_written_to_hdf5_is_read_back),
        cmocka_unit_test(a_small_recording),
        cmocka_unit_test(bad_arrays_are_named),
        cmocka_unit_test(missing_and_foreign_files),
        cmocka_unit_test(every_failed_allocation_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
