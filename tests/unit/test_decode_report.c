#include "runtime/bundle.h"
#include "systems/decode/report/facts.h"
#include "tessera/decode/stream.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// A result written by hand: two states over the same places and one state of a single bin. The
// posterior of row t has 0.6 in place t mod P, 0.2 on its right; the animal is where the posterior
// is largest, except in every fifth row, where it is three places to the right.
enum { N_TIME = 100, N_STATE = 3, MAX_PLACE = 12, MAX_BIN = 2 * MAX_PLACE + 1, N_ARRAY = 12 };

typedef struct made {
    int64_t n_place, n_axis, n_bin;
    double time[N_TIME];
    char states[N_STATE][8];
    int32_t state_ind[MAX_BIN];
    double position[2][MAX_BIN];
    double truth[2][N_TIME];
    float posterior[N_TIME * MAX_BIN];
    float probabilities[N_TIME][N_STATE];
    double log_evidence;
    tess_format_writer_input arrays[N_ARRAY];
    int64_t n_array;
} made;

static void place_center(int64_t n_axis, int64_t p, double center[2])
{
    center[0] = n_axis == 1 ? 2 * (double)p + 1 : 3 * (double)(p / 3) + 1;
    center[1] = 2 * (double)(p % 3) + 1;
}

static void fill(made *m, int64_t n_place, int64_t n_axis)
{
    memset(m, 0, sizeof *m);
    m->n_place = n_place;
    m->n_axis = n_axis;
    m->n_bin = 2 * n_place + 1;
    m->log_evidence = -12.5;
    strcpy(m->states[0], "Local");
    strcpy(m->states[1], "Run");
    strcpy(m->states[2], "Jump");
    for (int64_t b = 0; b < m->n_bin; b++) {
        double center[2];
        m->state_ind[b] = b == 0 ? 0 : b <= n_place ? 1 : 2;
        place_center(n_axis, (b - 1) % n_place, center);
        m->position[0][b] = b == 0 ? (double)NAN : center[0];
        m->position[1][b] = b == 0 ? (double)NAN : center[1];
    }
    for (int64_t t = 0; t < N_TIME; t++) {
        const int64_t best = t % n_place;
        const int64_t true_place = t % 5 == 4 ? (best + 3) % n_place : best;
        double center[2];
        float *row = m->posterior + t * m->n_bin;
        m->time[t] = 10 + 0.002 * (double)t;
        place_center(n_axis, true_place, center);
        m->truth[0][t] = center[0];
        m->truth[1][t] = center[1];
        row[0] = 0.2f;
        row[1 + best] = 0.4f;
        row[1 + n_place + best] = 0.2f;
        row[1 + (best + 1) % n_place] = 0.2f;
        m->probabilities[t][0] = 0.2f;
        m->probabilities[t][1] = 0.6f;
        m->probabilities[t][2] = 0.2f;
    }
}

static void add(made *m, const char *name, tess_dtype dtype, int32_t rank, int64_t rows,
                int64_t columns, const void *data)
{
    tess_bundle_input(&m->arrays[m->n_array++], name, dtype, rank, (int64_t[]){rows, columns},
                      data);
}

static void list(made *m)
{
    const int is_plane = m->n_axis == 2;
    m->n_array = 0;
    add(m, "time", TESS_F64, 1, N_TIME, 0, m->time);
    add(m, "states", TESS_BYTES, 1, N_STATE, 0, m->states);
    m->arrays[1].item_bytes = 8;
    m->arrays[1].data_bytes = sizeof m->states;
    add(m, "state_ind", TESS_I32, 1, m->n_bin, 0, m->state_ind);
    add(m, is_plane ? "x_position" : "position", TESS_F64, 1, m->n_bin, 0, m->position[0]);
    if (is_plane) {
        add(m, "y_position", TESS_F64, 1, m->n_bin, 0, m->position[1]);
    }
    add(m, is_plane ? "true_x_position" : "true_position", TESS_F64, 1, N_TIME, 0, m->truth[0]);
    if (is_plane) {
        add(m, "true_y_position", TESS_F64, 1, N_TIME, 0, m->truth[1]);
    }
    add(m, "acausal_posterior", TESS_F32, 2, N_TIME, m->n_bin, m->posterior);
    add(m, "acausal_state_probabilities", TESS_F32, 2, N_TIME, N_STATE, m->probabilities);
    add(m, "log_evidence", TESS_F64, 0, 0, 0, &m->log_evidence);
}

static void write_folder(tess_context *ctx, const made *m, const char *folder)
{
    mkdir(folder, 0777);
    for (int64_t i = 0; i < m->n_array; i++) {
        char path[600];
        const tess_format_writer_input *a = &m->arrays[i];
        snprintf(path, sizeof path, "%s/%s.npy", folder, a->dataset);
        if (a->rank == 0) {
            continue; // a file for a single number is optional
        }
        tess_array array;
        tess_sink *sink = NULL;
        tess_sink_config config;
        tess_sink_config_init(&config, sizeof config);
        config.overwrite = 1;
        if (a->dtype == TESS_BYTES) {
            // Sinks write numbers; the header is the test's own.
            char body[N_STATE * 8];
            memcpy(body, a->data, sizeof body);
            char file[128 + sizeof body];
            memset(file, ' ', 128);
            memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
            const char dict[] = "{'descr': '|S8', 'fortran_order': False, 'shape': (3,), }";
            memcpy(file + 10, dict, sizeof dict - 1);
            file[127] = '\n';
            memcpy(file + 128, body, sizeof body);
            unit_write_file(path, file, sizeof file);
            continue;
        }
        assert_ok(tess_array_init(&array, (void *)(uintptr_t)a->data, (tess_dtype)a->dtype, a->rank,
                                  a->shape));
        assert_ok(
            tess_sink_create(ctx, path, &config, (tess_dtype)a->dtype, a->rank, a->shape, &sink));
        assert_ok(tess_sink_write(sink, 0, a->shape[0], a->data, a->data_bytes));
        assert_ok(tess_sink_commit(sink));
        tess_sink_close(sink);
    }
}

static void check_score(tess_context *ctx, const char *path, const made *m)
{
    tess_decode_score score;
    assert_ok(tess_decode_score_result(ctx, path, NULL, &score, sizeof score));
    assert_int_equal(score.n_time, N_TIME);
    assert_int_equal(score.n_state, N_STATE);
    assert_string_equal(score.state_names[1], "Run");
    assert_true(fabs(score.occupancy[1] - 0.6) < 1e-6);
    assert_int_equal(score.n_scored, N_TIME);
    assert_true(score.median_error == 0);
    assert_true(m->n_axis == 2 || score.percentile_90 >= 6);
    // Four rows in five have the animal in the best place, which with Local's share has 0.8 of the
    // mass: half of it is reached with 0.5 / 0.8 of that bin. In the others Local's 0.2 and the
    // right neighbour's 0.2 come after 0.6.
    assert_true(fabs(score.coverage_50 - 0.8 * 0.5 / 0.8) < 1e-6);
    assert_true(fabs(score.coverage_95 - (0.8 + 0.2 * (0.95 - 0.6) / 0.4)) < 1e-6);
    assert_int_equal(score.n_looked, N_TIME);
    assert_int_equal(score.n_local + score.n_unplaced + score.n_unknown, 0);
    assert_int_equal(score.error_grade, TESS_DECODE_GRADE_GOOD);
    assert_int_equal(score.coverage_grade, TESS_DECODE_GRADE_GOOD);
}

// Local's rows are where the animal is, No-Spike's nowhere, and rows without a position unknown:
// each is counted, none stands for another.
static void every_row_is_counted(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    made *m = malloc(sizeof *m);
    assert_non_null(m);
    fill(m, 10, 1);
    for (int64_t t = 0; t < 70; t++) { // the rest of the mass is three places off
        float *row = m->posterior + t * m->n_bin;
        memset(row, 0, (size_t)m->n_bin * sizeof *row);
        row[0] = 0.9f;
        row[1 + (t % 10 + 3) % 10] = 0.1f;
        m->truth[0][t] = 2 * (double)(t % 10) + 1.25;
        m->truth[0][t] = t < 5 ? (double)NAN : m->truth[0][t];
    }
    list(m);
    const char *path = unit_path("local.npz");
    const char *page = unit_path("local.html");
    tess_decode_score score;
    assert_ok(tess_bundle_write(ctx, path, m->arrays, m->n_array, 1));
    assert_ok(tess_decode_score_result(ctx, path, NULL, &score, sizeof score));
    assert_int_equal(score.n_unknown, 5);
    assert_int_equal(score.n_scored, 95);
    assert_int_equal(score.n_local, 65);
    assert_true(score.median_error == 0);
    assert_true(score.median_away == 0 && score.percentile_90 == 0);
    assert_int_equal(score.error_grade, TESS_DECODE_GRADE_NONE);
    assert_ok(tess_decode_report(ctx, path, NULL, NULL, page, 1));
    char *text = unit_read_file(page, NULL);
    assert_contains(text, "95 of 100 time bins are scored (95.0 %)");
    assert_contains(text, "In 68.4 % of the scored bins Local outweighs all places");
    assert_contains(text, "error not judged");
    assert_contains(text, "time bins (%)");
    assert_contains(text, "error (cm)");
    free(text);
    strcpy(m->states[0], "Quiet");
    strcpy(m->states[1], "Local"); // a Local of many bins follows the animal as well
    assert_ok(tess_bundle_write(ctx, path, m->arrays, m->n_array, 1));
    assert_ok(tess_decode_score_result(ctx, path, NULL, &score, sizeof score));
    assert_int_equal(score.n_local, 30);
    assert_int_equal(score.error_grade, TESS_DECODE_GRADE_NONE);
    strcpy(m->states[1], "Run");
    // Any other state of one bin has no place at all.
    assert_ok(tess_bundle_write(ctx, path, m->arrays, m->n_array, 1));
    assert_ok(tess_decode_score_result(ctx, path, NULL, &score, sizeof score));
    assert_int_equal(score.n_unplaced, 65);
    assert_int_equal(score.n_scored, 30);
    assert_int_equal(score.n_local, 0);
    free(m);
    tess_context_destroy(ctx);
}

static void scores_and_reports(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    made *m = malloc(sizeof *m);
    assert_non_null(m);
    for (int64_t n_axis = 1; n_axis <= 2; n_axis++) {
        const char *path = unit_path(n_axis == 1 ? "one.npz" : "two.npz");
        const char *page = unit_path(n_axis == 1 ? "one.html" : "two.html");
        fill(m, n_axis == 1 ? 10 : 12, n_axis);
        list(m);
        m->arrays[0].provenance = "{\"made\": \"<by> hand\"}";
        assert_ok(tess_bundle_write(ctx, path, m->arrays, m->n_array, 1));
        check_score(ctx, path, m);
        tess_decode_score score;
        assert_ok(tess_decode_score_result(ctx, path, NULL, &score, sizeof score));
        assert_true(score.log_evidence == -12.5);
        const tess_decode_stream_report report = {
            .struct_size = sizeof report,
            .elapsed_s = 1.5,
            .n_impossible = 2,
            .likelihood = {.n_value = 10, .n_floored = 9, .n_flat_spike = 3}};
        assert_ok(tess_decode_report(ctx, path, NULL, &report, page, 0));
        assert_fails(tess_decode_report(ctx, path, NULL, &report, page, 0), TESS_E_EXISTS,
                     "exists");
        char *text = unit_read_file(page, NULL);
        assert_contains(text, "90 % of the spike values lie on the floor");
        assert_contains(text, "at 2 time bins");
        assert_contains(text, "&lt;by&gt; hand");
        assert_contains(text, "Calibration");
        assert_contains(text, n_axis == 2 ? "Moments" : "position (cm)");
        assert_null(strstr(text, "<script src"));
        assert_null(strstr(text, "src=\"http"));
        free(text);
        const char *folder = unit_path(n_axis == 1 ? "one" : "two");
        write_folder(ctx, m, folder);
        check_score(ctx, folder, m);
        assert_ok(tess_decode_report(ctx, folder, NULL, NULL, page, 1));
    }
    free(m);
    tess_context_destroy(ctx);
}

// Each array of N_TIME rows becomes so many times as long.
static void lengthen(made *m, int64_t times, void **memory)
{
    for (int64_t i = 0; i < m->n_array; i++) {
        tess_format_writer_input *a = &m->arrays[i];
        memory[i] = NULL;
        if (a->rank == 0 || a->shape[0] != N_TIME) {
            continue;
        }
        char *rows = malloc(a->data_bytes * (uint64_t)times);
        assert_non_null(rows);
        for (int64_t k = 0; k < times; k++) {
            memcpy(rows + a->data_bytes * (uint64_t)k, a->data, a->data_bytes);
        }
        if (a->data == (const void *)m->time) {
            for (int64_t t = 0; t < N_TIME * times; t++) {
                ((double *)(void *)rows)[t] = 10 + 0.002 * (double)t;
            }
        }
        memory[i] = rows;
        a->data = rows;
        a->data_bytes *= (uint64_t)times;
        a->shape[0] *= times;
    }
}

// Reads of this process so far; -1 where the system does not tell.
static int64_t n_read(void)
{
    long long n = -1;
    FILE *file = fopen("/proc/self/io", "r");
    char line[128];
    while (file && fgets(line, sizeof line, file)) {
        (void)sscanf(line, "syscr: %lld", &n);
    }
    if (file) {
        fclose(file);
    }
    return n;
}

// Narrow rows are read many at once, by however many threads, and say the same.
static void narrow_rows_are_read_together(void **state)
{
    (void)state;
    enum { TIMES = 600 };
    tess_decode_score scores[2];
    for (int32_t k = 0; k < 2; k++) {
        tess_context *ctx = unit_context(k == 0 ? 1 : 3, 0);
        made *m = malloc(sizeof *m);
        void *memory[N_ARRAY];
        assert_non_null(m);
        fill(m, 8, 1);
        list(m);
        lengthen(m, TIMES, memory);
        const char *folder = unit_path("narrow");
        write_folder(ctx, m, folder);
        const int64_t before = n_read();
        assert_ok(tess_decode_score_result(ctx, folder, NULL, &scores[k], sizeof scores[k]));
        assert_int_equal(scores[k].n_time, N_TIME * TIMES);
        // 4 MB of posterior: some 32 reads, and those of all else.
        assert_true(before < 0 || n_read() - before < 500);
        for (int64_t i = 0; i < m->n_array; i++) {
            free(memory[i]);
        }
        free(m);
        tess_context_destroy(ctx);
    }
    assert_true(scores[0].median_error == scores[1].median_error);
    assert_true(scores[0].occupancy[1] == scores[1].occupancy[1]);
    assert_true(scores[0].coverage_50 == scores[1].coverage_50);
    assert_true(scores[0].coverage_95 == scores[1].coverage_95);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_decode_score score;
    made *m = malloc(sizeof *m);
    assert_non_null(m);
    fill(m, 10, 1);
    list(m);
    const char *path = unit_path("bad.npz");
    m->arrays[1].dataset = "names";
    assert_ok(tess_bundle_write(ctx, path, m->arrays, m->n_array, 1));
    assert_fails(tess_decode_score_result(ctx, path, NULL, &score, sizeof score), TESS_E_NOT_FOUND,
                 "states");
    list(m);
    m->arrays[0].shape[0] = 50;
    m->arrays[0].data_bytes = 400;
    assert_ok(tess_bundle_write(ctx, path, m->arrays, m->n_array, 1));
    assert_fails(tess_decode_report(ctx, path, NULL, NULL, unit_path("x.html"), 0), TESS_E_SHAPE,
                 "'time' has 50 values; expected 100");
    assert_int_equal(unit_exists(unit_path("x.html")), 0);
    assert_fails(tess_decode_score_result(ctx, "none.h5", NULL, &score, sizeof score),
                 TESS_E_NOT_FOUND, "none.h5");
    free(m);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrow_rows_are_read_together),
        cmocka_unit_test(scores_and_reports),
        cmocka_unit_test(every_row_is_counted),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
