// Fast and bounded modes against exact, exact against a plain sum, on random recordings; and what
// must not change a bit.
#include "decode_kde_recording.h"

#include "systems/decode/kde/kde.h"

#include <stdio.h>
#include <string.h>

static tess_context *ctx;

// log_joint of the decoding spikes first..first+n-1, f64.
static double *values_of(tess_context *context, const recording *r,
                         const tess_decode_encoding *encoding, int64_t first, int64_t n)
{
    const int64_t n_bin = tess_decode_encoding_get_info(encoding)->n_interior;
    double *out = malloc((size_t)(n * n_bin) * sizeof *out);
    tess_array in, to;
    assert_ok(tess_array_init(&in, r->decoded + first * r->s.n_feature, TESS_F64, 2,
                              (int64_t[]){n, r->s.n_feature}));
    assert_ok(tess_array_init(&to, out, TESS_F64, 2, (int64_t[]){n, n_bin}));
    assert_ok(tess_decode_log_joint(context, encoding, 0, &in, &to));
    return out;
}

// Largest difference beyond what rounding the value itself to f32 makes.
static double worst_of(const double *got, const double *want, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        const double error = fabs(got[i] - want[i]) - 0x1p-24 * fabs(want[i]);
        worst = !(error <= worst) ? error : worst;
    }
    return worst;
}

// A recording with what exact mode makes of it.
typedef struct reference {
    recording r;
    double *want;
} reference;

static reference new_reference(const shape *s)
{
    reference ref = {.r = record(ctx, s)};
    tess_decode_encoding *exact = encode(ctx, &ref.r, TESS_DECODE_EXACT, 0);
    ref.want = values_of(ctx, &ref.r, exact, 0, s->n_decoding);
    tess_decode_encoding_destroy(exact);
    return ref;
}

static void free_reference(reference *ref)
{
    free(ref->want);
    forget(&ref->r);
}

static void check_mode(const reference *ref, tess_decode_mode mode, double bound, const char *what)
{
    const shape *s = &ref->r.s;
    tess_decode_encoding *fast = encode(ctx, &ref->r, mode, bound);
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(fast);
    double *got = values_of(ctx, &ref->r, fast, 0, s->n_decoding);
    const double worst = worst_of(got, ref->want, s->n_decoding * info->n_interior);
    const double allowed = 2e-5 + (mode == TESS_DECODE_BOUNDED ? info->bound : 0);
    print_message("%-24s P %4lld  bound %.1e  worst %.2e\n", what, (long long)info->n_interior,
                  info->bound, worst);
    if (!(worst <= allowed)) {
        fail_msg("%s: %lld features, worst %.3g, allowed %.3g", what, (long long)s->n_feature,
                 worst, allowed);
    }
    assert_true(mode != TESS_DECODE_BOUNDED || info->bound <= bound);
    free(got);
    tess_decode_encoding_destroy(fast);
}

static void compare_modes(const shape *s, tess_decode_mode mode, double bound, const char *what)
{
    reference ref = new_reference(s);
    check_mode(&ref, mode, bound, what);
    free_reference(&ref);
}

static const tess_decode_floor FLOORS[] = {TESS_DECODE_FLOOR_ABSOLUTE, TESS_DECODE_FLOOR_RELATIVE,
                                           TESS_DECODE_FLOOR_NONE};

// Every case with every floor, or each with one of them in turn.
static size_t n_round(void)
{
    return unit_is_quick() ? 1 : ARRAY_LEN(FLOORS);
}

static void fast_agrees_for_any_number_of_features(void **state)
{
    (void)state;
    static const int64_t features[] = {1, 2, 3, 4, 6, 8, 10, 16, 32};
    for (size_t k = 0; k < ARRAY_LEN(features); k++) {
        for (size_t f = 0; f < n_round(); f++) {
            shape s = plain();
            s.n_feature = features[k];
            s.floor = FLOORS[(k + f) % 3];
            s.n_encoding = FULL.n_encoding;
            s.has_outliers = true;
            char what[64];
            snprintf(what, sizeof what, "D %d floor %d", (int)features[k], (int)s.floor);
            seed = 1 + k * 3 + f;
            compare_modes(&s, TESS_DECODE_FAST, 0, what);
        }
    }
}

static void fast_agrees_in_the_plane(void **state)
{
    (void)state;
    for (size_t f = 0; f < n_round(); f++) {
        shape s = plain();
        s.n_dim = 2;
        s.length = 60;
        s.bin_size = 3;
        s.floor = FLOORS[f];
        s.n_encoding *= 2;
        s.has_outliers = true;
        seed = 50 + f;
        compare_modes(&s, TESS_DECODE_FAST, 0, "plane");
        s.bin_size = 6;
        s.position_std = 4;
        compare_modes(&s, TESS_DECODE_FAST, 0, "plane, coarse bins");
    }
}

// Whether moments go to the bins by way of nodes.
static bool has_nodes(const tess_decode_encoding *encoding)
{
    const kde_model *kde = encoding->model;
    return kde->stage.nodes.axes[1].table != NULL;
}

static void fast_agrees_on_lines_of_many_bins(void **state)
{
    (void)state;
    static const double stds[] = {1.5, 6, 25};
    for (size_t k = 0; k < ARRAY_LEN(stds) * n_round(); k++) {
        shape s = plain();
        s.bin_size = 0.15;
        s.n_sample = FULL.n_sample;
        s.position_std = stds[k % 3];
        s.floor = FLOORS[(k + k / 3) % 3];
        s.floor_nats = k == 1 ? 30 : s.floor_nats;
        s.n_feature = k % 2 ? 4 : 7;
        s.has_outliers = true;
        s.has_weights = k % 3 == 2;
        seed = 80 + k;
        reference ref = new_reference(&s);
        tess_decode_encoding *fast = encode(ctx, &ref.r, TESS_DECODE_FAST, 0);
        assert_true(has_nodes(fast));
        tess_decode_encoding_destroy(fast);
        check_mode(&ref, TESS_DECODE_FAST, 0, "many bins");
        check_mode(&ref, TESS_DECODE_BOUNDED, k % 2 ? 1e-3 : 1e-6, "many bins, bounded");
        free_reference(&ref);
    }
}

// Sums run along one axis first, whichever is cheaper.
static void fast_agrees_either_way_round(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        shape s = plain();
        s.n_dim = 2;
        s.length = 100;
        s.narrow[k] = 0.15;
        s.n_encoding *= 2;
        seed = 60 + (uint64_t)k;
        compare_modes(&s, TESS_DECODE_FAST, 0, k ? "wide plane" : "high plane");
    }
}

// The next floor in turn with each call, from one that differs from round to round.
static void compare_extreme(shape *s, size_t *turn, const char *what, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%s %g", what, value);
    s->floor = FLOORS[(*turn)++ % 3];
    compare_modes(s, TESS_DECODE_FAST, 0, text);
}

static void fast_agrees_at_extremes(void **state)
{
    (void)state;
    static const double stds[] = {0.1, 3, 8, 1e4};
    static const int64_t few[] = {1, 2, 20, 300};
    static const double places[] = {0.05, 0.5, 40, 1e3};
    for (size_t f = 0; f < n_round(); f++) {
        const shape usual = plain();
        shape s = usual;
        size_t turn = f;
        s.has_outliers = true;
        seed = 70 + f;
        s.shift = 1000;
        compare_extreme(&s, &turn, "marks shifted by", s.shift);
        s.shift = 0;
        for (size_t k = 0; k < ARRAY_LEN(stds); k++) {
            s.waveform_std = stds[k];
            compare_extreme(&s, &turn, "waveform_std", stds[k]);
        }
        s.waveform_std = usual.waveform_std;
        for (size_t k = 0; k < ARRAY_LEN(few); k++) {
            s.n_encoding = few[k];
            compare_extreme(&s, &turn, "encoding spikes", (double)few[k]);
        }
        s.n_encoding = usual.n_encoding;
        for (size_t k = 0; k < ARRAY_LEN(places); k++) {
            s.position_std = places[k];
            compare_extreme(&s, &turn, "position_std", places[k]);
        }
        s.position_std = usual.position_std;
        s.n_sample *= 2; // more places, more bins
        s.bin_size = 0.1;
        s.n_decoding = 12;
        compare_extreme(&s, &turn, "many bins of", s.bin_size);
        s.bin_size = 200;
        compare_extreme(&s, &turn, "one bin of", s.bin_size);
    }
}

static void weights_count(void **state)
{
    (void)state;
    shape s = plain();
    s.has_weights = true;
    seed = 90;
    compare_modes(&s, TESS_DECODE_FAST, 0, "weights");
    s.n_encoding = 200;
    compare_modes(&s, TESS_DECODE_FAST, 0, "weights, few");
}

static void bounds_are_bounds(void **state)
{
    (void)state;
    static const double bounds[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
    for (size_t f = 0; f < ARRAY_LEN(FLOORS); f++) {
        for (int64_t d = 1; d <= 2; d++) {
            if (unit_is_quick() && d != 1 + (int64_t)f % 2) {
                continue;
            }
            shape s = plain();
            s.n_dim = d;
            s.length = d == 1 ? 150 : 60;
            s.floor = FLOORS[f];
            seed = 120 + f;
            reference ref = new_reference(&s);
            for (size_t k = f; k < ARRAY_LEN(bounds); k += 3) {
                check_mode(&ref, TESS_DECODE_BOUNDED, bounds[k], "bounded");
            }
            free_reference(&ref);
        }
    }
}

// The definition, term by term, in logarithms.
static double plain_value(const recording *r, const tess_decode_encoding_info *info,
                          const double *centre, const double *mark, double occupancy)
{
    const int64_t n = info->n_spike[0];
    double most = -(double)INFINITY;
    double sum = 0;
    for (int64_t pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < n; i++) {
            double q = 0;
            for (int64_t f = 0; f < r->s.n_feature; f++) {
                const double a = mark[f] - info->encoding_marks[0][i * r->s.n_feature + f];
                q += 0.5 * a * a / (r->s.waveform_std * r->s.waveform_std);
            }
            for (int64_t k = 0; k < r->s.n_dim; k++) {
                const double a = centre[k] - info->encoding_positions[0][i * r->s.n_dim + k];
                q += 0.5 * a * a / (r->s.position_std * r->s.position_std);
            }
            most = pass == 0 && -q > most ? -q : most;
            sum += pass == 1 ? exp(-q - most) : 0;
        }
    }
    const double norm = (double)r->s.n_feature * log(r->s.waveform_std * sqrt(6.283185307179586)) +
                        (double)r->s.n_dim * log(r->s.position_std * sqrt(6.283185307179586));
    return log(info->mean_rates[0] / (double)n) + most + log(sum) - norm - log(occupancy);
}

static void exact_is_the_definition(void **state)
{
    (void)state;
    for (size_t f = 0; f < ARRAY_LEN(FLOORS); f++) {
        shape s = plain();
        s.floor = FLOORS[f];
        s.n_dim = 1 + (int64_t)f % 2;
        s.length = 60;
        s.bin_size = 5;
        s.n_encoding = 300;
        s.n_decoding = 11;
        s.has_outliers = true;
        seed = 200 + f;
        recording r = record(ctx, &s);
        tess_decode_encoding *exact = encode(ctx, &r, TESS_DECODE_EXACT, 0);
        const tess_decode_encoding_info *info = tess_decode_encoding_get_info(exact);
        const double *centres = tess_decode_environment_get_info(r.env)->interior_centers;
        double *got = values_of(ctx, &r, exact, 0, s.n_decoding);
        double *want = malloc((size_t)info->n_interior * sizeof *want);
        for (int64_t i = 0; i < s.n_decoding; i++) {
            const double *mark = r.decoded + i * s.n_feature;
            double best = -(double)INFINITY;
            for (int64_t p = 0; p < info->n_interior; p++) {
                want[p] = plain_value(&r, info, centres + p * s.n_dim, mark, info->occupancy[p]);
                best = fmax(best, want[p]);
            }
            const double floor = s.floor == TESS_DECODE_FLOOR_ABSOLUTE   ? -34.538776394910684
                                 : s.floor == TESS_DECODE_FLOOR_RELATIVE ? best - s.floor_nats
                                                                         : -700;
            for (int64_t p = 0; p < info->n_interior; p++) {
                want[p] = fmax(floor, want[p]);
                assert_true(fabs(got[i * info->n_interior + p] - want[p]) <=
                            1e-10 + 1e-13 * fabs(want[p]));
            }
        }
        free(want);
        free(got);
        tess_decode_encoding_destroy(exact);
        forget(&r);
    }
}

// All spikes at once, in parts and one by one; with other numbers of threads.
static void tiles_and_threads_do_not_show(void **state)
{
    (void)state;
    tess_context *other = unit_context(3, 0);
    const int first = unit_is_quick() ? 1 : 0;
    // 1, 4 and 7: fast in the plane, exact on a line, by nodes on a line
    for (int k = first; k < 8; k += 1 + 2 * first) {
        shape s = plain();
        s.n_dim = k == 7 ? 1 : 1 + k % 2;
        s.length = s.n_dim == 2 ? 60 : 150;
        s.bin_size = k == 7 ? 0.3 : s.bin_size;
        s.floor = FLOORS[k / 2 % 3];
        s.n_decoding = 131;
        s.has_outliers = true;
        seed = 300 + (uint64_t)k;
        recording r = record(ctx, &s);
        const tess_decode_mode mode = k == 4 ? TESS_DECODE_EXACT : TESS_DECODE_FAST;
        tess_decode_encoding *encoding = encode(ctx, &r, mode, 0);
        assert_true(k != 7 || has_nodes(encoding));
        const int64_t n_bin = tess_decode_encoding_get_info(encoding)->n_interior;
        double *all = values_of(ctx, &r, encoding, 0, s.n_decoding);
        double *threads = values_of(other, &r, encoding, 0, s.n_decoding);
        assert_memory_equal(all, threads, (size_t)(s.n_decoding * n_bin) * sizeof *all);
        static const int64_t parts[] = {1, 7, 40};
        static const int64_t strides[] = {13, 7, 40};
        for (size_t j = 0; j < ARRAY_LEN(parts); j++) {
            for (int64_t i = 0; i < s.n_decoding; i += strides[j]) {
                const int64_t n = s.n_decoding - i < parts[j] ? s.n_decoding - i : parts[j];
                double *some = values_of(ctx, &r, encoding, i, n);
                assert_memory_equal(some, all + i * n_bin, (size_t)(n * n_bin) * sizeof *all);
                free(some);
            }
        }
        free(all);
        free(threads);
        tess_decode_encoding_destroy(encoding);
        forget(&r);
    }
    tess_context_destroy(other);
}

static void single_spikes_agree(void **state)
{
    (void)state;
    for (int k = 0; k < 9; k += unit_is_quick() ? 4 : 1) {
        shape s = plain();
        s.n_dim = k < 6 ? 1 : 2;
        s.length = k < 6 ? 150 : 60;
        s.n_feature = k % 2 ? 4 : 7;
        s.n_encoding = k % 3 == 2 ? 40 : s.n_encoding;
        s.floor = FLOORS[k % 3];
        s.has_outliers = true;
        seed = 400 + (uint64_t)k;
        recording r = record(ctx, &s);
        for (int64_t i = 0; i < s.n_decoding * s.n_feature; i++) {
            r.decoded[i] = (double)(float)r.decoded[i];
        }
        tess_decode_encoding *encoding = encode(ctx, &r, TESS_DECODE_FAST, 0);
        const int64_t n_bin = tess_decode_encoding_get_info(encoding)->n_interior;
        double *want = values_of(ctx, &r, encoding, 0, s.n_decoding);
        const size_t bytes = tess_de_kde_single_ops.scratch_bytes(encoding);
        void *scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
        float *got = malloc((size_t)n_bin * sizeof *got);
        for (int64_t i = 0; i < s.n_decoding; i++) {
            float mark[32];
            for (int64_t f = 0; f < s.n_feature; f++) {
                mark[f] = (float)r.decoded[i * s.n_feature + f];
            }
            tess_de_kde_single_ops.spike(encoding, 0, mark, scratch, got);
            for (int64_t p = 0; p < n_bin; p++) {
                const double value = want[i * n_bin + p];
                assert_true(fabs((double)got[p] - value) <= 2e-5 + 0x1p-23 * fabs(value));
            }
        }
        free(want);
        free(got);
        free(scratch);
        tess_decode_encoding_destroy(encoding);
        forget(&r);
    }
}

// What the report of all spikes counts.
static void check_report(const recording *r, const tess_decode_encoding *encoding,
                         const tess_decode_likelihood_report *report)
{
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(encoding);
    const int64_t n_value = r->s.n_decoding * info->n_interior;
    double *values = values_of(ctx, r, encoding, 0, r->s.n_decoding);
    int64_t n_floored = 0;
    for (int64_t i = 0; i < n_value; i++) {
        n_floored += values[i] == (double)(float)-34.538776394910684;
    }
    assert_int_equal(report->n_spike, r->s.n_decoding);
    assert_int_equal(report->n_value, n_value);
    assert_int_equal(report->n_floored, n_floored);
    assert_true(n_floored > 0);
    assert_true(report->pairs == (double)r->s.n_decoding * (double)info->n_spike[0]);
    assert_true(report->bound == info->bound && report->bound > 0);
    free(values);
}

// Rows in one call and in pieces; rows without spikes; what the report counts.
static void rows_add_up(void **state)
{
    (void)state;
    shape s = plain();
    s.n_decoding = 200;
    seed = 500;
    recording r = record(ctx, &s);
    tess_decode_encoding *encoding = encode(ctx, &r, TESS_DECODE_FAST, 0);
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(encoding);
    enum { N_TIME = 101 };
    double time[N_TIME], spike_times[200];
    for (int64_t k = 0; k < N_TIME; k++) {
        time[k] = 0.01 * (double)k;
    }
    for (int64_t i = 0; i < s.n_decoding; i++) {
        spike_times[i] = 0.5 * (double)i / (double)s.n_decoding; // rows 50.. have none
    }
    tess_decode_observation o;
    tess_decode_observation_init(&o, sizeof o);
    const void *marks[] = {r.decoded};
    const double *times[] = {spike_times};
    o.n_time = N_TIME;
    o.time = time;
    o.spikes.mark_dtype = TESS_F64;
    o.spikes.n_electrode = 1;
    o.spikes.n_spike = &s.n_decoding;
    o.spikes.n_feature = &s.n_feature;
    o.spikes.times = times;
    o.spikes.marks = marks;
    const int64_t n_bin = info->n_interior;
    float *all = malloc((size_t)(N_TIME * n_bin) * sizeof *all);
    float *piece = malloc((size_t)(N_TIME * n_bin) * sizeof *piece);
    tess_array out;
    tess_decode_likelihood_report report = {.struct_size = sizeof report};
    assert_ok(tess_array_init(&out, all, TESS_F32, 2, (int64_t[]){N_TIME, n_bin}));
    assert_ok(tess_decode_log_likelihood(ctx, encoding, &o, 0, N_TIME, &out, &report));
    for (int64_t first = 0; first < N_TIME; first += 13) {
        const int64_t n = N_TIME - first < 13 ? N_TIME - first : 13;
        assert_ok(tess_array_init(&out, piece, TESS_F32, 2, (int64_t[]){n, n_bin}));
        assert_ok(tess_decode_log_likelihood(ctx, encoding, &o, first, n, &out, NULL));
        assert_memory_equal(piece, all + first * n_bin, (size_t)(n * n_bin) * sizeof *piece);
    }
    for (int64_t k = 50; k < N_TIME; k++) {
        for (int64_t p = 0; p < n_bin; p++) {
            assert_true(all[k * n_bin + p] == (float)-info->summed_ground_intensity[p]);
        }
    }
    check_report(&r, encoding, &report);
    free(all);
    free(piece);
    tess_decode_encoding_destroy(encoding);
    forget(&r);
}

static int open_context(void **state)
{
    (void)state;
    ctx = unit_context(2, 0);
    return ctx ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_agrees_for_any_number_of_features),
        cmocka_unit_test(fast_agrees_in_the_plane),
        cmocka_unit_test(fast_agrees_on_lines_of_many_bins),
        cmocka_unit_test(fast_agrees_either_way_round),
        cmocka_unit_test(fast_agrees_at_extremes),
        cmocka_unit_test(weights_count),
        cmocka_unit_test(bounds_are_bounds),
        cmocka_unit_test(exact_is_the_definition),
        cmocka_unit_test(tiles_and_threads_do_not_show),
        cmocka_unit_test(single_spikes_agree),
        cmocka_unit_test(rows_add_up),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
