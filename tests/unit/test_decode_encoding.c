// Selection of training data, time bins, and what every encoding model shares, on golden data.
#include "decode_set.h"

static void encoding_matches(tess_context *ctx, set *s)
{
    tess_decode_encoding *encoding = encode(ctx, s);
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(encoding);
    assert_int_equal(info->n_training_sample, s->position.shape[0]);
    check_golden(ctx, s->file, "mean_rates", info->mean_rates, info->n_electrode, 0, 1e-11);
    check_golden(ctx, s->file, "occupancy", info->occupancy, info->n_interior, 1e-300, 1e-11);
    check_golden(ctx, s->file, "summed_ground_intensity", info->summed_ground_intensity,
                 info->n_interior, 1e-300, 1e-11);
    for (int64_t e = 0; e < info->n_electrode; e++) {
        char name[64];
        snprintf(name, sizeof name, "e%lld_encoding_positions", (long long)e);
        check_golden(ctx, s->file, name, info->encoding_positions[e],
                     info->n_spike[e] * info->n_place_dim, 1e-9, 0);
    }
    double *ll = likelihood(ctx, encoding, &s->observation, 0, s->time.n, NULL);
    check_golden(ctx, s->file, "ll_reference", ll, s->time.n * info->n_interior, 1e-9, 1e-12);
    free(ll);
    tess_decode_encoding_destroy(encoding);
}

static void a_line_matches_the_original(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    set s;
    open_set(ctx, "01_linear_1d.npz", &s);
    encoding_matches(ctx, &s);
    close_set(&s);
    tess_context_destroy(ctx);
}

static void edge_cases_match_the_original(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t n;
        int64_t index[3];
    } grids[] = {{"ll_T1", 1, {7}}, {"ll_T2", 2, {7, 12}}, {"ll_T3", 3, {0, 7, 30}}};
    tess_context *ctx = unit_context(2, 0);
    set s;
    open_set(ctx, "05_edge_cases.npz", &s);
    encoding_matches(ctx, &s);
    tess_decode_encoding *encoding = encode(ctx, &s);
    const int64_t n_interior = tess_decode_encoding_get_info(encoding)->n_interior;
    for (size_t g = 0; g < ARRAY_LEN(grids); g++) {
        double time[3];
        for (int64_t k = 0; k < grids[g].n; k++) {
            time[k] = s.time.data[grids[g].index[k]];
        }
        tess_decode_observation o = s.observation;
        o.n_time = grids[g].n;
        o.time = time;
        double *ll = likelihood(ctx, encoding, &o, 0, o.n_time, NULL);
        check_golden(ctx, s.file, grids[g].name, ll, o.n_time * n_interior, 2e-9, 1e-11);
        free(ll);
    }
    tess_decode_encoding_destroy(encoding);
    close_set(&s);
    tess_context_destroy(ctx);
}

// Spikes whose nearest sample is a training sample, by looking at all of them.
static int64_t count_nearest(const set *s, const golden_array *times, const uint8_t *mask)
{
    int64_t want = 0;
    for (int64_t i = 0; i < times->n; i++) {
        double best = 1e300;
        int64_t nearest = 0;
        for (int64_t j = 0; j < s->position_time.n; j++) {
            const double distance = fabs(times->data[i] - s->position_time.data[j]);
            if (distance <= best) {
                best = distance;
                nearest = j;
            }
        }
        want += mask[nearest] && best <= 1.0 / 64;
    }
    return want;
}

static void gaps_in_training_follow_the_original(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    set s;
    open_set(ctx, "05_edge_cases.npz", &s);
    golden_array is_training = golden(ctx, s.file, "gap_is_training");
    golden_array times = golden(ctx, s.file, "gap_e0_times");
    golden_array marks = golden(ctx, s.file, "gap_e0_marks");
    golden_array places = golden(ctx, s.file, "gap_e0_encoding_positions");
    uint8_t *mask = malloc((size_t)is_training.n);
    for (int64_t i = 0; i < is_training.n; i++) {
        mask[i] = is_training.data[i] != 0;
    }
    s.training.is_training = mask;
    golden_spikes spikes = s.encoding_spikes;
    spikes.n_spike[0] = times.n;
    spikes.times[0] = times.data;
    spikes.marks[0] = marks.data;
    s.training.spikes.n_spike = spikes.n_spike;
    s.training.spikes.times = spikes.times;
    s.training.spikes.marks = spikes.marks;
    tess_decode_encoding *encoding = encode(ctx, &s);
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(encoding);
    assert_int_equal(info->n_spike[0], places.shape[0]);
    check_golden(ctx, s.file, "gap_e0_encoding_positions", info->encoding_positions[0],
                 info->n_spike[0], 1e-9, 0);
    check_golden(ctx, s.file, "gap_e0_encoding_marks", info->encoding_marks[0],
                 info->n_spike[0] * 4, 0, 0);
    check_golden(ctx, s.file, "gap_mean_rates", info->mean_rates, info->n_electrode, 0, 1e-11);
    check_golden(ctx, s.file, "gap_occupancy", info->occupancy, info->n_interior, 1e-300, 1e-11);
    check_golden(ctx, s.file, "gap_summed_ground_intensity", info->summed_ground_intensity,
                 info->n_interior, 1e-300, 1e-11);
    tess_decode_encoding_destroy(encoding);

    // By nearest sample nobody is counted twice, and a spike on a sample that is out is out.
    s.config.membership = TESS_DECODE_MEMBERSHIP_NEAREST;
    encoding = encode(ctx, &s);
    info = tess_decode_encoding_get_info(encoding);
    const int64_t want = count_nearest(&s, &times, mask);
    assert_int_equal(info->n_spike[0], want);
    assert_true(want < places.shape[0]);
    tess_decode_encoding_destroy(encoding);
    free(mask);
    free(is_training.data);
    free(times.data);
    free(marks.data);
    free(places.data);
    close_set(&s);
    tess_context_destroy(ctx);
}

static void time_bins_match_the_original(void **state)
{
    (void)state;
    static const char *const files[] = {"01_linear_1d.npz", "02_local_nospike.npz",
                                        "05_edge_cases.npz"};
    static const char *const prefixes[] = {"", "dec_", "dec_"};
    tess_context *ctx = unit_context(1, 0);
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        golden_array time = golden(ctx, files[f], "time");
        for (int64_t e = 0; e < 7; e++) {
            char what[32];
            snprintf(what, sizeof what, "%stimes", prefixes[f]);
            golden_array times = golden_electrode(ctx, files[f], e, what);
            snprintf(what, sizeof what, "%sin_window", prefixes[f]);
            golden_array inside = golden_electrode(ctx, files[f], e, what);
            snprintf(what, sizeof what, "%stime_bin", prefixes[f]);
            golden_array bins = golden_electrode(ctx, files[f], e, what);
            int64_t k = 0;
            for (int64_t i = 0; i < times.n; i++) {
                int64_t row = -2;
                tess_decode_time_bin(time.data, time.n, &times.data[i], 1, &row);
                assert_int_equal(row, inside.data[i] != 0 ? (int64_t)bins.data[k++] : -1);
            }
            free(times.data);
            free(inside.data);
            free(bins.data);
        }
        free(time.data);
    }
    const double edge[] = {1.0};
    const double spikes[] = {1.0, 0.5, 1.5, (double)NAN};
    int64_t rows[4];
    tess_decode_time_bin(edge, 1, spikes, 4, rows);
    assert_int_equal(rows[0], 0);
    assert_int_equal(rows[1], -1);
    assert_int_equal(rows[2], -1);
    assert_int_equal(rows[3], -1);
    tess_context_destroy(ctx);
}

static void silence_matches_the_original(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    set s;
    open_set(ctx, "02_local_nospike.npz", &s);
    double *values = malloc((size_t)s.time.n * sizeof *values);
    tess_array out;
    for (int b = 0; b < 2; b++) {
        // In pieces of 7 rows: bins are those of the whole grid.
        for (int64_t first = 0; first < s.time.n; first += 7) {
            const int64_t n = s.time.n - first < 7 ? s.time.n - first : 7;
            assert_ok(tess_array_init(&out, values + first, TESS_F64, 1, &n));
            assert_ok(tess_decode_no_spike_log_likelihood(ctx, &s.observation, b ? 0.05 : 1e-10,
                                                          first, n, &out));
        }
        check_golden(ctx, s.file, b ? "no_spike_ll_b" : "no_spike_ll", values, s.time.n, 1e-9,
                     1e-12);
    }
    assert_ok(tess_array_init(&out, values, TESS_F64, 1, &s.time.n));
    assert_fails(tess_decode_no_spike_log_likelihood(ctx, &s.observation, 0, 0, s.time.n, &out),
                 TESS_E_RANGE, "no_spike_rate is 0");
    free(values);
    close_set(&s);
    tess_context_destroy(ctx);
}

static void any_split_gives_the_same_bits(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 13, 100};
    tess_context *ctx = unit_context(2, 0);
    set s;
    open_set(ctx, "02_local_nospike.npz", &s);
    uint8_t is_missing[300] = {0};
    is_missing[0] = is_missing[40] = is_missing[41] = is_missing[299] = 1;
    s.observation.is_missing = is_missing;
    for (int mode = TESS_DECODE_EXACT; mode <= TESS_DECODE_FAST; mode++) {
        s.config.mode = mode;
        tess_decode_encoding *encoding = encode(ctx, &s);
        const size_t width = (size_t)tess_decode_encoding_get_info(encoding)->n_interior;
        double *whole = likelihood(ctx, encoding, &s.observation, 0, s.time.n, NULL);
        for (size_t p = 0; p < width; p++) {
            assert_true(whole[p] == 0 && whole[40 * width + p] == 0);
            assert_true(whole[42 * width + p] != 0);
        }
        for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
            for (int64_t first = 0; first < s.time.n; first += sizes[k]) {
                const int64_t left = s.time.n - first;
                const int64_t n = left < sizes[k] ? left : sizes[k];
                double *part = likelihood(ctx, encoding, &s.observation, first, n, NULL);
                assert_memory_equal(part, whole + (size_t)first * width,
                                    (size_t)n * width * sizeof *part);
                free(part);
            }
        }
        free(whole);
        tess_decode_encoding_destroy(encoding);
    }
    close_set(&s);
    tess_context_destroy(ctx);
}

static void float_marks_and_no_electrodes(void **state)
{
    (void)state;
    log_lines lines;
    tess_context *ctx = talking_context(&lines);
    set s;
    open_set(ctx, "01_linear_1d.npz", &s);
    tess_decode_encoding *encoding = encode(ctx, &s);
    double *want = likelihood(ctx, encoding, &s.observation, 0, s.time.n, NULL);
    float *marks[5];
    const void *pointers[5];
    for (int64_t e = 0; e < 5; e++) { // golden marks are exact in float
        const int64_t n = s.decoding_spikes.n_spike[e] * 4;
        marks[e] = malloc((size_t)n * sizeof *marks[e]);
        pointers[e] = marks[e];
        for (int64_t i = 0; i < n; i++) {
            marks[e][i] = (float)((const double *)s.decoding_spikes.marks[e])[i];
        }
    }
    s.observation.spikes.mark_dtype = TESS_F32;
    s.observation.spikes.marks = pointers;
    double *got = likelihood(ctx, encoding, &s.observation, 0, s.time.n, NULL);
    const int64_t n_interior = tess_decode_encoding_get_info(encoding)->n_interior;
    assert_memory_equal(got, want, (size_t)(s.time.n * n_interior) * sizeof *got);
    for (int64_t e = 0; e < 5; e++) {
        free(marks[e]);
    }
    free(got);
    free(want);
    tess_decode_encoding_destroy(encoding);
    tess_decode_encoding_destroy(NULL);

    s.training.spikes.n_electrode = 0;
    s.observation.spikes.n_electrode = 0;
    encoding = encode(ctx, &s);
    assert_contains(lines.text, "no electrodes at all");
    got = likelihood(ctx, encoding, &s.observation, 0, s.time.n, NULL);
    for (int64_t i = 0; i < s.time.n * n_interior; i++) {
        assert_true(got[i] == 0);
    }
    free(got);
    tess_decode_encoding_destroy(encoding);
    close_set(&s);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_matches_the_original),
        cmocka_unit_test(edge_cases_match_the_original),
        cmocka_unit_test(gaps_in_training_follow_the_original),
        cmocka_unit_test(time_bins_match_the_original),
        cmocka_unit_test(silence_matches_the_original),
        cmocka_unit_test(any_split_gives_the_same_bits),
        cmocka_unit_test(float_marks_and_no_electrodes),
    };
    return cmocka_run_group_tests_name("decode_encoding", tests, NULL, NULL);
}
