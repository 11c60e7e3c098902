// Candidate events, scores and shuffles against a literal program of the rules.
#include "decode_golden.h"

#include "runtime/bundle.h"

#include <stdbool.h>
#include <string.h>

static tess_context *ctx;
static const char FILE_NAME[] = "events.npz";

enum { N_SCORE = TESS_DECODE_EVENT_N_SCORE };

typedef struct setup {
    golden_array position, position_time, is_training;
    golden_spikes spikes;
    uint8_t *training;
    tess_decode_position track;
    tess_decode_environment *env;
    tess_decode_encoding *encoding;
    tess_decode_detector *detector;
} setup;

// A single value, which sources do not read.
static double number(const char *name)
{
    tess_bundle bundle;
    double value = (double)NAN;
    assert_ok(tess_bundle_open(ctx, TESS_GOLDEN "/decode/events.npz", &bundle));
    const tess_bundle_entry *entry = tess_bundle_find(&bundle, name);
    assert_non_null(entry);
    assert_ok(tess_bundle_read_f64(&bundle, entry, &value));
    tess_bundle_close(&bundle);
    return value;
}

static void make_encoding(setup *s)
{
    tess_decode_environment_config places;
    tess_decode_environment_config_init(&places, sizeof places);
    places.place_bin_size = number("place_bin_size");
    double *seen = malloc((size_t)s->position.n * sizeof *seen);
    int64_t n_seen = 0;
    for (int64_t i = 0; i < s->position.n; i++) {
        if (s->training[i]) {
            seen[n_seen++] = s->position.data[i];
        }
    }
    assert_ok(tess_decode_environment_create(ctx, &places, seen, n_seen, 1, &s->env));
    free(seen);
    tess_decode_training training;
    tess_decode_training_init(&training, sizeof training);
    training.spikes = s->spikes.spikes;
    training.position = s->track;
    training.is_training = s->training;
    tess_decode_encoding_config config;
    tess_decode_encoding_config_init(&config, sizeof config);
    config.mode = TESS_DECODE_EXACT;
    config.floor = TESS_DECODE_FLOOR_ABSOLUTE;
    config.position_std = number("position_std");
    config.waveform_std = number("waveform_std");
    assert_ok(tess_decode_encoding_create(ctx, s->env, &training, &config, &s->encoding));
}

static void make_detector(setup *s)
{
    const tess_decode_state state = {.name = "Continuous"};
    tess_decode_movement movement;
    tess_decode_movement_init(&movement, sizeof movement);
    movement.kind = TESS_DECODE_RANDOM_WALK;
    const double one = 1;
    tess_decode_detector_config config;
    tess_decode_detector_config_init(&config, sizeof config);
    config.n_state = 1;
    config.states = &state;
    config.movements = &movement;
    config.discrete_initial = &one;
    config.discrete_transition = &one;
    const tess_decode_encoding *encodings[] = {s->encoding};
    assert_ok(tess_decode_detector_create(ctx, &config, &s->env, 1, encodings, 1, &s->detector));
}

static void open_setup(setup *s)
{
    memset(s, 0, sizeof *s);
    s->position = golden(ctx, FILE_NAME, "position");
    s->position_time = golden(ctx, FILE_NAME, "position_time");
    s->is_training = golden(ctx, FILE_NAME, "is_training");
    s->training = malloc((size_t)s->is_training.n);
    for (int64_t i = 0; i < s->is_training.n; i++) {
        s->training[i] = s->is_training.data[i] != 0;
    }
    golden_read_spikes(ctx, FILE_NAME, "", &s->spikes);
    s->spikes.spikes.mark_dtype = TESS_F64;
    tess_decode_position_init(&s->track, sizeof s->track);
    s->track.n_sample = s->position.shape[0];
    s->track.n_dim = 1;
    s->track.time = s->position_time.data;
    s->track.position = s->position.data;
    make_encoding(s);
    make_detector(s);
}

static void close_setup(setup *s)
{
    tess_decode_detector_destroy(s->detector);
    tess_decode_encoding_destroy(s->encoding);
    tess_decode_environment_destroy(s->env);
    golden_free_spikes(&s->spikes);
    free(s->position.data);
    free(s->position_time.data);
    free(s->is_training.data);
    free(s->training);
}

// options: dt, sd, threshold_z, max_speed, speed sd, join, min and max duration, spikes,
// electrodes.
static tess_decode_events_config config_of(const char *options)
{
    golden_array o = golden(ctx, FILE_NAME, options);
    tess_decode_events_config config;
    tess_decode_events_config_init(&config, sizeof config);
    config.rate_bin = o.data[0];
    config.rate_std = o.data[1];
    config.threshold_z = o.data[2];
    config.max_speed = o.data[3];
    config.speed_std = o.data[4];
    config.join = o.data[5];
    config.min_duration = o.data[6];
    config.max_duration = o.data[7];
    config.min_spikes = (int64_t)o.data[8];
    config.min_electrodes = (int64_t)o.data[9];
    free(o.data);
    return config;
}

static void check_table(const tess_decode_events *events, double dt, const char *prefix,
                        bool has_counted)
{
    const tess_decode_events_info *info = tess_decode_events_get_info(events);
    char name[32];
    snprintf(name, sizeof name, "%s_bins", prefix);
    golden_array bins = golden(ctx, FILE_NAME, name);
    snprintf(name, sizeof name, "%s_counts", prefix);
    golden_array counts = golden(ctx, FILE_NAME, name);
    snprintf(name, sizeof name, "%s_reason", prefix);
    golden_array reason = golden(ctx, FILE_NAME, name);
    snprintf(name, sizeof name, "%s_parts", prefix);
    golden_array parts = golden(ctx, FILE_NAME, name);
    assert_int_equal(info->n_event, bins.shape[0]);
    for (int64_t i = 0; i < info->n_event; i++) {
        const tess_decode_event *e = &info->events[i];
        // Tables b and c were made without the decoder, and do not know how many bins count.
        const int32_t mask = has_counted ? 0xfff : 0xfff & ~TESS_DECODE_EVENT_FEW_BINS;
        assert_int_equal(llround((e->start - info->begin) / dt), (int64_t)bins.data[2 * i]);
        assert_int_equal(llround((e->end - info->begin) / dt), (int64_t)bins.data[2 * i + 1]);
        assert_int_equal(e->n_spike, (int64_t)counts.data[2 * i]);
        assert_int_equal(e->n_electrode, (int64_t)counts.data[2 * i + 1]);
        assert_int_equal(e->reason & mask, (int32_t)reason.data[i] & mask);
        assert_int_equal(e->n_part, (int64_t)parts.data[i]);
    }
    free(bins.data);
    free(counts.data);
    free(reason.data);
    free(parts.data);
}

static void candidates_are_those_of_the_rules(void **state)
{
    (void)state;
    setup s;
    open_setup(&s);
    tess_decode_events *events = NULL;
    tess_decode_events_config config = config_of("options");
    assert_ok(tess_decode_events_find(ctx, &s.spikes.spikes, &s.track, &config, &events));
    check_table(events, config.rate_bin, "table", true);
    const tess_decode_events_info *info = tess_decode_events_get_info(events);
    assert_true(fabs(info->rate_mean - number("rate_mean")) < 1e-9);
    assert_true(fabs(info->rate_sd - number("rate_sd")) < 1e-9);
    assert_int_equal(info->n_rate_bin, (int64_t)number("n_rate_bins"));
    assert_int_equal(info->n_still_bin, (int64_t)number("still_bins"));
    golden_array z = golden(ctx, FILE_NAME, "table_peak_z");
    golden_array speed = golden(ctx, FILE_NAME, "table_max_speed");
    golden_array counted = golden(ctx, FILE_NAME, "table_counted");
    for (int64_t i = 0; i < info->n_event; i++) {
        assert_true(fabs(info->events[i].peak_z - z.data[i]) < 1e-10);
        assert_true(fabs(info->events[i].max_speed - speed.data[i]) < 1e-10);
        assert_int_equal(info->events[i].n_counted, (int64_t)counted.data[i]);
    }
    free(z.data);
    free(speed.data);
    free(counted.data);
    tess_decode_events_destroy(events);
    config = config_of("tableb_options");
    assert_ok(tess_decode_events_find(ctx, &s.spikes.spikes, &s.track, &config, &events));
    check_table(events, config.rate_bin, "tableb", false);
    tess_decode_events_destroy(events);
    config = config_of("tablec_options");
    assert_ok(tess_decode_events_find(ctx, &s.spikes.spikes, NULL, &config, &events));
    check_table(events, config.rate_bin, "tablec", false);
    tess_decode_events_destroy(events);
    close_setup(&s);
}

// The first 20 scored events, with n shuffles of four kinds whose scores are kept.
static tess_decode_events *scored(const setup *s, int64_t n_shuffle,
                                  tess_decode_events_config *config)
{
    tess_decode_events *found = NULL;
    tess_decode_events *events = NULL;
    *config = config_of("options");
    config->event_bin = number("event_bin");
    config->band = number("band");
    config->max_velocity = number("max_velocity");
    config->min_bins = (int64_t)number("min_bins");
    config->seed = (int64_t)number("seed");
    config->n_shuffle = n_shuffle;
    config->shuffles = 1 << TESS_DECODE_SHUFFLE_COLUMN | 1 << TESS_DECODE_SHUFFLE_FIELD |
                       1 << TESS_DECODE_SHUFFLE_TIME | 1 << TESS_DECODE_SHUFFLE_MARKS;
    config->keep_statistics = 1;
    assert_ok(tess_decode_events_find(ctx, &s->spikes.spikes, &s->track, config, &found));
    golden_array row = golden(ctx, FILE_NAME, "event_row");
    double start[32], end[32];
    int64_t key[32];
    int32_t reason[32] = {0};
    for (int64_t i = 0; i < row.n; i++) {
        key[i] = (int64_t)row.data[i];
        start[i] = tess_decode_events_get_info(found)->events[key[i]].start;
        end[i] = tess_decode_events_get_info(found)->events[key[i]].end;
    }
    tess_decode_intervals intervals;
    tess_decode_intervals_init(&intervals, sizeof intervals);
    intervals.n = row.n;
    intervals.start = start;
    intervals.end = end;
    intervals.event = key;
    intervals.reason = reason;
    assert_ok(tess_decode_events_of_intervals(ctx, &s->spikes.spikes, &s->track, &intervals, config,
                                              &events));
    tess_decode_events_destroy(found);
    free(row.data);
    assert_ok(
        tess_decode_events_score(ctx, events, s->detector, &s->spikes.spikes, &s->track, config));
    return events;
}

static void check_array(const char *name, const double *got, double absolute, double relative)
{
    golden_array want = golden(ctx, FILE_NAME, name);
    for (int64_t i = 0; i < want.n; i++) {
        const bool both_nan = isnan(got[i]) && isnan(want.data[i]);
        const double error = fabs(got[i] - want.data[i]);
        if (!both_nan && !(error <= absolute + relative * fabs(want.data[i]))) {
            fail_msg("%s[%lld] is %.17g, %.17g is wanted", name, (long long)i, got[i],
                     want.data[i]);
        }
    }
    free(want.data);
}

static void scores_are_those_of_the_rules(void **state)
{
    (void)state;
    setup s;
    tess_decode_events_config config;
    open_setup(&s);
    tess_decode_events *events = scored(&s, 0, &config);
    const tess_decode_events_info *info = tess_decode_events_get_info(events);
    assert_int_equal(info->n_scored, 20);
    assert_true(fabs(info->bin_scale - number("bin_scale")) < 1e-12);
    check_array("posterior", info->posterior, 1e-10, 0);
    golden_array counted = golden(ctx, FILE_NAME, "counted");
    golden_array route = golden(ctx, FILE_NAME, "line_route");
    assert_int_equal(info->n_row, counted.n);
    for (int64_t i = 0; i < counted.n; i++) {
        assert_int_equal(info->is_counted[i], counted.data[i] != 0);
    }
    double scores[20 * N_SCORE], velocity[20], intercept[20];
    for (int64_t i = 0; i < 20; i++) {
        memcpy(scores + i * N_SCORE, info->events[i].scores, sizeof info->events[i].scores);
        velocity[i] = info->events[i].line_velocity;
        intercept[i] = info->events[i].line_intercept;
        assert_int_equal(info->events[i].line_route, (int32_t)route.data[i]);
    }
    check_array("scores", scores, 0, 1e-10);
    check_array("line_velocity", velocity, 1e-9, 0);
    check_array("line_intercept", intercept, 1e-9, 0);
    free(counted.data);
    free(route.data);
    tess_decode_events_destroy(events);
    close_setup(&s);
}

static void shuffles_are_those_of_the_rules(void **state)
{
    (void)state;
    static const char *const kinds[] = {"column", "field", "time", "marks"};
    setup s;
    tess_decode_events_config config;
    open_setup(&s);
    tess_decode_events *events = scored(&s, (int64_t)number("n_shuffles"), &config);
    assert_ok(
        tess_decode_events_shuffle(ctx, events, s.detector, &s.spikes.spikes, &s.track, &config));
    const tess_decode_events_info *info = tess_decode_events_get_info(events);
    assert_int_equal(info->n_kind, 4);
    for (int k = 0; k < 4; k++) {
        for (int64_t i = 0; i < 5; i++) {
            char name[32];
            snprintf(name, sizeof name, "%s_scores_%d", kinds[k], (int)i);
            check_array(name,
                        info->statistics + ((k * info->n_event + i) * info->n_shuffle) * N_SCORE, 0,
                        1e-10);
        }
    }
    check_array("p", info->p, 0, 0);
    check_array("q", info->q, 1e-12, 0);
    double interval[4 * N_SCORE * 2], significant[4 * N_SCORE];
    for (int k = 0; k < 4 * N_SCORE; k++) {
        interval[2 * k] = info->shares[k].low;
        interval[2 * k + 1] = info->shares[k].high;
        significant[k] = (double)info->shares[k].n_significant;
    }
    check_array("share_interval", interval, 1e-12, 0);
    check_array("n_significant", significant, 0, 0);
    tess_decode_events_destroy(events);
    close_setup(&s);
}

// Where a test stands, and from what share on it is stopped.
static struct {
    double stop_at;
    double least;
} standing = {2, 2};

static int see_progress(void *user, const tess_progress *progress)
{
    (void)user;
    const double share = (double)progress->done / (double)progress->total;
    if (strcmp(progress->stage, "decode.events.shuffle") != 0) {
        return 0;
    }
    standing.least = share < standing.least ? share : standing.least;
    return share >= standing.stop_at;
}

// All events are one batch here: what is kept of it are the kinds that are done.
static void kinds_that_are_done_are_kept(void **state)
{
    (void)state;
    setup s;
    tess_decode_events_config config;
    open_setup(&s);
    tess_decode_events *whole = scored(&s, 60, &config);
    tess_decode_events *stopped = scored(&s, 60, &config);
    const tess_decode_spikes *spikes = &s.spikes.spikes;
    assert_ok(tess_decode_events_shuffle(ctx, whole, s.detector, spikes, &s.track, &config));
    config.checkpoint_dir = unit_path("events-work");
    config.checkpoint_every_s = 0;
    config.resume = 1;
    standing.stop_at = 0.5; // in the second of four kinds, or at its end
    assert_int_equal(
        tess_decode_events_shuffle(ctx, stopped, s.detector, spikes, &s.track, &config),
        TESS_CANCELLED);
    standing.stop_at = 2;
    standing.least = 2;
    assert_ok(tess_decode_events_shuffle(ctx, stopped, s.detector, spikes, &s.track, &config));
    assert_true(standing.least > 0.25);
    const tess_decode_events_info *a = tess_decode_events_get_info(whole);
    const tess_decode_events_info *b = tess_decode_events_get_info(stopped);
    const size_t n = (size_t)(a->n_kind * a->n_event * N_SCORE);
    assert_int_equal(a->n_kind, b->n_kind);
    assert_memory_equal(a->p, b->p, n * sizeof *a->p);
    assert_memory_equal(a->q, b->q, n * sizeof *a->q);
    assert_memory_equal(a->statistics, b->statistics, n * 60 * sizeof *a->statistics);
    tess_decode_events_destroy(whole);
    tess_decode_events_destroy(stopped);
    close_setup(&s);
}

static int set_up(void **state)
{
    (void)state;
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    config.progress = see_progress;
    return tess_context_create(&config, &ctx) == TESS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_are_those_of_the_rules),
        cmocka_unit_test(scores_are_those_of_the_rules),
        cmocka_unit_test(shuffles_are_those_of_the_rules),
        cmocka_unit_test(kinds_that_are_done_are_kept),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
