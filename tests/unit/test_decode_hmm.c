// Filter and smoother: the worked example, the original's data, and dense matrices.
#include "decode_hmm_dense.h"
#include "decode_hmm_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tess_context *ctx;

// Everything a run gives, against the dense one.
static void check_against_dense(const run *r, const dense_result *want, double tolerance)
{
    check_rows(r, r->causal, want->filtered, tolerance);
    check_rows(r, r->predicted, want->predicted, tolerance);
    check_rows(r, r->filtered, want->smoothed, tolerance);
    assert_near(&r->end.log_evidence, &want->log_evidence, 1, tolerance * 100 * (double)r->n_row);
}

static void compare_with_dense(const dense_case *c, const dense_result *want, int32_t dtype,
                               double tolerance)
{
    tess_de_hmm *hmm = NULL;
    assert_ok(tess_de_hmm_create(ctx, &c->desc, &hmm));
    run r = new_run(hmm, c->desc.n_state, c->n_row, dtype);
    go(ctx, &r, c->ll, TESS_F64, c->desc.n_ll, c->initial, c->transition, c->stride, c->n_row);
    check_against_dense(&r, want, tolerance);
    if (r.n_bin < 800) { // the dense path takes its time
        const tess_de_hmm_chunk chunk =
            chunk_of(&r, c->ll, TESS_F64, c->desc.n_ll, c->transition, c->stride, 0, c->n_row);
        int64_t *path = zeros(c->n_row, sizeof *path);
        assert_ok(go_path(ctx, hmm, &chunk, c->initial, c->n_row, path));
        assert_memory_equal(path, want->path, (size_t)c->n_row * sizeof *path);
        free(path);
    }
    free_run(&r);
    tess_de_hmm_destroy(hmm);
}

static void the_worked_example_comes_out(void **state)
{
    (void)state;
    static const double ll[5][3] = {{-7.83958729334, -8.873295154926, -11.610805642244},
                                    {-12.166292234855, -9.57275717516, -8.380052199836},
                                    {-0.5401031795, -0.416690932668, -0.48998742444},
                                    {-16.526569938822, -16.980425593222, -21.10210779345},
                                    {-0.5401031795, -0.416690932668, -0.48998742444}};
    static const double filtered[15] = {
        0.725315865061, 0.257984466137, 0.016699668802, 0.055714780741, 0.501165804545,
        0.443119414714, 0.160695579049, 0.433930189727, 0.405374231224, 0.465768336881,
        0.526165730482, 0.008065932637, 0.408536314702, 0.44467433911,  0.146789346188};
    static const double smoothed[15] = {
        0.514829054093, 0.438794668286, 0.046376277621, 0.082283997327, 0.580462806795,
        0.337253195878, 0.282152393498, 0.51634454488,  0.201503061622, 0.456986187883,
        0.534856407399, 0.008157404718, 0.408536314702, 0.44467433911,  0.146789346188};
    static const double next[3] = {0.381204159143, 0.400988694242, 0.217807146615};
    const double position[2] = {0, 9};
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    config.place_bin_size = 3;
    config.infer_track_interior = 0;
    tess_decode_environment *env = NULL;
    assert_ok(tess_decode_environment_create(ctx, &config, position, 2, 1, &env));
    tess_decode_movement walk;
    tess_decode_movement_init(&walk, sizeof walk);
    walk.kind = TESS_DECODE_RANDOM_WALK;
    const int64_t ll_first = 0;
    const tess_de_hmm_desc desc = {.n_state = 1,
                                   .exact = 1,
                                   .env = &env,
                                   .movements = &walk,
                                   .ll_first = &ll_first,
                                   .n_ll = 3};
    tess_de_hmm *hmm = NULL;
    assert_ok(tess_de_hmm_create(ctx, &desc, &hmm));
    const double one = 1;
    const double initial[3] = {1 / 3.0, 1 / 3.0, 1 / 3.0};
    run r = new_run(hmm, 1, 5, TESS_F64);
    go(ctx, &r, ll, TESS_F64, 3, initial, &one, 0, 5);
    check_rows(&r, r.causal, filtered, 1e-11);
    check_rows(&r, r.filtered, smoothed, 1e-11);
    assert_near(r.end.predicted, next, 3, 1e-11);
    const double evidence = -36.71695740207881;
    assert_near(&r.end.log_evidence, &evidence, 1, 1e-10);
    assert_int_equal(r.end.n_impossible, 0);
    assert_int_equal(r.end.first_impossible, -1);
    int64_t path[5];
    const tess_de_hmm_chunk chunk = {
        .n_row = 5, .ll = ll, .ll_dtype = TESS_F64, .transition = &one};
    assert_ok(go_path(ctx, hmm, &chunk, initial, 5, path));
    const int64_t best[5] = {0, 1, 1, 1, 1};
    assert_memory_equal(path, best, sizeof best);
    free_run(&r);
    tess_de_hmm_destroy(hmm);
    tess_decode_environment_destroy(env);
}

// Every path of 3 bins and 5 rows: the evidence is the sum of them all, the path the best of them.
static void all_paths_add_up_to_the_evidence(void **state)
{
    (void)state;
    const double range[2] = {0, 6};
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    config.position_range = range;
    config.infer_track_interior = 0;
    tess_decode_environment *env = NULL;
    assert_ok(tess_decode_environment_create(ctx, &config, NULL, 0, 1, &env));
    tess_decode_movement walk;
    tess_decode_movement_init(&walk, sizeof walk);
    walk.kind = TESS_DECODE_RANDOM_WALK;
    double matrix[9];
    assert_ok(tess_decode_movement_matrix(ctx, &walk, env, env, matrix));
    const int64_t ll_first = 0;
    const tess_de_hmm_desc desc = {
        .n_state = 1, .env = &env, .movements = &walk, .ll_first = &ll_first, .n_ll = 3};
    tess_de_hmm *hmm = NULL;
    assert_ok(tess_de_hmm_create(ctx, &desc, &hmm));
    uint64_t random = 5;
    double ll[15];
    for (int i = 0; i < 15; i++) {
        ll[i] = -9 * dense_random(&random);
    }
    const double one = 1;
    const double initial[3] = {0.2, 0.5, 0.3};
    double sum = 0, best = 0;
    int64_t want[5] = {0};
    for (int code = 0; code < 243; code++) {
        int64_t path[5];
        double p = 1;
        for (int t = 0, rest = code; t < 5; t++, rest /= 3) {
            path[t] = rest % 3;
            p *= exp(ll[t * 3 + path[t]]);
            p *= t == 0 ? initial[path[0]] : matrix[path[t - 1] * 3 + path[t]];
        }
        sum += p;
        if (p > best) {
            best = p;
            memcpy(want, path, sizeof want);
        }
    }
    run r = new_run(hmm, 1, 5, TESS_F64);
    go(ctx, &r, ll, TESS_F64, 3, initial, &one, 0, 2);
    const double evidence = log(sum);
    assert_near(&r.end.log_evidence, &evidence, 1, 1e-12);
    int64_t path[5];
    const tess_de_hmm_chunk chunk = {
        .n_row = 5, .ll = ll, .ll_dtype = TESS_F64, .transition = &one};
    assert_ok(go_path(ctx, hmm, &chunk, initial, 5, path));
    assert_memory_equal(path, want, sizeof want);
    free_run(&r);
    tess_de_hmm_destroy(hmm);
    tess_decode_environment_destroy(env);
}

static void every_movement_agrees_with_its_matrix(void **state)
{
    (void)state;
    for (int k = 0; k < dense_case_count(); k++) {
        dense_case c;
        dense_case_make(ctx, k, 0, &c);
        dense_result want = dense_run(ctx, &c);
        print_message("%s\n", c.name);
        for (int exact = 0; exact < 2; exact++) {
            c.desc.exact = exact;
            compare_with_dense(&c, &want, TESS_F64, 1e-12);
            compare_with_dense(&c, &want, TESS_F32, 2e-6);
        }
        dense_free_result(&want);
        dense_case_free(&c);
    }
}

// Threads meet in the same way whatever the case: ThreadSanitizer, which takes many times as long,
// sees every other one.
#ifdef __SANITIZE_THREAD__
enum { CASE_STEP = 2 };
#else
enum { CASE_STEP = 1 };
#endif

static void chunks_change_no_bit(void **state)
{
    (void)state;
    for (int k = 0; k < dense_case_count(); k += CASE_STEP) {
        dense_case c;
        dense_case_make(ctx, k, 0, &c);
        tess_de_hmm *hmm = NULL;
        assert_ok(tess_de_hmm_create(ctx, &c.desc, &hmm));
        for (int f32 = 0; f32 < 2; f32++) {
            const int32_t dtype = f32 ? TESS_F32 : TESS_F64;
            const size_t bytes = (size_t)(c.n_row * tess_de_hmm_bins(hmm)) * (f32 ? 4 : 8);
            run whole = new_run(hmm, c.desc.n_state, c.n_row, dtype);
            go(ctx, &whole, c.ll, TESS_F64, c.desc.n_ll, c.initial, c.transition, c.stride,
               c.n_row);
            static const int64_t rows[] = {1, 2, 7, 16};
            for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                run r = new_run(hmm, c.desc.n_state, c.n_row, dtype);
                go(ctx, &r, c.ll, TESS_F64, c.desc.n_ll, c.initial, c.transition, c.stride,
                   rows[i]);
                assert_memory_equal(r.causal, whole.causal, bytes);
                assert_memory_equal(r.predicted, whole.predicted, bytes);
                assert_memory_equal(r.filtered, whole.filtered, bytes);
                assert_memory_equal(r.acausal_states, whole.acausal_states,
                                    (size_t)(c.n_row * c.desc.n_state) * 8);
                assert_memory_equal(&r.end.log_evidence, &whole.end.log_evidence, 8);
                assert_memory_equal(r.next, whole.next, (size_t)whole.n_bin * 8);
                free_run(&r);
            }
            free_run(&whole);
        }
        tess_de_hmm_destroy(hmm);
        dense_case_free(&c);
    }
}

// n rows of so many items, those of from over and over.
static double *repeat(const double *from, int64_t n_from, int64_t n, int64_t items)
{
    double *rows = zeros(n * items, sizeof *rows);
    for (int64_t t = 0; t < n; t++) {
        memcpy(rows + t * items, from + t % n_from * items, (size_t)items * sizeof *rows);
    }
    return rows;
}

static tess_context *context_of(int32_t n_thread, const char *isa)
{
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = n_thread;
    config.isa = isa;
    tess_context *own = NULL;
    assert_ok(tess_context_create(&config, &own));
    return own;
}

// Several blocks of rows. Where vectors are short or bins are many, one is prepared by other
// threads while another is worked on.
static void compare_threads(const char *isa, int first_case, int end_case, int64_t n_row)
{
    for (int k = first_case; k < end_case; k += CASE_STEP) {
        dense_case c;
        dense_case_make(ctx, k, 0, &c);
        double *ll = repeat(c.ll, c.n_row, n_row, c.desc.n_ll);
        double *transition = repeat(c.transition, c.stride ? c.n_row : 1, n_row,
                                    (int64_t)c.desc.n_state * c.desc.n_state);
        run right = {0};
        for (int32_t n_thread = 1; n_thread <= 7; n_thread += 2) {
            tess_context *own = context_of(n_thread, isa);
            tess_de_hmm *hmm = NULL;
            assert_ok(tess_de_hmm_create(own, &c.desc, &hmm));
            run r = new_run(hmm, c.desc.n_state, n_row, TESS_F32);
            go(own, &r, ll, TESS_F64, c.desc.n_ll, c.initial, transition, c.stride,
               n_thread == 1 ? 13 : n_row);
            if (n_thread == 1) {
                right = r;
            } else {
                const size_t states = (size_t)(n_row * r.n_state) * 8;
                assert_memory_equal(r.filtered, right.filtered, (size_t)(n_row * r.n_bin) * 4);
                assert_memory_equal(r.causal, right.causal, (size_t)(n_row * r.n_bin) * 4);
                assert_memory_equal(r.predicted, right.predicted, (size_t)(n_row * r.n_bin) * 4);
                assert_memory_equal(r.acausal_states, right.acausal_states, states);
                assert_true(r.end.log_evidence == right.end.log_evidence);
                free_run(&r);
            }
            tess_de_hmm_destroy(hmm);
            tess_context_destroy(own);
        }
        free_run(&right);
        free(ll);
        free(transition);
        dense_case_free(&c);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    enum { MAZE = 4 };
    compare_threads(NULL, 0, dense_case_count(), 700);
    compare_threads("ref", MAZE, MAZE + 1, 130);
}

// States are sums of rows; rows sum to 1 but for the shortfall of the denominator.
static void states_are_sums_of_their_bins(void **state)
{
    (void)state;
    dense_case c;
    dense_case_make(ctx, 0, 0, &c);
    tess_de_hmm *hmm = NULL;
    assert_ok(tess_de_hmm_create(ctx, &c.desc, &hmm));
    run r = new_run(hmm, c.desc.n_state, c.n_row, TESS_F64);
    go(ctx, &r, c.ll, TESS_F64, c.desc.n_ll, c.initial, c.transition, c.stride, c.n_row);
    const void *rows[3] = {r.causal, r.predicted, r.filtered};
    const double *sums[3] = {r.causal_states, r.predictive_states, r.acausal_states};
    for (int k = 0; k < 3; k++) {
        for (int64_t t = 0; t < c.n_row; t++) {
            double whole = 0;
            for (int32_t s = 0; s < r.n_state; s++) {
                double sum = 0;
                for (int64_t i = c.first[s]; i < c.first[s + 1]; i++) {
                    sum += ((const double *)rows[k])[t * r.n_bin + i];
                }
                assert_near(&sums[k][t * r.n_state + s], &sum, 1, 1e-14);
                whole += sum;
            }
            const double one = 1;
            assert_near(&whole, &one, 1, 1e-9);
        }
    }
    assert_memory_equal((double *)r.filtered + (r.n_row - 1) * r.n_bin,
                        (double *)r.causal + (r.n_row - 1) * r.n_bin, (size_t)r.n_bin * 8);
    free_run(&r);
    tess_de_hmm_destroy(hmm);
    dense_case_free(&c);
}

// Scores of all rows or of the ends of runs, the path is one.
static void a_path_needs_little_memory(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        dense_case c;
        dense_case_make(ctx, k % 3, k / 3, &c);
        tess_de_hmm *hmm = NULL;
        assert_ok(tess_de_hmm_create(ctx, &c.desc, &hmm));
        const tess_de_hmm_chunk chunk = {.n_row = c.n_row,
                                         .ll = c.ll,
                                         .ll_dtype = TESS_F64,
                                         .transition = c.transition,
                                         .transition_stride = c.stride};
        int64_t *all = zeros(c.n_row, sizeof *all);
        int64_t *some = zeros(c.n_row, sizeof *some);
        assert_ok(go_path(ctx, hmm, &chunk, c.initial, c.n_row, all));
        assert_ok(go_path(ctx, hmm, &chunk, c.initial, 7, some));
        assert_memory_equal(all, some, (size_t)c.n_row * sizeof *all);
        // Everything alike: the lowest of equals, which stays where a walk is likeliest to.
        for (int64_t i = 0; i < c.n_row * c.desc.n_ll; i++) {
            c.ll[i] = -1;
        }
        assert_ok(go_path(ctx, hmm, &chunk, c.initial, c.n_row, all));
        assert_ok(go_path(ctx, hmm, &chunk, c.initial, 7, some));
        assert_memory_equal(all, some, (size_t)c.n_row * sizeof *all);
        free(all);
        free(some);
        tess_de_hmm_destroy(hmm);
        dense_case_free(&c);
    }
}

static void impossible_rows_are_reported(void **state)
{
    (void)state;
    dense_case c;
    dense_case_make(ctx, 0, 0, &c);
    const int64_t n_ll = c.desc.n_ll;
    for (int64_t i = 0; i < n_ll; i++) {
        c.ll[11 * n_ll + i] = -(double)INFINITY;
        c.ll[5 * n_ll + i] = i == 3 ? -1 : -(double)INFINITY;
    }
    tess_de_hmm *hmm = NULL;
    assert_ok(tess_de_hmm_create(ctx, &c.desc, &hmm));
    run r = new_run(hmm, c.desc.n_state, c.n_row, TESS_F32);
    go(ctx, &r, c.ll, TESS_F64, n_ll, c.initial, c.transition, c.stride, 4);
    assert_int_equal(r.end.first_impossible, 11);
    assert_int_equal(r.end.n_impossible, c.n_row - 11);
    assert_true(isinf(r.end.log_evidence) && r.end.log_evidence < 0);
    for (int64_t i = 0; i < r.n_row * r.n_bin; i++) {
        assert_true(isfinite((double)((const float *)r.filtered)[i]));
        assert_true(i / r.n_bin < 11 || ((const float *)r.causal)[i] == 0);
    }
    free_run(&r);
    tess_de_hmm_destroy(hmm);
    dense_case_free(&c);
}

// Whichever allocation fails, the call says so and leaves nothing behind.
static void failing_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    unit_allocator counter;
    unit_allocator_init(&counter, 0);
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 1;
    config.allocator = &counter.table;
    tess_context *counted = NULL;
    assert_ok(tess_context_create(&config, &counted));
    dense_case c;
    dense_case_make(ctx, 7, 0, &c); // a walk, and a matrix
    int64_t *path = zeros(c.n_row, sizeof *path);
    const tess_de_hmm_chunk chunk = {.n_row = c.n_row,
                                     .ll = c.ll,
                                     .ll_dtype = TESS_F64,
                                     .transition = c.transition,
                                     .transition_stride = c.stride};
    const long long live = atomic_load(&counter.n_live);
    tess_de_hmm *hmm = NULL;
    int n_failure = 0;
    tess_status status = TESS_E_MEMORY;
    for (int step = 0; status != TESS_OK || step < 2;) {
        counter.fail_at = atomic_load(&counter.n_alloc) + n_failure + 1;
        status = step == 0 ? tess_de_hmm_create(counted, &c.desc, &hmm)
                           : go_path(counted, hmm, &chunk, c.initial, c.n_row, path);
        counter.fail_at = 0;
        if (status == TESS_OK) {
            assert_true(n_failure > 5);
            n_failure = 0;
            step++;
            continue;
        }
        assert_int_equal(status, TESS_E_MEMORY);
        assert_true(hmm || atomic_load(&counter.n_live) == live);
        n_failure++;
    }
    tess_de_hmm_destroy(hmm);
    tess_de_hmm_destroy(NULL);
    assert_true(atomic_load(&counter.n_live) == live);
    free(path);
    dense_case_free(&c);
    tess_context_destroy(counted);
}

// With the same likelihood everywhere the filter is the chain itself.
static void a_flat_likelihood_predicts(void **state)
{
    (void)state;
    for (int k = 0; k < dense_case_count(); k++) {
        dense_case c;
        dense_case_make(ctx, k, 0, &c);
        for (int64_t i = 0; i < c.n_row * c.desc.n_ll; i++) {
            c.ll[i] = -700.25;
        }
        tess_de_hmm *hmm = NULL;
        assert_ok(tess_de_hmm_create(ctx, &c.desc, &hmm));
        run r = new_run(hmm, c.desc.n_state, c.n_row, TESS_F64);
        go(ctx, &r, c.ll, TESS_F64, c.desc.n_ll, c.initial, c.transition, c.stride, c.n_row);
        check_rows(&r, r.causal, r.predicted, 1e-13);
        free_run(&r);
        tess_de_hmm_destroy(hmm);
        dense_case_free(&c);
    }
}

// Where the first bin is certain and its likelihood says otherwise, it stays certain: rows add up
// to 1 however unlikely they are.
static void a_contradicted_row_adds_up(void **state)
{
    (void)state;
    static const double nats[] = {20, 40, 200, 690};
    for (size_t k = 0; k < sizeof nats / sizeof *nats; k++) {
        dense_case c;
        dense_case_make(ctx, 0, 0, &c);
        memset(c.initial, 0, (size_t)c.first[c.desc.n_state] * sizeof *c.initial);
        memset(c.ll, 0, (size_t)(c.n_row * c.desc.n_ll) * sizeof *c.ll);
        c.initial[0] = 1;
        c.ll[c.ll_first[0]] = -nats[k];
        tess_de_hmm *hmm = NULL;
        assert_ok(tess_de_hmm_create(ctx, &c.desc, &hmm));
        run r = new_run(hmm, c.desc.n_state, c.n_row, TESS_F64);
        go(ctx, &r, c.ll, TESS_F64, c.desc.n_ll, c.initial, c.transition, c.stride, 5);
        for (int64_t t = 0; t < r.n_row; t++) {
            double causal = 0, acausal = 0;
            for (int64_t i = 0; i < r.n_bin; i++) {
                causal += ((const double *)r.causal)[t * r.n_bin + i];
                acausal += ((const double *)r.filtered)[t * r.n_bin + i];
            }
            assert_true(fabs(causal - 1) < 1e-6);
            assert_true(fabs(acausal - 1) < 1e-6);
        }
        assert_true(fabs(((const double *)r.causal)[0] - 1) < 1e-6);
        assert_true(fabs(r.end.log_evidence + nats[k]) < 1e-6);
        free_run(&r);
        tess_de_hmm_destroy(hmm);
        dense_case_free(&c);
    }
}

static int open_context(void **state)
{
    (void)state;
    ctx = unit_context(2, 0);
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
        cmocka_unit_test(the_worked_example_comes_out),
        cmocka_unit_test(all_paths_add_up_to_the_evidence),
        cmocka_unit_test(every_movement_agrees_with_its_matrix),
        cmocka_unit_test(chunks_change_no_bit),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(states_are_sums_of_their_bins),
        cmocka_unit_test(a_path_needs_little_memory),
        cmocka_unit_test(impossible_rows_are_reported),
        cmocka_unit_test(failing_memory_leaves_nothing_behind),
        cmocka_unit_test(a_flat_likelihood_predicts),
        cmocka_unit_test(a_contradicted_row_adds_up),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
