// Movements on a line by way of nodes, against the movement's matrix.
#include "decode_hmm_dense.h"
#include "decode_hmm_run.h"
#include "systems/decode/states/hmm_model.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static tess_context *ctx;

typedef struct line {
    double length;
    double bin;
    double variance;
    double mean;
    int has_gaps;
    int n_pass; // that it must take; 0: either
} line;

static tess_decode_environment *env_of(const line *l)
{
    const double range[2] = {0, l->length};
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    config.position_range = range;
    config.place_bin_size = l->bin;
    config.infer_track_interior = 0;
    tess_decode_environment *env = NULL;
    assert_ok(tess_decode_environment_create(ctx, &config, NULL, 0, 1, &env));
    const int64_t n = tess_decode_environment_get_info(env)->n_bin;
    if (!l->has_gaps) {
        return env;
    }
    uint8_t *mask = zeros(n, 1);
    for (int64_t i = 0; i < n; i++) {
        mask[i] = i % 53 > 20 || i % 7 == 0;
    }
    tess_decode_environment_destroy(env);
    config.is_track_interior = mask;
    config.n_is_track_interior = n;
    assert_ok(tess_decode_environment_create(ctx, &config, NULL, 0, 1, &env));
    free(mask);
    return env;
}

// From all in one bin to where a step leads, both ways: the largest error of a probability that
// float32 can hold, relative to itself.
static double worst_of_bin(tess_de_hmm *hmm, const double *matrix, int64_t n, int64_t bin)
{
    run r = new_run(hmm, 1, 2, TESS_F64);
    double *initial = zeros(n, sizeof *initial);
    double *ll = zeros(2 * n, sizeof *ll);
    const double one = 1;
    double worst = 0;
    initial[bin] = 1;
    go(ctx, &r, ll, TESS_F64, n, initial, &one, 0, 2);
    for (int64_t j = 0; j < n; j++) { // two steps: the row after the first is the matrix's
        const double want = matrix[bin * n + j];
        const double got = ((const double *)r.predicted)[n + j];
        assert_true(got >= 0);
        if (want > 2 * (double)FLT_MIN) {
            worst = fmax(worst, fabs(got / want - 1));
        } else {
            assert_true(got <= 4 * (double)FLT_MIN);
        }
    }
    // Back: all in one bin of the second row.
    for (int64_t j = 0; j < n; j++) {
        initial[j] = 1 / (double)n;
        ll[n + j] = j == bin ? 0 : -(double)INFINITY;
    }
    go(ctx, &r, ll, TESS_F64, n, initial, &one, 0, 2);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += matrix[i * n + bin];
    }
    for (int64_t i = 0; i < n; i++) {
        const double want = matrix[i * n + bin] / sum;
        const double got = ((const double *)r.filtered)[i];
        if (matrix[i * n + bin] > 2 * (double)FLT_MIN) {
            worst = fmax(worst, fabs(got / want - 1));
        }
    }
    free(initial);
    free(ll);
    free_run(&r);
    return worst;
}

// The line's walk as a model of one state.
static tess_de_hmm *walk_on(const line *l, tess_decode_environment *env, dense_case *c)
{
    static const int64_t ll_first = 0;
    const int64_t n = tess_decode_environment_get_info(env)->n_interior;
    tess_decode_movement walk;
    tess_decode_movement_init(&walk, sizeof walk);
    walk.kind = TESS_DECODE_RANDOM_WALK;
    walk.variance = l->variance;
    walk.mean[0] = l->mean;
    *c = (dense_case){.env = {env}, .movements = {walk}, .first = {0, n}};
    c->desc = (tess_de_hmm_desc){
        .n_state = 1, .env = c->env, .movements = c->movements, .ll_first = &ll_first, .n_ll = n};
    tess_de_hmm *hmm = NULL;
    assert_ok(tess_de_hmm_create(ctx, &c->desc, &hmm));
    return hmm;
}

static void check_line(const line *l)
{
    tess_decode_environment *env = env_of(l);
    const int64_t n = tess_decode_environment_get_info(env)->n_interior;
    dense_case c;
    tess_de_hmm *hmm = walk_on(l, env, &c);
    double *matrix = dense_movement(ctx, &c, 0, 0);
    const int n_pass = hmm->model.forward[0].n_pass;
    assert_true(l->n_pass == 0 || n_pass == l->n_pass);
    assert_int_equal(hmm->plain.forward[0].n_pass, 1);
    double worst = 0;
    const int64_t bins[] = {0, 1, n / 3, n / 2, n - 1};
    for (size_t k = 0; k < ARRAY_LEN(bins); k++) {
        worst = fmax(worst, worst_of_bin(hmm, matrix, n, bins[k] < n ? bins[k] : 0));
    }
    print_message("%lld bins, steps of %.1f, mean %.1f, %d passes: %.1e\n", (long long)n,
                  sqrt(l->variance) / l->bin, l->mean / l->bin, n_pass, worst);
    assert_true(worst < 1e-12);
    tess_de_hmm_destroy(hmm);
    tess_decode_environment_destroy(env);
    free(matrix);
}

static void steps_are_true_at_any_distance(void **state)
{
    (void)state;
    static const line lines[] = {
        {100, 0.05, 6, 0, 0, 3},   {100, 0.2, 6, 0, 0, 3},  {100, 0.05, 6, 2.5, 1, 3},
        {100, 0.2, 6, -7.3, 1, 3}, {100, 2, 6, 0, 0, 1},    {3, 0.05, 6, 0, 0, 0},
        {60, 0.1, 900, 0, 0, 3},   {60, 0.1, 25, 12, 0, 3}, {1, 0.9, 6, 0, 0, 1},
        {140, 0.1, 2.25, 1, 1, 3},
    };
    for (size_t k = 0; k < ARRAY_LEN(lines); k++) {
        check_line(&lines[k]);
    }
}

static void steps_of_any_line_are_true(void **state)
{
    (void)state;
    uint64_t random = 11;
    for (int k = 0; k < 12; k++) {
        const double bin = exp(-3 + 3 * dense_random(&random));
        const double deviation = bin * exp(4.5 * dense_random(&random));
        const line l = {.length = bin * (20 + 500 * dense_random(&random)),
                        .bin = bin,
                        .variance = deviation * deviation,
                        .mean = deviation * (4 * dense_random(&random) - 2),
                        .has_gaps = k % 2};
        check_line(&l);
    }
}

// What leads so far out of the line that a row is worth hardly more than what is left out.
static void far_means_keep_rows_that_add_up(void **state)
{
    (void)state;
    static const line lines[] = {{44, 0.1, 77, 119, 0, 0}, {44, 0.1, 77, -119, 1, 0}};
    for (size_t k = 0; k < ARRAY_LEN(lines); k++) {
        tess_decode_environment *env = env_of(&lines[k]);
        const int64_t n = tess_decode_environment_get_info(env)->n_interior;
        dense_case c;
        tess_de_hmm *hmm = walk_on(&lines[k], env, &c);
        double *ll = zeros(2 * n, sizeof *ll);
        const double one = 1;
        for (int64_t bin = 0; bin < n; bin += 3) {
            run r = new_run(hmm, 1, 2, TESS_F64);
            double *initial = zeros(n, sizeof *initial);
            initial[bin] = 1;
            go(ctx, &r, ll, TESS_F64, n, initial, &one, 0, 2);
            double sum = 0;
            for (int64_t j = 0; j < n; j++) {
                sum += ((const double *)r.predicted)[n + j];
            }
            assert_true(sum == 0 || fabs(sum - 1) < 1e-12); // 0: nothing can be reached
            free(initial);
            free_run(&r);
        }
        free(ll);
        tess_de_hmm_destroy(hmm);
        tess_decode_environment_destroy(env);
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
        cmocka_unit_test(steps_are_true_at_any_distance),
        cmocka_unit_test(steps_of_any_line_are_true),
        cmocka_unit_test(far_means_keep_rows_that_add_up),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
