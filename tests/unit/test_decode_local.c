// The likelihood at the animal's own position: golden data, brute force, and the table under it.
#include "decode_set.h"

#include "runtime/context.h"
#include "systems/decode/kde/local.h"

static const double PI = 3.14159265358979323846;

static uint64_t random_state = 12345;

static double uniform(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(random_state >> 11) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

// The set's decoding position, or the encoding one.
static void give_position(tess_context *ctx, set *s, golden_array *time, golden_array *position)
{
    *time = golden_try(ctx, s->file, "dec_position_time");
    *position = golden_try(ctx, s->file, "dec_position");
    s->observation.position = s->training.position;
    if (time->n > 0) {
        s->observation.position.n_sample = time->n;
        s->observation.position.time = time->data;
        s->observation.position.position = position->data;
    }
}

static void local_rows(tess_context *ctx, const tess_decode_encoding *encoding, const set *s,
                       int64_t first, int64_t n, double *values)
{
    tess_array out;
    assert_ok(tess_array_init(&out, values, TESS_F64, 1, &n));
    assert_ok(
        tess_decode_local_log_likelihood(ctx, encoding, &s->observation, first, n, &out, NULL));
}

// All rows at once against the original's, and the same bits in parts.
static void check_set(tess_context *ctx, set *s)
{
    const int64_t n = s->time.n;
    const int64_t n_part = unit_is_quick() ? 61 : 17;
    const bool exact = s->config.mode == TESS_DECODE_EXACT;
    tess_decode_encoding *encoding = encode(ctx, s);
    double *whole = malloc((size_t)n * sizeof *whole);
    double *parts = malloc((size_t)n * sizeof *parts);
    local_rows(ctx, encoding, s, 0, n, whole);
    check_golden(ctx, s->file, "local_ll_reference", whole, n, exact ? 1e-9 : 1e-4,
                 exact ? 1e-12 : 1e-5);
    for (int64_t first = 0; first < n; first += n_part) {
        local_rows(ctx, encoding, s, first, n - first < n_part ? n - first : n_part, parts + first);
    }
    assert_memory_equal(whole, parts, (size_t)n * sizeof *whole);
    free(whole);
    free(parts);
    tess_decode_encoding_destroy(encoding);
}

static void sets_match_the_original(void **state)
{
    (void)state;
    static const char *const files[] = {"02_local_nospike.npz", "03_open_field_2d.npz",
                                        "04_track_graph.npz", "05_edge_cases.npz"};
    tess_context *ctx = unit_context(2, 0);
    for (size_t f = 0; f < ARRAY_LEN(files); f++) {
        set s;
        golden_array time;
        golden_array position;
        open_set(ctx, files[f], &s);
        give_position(ctx, &s, &time, &position);
        for (int mode = TESS_DECODE_EXACT; mode <= TESS_DECODE_BOUNDED; mode++) {
            if (!unit_is_quick() || (int)f % 3 == mode - TESS_DECODE_EXACT) {
                s.config.mode = mode;
                check_set(ctx, &s);
            }
        }
        free(time.data);
        free(position.data);
        close_set(&s);
    }
    tess_context_destroy(ctx);
}

// A lost position is a missing row, whether at its time or at one of its spikes.
static void lost_positions_are_missing_rows(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    set s;
    golden_array time;
    golden_array position;
    open_set(ctx, "02_local_nospike.npz", &s);
    give_position(ctx, &s, &time, &position);
    tess_decode_encoding *encoding = encode(ctx, &s);
    double *before = malloc((size_t)s.time.n * sizeof *before);
    double *after = malloc((size_t)s.time.n * sizeof *after);
    local_rows(ctx, encoding, &s, 0, s.time.n, before);
    position.data[20] = (double)NAN;
    local_rows(ctx, encoding, &s, 0, s.time.n, after);
    int64_t n_changed = 0;
    for (int64_t k = 0; k < s.time.n; k++) {
        if (after[k] != before[k]) {
            assert_true(after[k] == 0);
            // Row k ends where the next begins; a spike of it may be where its time is not.
            const double end = k + 1 < s.time.n ? s.time.data[k + 1] : s.time.data[k];
            assert_true(end >= time.data[19] && s.time.data[k] <= time.data[21]);
            n_changed++;
        }
    }
    assert_true(n_changed > 3 && n_changed < 20);
    free(before);
    free(after);
    free(time.data);
    free(position.data);
    tess_decode_encoding_destroy(encoding);
    close_set(&s);
    tess_context_destroy(ctx);
}

// One electrode of many features on a line, decoded with the spikes it was encoded with.
enum { N_SPIKE = 300, N_MARK = 9, N_GRID = 40, N_SAMPLE = 200 };

typedef struct line {
    double position_time[N_SAMPLE];
    double position[N_SAMPLE];
    double times[N_SPIKE];
    double marks[N_SPIKE * N_MARK];
    double grid[N_GRID];
    int64_t n_spike;
    int64_t n_feature;
    const double *time_list;
    const void *mark_list;
} line;

static void make_line(tess_context *ctx, line *l, set *s)
{
    for (int i = 0; i < N_SAMPLE; i++) {
        l->position_time[i] = i * 0.05;
        l->position[i] = 50 + 40 * sin(i * 0.07);
    }
    for (int i = 0; i < N_SPIKE; i++) {
        l->times[i] = i * 9.9 / N_SPIKE + 0.01 * uniform();
        for (int f = 0; f < N_MARK; f++) {
            l->marks[i * N_MARK + f] = 100 * normal();
        }
    }
    for (int k = 0; k < N_GRID; k++) {
        l->grid[k] = 3 + 0.05 * k;
    }
    l->n_spike = N_SPIKE;
    l->n_feature = N_MARK;
    l->time_list = l->times;
    l->mark_list = l->marks;
    memset(s, 0, sizeof *s);
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    assert_ok(tess_decode_environment_create(ctx, &config, l->position, N_SAMPLE, 1, &s->env));
    tess_decode_training_init(&s->training, sizeof s->training);
    s->training.spikes.n_electrode = 1;
    s->training.spikes.n_spike = &l->n_spike;
    s->training.spikes.n_feature = &l->n_feature;
    s->training.spikes.times = &l->time_list;
    s->training.spikes.marks = &l->mark_list;
    s->training.position.n_sample = N_SAMPLE;
    s->training.position.n_dim = 1;
    s->training.position.time = l->position_time;
    s->training.position.position = l->position;
    tess_decode_observation_init(&s->observation, sizeof s->observation);
    s->observation.n_time = N_GRID;
    s->observation.time = l->grid;
    s->observation.spikes = s->training.spikes;
    s->observation.position = s->training.position;
    tess_decode_encoding_config_init(&s->config, sizeof s->config);
}

// Unnormalised kernel sum of places [n] at y.
static double kernel_sum(double y, const double *places, int n)
{
    double sum = 0;
    for (int j = 0; j < n; j++) {
        sum += exp(-0.5 * pow((y - places[j]) / 6, 2));
    }
    return sum;
}

// log intensity of spike i at its own place, by log-sum-exp over all spikes.
static double spike_term(const line *l, const double *places, int i)
{
    double most = -1e300, joint = 0, q[N_SPIKE];
    for (int j = 0; j < N_SPIKE; j++) {
        q[j] = -0.5 * pow((places[i] - places[j]) / 6, 2);
        for (int f = 0; f < N_MARK; f++) {
            q[j] -= 0.5 * pow((l->marks[i * N_MARK + f] - l->marks[j * N_MARK + f]) / 24, 2);
        }
        most = fmax(most, q[j]);
    }
    for (int j = 0; j < N_SPIKE; j++) {
        joint += exp(q[j] - most);
    }
    return most + log(joint) - log(kernel_sum(places[i], l->position, N_SAMPLE)) -
           N_MARK * log(24 * sqrt(2 * PI));
}

static void brute_force(const line *l, const double *places, double *want)
{
    for (int k = 0; k < N_GRID; k++) {
        double y;
        assert_ok(tess_decode_position_at(l->position_time, l->position, N_SAMPLE, 1, &l->grid[k],
                                          1, &y));
        want[k] = -kernel_sum(y, places, N_SPIKE) / kernel_sum(y, l->position, N_SAMPLE);
    }
    for (int i = 0; i < N_SPIKE; i++) {
        int64_t row;
        tess_decode_time_bin(l->grid, N_GRID, &l->times[i], 1, &row);
        if (row >= 0) {
            want[row] += spike_term(l, places, i);
        }
    }
}

// With more features the absolute floor would hide everything: compare with log-space sums.
static void without_a_floor_nothing_is_cut(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static line l;
    set s;
    make_line(ctx, &l, &s);
    for (int mode = TESS_DECODE_EXACT; mode <= TESS_DECODE_FAST; mode++) {
        s.config.mode = mode;
        tess_decode_encoding *encoding = encode(ctx, &s);
        const tess_decode_encoding_info *info = tess_decode_encoding_get_info(encoding);
        assert_int_equal(info->floor, TESS_DECODE_FLOOR_RELATIVE);
        double got[N_GRID], want[N_GRID];
        local_rows(ctx, encoding, &s, 0, N_GRID, got);
        brute_force(&l, info->encoding_positions[0], want);
        const bool exact = mode == TESS_DECODE_EXACT;
        assert_true(golden_worst(got, want, N_GRID, exact ? 1e-9 : 1e-4, 0) <= 1);
        assert_true(want[5] < TESS_DE_LOG_EPS - 3); // what an absolute floor would hide
        tess_decode_encoding_destroy(encoding);
    }
    tess_decode_environment_destroy(s.env);
    tess_context_destroy(ctx);
}

enum { MAX_POINT = 3000 };

// Four clumps, gap bandwidths apart.
static void make_clumps(double *place, double *weights, int64_t n, int64_t d, const double *std,
                        double gap)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < d; k++) {
            const double clump = (double)(i % 4) * gap * (k ? 0.5 : 1);
            place[i * d + k] = 1e3 + clump * std[k] + 3 * normal();
        }
        weights[i] = uniform();
    }
}

static double density_of(const tess_de_table_samples *s, const double *at)
{
    double sum = 0, total = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const double w = s->weights ? s->weights[i] : 1;
        double square = 0;
        for (int64_t k = 0; k < s->n_dim; k++) {
            const double off = (at[k] - s->place[i * s->n_dim + k]) / s->std[k];
            square += off * off;
        }
        total += w;
        sum += w * exp(-0.5 * square);
    }
    for (int64_t k = 0; k < s->n_dim; k++) {
        total *= s->std[k] * sqrt(2 * PI);
    }
    return sum / total;
}

// The table against every pair, where it claims to know; buckets everywhere.
static void check_field(const tess_de_field *field, const tess_de_table_samples *s)
{
    const int n_query = unit_is_quick() ? 100 : 2000;
    int n_known = 0;
    for (int q = 0; q < n_query; q++) {
        double at[2], log_value;
        const int64_t near = (int64_t)(uniform() * (double)s->n);
        for (int64_t k = 0; k < s->n_dim; k++) {
            at[k] = s->place[near * s->n_dim + k] + s->std[k] * (6 * uniform() - 3);
        }
        const double want = density_of(s, at);
        const double direct = tess_de_nearby_density(&field->nearby, at);
        assert_true(fabs(direct / want - 1) < 1e-12);
        if (tess_de_table_lookup(&field->table, s->n_dim, at, &log_value)) {
            const double error = fabs(exp(log_value) / want - 1);
            if (!(error <= 1e-8)) {
                fail_msg("a relative error of %g where the density is %g", error, want);
            }
            n_known++;
        }
    }
    assert_true(n_known > n_query / 5);
}

static void tables_keep_their_promise(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    const int64_t n = unit_is_quick() ? MAX_POINT / 5 : MAX_POINT;
    double *place = malloc(2 * MAX_POINT * sizeof *place);
    double *weights = malloc(MAX_POINT * sizeof *weights);
    for (int round = 0; round < 8; round += unit_is_quick() ? 3 : 1) {
        const int64_t d = 1 + round % 2;
        const double std[2] = {1 + 4 * uniform(), 1 + 4 * uniform()};
        make_clumps(place, weights, n, d, std, round < 4 ? 8 : 25);
        const tess_de_table_samples samples = {place, round % 4 < 2 ? NULL : weights, n, d, std};
        tess_blocks blocks;
        tess_blocks_init(&blocks, &ctx->heap);
        tess_de_field field;
        assert_ok(tess_de_field_build(ctx, &blocks, &samples, false, &field));
        assert_true(field.table.n[1] > 0);
        check_field(&field, &samples);
        tess_blocks_free(&blocks);
    }
    free(place);
    free(weights);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_match_the_original),
        cmocka_unit_test(lost_positions_are_missing_rows),
        cmocka_unit_test(without_a_floor_nothing_is_cut),
        cmocka_unit_test(tables_keep_their_promise),
    };
    return cmocka_run_group_tests_name("decode_local", tests, NULL, NULL);
}
