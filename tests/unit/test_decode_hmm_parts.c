// Parts of a chunk side by side: the bits of one row after the other, whether models forget or not.
#include "decode_hmm_dense.h"
#include "decode_hmm_run.h"

#include "systems/decode/states/hmm_model.h"
#include "systems/decode/states/hmm_parts.h"
#include "systems/decode/states/path_there.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_ROW = 3600 };

static tess_context *ctx;

// Fresh rows; depth 0: they say nothing, and no row forgets fast where it came from.
static double *draw_rows(const dense_case *c, double depth)
{
    static uint64_t random = 77;
    double *ll = zeros(N_ROW * c->desc.n_ll, sizeof *ll);
    for (int64_t t = 0; t < N_ROW; t++) {
        const int64_t place = (int64_t)(dense_random(&random) * (double)c->desc.n_ll);
        for (int64_t i = 0; i < c->desc.n_ll; i++) {
            ll[t * c->desc.n_ll + i] = -depth * dense_random(&random) - (i == place ? 0 : depth);
        }
    }
    return ll;
}

// The rows of a chunk that begins and ends inside of sequences, with two whole ones between.
static const tess_de_hmm_part cut_parts[] = {
    {.first = 0, .n_row = 700, .is_end = true},
    {.first = 700, .n_row = 1400, .is_start = true, .is_end = true},
    {.first = 2100, .n_row = 1, .is_start = true, .is_end = true},
    {.first = 2101, .n_row = N_ROW - 2101, .is_start = true}};
static const tess_de_hmm_part one_part[] = {{.n_row = N_ROW, .is_start = true, .is_end = true}};

static void run_parts(const dense_case *c, tess_device *device, const tess_de_hmm_chunk *chunk,
                      const tess_de_hmm_part *given, int64_t n_part, tess_de_hmm_room *room, run *r,
                      tess_de_hmm_part *parts)
{
    const size_t item = r->dtype == TESS_F32 ? 4 : 8;
    memcpy(parts, given, (size_t)n_part * sizeof *parts);
    memcpy(r->carry, c->initial, (size_t)r->n_bin * sizeof *r->carry);
    r->end = (tess_de_hmm_carry){.predicted = r->carry, .first_impossible = -1};
    assert_ok(tess_de_hmm_filter_parts(ctx, device, r->hmm, chunk, parts, n_part, c->initial, room,
                                       &r->end));
    memcpy(r->causal, r->filtered, (size_t)(N_ROW * r->n_bin) * item);
    memcpy(r->next, c->initial, (size_t)r->n_bin * sizeof *r->next);
    assert_ok(tess_de_hmm_smooth_parts(ctx, device, r->hmm, chunk, parts, n_part, room, r->next));
}

static void check_same(const run *a, const run *b)
{
    const size_t rows = (size_t)(N_ROW * a->n_bin) * (a->dtype == TESS_F32 ? 4 : 8);
    const size_t states = (size_t)(N_ROW * a->n_state) * sizeof(double);
    assert_memory_equal(a->causal, b->causal, rows);
    assert_memory_equal(a->predicted, b->predicted, rows);
    assert_memory_equal(a->filtered, b->filtered, rows);
    assert_memory_equal(a->causal_states, b->causal_states, states);
    assert_memory_equal(a->predictive_states, b->predictive_states, states);
    assert_memory_equal(a->acausal_states, b->acausal_states, states);
    assert_memory_equal(a->carry, b->carry, (size_t)a->n_bin * sizeof *a->carry);
    assert_memory_equal(a->next, b->next, (size_t)a->n_bin * sizeof *a->next);
    assert_true(a->end.log_evidence == b->end.log_evidence);
    assert_int_equal(a->end.n_row, b->end.n_row);
    assert_int_equal(a->end.n_impossible, b->end.n_impossible);
}

// Guesses that were wrong, if any were.
static int64_t wrong_of(const tess_de_hmm *hmm)
{
    const tess_de_hmm_guesses *g = hmm->guesses;
    return g[0].wrong + g[0].doubled + g[1].wrong + g[1].doubled;
}

// One after the other or side by side, forecasts kept or made again. Returns the guesses that were
// wrong.
static int64_t compare(int which, double depth, int32_t dtype, const tess_de_hmm_part *given,
                       int64_t n_part)
{
    dense_case c;
    dense_case_make(ctx, which, dtype == TESS_F64, &c);
    tess_de_hmm *hmm = NULL;
    assert_ok(tess_de_hmm_create(ctx, &c.desc, &hmm));
    double *ll = draw_rows(&c, depth);
    tess_de_hmm_room *room = NULL;
    assert_ok(tess_de_hmm_room_create(ctx, hmm, dtype, N_ROW, true, &room));
    const int64_t n_forecast = N_ROW * tess_hmm_forecast_width(&hmm->model);
    double *forecasts = zeros(n_forecast, sizeof *forecasts);
    run r[4];
    tess_de_hmm_part parts[4][sizeof cut_parts / sizeof *cut_parts];
    for (int k = 0; k < 4; k++) {
        r[k] = new_run(hmm, c.desc.n_state, N_ROW, dtype);
        tess_de_hmm_chunk chunk =
            chunk_of(&r[k], ll, TESS_F64, c.desc.n_ll, c.transition, 0, 0, N_ROW);
        chunk.forecasts = k < 2 ? NULL : forecasts;
        memset(forecasts, 0xff, (size_t)n_forecast * sizeof *forecasts);
        run_parts(&c, &ctx->cpu, &chunk, given, n_part, k % 2 == 0 ? NULL : room, &r[k], parts[k]);
        check_same(&r[0], &r[k]);
    }
    for (int64_t i = 0; i < 4 * n_part; i++) {
        assert_true(parts[0][i % n_part].log_evidence ==
                    parts[i / n_part][i % n_part].log_evidence);
    }
    const int64_t n_wrong = wrong_of(hmm);
    for (int k = 0; k < 4; k++) {
        free_run(&r[k]);
    }
    free(forecasts);
    tess_de_hmm_room_destroy(room);
    free(ll);
    tess_de_hmm_destroy(hmm);
    dense_case_free(&c);
    return n_wrong;
}

static void parts_change_no_bit(void **state)
{
    (void)state;
    const int64_t n_cut = sizeof cut_parts / sizeof *cut_parts;
    int64_t n_wrong = 0, n_right = 0;
    for (int which = 0; which < 3; which++) {
        for (int k = 0; k < 4; k++) {
            const int32_t dtype = k % 2 ? TESS_F64 : TESS_F32;
            const double depth = k < 2 ? 6 : 0;
            const int64_t wrong = compare(which, depth, dtype, cut_parts, n_cut) +
                                  compare(which, depth, dtype, one_part, 1);
            n_wrong += wrong;
            n_right += wrong == 0;
        }
    }
    // Both ways were gone.
    assert_true(n_wrong > 0);
    assert_true(n_right > 0);
}

// What so many guesses with so many wrong ones make of their rows.
static void expect_rows(int64_t n_round, int64_t n_made, int64_t n_wrong, int64_t rows)
{
    tess_de_hmm_guesses guesses = {0};
    for (int64_t i = 0; i < n_round; i++) {
        tess_de_hmm_note_guesses(&guesses, tess_de_hmm_guess_rows(&guesses), n_made, n_wrong);
    }
    assert_int_equal(tess_de_hmm_guess_rows(&guesses), rows);
}

static void a_few_wrong_guesses_change_nothing(void **state)
{
    (void)state;
    expect_rows(0, 0, 0, 256);
    expect_rows(10000, 263, 1, 256); // a long recording
    expect_rows(3, 7, 1, 256);
    expect_rows(1000, 160, 10, 256);
    expect_rows(1000, 160, 11, 2048);
    expect_rows(1, 8, 3, 256);
    expect_rows(1, 8, 4, 512);
    expect_rows(1, 1, 1, 512);
    expect_rows(3, 7, 7, 2048);
    expect_rows(4, 7, 7, 0);
    expect_rows(100, 63, 60, 0);
}

// Rounds of one chunk, whose guesses were all made before any was known to be wrong.
static void short_guesses_end_no_long_ones(void **state)
{
    (void)state;
    tess_de_hmm_guesses guesses = {0};
    const int64_t n_row = tess_de_hmm_guess_rows(&guesses);
    for (int64_t i = 0; i < 10; i++) {
        tess_de_hmm_note_guesses(&guesses, n_row, 7, 7);
    }
    assert_int_equal(tess_de_hmm_guess_rows(&guesses), 2 * n_row);
}

// Of dense_case_make(), on a device: compute-sanitizer takes minutes for each.
static int n_case(void)
{
    return unit_is_quick() ? 1 : 3;
}

static double value_at(const run *r, const void *rows, int64_t i)
{
    return r->dtype == TESS_F32 ? (double)((const float *)rows)[i] : ((const double *)rows)[i];
}

static void check_near(const run *r, const void *a, const void *b)
{
    const double bound = r->dtype == TESS_F32 ? 2e-7 : 1e-12;
    for (int64_t i = 0; i < N_ROW * r->n_bin; i++) {
        assert_true(fabs(value_at(r, a, i) - value_at(r, b, i)) <= bound);
    }
}

// Rows on the device, cut into runs and not, and on the CPU. Returns the guesses that were wrong.
static int64_t compare_there(int which, double depth, int32_t dtype, const tess_de_hmm_part *given,
                             int64_t n_part)
{
    dense_case c;
    dense_case_make(ctx, which, dtype == TESS_F64, &c);
    double *ll = draw_rows(&c, depth);
    tess_de_hmm *hmm[3];
    run r[3]; // the CPU's, whole, in runs
    tess_de_hmm_part parts[3][sizeof cut_parts / sizeof *cut_parts];
    for (int k = 0; k < 3; k++) {
        assert_ok(tess_de_hmm_create(ctx, &c.desc, &hmm[k]));
        if (k == 1) { // a model that misses that often is not cut
            hmm[k]->guesses[0].doubled = hmm[k]->guesses[1].doubled = TESS_DE_MOST_DOUBLED + 1;
        }
        r[k] = new_run(hmm[k], c.desc.n_state, N_ROW, dtype);
        const tess_de_hmm_chunk chunk =
            chunk_of(&r[k], ll, TESS_F64, c.desc.n_ll, c.transition, 0, 0, N_ROW);
        run_parts(&c, k == 0 ? &ctx->cpu : ctx->device, &chunk, given, n_part, NULL, &r[k],
                  parts[k]);
    }
    check_same(&r[1], &r[2]);
    check_near(r, r[0].causal, r[2].causal);
    check_near(r, r[0].filtered, r[2].filtered);
    check_near(r, r[0].predicted, r[2].predicted);
    for (int64_t i = 0; i < n_part; i++) {
        assert_true(parts[1][i].log_evidence == parts[2][i].log_evidence);
        assert_true(fabs(parts[0][i].log_evidence - parts[2][i].log_evidence) < 1e-6 * N_ROW);
    }
    const int64_t n_wrong = wrong_of(hmm[2]);
    for (int k = 0; k < 3; k++) {
        free_run(&r[k]);
        tess_de_hmm_destroy(hmm[k]);
    }
    free(ll);
    dense_case_free(&c);
    return n_wrong;
}

static void runs_of_a_device_change_no_bit(void **state)
{
    (void)state;
    if (ctx->device->shares_host_memory) {
        skip(); // TESSERA_DEVICE=cuda
    }
    const int64_t n_cut = sizeof cut_parts / sizeof *cut_parts;
    int64_t n_wrong = 0, n_right = 0;
    for (int which = 0; which < n_case(); which++) {
        for (int k = 0; k < 4; k++) {
            const int32_t dtype = k % 2 ? TESS_F64 : TESS_F32;
            const int64_t wrong = compare_there(which, k < 2 ? 6 : 0, dtype, cut_parts, n_cut) +
                                  compare_there(which, k < 2 ? 6 : 0, dtype, one_part, 1);
            n_wrong += wrong;
            n_right += wrong == 0;
        }
    }
    // Both ways were gone.
    assert_true(n_wrong > 0);
    assert_true(n_right > 0);
}

// Many sequences of all lengths, stationary or not: the CPU's paths, bin by bin.
static void compare_paths(int which, double depth, int64_t stride, uint64_t seed)
{
    dense_case c;
    dense_case_make(ctx, which, 1, &c);
    double *ll = draw_rows(&c, depth);
    const int64_t n_state = c.desc.n_state;
    double *transition = zeros(N_ROW * n_state * n_state, sizeof *transition);
    for (int64_t t = 0; t < N_ROW * n_state; t++) {
        double sum = 0;
        for (int64_t j = 0; j < n_state; j++) {
            sum += transition[t * n_state + j] = 0.1 + dense_random(&seed);
        }
        for (int64_t j = 0; j < n_state; j++) {
            transition[t * n_state + j] /= sum;
        }
    }
    tess_de_hmm *hmm = NULL;
    assert_ok(tess_de_hmm_create(ctx, &c.desc, &hmm));
    const tess_de_hmm_chunk chunk = {.n_row = N_ROW,
                                     .ll = ll,
                                     .ll_dtype = TESS_F64,
                                     .transition = transition,
                                     .transition_stride = stride * n_state * n_state};
    int64_t first[200] = {0};
    int64_t n = 0;
    while (first[n] < N_ROW && n < 199) {
        const int64_t end = first[n] + 1 + (int64_t)(dense_random(&seed) * 60);
        n++;
        first[n] = end < N_ROW && n < 199 ? end : N_ROW;
    }
    int64_t *want = zeros(N_ROW, sizeof *want);
    int64_t *got = zeros(N_ROW, sizeof *got);
    for (int64_t i = 0; i < n; i++) {
        tess_de_hmm_chunk one = chunk;
        one.n_row = first[i + 1] - first[i];
        one.ll = ll + first[i] * c.desc.n_ll;
        one.transition += first[i] * chunk.transition_stride;
        assert_ok(go_path(ctx, hmm, &one, c.initial, one.n_row, want + first[i]));
    }
    tess_de_path *path = NULL;
    tess_de_path_there *there = NULL;
    assert_ok(tess_de_path_create(ctx, hmm, &path));
    assert_ok(tess_de_path_there_make(ctx, path, c.initial, &there));
    assert_non_null(there);
    assert_ok(tess_de_path_there_find(there, &chunk, first, n, got));
    assert_memory_equal(got, want, N_ROW * sizeof *got);
    tess_de_path_there_free(there);
    tess_de_path_destroy(path);
    tess_de_hmm_destroy(hmm);
    free(want);
    free(got);
    free(transition);
    free(ll);
    dense_case_free(&c);
}

static void paths_of_many_sequences_are_the_cpus(void **state)
{
    (void)state;
    if (ctx->device->shares_host_memory) {
        skip(); // TESSERA_DEVICE=cuda
    }
    for (int which = 0; which < n_case(); which++) {
        compare_paths(which, 6, 0, 11);
        compare_paths(which, 0.1, 1, 12);
        compare_paths(which, 0, 1, 13); // equals are many
    }
}

static void failing_memory_leaves_no_room(void **state)
{
    (void)state;
    dense_case c;
    dense_case_make(ctx, 0, 0, &c);
    tess_de_hmm *hmm = NULL;
    assert_ok(tess_de_hmm_create(ctx, &c.desc, &hmm));
    assert_true(tess_de_hmm_parts_bytes(ctx, hmm, TESS_F32, N_ROW, true) >
                tess_de_hmm_parts_bytes(ctx, hmm, TESS_F32, N_ROW, false));
    unit_allocator counter;
    unit_allocator_init(&counter, 0);
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 5;
    config.allocator = &counter.table;
    tess_context *counted = NULL;
    assert_ok(tess_context_create(&config, &counted));
    const long long n_before = atomic_load(&counter.n_alloc);
    const long long n_live = atomic_load(&counter.n_live);
    tess_de_hmm_room *room = NULL;
    assert_ok(tess_de_hmm_room_create(counted, hmm, TESS_F32, N_ROW, true, &room));
    const long long n_taken = atomic_load(&counter.n_alloc) - n_before;
    tess_de_hmm_room_destroy(room);
    assert_true(n_taken > 1);
    for (long long i = 1; i <= n_taken; i++) {
        room = NULL;
        counter.fail_at = atomic_load(&counter.n_alloc) + i;
        assert_int_equal(tess_de_hmm_room_create(counted, hmm, TESS_F32, N_ROW, true, &room),
                         TESS_E_MEMORY);
        assert_null(room);
        assert_true(atomic_load(&counter.n_live) == n_live);
    }
    tess_context_destroy(counted);
    tess_de_hmm_destroy(hmm);
    dense_case_free(&c);
}

static int open_context(void **state)
{
    (void)state;
    ctx = unit_context(5, 0);
    return ctx == NULL;
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
        cmocka_unit_test(parts_change_no_bit),
        cmocka_unit_test(a_few_wrong_guesses_change_nothing),
        cmocka_unit_test(short_guesses_end_no_long_ones),
        cmocka_unit_test(runs_of_a_device_change_no_bit),
        cmocka_unit_test(paths_of_many_sequences_are_the_cpus),
        cmocka_unit_test(failing_memory_leaves_no_room),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
