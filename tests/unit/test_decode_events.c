// Non-local events of results written by hand, and what of a result is looked at.
#include "runtime/bundle.h"
#include "systems/decode/report/facts.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// States Local (one bin), No-Spike (one bin) and Away (P places of 2 cm). The animal stands at 1
// cm.
enum { N_STATE = 3, N_PLACE = 20, N_BIN = N_PLACE + 2, MAX_ARRAY = 15 };

typedef struct made {
    int64_t n_time;
    double *time;
    double *truth;
    float *posterior; // [n_time][N_BIN]
    float *states;    // [n_time][N_STATE]
    char names[N_STATE][16];
    int32_t state_ind[N_BIN];
    double position[N_BIN];
    tess_format_writer_input arrays[MAX_ARRAY];
    int64_t n_array;
    bool is_track; // the places lie on two corridors of 20 cm that leave one corner
    int32_t *true_edge;
} made;

static made *make(int64_t n_time)
{
    made *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->n_time = n_time;
    m->time = calloc((size_t)n_time, sizeof *m->time);
    m->truth = calloc((size_t)n_time, sizeof *m->truth);
    m->posterior = calloc((size_t)n_time * N_BIN, sizeof *m->posterior);
    m->states = calloc((size_t)n_time * N_STATE, sizeof *m->states);
    m->true_edge = calloc((size_t)n_time, sizeof *m->true_edge);
    assert_true(m->time && m->truth && m->posterior && m->states && m->true_edge);
    strcpy(m->names[0], "Local");
    strcpy(m->names[1], "No-Spike");
    strcpy(m->names[2], "Away");
    for (int b = 0; b < N_BIN; b++) {
        m->state_ind[b] = b < 2 ? b : 2;
        m->position[b] = b < 2 ? (double)NAN : 2.0 * (b - 2) + 1;
    }
    for (int64_t t = 0; t < n_time; t++) {
        m->time[t] = 100 + 0.002 * (double)t;
        m->truth[t] = 1;
        m->posterior[t * N_BIN] = 1;
        m->states[t * N_STATE] = 1;
    }
    return m;
}

// The row has this much at a place of Away, the rest Local.
static void set_away(made *m, int64_t row, float probability, int place)
{
    float *values = m->posterior + row * N_BIN;
    memset(values, 0, N_BIN * sizeof *values);
    values[0] = 1 - probability;
    values[2 + place] = probability;
    m->states[row * N_STATE] = 1 - probability;
    m->states[row * N_STATE + 2] = probability;
}

static void set_nan(made *m, int64_t row)
{
    for (int b = 0; b < N_BIN; b++) {
        m->posterior[row * N_BIN + b] = NAN;
    }
    for (int s = 0; s < N_STATE; s++) {
        m->states[row * N_STATE + s] = NAN;
    }
}

static void add(made *m, const char *name, tess_dtype dtype, int32_t rank, int64_t rows,
                int64_t columns, const void *data)
{
    tess_bundle_input(&m->arrays[m->n_array++], name, dtype, rank, (int64_t[]){rows, columns},
                      data);
}

static const char *save(tess_context *ctx, made *m, bool with_truth)
{
    const char *path = unit_path("events.npz");
    m->n_array = 0;
    add(m, "time", TESS_F64, 1, m->n_time, 0, m->time);
    add(m, "states", TESS_BYTES, 1, N_STATE, 0, m->names);
    m->arrays[1].item_bytes = sizeof m->names[0];
    m->arrays[1].data_bytes = sizeof m->names;
    add(m, "state_ind", TESS_I32, 1, N_BIN, 0, m->state_ind);
    add(m, "position", TESS_F64, 1, N_BIN, 0, m->position);
    add(m, "acausal_posterior", TESS_F32, 2, m->n_time, N_BIN, m->posterior);
    add(m, "acausal_state_probabilities", TESS_F32, 2, m->n_time, N_STATE, m->states);
    if (with_truth) {
        add(m, "true_position", TESS_F64, 1, m->n_time, 0, m->truth);
    }
    if (m->is_track) {
        static const double node_x[] = {0, 20, 0};
        static const double node_y[] = {0, 0, 20};
        static const int64_t from[] = {0, 0};
        static const int64_t to[] = {1, 2};
        static const double start[] = {0, 20};
        add(m, "env0_node_x", TESS_F64, 1, 3, 0, node_x);
        add(m, "env0_node_y", TESS_F64, 1, 3, 0, node_y);
        add(m, "env0_edge_from", TESS_I64, 1, 2, 0, from);
        add(m, "env0_edge_to", TESS_I64, 1, 2, 0, to);
        add(m, "env0_edge_start", TESS_F64, 1, 2, 0, start);
        add(m, "true_edge", TESS_I32, 1, m->n_time, 0, m->true_edge);
    }
    assert_ok(tess_bundle_write(ctx, path, m->arrays, m->n_array, 1));
    return path;
}

static void forget(made *m)
{
    free(m->time);
    free(m->truth);
    free(m->posterior);
    free(m->states);
    free(m->true_edge);
    free(m);
}

typedef struct found {
    tess_de_view view;
    tess_de_facts facts;
} found;

static void look(tess_context *ctx, const char *path, const tess_decode_report_config *config,
                 found *f)
{
    assert_ok(tess_de_view_open(ctx, path, NULL, NULL, &f->view));
    assert_ok(tess_de_facts_gather(&f->view, config, &f->facts));
}

static void close_found(found *f)
{
    tess_de_facts_free(&f->facts);
    tess_de_view_close(&f->view);
}

static void check_near(double value, double expected)
{
    assert_true(fabs(value - expected) < 1e-6 * (1 + fabs(expected)));
}

// A sweep of ten rows away from the animal; runs that are too short, cut by a row that is not a
// number, by a gap in time, by the end.
static void set_runs(made *m)
{
    for (int i = 0; i < 10; i++) {
        set_away(m, 100 + i, 0.9f, i);
        set_away(m, 300 + i, 0.79f, i); // below the threshold
        set_away(m, 990 + i, 1, 19 - i);
    }
    for (int i = 0; i < 7; i++) {
        set_away(m, 200 + i, 1, 3); // 14 ms: shorter than 15
    }
    for (int i = 0; i < 20; i++) {
        set_away(m, 400 + i, 1, 5);
        set_away(m, 500 + i, 1, 5);
    }
    set_nan(m, 408);
    for (int64_t t = 510; t < m->n_time; t++) {
        m->time[t] += 1; // 1 s is missing
    }
}

static void events_are_runs_of_rows(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_decode_report_config config;
    tess_decode_report_config_init(&config, sizeof config);
    made *m = make(1000);
    found f;
    set_runs(m);
    look(ctx, save(ctx, m, true), &config, &f);
    const tess_de_events *events = &f.facts.events;
    assert_int_equal(events->rule, TESS_DE_EVENTS_BY_STATE);
    const struct {
        int64_t first, n;
        double start;
    } expected[] = {{100, 10, 100.2}, {400, 8, 100.8},   {409, 11, 100.818},
                    {500, 10, 101.0}, {510, 10, 102.02}, {990, 10, 102.98}};
    assert_int_equal(events->n_item, sizeof expected / sizeof *expected);
    assert_int_equal(events->n_found, events->n_item);
    for (int64_t i = 0; i < events->n_item; i++) {
        assert_int_equal(events->items[i].first_row, expected[i].first);
        assert_int_equal(events->items[i].n_row, expected[i].n);
        check_near(events->items[i].start, expected[i].start);
        check_near(events->items[i].duration, 0.002 * (double)expected[i].n);
        assert_int_equal(events->items[i].state, 2);
    }
    const tess_de_event *sweep = &events->items[0];
    check_near(sweep->mean, 0.9);
    check_near(sweep->state_probability, 0.9);
    check_near(sweep->from[0], 1);
    check_near(sweep->to[0], 19);
    check_near(sweep->distance, 9);
    check_near(sweep->farthest, 18);
    check_near(sweep->velocity, 1000); // 2 cm in 2 ms
    check_near(sweep->departure, 1000);
    check_near(sweep->speed, 0);
    check_near(events->items[5].departure, -1000);
    assert_int_equal(f.facts.agreement.n_not_finite, 1);
    check_near(f.facts.occupancy[1], 0);
    assert_true(f.facts.axis.is_time && f.facts.axis.has_gaps);
    assert_int_equal(f.facts.axis.n_column, 1500);
    close_found(&f);
    config.event_min_duration = 0;
    config.event_threshold = 0.7;
    look(ctx, unit_path("events.npz"), &config, &f);
    assert_int_equal(f.facts.events.n_item, 8);
    close_found(&f);
    forget(m);
    tess_context_destroy(ctx);
}

// Without Local the distance from the animal tells, and without the animal nothing does.
static void events_by_distance(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_decode_report_config config;
    tess_decode_report_config_init(&config, sizeof config);
    config.event_distance = 10;
    made *m = make(200);
    found f;
    strcpy(m->names[0], "Still");
    for (int i = 0; i < 10; i++) {
        set_away(m, 50 + i, 0.9f, 5);  // at 11 cm: 10 from the animal
        set_away(m, 100 + i, 0.9f, 6); // at 13 cm: 12
    }
    m->truth[104] = (double)NAN;
    look(ctx, save(ctx, m, true), &config, &f);
    assert_int_equal(f.facts.events.rule, TESS_DE_EVENTS_BY_DISTANCE);
    assert_int_equal(f.facts.events.n_item, 0); // cut in two of 8 and 10 ms
    close_found(&f);
    m->truth[104] = 1;
    look(ctx, save(ctx, m, true), &config, &f);
    assert_int_equal(f.facts.events.n_item, 1);
    assert_int_equal(f.facts.events.items[0].first_row, 100);
    check_near(f.facts.events.items[0].distance, 12);
    close_found(&f);
    look(ctx, save(ctx, m, false), &config, &f);
    assert_int_equal(f.facts.events.rule, TESS_DE_EVENTS_NONE);
    assert_int_equal(f.facts.events.n_item, 0);
    assert_int_equal(f.facts.agreement.n_unknown, 200);
    close_found(&f);
    forget(m);
    tess_context_destroy(ctx);
}

// On a track ways count, not the line that its corridors are laid out on: the second begins at 20
// cm of the line, and at the corner where the first does, too.
static void distances_follow_the_track(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_decode_report_config config;
    tess_decode_report_config_init(&config, sizeof config);
    config.event_distance = 10;
    made *m = make(400);
    found f;
    m->is_track = true;
    strcpy(m->names[0], "Still");
    for (int i = 0; i < 10; i++) {
        set_away(m, 50 + i, 1, 10);          // at 21 cm of the line: 2 cm from the animal
        set_away(m, 100 + i, 1, 14 + i / 2); // at 29 cm and on: 10 cm and on
        set_away(m, 200 + i, 1, 10);
        set_away(m, 300 + i, 1, 10);
        m->truth[200 + i] = 20; // the end of the first corridor
        m->truth[300 + i] = 20; // the corner
        m->true_edge[300 + i] = 1;
    }
    look(ctx, save(ctx, m, true), &config, &f);
    const tess_de_events *events = &f.facts.events;
    assert_int_equal(events->rule, TESS_DE_EVENTS_BY_DISTANCE);
    assert_int_equal(events->n_item, 2);
    assert_int_equal(events->items[0].first_row, 102);
    check_near(events->items[0].farthest, 18);
    assert_true(fabs(events->items[0].velocity - 500) < 100); // 2 cm in 4 ms, in steps
    check_near(events->items[1].distance, 21);
    close_found(&f);
    // A run from the end of the line's first part to the start of its second: 1 cm each way.
    for (int64_t t = 0; t < m->n_time; t++) {
        m->truth[t] = t < 200 ? 1 : 21;
        m->true_edge[t] = t >= 200;
    }
    look(ctx, save(ctx, m, true), &config, &f);
    assert_true(f.facts.largest_speed < 3 / 0.49);
    assert_true(f.facts.agreement.chance < 2.001);
    assert_true(f.facts.agreement.errors[0] < 1e-9);
    close_found(&f);
    forget(m);
    tess_context_destroy(ctx);
}

// A part of a result: rows, events and page are of it alone; one without rows is refused.
static void periods_are_cut_out(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_decode_report_config config;
    tess_decode_report_config_init(&config, sizeof config);
    made *m = make(1000);
    for (int i = 0; i < 100; i++) {
        set_away(m, 450 + i, 1, 7);
    }
    const char *path = save(ctx, m, true);
    tess_de_view view;
    tess_de_facts facts;
    const tess_de_period period = {101, 101.5};
    assert_ok(tess_de_view_open(ctx, path, NULL, &period, &view));
    assert_int_equal(view.first_row, 500);
    assert_int_equal(view.n_time, 250);
    assert_ok(tess_de_facts_gather(&view, &config, &facts));
    assert_int_equal(facts.events.n_item, 1);
    assert_int_equal(facts.events.items[0].first_row, 0);
    assert_int_equal(facts.events.items[0].n_row, 50);
    tess_de_facts_free(&facts);
    tess_de_view_close(&view);
    config.path = unit_path("part.html");
    config.from = 101;
    config.to = 101.5;
    assert_ok(tess_decode_report_write(ctx, path, &config));
    char *text = unit_read_file(config.path, NULL);
    assert_contains(text, "250 of 1000");
    free(text);
    config.path = unit_path("none.html");
    config.to = 1;
    assert_fails(tess_decode_report_write(ctx, path, &config), TESS_E_ARGUMENT, "to: 1 s");
    config.to = 0;
    assert_fails(tess_decode_report_write(ctx, path, &config), TESS_E_ARGUMENT, "to: 0 s");
    config.from = 200;
    config.to = 1e12;
    assert_fails(tess_decode_report_write(ctx, path, &config), TESS_E_ARGUMENT,
                 "no time bin begins");
    config.event_threshold = 1.5;
    assert_fails(tess_decode_report_write(ctx, path, &config), TESS_E_RANGE, "event_threshold");
    assert_int_equal(unit_exists(config.path), 0);
    forget(m);
    tess_context_destroy(ctx);
}

// One time bin, none that is a number, no truth: a page all the same.
static void odd_results_have_pages(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *page = unit_path("odd.html");
    made *m = make(1);
    set_away(m, 0, 1, 3);
    for (int i = 0; i < 4; i++) {
        if (i == 2) {
            set_nan(m, 0);
        }
        assert_ok(tess_decode_report(ctx, save(ctx, m, i % 2 == 0), NULL, NULL, page, 1));
        char *text = unit_read_file(page, NULL);
        assert_contains(text, "error not judged");
        assert_null(strstr(text, ">nan<"));
        free(text);
    }
    forget(m);
    m = make(64);
    for (int64_t t = 0; t < 64; t++) {
        m->time[t] = 100 - (double)t; // backwards
    }
    assert_ok(tess_decode_report(ctx, save(ctx, m, true), NULL, NULL, page, 1));
    char *text = unit_read_file(page, NULL);
    assert_contains(text, "The axis counts time bins");
    free(text);
    forget(m);
    tess_context_destroy(ctx);
}

// The result of one recording with another: same times and other spikes, other times, fewer.
static void other_recordings_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_decode_simulate_config simulation;
    tess_decode_recording *recording = NULL;
    tess_decode_score score;
    tess_decode_simulate_config_init(&simulation, sizeof simulation);
    simulation.n_time = 60;
    assert_ok(tess_decode_simulate(ctx, &simulation, &recording));
    const tess_decode_observation *observation =
        &tess_decode_recording_get_info(recording)->observation;
    assert_int_equal(observation->n_time, 60);
    made *m = make(60);
    memcpy(m->time, observation->time, 60 * sizeof *m->time);
    assert_ok(tess_decode_score_result(ctx, save(ctx, m, false), recording, &score, sizeof score));
    assert_int_equal(score.n_unknown, 0); // the recording knows
    m->time[59] += 1e-6;
    assert_fails(
        tess_decode_score_result(ctx, save(ctx, m, false), recording, &score, sizeof score),
        TESS_E_MISMATCH, "time bin 59 begins at");
    m->n_time = 50;
    assert_fails(
        tess_decode_score_result(ctx, save(ctx, m, false), recording, &score, sizeof score),
        TESS_E_MISMATCH, "has 60 time bins to decode");
    tess_decode_recording_close(recording);
    forget(m);
    tess_context_destroy(ctx);
}

// Where the animal stands still no error is judged by chance.
static void rest_is_not_judged(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_decode_score score;
    made *m = make(500);
    for (int64_t t = 0; t < 500; t++) {
        set_away(m, t, 0.9f, 12);
        m->truth[t] = 1 + 0.01 * (double)(t % 7); // jitter of the camera
    }
    assert_ok(tess_decode_score_result(ctx, save(ctx, m, true), NULL, &score, sizeof score));
    assert_int_equal(score.rests, 1);
    assert_int_equal(score.error_grade, TESS_DECODE_GRADE_NONE);
    assert_true(score.chance_error > 0);
    for (int64_t t = 0; t < 500; t++) {
        m->truth[t] = (double)(t % 40);
    }
    assert_ok(tess_decode_score_result(ctx, save(ctx, m, true), NULL, &score, sizeof score));
    assert_int_equal(score.rests, 0);
    assert_int_equal(score.error_grade, TESS_DECODE_GRADE_POOR);
    forget(m);
    tess_context_destroy(ctx);
}

// Two environments: places are numbered apart, what lies in the second is not where the animal is,
// and each has its picture.
static void environments_have_places_of_their_own(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_decode_report_config config;
    tess_decode_report_config_init(&config, sizeof config);
    const char environments[N_STATE][8] = {"", "home", "other"};
    const char *page = unit_path("environments.html");
    made *m = make(100);
    found f;
    strcpy(m->names[0], "No-Spike");
    strcpy(m->names[1], "Here");
    for (int b = 0; b < N_BIN; b++) { // 8 places at home, 13 elsewhere
        m->state_ind[b] = b == 0 ? 0 : b < 9 ? 1 : 2;
        m->position[b] = b == 0 ? (double)NAN : b < 9 ? 2.0 * b - 1 : 10.0 * (b - 9);
    }
    for (int64_t t = 0; t < 100; t++) {
        float *row = m->posterior + t * N_BIN;
        const bool is_here = t < 60;
        row[0] = 0;
        row[is_here ? 1 + t % 8 : 12] = 1;
        m->states[t * N_STATE] = 0;
        m->states[t * N_STATE + (is_here ? 1 : 2)] = 1;
        m->truth[t] = 2.0 * (double)(t % 8) + 1;
    }
    const char *path = save(ctx, m, true);
    add(m, "environments", TESS_BYTES, 1, N_STATE, 0, environments);
    m->arrays[m->n_array - 1].item_bytes = sizeof environments[0];
    m->arrays[m->n_array - 1].data_bytes = sizeof environments;
    assert_ok(tess_bundle_write(ctx, path, m->arrays, m->n_array, 1));
    look(ctx, path, &config, &f);
    assert_int_equal(f.view.n_environment, 2);
    assert_string_equal(f.view.environments[0].name, "home");
    assert_int_equal(f.view.environments[0].n_place, 8);
    assert_int_equal(f.view.environments[1].first_place, 8);
    assert_int_equal(f.view.n_place, 21);
    check_near(f.view.center[0][8 + 3], 30);
    assert_int_equal(f.facts.agreement.n_scored, 60);
    assert_int_equal(f.facts.agreement.n_unplaced, 40);
    assert_true(f.facts.agreement.errors[59] == 0);
    assert_int_equal(f.facts.events.n_item, 1);
    assert_int_equal(f.facts.events.items[0].first_row, 60);
    assert_int_equal(f.facts.events.items[0].state, 2);
    assert_true(isnan(f.facts.events.items[0].distance));
    close_found(&f);
    assert_ok(tess_decode_report(ctx, path, NULL, NULL, page, 1));
    char *text = unit_read_file(page, NULL);
    assert_contains(text, "Posterior over position, environment other");
    assert_contains(text, "place bins of home");
    free(text);
    forget(m);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_runs_of_rows),
        cmocka_unit_test(events_by_distance),
        cmocka_unit_test(distances_follow_the_track),
        cmocka_unit_test(periods_are_cut_out),
        cmocka_unit_test(odd_results_have_pages),
        cmocka_unit_test(other_recordings_are_refused),
        cmocka_unit_test(rest_is_not_judged),
        cmocka_unit_test(environments_have_places_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
