// The steps of a hidden Markov model. Sums are added in an order of each ISA's own; everything else
// has the reference's bits.

#include "check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_MOST = 700 };

static const size_t LENGTHS[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 31, 33, 64, 127, 255, 257, N_MOST};

// Probabilities, some of them nothing, some next to it.
static void fill(check *t, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double u = check_uniform(t, 0, 1);
        x[i] = u < 0.1 ? 0 : u < 0.2 ? u * 1e-39 : u;
    }
}

static void compare_sum(check *t, const char *what, size_t n, double got, double want)
{
    CHECK(t, fabs(got - want) <= 1e-15 * (double)n * fabs(want), "%s, n=%zu: sum %.17g, want %.17g",
          what, n, got, want);
}

static void compare(check *t, const char *what, size_t n, const void *got, const void *want,
                    size_t bytes)
{
    CHECK(t, memcmp(got, want, bytes) == 0, "%s, n=%zu: bits differ from the reference", what, n);
}

static void hmm_maps(check *t)
{
    static double a[N_MOST], b[N_MOST], want[N_MOST];
    static float f[N_MOST];
    for (size_t k = 0; k < ARRAY_LEN(LENGTHS); k++) {
        const size_t n = LENGTHS[k];
        fill(t, a, n);
        fill(t, b, n);
        check_block block = check_take(n * sizeof(double), sizeof(double));
        double got_sum = -1, want_sum = -2;
        t->ref->hmm_multiply_f64(a, b, n, want, &want_sum);
        t->isa->hmm_multiply_f64(a, b, n, block.data, &got_sum);
        compare(t, "multiply_f64", n, block.data, want, n * sizeof(double));
        compare_sum(t, "multiply_f64", n, got_sum, want_sum);
        for (size_t i = 0; i < n; i++) {
            f[i] = (float)a[i];
        }
        t->ref->hmm_multiply_f32(f, b, n, want, &want_sum);
        t->isa->hmm_multiply_f32(f, b, n, block.data, &got_sum);
        compare(t, "multiply_f32", n, block.data, want, n * sizeof(double));
        compare_sum(t, "multiply_f32", n, got_sum, want_sum);
        t->ref->hmm_divide(a, b, n, want, &want_sum);
        t->isa->hmm_divide(a, b, n, block.data, &got_sum);
        compare(t, "divide", n, block.data, want, n * sizeof(double));
        compare_sum(t, "divide", n, got_sum, want_sum);
        memcpy(want, b, n * sizeof(double));
        memcpy(block.data, b, n * sizeof(double));
        t->ref->hmm_add_scaled(0.7, a, n, want);
        t->isa->hmm_add_scaled(0.7, a, n, block.data);
        compare(t, "add_scaled", n, block.data, want, n * sizeof(double));
        t->ref->hmm_fill(0.3, n, want);
        t->isa->hmm_fill(0.3, n, block.data);
        compare(t, "fill", n, block.data, want, n * sizeof(double));
        CHECK(t, check_release(&block), "n=%zu: wrote past the end", n);
    }
}

// Rows of one dtype: what is kept of x, scaled again in place, and its sum whoever adds it up.
static void keep_and_take(check *t, const double *x, size_t n, int f64)
{
    const tess_kernels *ref = t->ref, *isa = t->isa;
    static double want[N_MOST], wide[N_MOST], y[N_MOST], taken[N_MOST];
    static float narrow[N_MOST];
    check_block block = check_take(n * sizeof(double), sizeof(double));
    double sums[6] = {-1, -2, -3, -4, -5, -6};
    if (f64) {
        ref->hmm_keep_f64(x, n, 1.25, wide, want, &sums[0]);
        isa->hmm_keep_f64(x, n, 1.25, block.data, NULL, &sums[1]);
        isa->hmm_keep_f64(x, n, 1.25, block.data, y, &sums[2]);
        compare(t, "keep_f64", n, block.data, wide, n * sizeof(double));
        isa->hmm_take_f64(block.data, n, taken, &sums[3]);
        isa->hmm_take_f64(block.data, n, NULL, &sums[4]);
    } else {
        ref->hmm_keep_f32(x, n, 1.25, narrow, want, &sums[0]);
        isa->hmm_keep_f32(x, n, 1.25, block.data, NULL, &sums[1]);
        isa->hmm_keep_f32(x, n, 1.25, block.data, y, &sums[2]);
        compare(t, "keep_f32", n, block.data, narrow, n * sizeof(float));
        isa->hmm_take_f32(block.data, n, taken, &sums[3]);
        isa->hmm_take_f32(block.data, n, NULL, &sums[4]);
        CHECK(t, narrow[0] == 0, "a denormal number was kept");
    }
    isa->hmm_sum(y, n, &sums[5]);
    compare(t, "kept", n, y, want, n * sizeof(double));
    compare(t, "take", n, taken, want, n * sizeof(double));
    compare_sum(t, "keep", n, sums[1], sums[0]);
    for (int i = 2; i < 6; i++) {
        CHECK(t, sums[i] == sums[1], "n=%zu: sum %d is not that of keep", n, i);
    }
    if (f64) {
        ref->hmm_scale_f64(wide, n, 0.3, &sums[0]);
        isa->hmm_scale_f64(block.data, n, 0.3, &sums[1]);
        compare(t, "scale_f64", n, block.data, wide, n * sizeof(double));
    } else {
        ref->hmm_scale_f32(narrow, n, 0.3, &sums[0]);
        isa->hmm_scale_f32(block.data, n, 0.3, &sums[1]);
        compare(t, "scale_f32", n, block.data, narrow, n * sizeof(float));
    }
    compare_sum(t, "scale", n, sums[1], sums[0]);
    CHECK(t, check_release(&block), "n=%zu: wrote past the end", n);
}

static void hmm_keeps_what_it_takes(check *t)
{
    static double x[N_MOST];
    for (size_t k = 0; k < ARRAY_LEN(LENGTHS); k++) {
        fill(t, x, LENGTHS[k]);
        x[0] = (double)FLT_MIN / 1.5; // times 1.25 it is still no normal number
        keep_and_take(t, x, LENGTHS[k], 0);
        keep_and_take(t, x, LENGTHS[k], 1);
    }
}

// Runs of every length, with and without factors, written or added. Cells of no run are 0, and what
// lies behind the bins is left alone.
static void hmm_moves_runs(check *t)
{
    enum { N_RUN = 20, ALL = 1200 };
    static double x[ALL], scale[ALL], want[ALL], got[ALL];
    for (int round = 0; round < 40; round++) {
        tess_tile_run runs[N_RUN];
        int32_t bin = 0, cell = 3;
        for (int k = 0; k < N_RUN; k++) {
            const int32_t n = 1 + (int32_t)(check_random(t) % 40);
            runs[k] = (tess_tile_run){.bin = bin, .cell = cell, .n = n};
            bin += n;
            cell += n + (int32_t)(check_random(t) % 12);
        }
        fill(t, x, ALL);
        fill(t, scale, ALL);
        memset(want, 0, sizeof want);
        memset(got, 0, sizeof got);
        const double *by = round % 2 ? scale : NULL;
        for (int add = 0; add < 2; add++) {
            t->ref->hmm_scatter(runs, N_RUN, 0.6, x, by, add, want);
            t->isa->hmm_scatter(runs, N_RUN, 0.6, x, by, add, got);
            compare(t, "scatter", ALL, got, want, sizeof want);
        }
        t->ref->hmm_gather(runs, N_RUN, x, by, 0.2, want);
        t->isa->hmm_gather(runs, N_RUN, x, by, 0.2, got);
        compare(t, "gather", ALL, got, want, sizeof want);
    }
}

static void hmm_weighs_likelihoods(check *t)
{
    static float f[N_MOST];
    static double d[N_MOST], want[N_MOST];
    for (size_t k = 0; k < ARRAY_LEN(LENGTHS); k++) {
        const size_t n = LENGTHS[k];
        for (size_t i = 0; i < n; i++) {
            f[i] = (float)check_uniform(t, -900, 10);
            f[i] = check_random(t) % 9 == 0 ? -(float)INFINITY : f[i];
            d[i] = (double)f[i];
        }
        check_block block = check_take(n * sizeof(double), sizeof(double));
        double *got = block.data;
        double most = 0, most_f = 0, most_d = 0;
        t->ref->hmm_max_f64(d, n, &most);
        t->isa->hmm_max_f32(f, n, &most_f);
        t->isa->hmm_max_f64(d, n, &most_d);
        CHECK(t, most_f == most && most_d == most, "n=%zu: max %g and %g, want %g", n, most_f,
              most_d, most);
        for (int f64 = 0; f64 < 2; f64++) {
            if (f64) {
                t->isa->hmm_exp_f64(d, n, 3.5, got);
            } else {
                t->isa->hmm_exp_f32(f, n, 3.5, got);
            }
            t->ref->hmm_exp_f64(d, n, 3.5, want);
            for (size_t i = 0; i < n; i++) {
                CHECK(t, fabs(got[i] - want[i]) <= 4e-16 * want[i] + 5e-324,
                      "exp(%g): got %.17g, want %.17g", d[i] - 3.5, got[i], want[i]);
            }
        }
        CHECK(t, check_release(&block), "n=%zu: wrote past the end", n);
    }
}

// Tiles of every number of rows, terms, columns and step, written over NaN or onto something.
static void tiles_match_reference(check *t)
{
    enum { SIDE = 64, ALL = SIDE * SIDE };
    static double w[ALL], x[ALL], want[ALL], got[ALL];
    for (int round = 0; round < (t->quick ? 400 : 4000); round++) {
        const int32_t n_row = 1 + (int32_t)(check_random(t) % 8);
        const int32_t n = 1 + (int32_t)(check_random(t) % 40);
        const int32_t n_term = (int32_t)(check_random(t) % 30);
        const int is_sliding = (int)(check_random(t) % 2);
        const tess_tile_sum tile = {.w = is_sliding ? SIDE : ALL / 2,
                                    .x = is_sliding ? ALL / 2 : 3,
                                    .out = 5,
                                    .w_row = is_sliding ? SIDE : 1,
                                    .w_term = is_sliding ? 1 : -1,
                                    .x_term = is_sliding ? -1 : SIDE,
                                    .out_row = SIDE,
                                    .n_term = n_term,
                                    .n_row = n_row,
                                    .n = n,
                                    .add = (int32_t)(check_random(t) % 2)};
        for (size_t i = 0; i < ALL; i++) {
            w[i] = check_uniform(t, -1, 1);
            x[i] = check_uniform(t, -1, 1);
            want[i] = got[i] = tile.add ? check_uniform(t, -1, 1) : (double)NAN;
        }
        if (round % 2) {
            t->ref->tile_sums(&tile, 1, w, x, want);
            t->isa->tile_sums(&tile, 1, w, x, got);
        } else {
            w[SIDE] = x[ALL / 2] = -(double)INFINITY;
            t->ref->tile_maxima(&tile, 1, w, x, want);
            t->isa->tile_maxima(&tile, 1, w, x, got);
        }
        CHECK(t, memcmp(got, want, sizeof got) == 0, "%d rows of %d, %d terms, add %d, %s", n_row,
              n, n_term, tile.add, round % 2 ? "sums" : "maxima");
    }
}

const check_test test_decode_hmm_list[] = {
    {"hmm multiply, divide, add", hmm_maps},
    {"hmm keep and take", hmm_keeps_what_it_takes},
    {"hmm runs of bins", hmm_moves_runs},
    {"hmm max and exp", hmm_weighs_likelihoods},
    {"tiles match reference", tiles_match_reference},
    {NULL, NULL},
};
