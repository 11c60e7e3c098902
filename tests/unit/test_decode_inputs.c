// What is refused, put right, or mentioned, and in which words.
#include "decode_set.h"

#include "systems/decode/encoding/evaluate.h"
#include "systems/decode/store/inputs.h"

// Electrode 1 of a set with its spikes in disorder and two bad ones behind them: one without a
// time, one in the window with an infinite mark.
typedef struct disorder {
    int64_t n; // good spikes
    double *times;
    double *marks;
    const double *old_times;
    const void *old_marks;
} disorder;

static disorder disturb(set *s)
{
    golden_spikes *spikes = &s->decoding_spikes;
    disorder d = {
        .n = spikes->n_spike[1], .old_times = spikes->times[1], .old_marks = spikes->marks[1]};
    d.times = malloc((size_t)(d.n + 2) * sizeof *d.times);
    d.marks = calloc((size_t)(d.n + 2) * 4, sizeof *d.marks);
    assert_true(d.n % 7 != 0);
    for (int64_t i = 0; i < d.n; i++) { // so that every spike is met once
        const int64_t j = i * 7 % d.n;
        d.times[i] = d.old_times[j];
        memcpy(d.marks + 4 * i, (const double *)d.old_marks + 4 * j, 4 * sizeof *d.marks);
    }
    d.times[d.n] = (double)NAN;
    d.times[d.n + 1] = 6.75;
    d.marks[4 * d.n + 6] = (double)INFINITY;
    spikes->times[1] = d.times;
    spikes->marks[1] = d.marks;
    s->observation.spikes = spikes->spikes;
    return d;
}

static void restore(set *s, disorder *d)
{
    s->decoding_spikes.times[1] = d->old_times;
    s->decoding_spikes.marks[1] = d->old_marks;
    free(d->times);
    free(d->marks);
}

static void disorder_is_put_right(void **state)
{
    (void)state;
    log_lines lines;
    tess_context *ctx = talking_context(&lines);
    set s;
    open_set(ctx, "01_linear_1d.npz", &s);
    s.config.nan_policy = TESS_DECODE_NAN_DROP;
    tess_decode_encoding *encoding = encode(ctx, &s);
    const size_t bytes =
        (size_t)(s.time.n * tess_decode_encoding_get_info(encoding)->n_interior) * sizeof(double);
    double *want = likelihood(ctx, encoding, &s.observation, 0, s.time.n, NULL);
    disorder d = disturb(&s);
    double *got = likelihood(ctx, encoding, &s.observation, 0, s.time.n, NULL);
    assert_memory_equal(got, want, bytes);
    assert_contains(lines.text, "decoding spike times of electrode 1 are not sorted");
    free(got);
    lines.text[0] = '\0';
    s.decoding_spikes.n_spike[1] = d.n + 2;
    got = likelihood(ctx, encoding, &s.observation, 0, s.time.n, NULL);
    assert_memory_equal(got, want, bytes);
    assert_contains(lines.text, "discarded 2 decoding spikes: 1 with a non-finite time, 1 with");
    free(got);
    free(want);
    restore(&s, &d);
    tess_decode_encoding_destroy(encoding);
    close_set(&s);
    tess_context_destroy(ctx);
}

static void disorder_is_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    set s;
    open_set(ctx, "01_linear_1d.npz", &s);
    tess_decode_encoding *encoding = encode(ctx, &s);
    disorder d = disturb(&s);
    tess_array out;
    const int64_t shape[] = {s.time.n, tess_decode_encoding_get_info(encoding)->n_interior};
    double *room = malloc((size_t)(shape[0] * shape[1]) * sizeof *room);
    assert_ok(tess_array_init(&out, room, TESS_F64, 2, shape));
    s.decoding_spikes.n_spike[1] = d.n + 1;
    assert_fails(tess_decode_log_likelihood(ctx, encoding, &s.observation, 0, s.time.n, &out, NULL),
                 TESS_E_NUMERIC, "its time is NaN; pass nan_policy=drop");
    d.times[d.n] = 6.8;
    d.marks[4 * d.n + 2] = (double)NAN;
    assert_fails(tess_decode_log_likelihood(ctx, encoding, &s.observation, 0, s.time.n, &out, NULL),
                 TESS_E_NUMERIC, "(t = 6.8): feature 2 is NaN; pass nan_policy=drop");
    tess_decode_encoding_destroy(encoding);
    s.config.strict = 1;
    encoding = encode(ctx, &s);
    assert_fails(tess_decode_log_likelihood(ctx, encoding, &s.observation, 0, s.time.n, &out, NULL),
                 TESS_E_NUMERIC, "electrode 1: spike times are not sorted");
    tess_decode_encoding_destroy(encoding);
    restore(&s, &d);
    free(room);
    close_set(&s);
    tess_context_destroy(ctx);
}

static void bad_training_is_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    set s;
    open_set(ctx, "01_linear_1d.npz", &s);
    tess_decode_encoding *encoding = NULL;
#define REFUSED(status, part)                                                                      \
    assert_fails(tess_decode_encoding_create(ctx, s.env, &s.training, &s.config, &encoding),       \
                 status, part);                                                                    \
    assert_null(encoding)
    const double std[3] = {1, 2, 3};
    s.config.waveform_std_values = std;
    s.config.n_waveform_std = 3;
    REFUSED(TESS_E_SHAPE,
            "electrode 0 has 4 features but waveform_std has 3 values; pass a scalar");
    s.config.waveform_std_values = NULL;
    s.config.position_std_values = std;
    s.config.n_position_std = 2;
    REFUSED(TESS_E_SHAPE, "position_std has 2 values but places have 1 dimensions");
    const double zero = 0;
    s.config.position_std_values = &zero;
    s.config.n_position_std = 1;
    REFUSED(TESS_E_RANGE, "position_std[0] is 0");
    s.config.position_std_values = NULL;
    s.config.waveform_std = -1;
    REFUSED(TESS_E_RANGE, "waveform_std");
    s.config.waveform_std = 24;
    s.training.position.n_dim = 2;
    REFUSED(TESS_E_SHAPE, "position has 2 column(s), but the environment has 1");
    s.training.position.n_dim = 1;

    const double saved = s.position_time.data[5];
    s.position_time.data[5] = s.position_time.data[4];
    REFUSED(TESS_E_NUMERIC, "position_time is not increasing at index 5");
    s.position_time.data[5] = (double)NAN;
    REFUSED(TESS_E_NUMERIC, "position_time[5] is NaN");
    s.position_time.data[5] = saved;
    const double x = s.position.data[7];
    s.position.data[7] = (double)INFINITY;
    REFUSED(TESS_E_NUMERIC, "position[7][0] is infinite");
    s.position.data[7] = (double)NAN;
    s.config.strict = 1;
    REFUSED(TESS_E_NUMERIC, "position[7] is NaN");
    s.config.strict = 0;
    s.position.data[7] = x;

    uint8_t *none = calloc((size_t)s.position.shape[0], 1);
    s.training.is_training = none;
    REFUSED(TESS_E_NUMERIC, "no training samples left: 3000 position samples, 0 with a NaN, 0");
    s.training.is_training = NULL;
    free(none);

    for (int64_t i = 0; i < s.position_time.n; i++) {
        s.position_time.data[i] += 1e9;
    }
    REFUSED(TESS_E_NUMERIC, "do the two clocks have the same origin?");
#undef REFUSED
    close_set(&s);
    tess_context_destroy(ctx);
}

static void lost_tracking_is_no_training(void **state)
{
    (void)state;
    log_lines lines;
    tess_context *ctx = talking_context(&lines);
    set s;
    open_set(ctx, "01_linear_1d.npz", &s);
    uint8_t *mask = malloc((size_t)s.position.shape[0]);
    memset(mask, 1, (size_t)s.position.shape[0]);
    for (int64_t i = 1000; i < 1100; i++) {
        mask[i] = 0;
    }
    s.training.is_training = mask;
    tess_decode_encoding *masked = encode(ctx, &s);
    s.training.is_training = NULL;
    for (int64_t i = 1000; i < 1100; i++) {
        s.position.data[i] = (double)NAN;
    }
    assert_int_equal(lines.n, 0);
    tess_decode_encoding *lost = encode(ctx, &s);
    assert_contains(lines.text, "100 of 3000 position samples are NaN");
    const tess_decode_encoding_info *a = tess_decode_encoding_get_info(masked);
    const tess_decode_encoding_info *b = tess_decode_encoding_get_info(lost);
    assert_int_equal(a->n_training_sample, 2900);
    assert_memory_equal(a->occupancy, b->occupancy, (size_t)a->n_interior * sizeof(double));
    assert_memory_equal(a->n_spike, b->n_spike, (size_t)a->n_electrode * sizeof(int64_t));
    tess_decode_encoding_destroy(masked);
    tess_decode_encoding_destroy(lost);
    free(mask);
    close_set(&s);
    tess_context_destroy(ctx);
}

static void bad_observations_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    set s;
    open_set(ctx, "01_linear_1d.npz", &s);
    tess_decode_encoding *encoding = encode(ctx, &s);
    const int64_t shape[] = {s.time.n, tess_decode_encoding_get_info(encoding)->n_interior};
    double *room = malloc((size_t)(shape[0] * shape[1]) * sizeof *room);
    tess_array out;
    assert_ok(tess_array_init(&out, room, TESS_F64, 2, shape));
#define REFUSED(status, part)                                                                      \
    assert_fails(                                                                                  \
        tess_decode_log_likelihood(ctx, encoding, &s.observation, 0, s.time.n, &out, NULL),        \
        status, part)
    s.decoding_spikes.n_feature[2] = 3;
    s.observation.spikes.n_feature = s.decoding_spikes.n_feature;
    REFUSED(TESS_E_SHAPE, "electrode 2: fitted with 4 features, got 3");
    s.decoding_spikes.n_feature[2] = 4;
    s.observation.spikes.n_electrode = 4;
    REFUSED(TESS_E_SHAPE, "spike_times has 4 electrodes, the model was fitted with 5");
    s.observation.spikes.n_electrode = 5;
    const double t = s.time.data[9];
    s.time.data[9] = s.time.data[8] - 1;
    REFUSED(TESS_E_NUMERIC, "time is not increasing at index 9");
    s.time.data[9] = t;
    assert_fails(tess_decode_log_likelihood(ctx, encoding, &s.observation, 250, 2, &out, NULL),
                 TESS_E_RANGE, "rows 250 to 251 are not within the 251 time bins");
    assert_fails(tess_decode_local_log_likelihood(ctx, encoding, &s.observation, 0, 1, &out, NULL),
                 TESS_E_SHAPE, "out");
    const int64_t n = s.time.n;
    assert_ok(tess_array_init(&out, room, TESS_F64, 1, &n));
    assert_fails(tess_decode_local_log_likelihood(ctx, encoding, &s.observation, 0, n, &out, NULL),
                 TESS_E_ARGUMENT, "position and position_time are missing");
    assert_ok(tess_array_init(&out, room, TESS_F64, 2, shape));
    for (int64_t i = 0; i < s.time.n; i++) {
        s.time.data[i] += 100;
    }
    REFUSED(TESS_E_NUMERIC, "do the two clocks have the same origin?");
#undef REFUSED
    free(room);
    tess_decode_encoding_destroy(encoding);
    close_set(&s);
    tess_context_destroy(ctx);
}

static void odd_things_are_mentioned(void **state)
{
    (void)state;
    log_lines lines;
    tess_context *ctx = talking_context(&lines);
    set s;
    open_set(ctx, "05_edge_cases.npz", &s);
    tess_decode_encoding *encoding = encode(ctx, &s);
    tess_decode_likelihood_report report = {.struct_size = sizeof report};
    double *ll = likelihood(ctx, encoding, &s.observation, 0, s.time.n, &report);
    assert_contains(lines.text, "decoding bins are 0.0625 s wide but position samples 0.015625 s");
    assert_null(strstr(lines.text, "absolute floor of")); // left to who asked for the counts
    free(likelihood(ctx, encoding, &s.observation, 0, s.time.n, NULL));
    assert_contains(lines.text, "lie on the absolute floor of 1e-15");
    assert_int_equal(report.n_excluded, 0);
    assert_true(report.n_flat_spike > 0 && report.n_before > 0 && report.n_after > 0);
    assert_true(report.bin_scale == 1);
    free(ll);
    tess_decode_encoding_destroy(encoding);

    lines.text[0] = '\0';
    s.config.floor = TESS_DECODE_FLOOR_AUTO; // one electrode has 6 features
    s.config.bin_scale = 0;
    encoding = encode(ctx, &s);
    assert_int_equal(tess_decode_encoding_get_info(encoding)->floor, TESS_DECODE_FLOOR_RELATIVE);
    ll = likelihood(ctx, encoding, &s.observation, 0, s.time.n, &report);
    assert_true(report.bin_scale == 4);
    golden_array bins = golden_electrode(ctx, s.file, 2, "dec_time_bin");
    assert_int_equal(report.n_excluded, bins.n);
    assert_contains(lines.text, "electrode 2 has no encoding spikes: its 35 decoding spikes");
    free(bins.data);
    assert_null(strstr(lines.text, "absolute floor of"));
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(encoding);
    for (int64_t p = 0; p < info->n_interior; p++) { // the last row has no spikes
        assert_true(ll[(s.time.n - 1) * info->n_interior + p] ==
                    -4 * info->summed_ground_intensity[p]);
    }
    free(ll);
    tess_decode_encoding_destroy(encoding);

    // An electrode whose clock is off.
    lines.text[0] = '\0';
    double *late = malloc((size_t)s.encoding_spikes.n_spike[5] * sizeof *late);
    for (int64_t i = 0; i < s.encoding_spikes.n_spike[5]; i++) {
        late[i] = s.encoding_spikes.times[5][i] + 1e6;
    }
    const double *old = s.encoding_spikes.times[5];
    s.encoding_spikes.times[5] = late;
    s.training.spikes.times = s.encoding_spikes.times;
    encoding = encode(ctx, &s);
    assert_contains(lines.text, "no spike of electrode 5 lies in the training period");
    assert_int_equal(tess_decode_encoding_get_info(encoding)->n_after[5],
                     s.encoding_spikes.n_spike[5]);
    tess_decode_encoding_destroy(encoding);
    s.encoding_spikes.times[5] = old;
    free(late);
    close_set(&s);
    tess_context_destroy(ctx);
}

// The bytes that checking so many spikes of each electrode takes beside what is held already.
static uint64_t checking_takes(tess_context *ctx, set *s, const tess_decode_encoding *encoding,
                               const double *times, const float *marks, int64_t n)
{
    const double *all_times[5];
    const void *all_marks[5];
    int64_t n_spike[5];
    for (int e = 0; e < 5; e++) {
        all_times[e] = times;
        all_marks[e] = marks;
        n_spike[e] = n;
    }
    tess_decode_observation o = s->observation;
    o.spikes.times = all_times;
    o.spikes.marks = all_marks;
    o.spikes.n_spike = n_spike;
    o.spikes.mark_dtype = TESS_F32;
    const uint64_t before = atomic_load(&ctx->heap.now_bytes);
    atomic_store(&ctx->heap.peak_bytes, before);
    assert_ok(tess_de_check_observation(ctx, encoding, &o, false));
    assert_int_equal(atomic_load(&ctx->heap.now_bytes), before);
    return atomic_load(&ctx->heap.peak_bytes) - before;
}

// Plans count no copies of features and times that the check before them makes.
static void checks_hold_little(void **state)
{
    (void)state;
    enum { N = 400000 };
    tess_context *ctx = unit_context(1, 0);
    set s;
    open_set(ctx, "01_linear_1d.npz", &s);
    s.config.nan_policy = TESS_DECODE_NAN_DROP;
    tess_decode_encoding *encoding = encode(ctx, &s);
    double *times = malloc(N * sizeof *times);
    float *marks = calloc(N * 4, sizeof *marks);
    assert_non_null(times);
    assert_non_null(marks);
    const double begin = s.time.data[0];
    const double end = s.time.data[s.time.n - 1];
    for (int64_t i = 0; i < N; i++) {
        times[i] = begin + (end - begin) * (double)i / N;
    }
    assert_true(checking_takes(ctx, &s, encoding, times, marks, N) < UINT64_C(2) << 20);
    // Times of one electrode are put in order at a time.
    times[7] = times[9];
    marks[4 * 100 + 2] = (float)NAN;
    assert_true(checking_takes(ctx, &s, encoding, times, marks, N) < 6 * 8 * N);
    free(marks);
    free(times);
    tess_decode_encoding_destroy(encoding);
    close_set(&s);
    tess_context_destroy(ctx);
}

// Whatever is known of where it is; equal times count as passed.
static void a_search_from_nearby_finds_the_same(void **state)
{
    (void)state;
    double time[37];
    for (int64_t i = 0; i < 37; i++) {
        time[i] = (double)(i / 3);
    }
    for (int64_t n = 0; n <= 37; n++) {
        for (double value = -1; value < 14; value += 0.125) {
            const int64_t want = tess_de_first_after(time, n, value);
            for (int64_t from = 0; from <= want; from++) {
                assert_int_equal(tess_de_first_after_near(time, n, value, from), want);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disorder_is_put_right),
        cmocka_unit_test(disorder_is_refused),
        cmocka_unit_test(bad_training_is_refused),
        cmocka_unit_test(lost_tracking_is_no_training),
        cmocka_unit_test(bad_observations_are_refused),
        cmocka_unit_test(odd_things_are_mentioned),
        cmocka_unit_test(checks_hold_little),
        cmocka_unit_test(a_search_from_nearby_finds_the_same),
    };
    return cmocka_run_group_tests_name("decode_inputs", tests, NULL, NULL);
}
