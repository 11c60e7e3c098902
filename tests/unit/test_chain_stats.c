// Statistics of chains against ArviZ's, stored with the draws they are of; two heaps; quantiles of
// distributions.
#include "unit_golden.h"

#include "base/rng.h"
#include "numerics/chain_stats.h"
#include "numerics/quantiles.h"
#include "numerics/two_modes.h"
#include "runtime/context.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_STAT = 14 + TESS_CHAIN_QUANTILES };

static const char FILE_NAME[] = "xpcs/chains";

// The struct is doubles in the order of the golden rows.
_Static_assert(sizeof(tess_chain_stats) == N_STAT * sizeof(double), "rows of the golden file");

static void check_case(tess_context *ctx, const char *name, int64_t n_chain)
{
    char row[64];
    int64_t n = 0;
    tess_blocks blocks;
    tess_chain_room room;
    tess_chain_stats got;
    snprintf(row, sizeof row, "%s_stats", name);
    double *x = golden_f64(ctx, FILE_NAME, name, &n);
    double *want = golden_f64(ctx, FILE_NAME, row, NULL);
    tess_blocks_init(&blocks, &ctx->heap);
    assert_ok(tess_chain_room_open(&blocks, n_chain, n / n_chain, &room));
    tess_chain_stats_of(x, &room, &got);
    for (int i = 0; i < N_STAT; i++) {
        const double a = ((const double *)&got)[i];
        const double b = want[i];
        if (isnan(a) != isnan(b) || (!isnan(a) && fabs(a - b) > 1e-10 * fmax(1, fabs(b)))) {
            fail_msg("%s: number %d is %.17g, ArviZ has %.17g", name, i, a, b);
        }
    }
    tess_blocks_free(&blocks);
    free(x), free(want);
}

static void equal_to_arviz(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t n_chain;
    } cases[] = {{"mixing", 4},   {"slow", 4},  {"negative", 2}, {"apart", 3}, {"one_chain", 1},
                 {"few", 4},      {"four", 2},  {"ties", 4},     {"large", 4}, {"heavy", 4},
                 {"constant", 4}, {"stuck", 4}, {"nan", 2},      {"three", 2}};
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        check_case(ctx, cases[i].name, cases[i].n_chain);
    }
    double *energy = golden_f64(ctx, FILE_NAME, "energy", NULL);
    double *want = golden_f64(ctx, FILE_NAME, "bfmi", NULL);
    for (int c = 0; c < 3; c++) {
        const double got = tess_chain_bfmi(energy + 50 * c, 50);
        assert_near(&got, &want[c], 1, 1e-12);
    }
    assert_true(isnan(tess_chain_bfmi(energy, 1)));
    free(energy), free(want);
    tess_context_destroy(ctx);
}

// The first draws of chains are chains.
static void growth_is_of_the_first_draws(void **state)
{
    (void)state;
    enum { CHAINS = 3, DRAWS = 60, FIRST = 25 };
    double x[CHAINS * DRAWS];
    double first[CHAINS * FIRST];
    const tess_philox_stream stream = tess_philox_open(7, 0, 1);
    tess_context *ctx = unit_context(1, 0);
    tess_blocks blocks;
    tess_chain_room room;
    tess_chain_room small;
    tess_philox_normals(&stream, 0, ARRAY_LEN(x), x);
    for (int i = 0; i < CHAINS * FIRST; i++) {
        first[i] = x[i / FIRST * DRAWS + i % FIRST];
    }
    tess_blocks_init(&blocks, &ctx->heap);
    assert_ok(tess_chain_room_open(&blocks, CHAINS, DRAWS, &room));
    assert_ok(tess_chain_room_open(&blocks, CHAINS, FIRST, &small));
    const double grown = tess_chain_ess_bulk(x, &room, FIRST);
    const double whole = tess_chain_ess_bulk(first, &small, FIRST);
    assert_true(grown == whole && grown > 10);
    assert_true(isnan(tess_chain_ess_bulk(x, &room, 3)));
    tess_blocks_free(&blocks);
    tess_context_destroy(ctx);
}

enum { N_CHAIN = 4, N_DRAW = 1500, N_VALUE = N_CHAIN * N_DRAW };

static tess_two_modes modes_of(const double *x)
{
    tess_context *ctx;
    tess_blocks blocks;
    tess_chain_room room;
    tess_chain_stats unused;
    tess_two_modes found;
    assert_ok(tess_context_create(NULL, &ctx));
    tess_blocks_init(&blocks, &ctx->heap);
    assert_ok(tess_chain_room_open(&blocks, N_CHAIN, N_DRAW, &room));
    tess_chain_stats_of(x, &room, &unused);
    tess_two_modes_of(x, &room, &found);
    tess_blocks_free(&blocks);
    tess_context_destroy(ctx);
    return found;
}

static void two_heaps_are_found(void **state)
{
    (void)state;
    static const struct {
        double share; // of the second heap
        double at;    // its mean, in units of the sd
        int is_bimodal;
    } cases[] = {{0, 0, 0},    {0.5, 4, 1}, {0.3, 5, 1},   {0.1, 6, 1},
                 {0.02, 9, 1}, {0.5, 1, 0}, {0.1, 2.5, 0}, {0.5, 60, 1}};
    double *x = malloc(N_VALUE * sizeof *x);
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        const tess_philox_stream stream = tess_philox_open(11, (uint32_t)k, 1);
        const tess_philox_stream sides = tess_philox_open(11, (uint32_t)k, 2);
        tess_philox_normals(&stream, 0, N_VALUE, x);
        for (int i = 0; i < N_VALUE; i++) {
            const bool is_second = tess_philox_uniform(&sides, (uint64_t)i) < cases[k].share;
            x[i] = 1e5 + 3 * (x[i] + (is_second ? cases[k].at : 0));
        }
        const tess_two_modes found = modes_of(x);
        if (found.is_bimodal != cases[k].is_bimodal) {
            fail_msg("case %zu: weights %g %g, separation %g", k, found.weight[0], found.weight[1],
                     found.separation);
        }
        if (found.is_bimodal) {
            assert_near(&found.weight[1], &cases[k].share, 1, 0.03);
            assert_near(&found.separation, &cases[k].at, 1, 0.1 * cases[k].at + 0.1);
        }
    }
    free(x);
}

// One heap of any shape is one.
static double skewed(int shape, double z)
{
    const double u = 0.5 * erfc(-z / sqrt(2));
    return shape == 0   ? exp(z)
           : shape == 1 ? exp(3 * z)
           : shape == 2 ? z * z // gamma of 1/2: no bound to its top
           : shape == 3 ? -log(u)
           : shape == 4 ? pow(u, -1 / 1.5)
           : shape == 5 ? sinh(2 * z)
                        : u;
}

static void one_skewed_heap_is_one(void **state)
{
    (void)state;
    enum { N_SHAPE = 7 };
    static const double memories[] = {0, 0.9, 0.99};
    double *z = malloc(N_VALUE * sizeof *z);
    double *x = malloc(N_VALUE * sizeof *x);
    for (uint32_t k = 0; k < N_SHAPE * ARRAY_LEN(memories); k++) {
        const double memory = memories[k / N_SHAPE];
        const tess_philox_stream stream = tess_philox_open(12, k, 1);
        tess_philox_normals(&stream, 0, N_VALUE, z);
        for (int i = 0; i < N_VALUE; i++) {
            if (i % N_DRAW) {
                z[i] = memory * z[i - 1] + sqrt(1 - memory * memory) * z[i];
            }
            x[i] = skewed((int)k % N_SHAPE, z[i]);
        }
        if (modes_of(x).is_bimodal) {
            fail_msg("shape %d, memory %g", (int)k % N_SHAPE, memory);
        }
    }
    for (int i = 0; i < N_VALUE; i++) {
        x[i] = 3;
    }
    assert_int_equal(modes_of(x).is_bimodal, 0);
    free(z);
    free(x);
}

// Stuck 3 deviations away, which leaves a valley of 3 %; and where chains merely have other means.
static void a_chain_elsewhere_is_told(void **state)
{
    (void)state;
    static const double away[] = {3, 1.5};
    double *x = malloc(N_VALUE * sizeof *x);
    for (uint32_t k = 0; k < ARRAY_LEN(away); k++) {
        const tess_philox_stream stream = tess_philox_open(13, k, 1);
        tess_philox_normals(&stream, 0, N_VALUE, x);
        for (int i = 2 * N_DRAW; i < 3 * N_DRAW; i++) {
            x[i] += away[k];
        }
        const tess_two_modes found = modes_of(x);
        assert_int_equal(found.is_bimodal, k == 0);
        if (k == 0) {
            assert_true(found.weight[1] == 0.25);
            assert_near(&found.separation, &away[k], 1, 0.15);
        }
    }
    free(x);
}

static void quantiles_are_inverses(void **state)
{
    (void)state;
    static const double shapes[][2] = {{1, 1}, {0.5, 3}, {20, 400}, {1e5, 2e4}, {1e6, 1}};
    for (double p = 1e-12; p < 1; p = p < 1e-3 ? p * 7 : p + 0.0137) {
        const double x = tess_normal_quantile(p);
        const double back = 0.5 * erfc(-x / sqrt(2));
        assert_near(&back, &p, 1, 1e-14 * p + 1e-16);
        for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
            const double y = tess_beta_quantile(p, shapes[i][0], shapes[i][1]);
            const double below = tess_beta_below(y, shapes[i][0], shapes[i][1]);
            assert_near(&below, &p, 1, 1e-9 * p + 1e-13);
        }
    }
    assert_true(isinf(tess_normal_quantile(0)) && isnan(tess_normal_quantile(1.5)));
    assert_true(isnan(tess_beta_quantile(0.5, -1, 1)) && isnan(tess_beta_quantile(2, 1, 1)));
    // From 30-digit arithmetic.
    const double z = tess_normal_quantile(0.975);
    const double want = 1.959963984540054;
    assert_near(&z, &want, 1, 4e-16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_to_arviz),
        cmocka_unit_test(growth_is_of_the_first_draws),
        cmocka_unit_test(two_heaps_are_found),
        cmocka_unit_test(one_skewed_heap_is_one),
        cmocka_unit_test(a_chain_elsewhere_is_told),
        cmocka_unit_test(quantiles_are_inverses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
