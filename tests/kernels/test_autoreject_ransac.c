// RANSAC's kernels: everything has the reference's bits.

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { TILE = TESS_RANSAC_TILE };

static double *taken(size_t n)
{
    double *x = malloc(n * sizeof *x);
    if (!x) {
        abort();
    }
    return x;
}

static void predictions_match_reference(check *t)
{
    enum { N_CHAN = 40 };
    double x[N_CHAN * TILE];
    for (int round = 0; round < (t->quick ? 20 : 200); round++) {
        const size_t n_row = 4 + 4 * (check_random(t) % 3);
        const size_t n_from = 1 + check_random(t) % 20, n_resample = 1 + check_random(t) % 60;
        double *w = taken(n_from * n_resample * n_row);
        int32_t *from = malloc(n_from * n_resample * sizeof *from);
        double *want = taken(n_resample * n_row * TILE);
        check_block got = check_take(n_resample * n_row * TILE * sizeof(double), sizeof(double));
        for (size_t i = 0; i < N_CHAN * TILE; i++) {
            x[i] = check_uniform(t, -1, 1);
        }
        for (size_t i = 0; i < n_from * n_resample * n_row; i++) {
            w[i] = check_uniform(t, -1, 1);
        }
        for (size_t i = 0; i < n_from * n_resample; i++) {
            from[i] = (int32_t)(check_random(t) % N_CHAN);
        }
        t->ref->ransac_predict(w, n_row, from, n_from, n_resample, x, 0, x, want);
        t->isa->ransac_predict(w, n_row, from, n_from, n_resample, x, N_CHAN * TILE, x, got.data);
        CHECK(t, memcmp(got.data, want, n_resample * n_row * TILE * sizeof(double)) == 0,
              "%zu rows from %zu subsets of %zu: bits differ from the reference", n_row, n_resample,
              n_from);
        CHECK(t, check_release(&got), "%zu subsets: wrote past the end", n_resample);
        free(w);
        free(from);
        free(want);
    }
}

// Every size up to more than the networks in registers take, with and without ties.
static void medians_match_reference(check *t)
{
    enum { N_MOST = 70 };
    static const size_t LARGE[] = {100, 101, 128, 129, 500, 1001};
    for (size_t k = 0; k < N_MOST + ARRAY_LEN(LARGE); k++) {
        const size_t n = k < N_MOST ? k + 1 : LARGE[k - N_MOST];
        for (int round = 0; round < (t->quick || n > N_MOST ? 4 : 60); round++) {
            const size_t bytes = n * TILE * sizeof(double);
            double *x = taken(n * TILE);
            const double grain = round % 2 ? 1 + (double)(check_random(t) % 5) : 1e15;
            for (size_t i = 0; i < n * TILE; i++) {
                x[i] = (double)(int64_t)check_uniform(t, -grain, grain);
            }
            check_block block = check_take(bytes, sizeof(double));
            memcpy(block.data, x, bytes);
            double want[TILE], got[TILE];
            t->ref->ransac_median(x, n, want);
            t->isa->ransac_median(block.data, n, got);
            for (size_t i = 0; i < TILE; i++) { // of two zeros either may be the smaller
                CHECK(t, got[i] == want[i], "median of %zu: %g, want %g", n, got[i], want[i]);
            }
            CHECK(t, check_release(&block), "median of %zu: wrote past the end", n);
            free(x);
        }
    }
}

// A network that sorts zeros and ones sorts everything: all of them, for the small ones.
static void medians_of_zeros_and_ones(check *t)
{
    double x[32 * TILE], got[TILE];
    for (size_t n = 1; n <= (t->quick ? 10 : 16); n++) {
        for (uint32_t pattern = 0; pattern < 1u << n; pattern++) {
            const size_t n_one = (size_t)__builtin_popcount(pattern);
            for (size_t i = 0; i < n * TILE; i++) {
                x[i] = (double)(pattern >> i / TILE & 1);
            }
            const double low = n_one > n - 1 - (n - 1) / 2, high = n_one > n - 1 - n / 2;
            t->isa->ransac_median(x, n, got);
            CHECK(t, got[0] == (low + high) / 2 && got[TILE - 1] == got[0],
                  "pattern %x of %zu: median %g", pattern, n, got[0]);
        }
    }
}

// The middle of fifty is found from five sorted columns of ten: all numbers of zeros in each of
// them, a sample of the tile for every case.
static void medians_of_fifty_zeros_and_ones(check *t)
{
    enum { N = 50, COLUMN = 10, N_CASE = 11 * 11 * 11 * 11 * 11 };
    double x[N * TILE], got[TILE];
    for (uint32_t first = 0; first < N_CASE; first += t->quick ? 31 * TILE : TILE) {
        size_t n_one[TILE] = {0};
        for (size_t i = 0; i < TILE; i++) {
            uint32_t left = (first + (uint32_t)i) % N_CASE;
            for (size_t column = 0; column < N / COLUMN; column++, left /= COLUMN + 1) {
                const size_t begin = check_random(t) % COLUMN, ones = left % (COLUMN + 1);
                for (size_t k = 0; k < COLUMN; k++) {
                    const size_t row = column * COLUMN + (begin + 3 * k) % COLUMN;
                    x[row * TILE + i] = k < ones;
                }
                n_one[i] += ones;
            }
        }
        t->isa->ransac_median(x, N, got);
        for (size_t i = 0; i < TILE; i++) {
            const double want = n_one[i] < 25 ? 0 : n_one[i] == 25 ? 0.5 : 1;
            CHECK(t, got[i] == want, "case %zu: %zu ones, median %g", first + i, n_one[i], got[i]);
        }
    }
}

// A prediction in f32 and its number: 4 or 6 rows, and nothing past the weights is read.
static void numbered_predictions_match_reference(check *t)
{
    enum { N_CHAN = 40 };
    float x[N_CHAN * TILE];
    for (int round = 0; round < (t->quick ? 10 : 100); round++) {
        const size_t n_row = 4 + 2 * (check_random(t) % 2);
        const size_t n_from = 1 + check_random(t) % 20, n_resample = 1 + check_random(t) % 60;
        const size_t n = n_resample * n_row * TILE, n_weight = n_from * n_resample;
        float *w = malloc(n_weight * n_row * sizeof *w), *want = malloc(n * sizeof *want);
        int32_t *from = malloc(n_weight * sizeof *from);
        check_block got = check_take(n * sizeof(float), sizeof(float));
        for (size_t i = 0; i < N_CHAN * TILE; i++) {
            x[i] = (float)check_uniform(t, -1, 1);
        }
        for (size_t i = 0; i < n_weight * n_row; i++) {
            w[i] = (float)check_uniform(t, -1, 1);
        }
        for (size_t i = 0; i < n_weight; i++) {
            from[i] = (int32_t)(check_random(t) % N_CHAN);
        }
        t->ref->ransac_predict_f32(w, n_row, from, n_from, n_resample, x, want);
        t->isa->ransac_predict_f32(w, n_row, from, n_from, n_resample, x, got.data);
        CHECK(t, memcmp(got.data, want, n * sizeof *want) == 0,
              "%zu rows from %zu subsets of %zu: bits differ from the reference", n_row, n_resample,
              n_from);
        CHECK(t, check_release(&got), "%zu subsets: wrote past the end", n_resample);
        free(w);
        free(from);
        free(want);
    }
}

// All numbers of zeros in each of five columns, as for the median of fifty, and random numbers.
static void middle_four_of_fifty(check *t)
{
    enum { N = 50, COLUMN = 10, N_CASE = 11 * 11 * 11 * 11 * 11 };
    float x[N * TILE], y[N * TILE], got[4 * TILE], want[4 * TILE];
    for (uint32_t first = 0; first < N_CASE; first += t->quick ? 31 * TILE : TILE) {
        for (size_t i = 0; i < TILE; i++) {
            uint32_t left = (first + (uint32_t)i) % N_CASE;
            for (size_t column = 0; column < N / COLUMN; column++, left /= COLUMN + 1) {
                for (size_t k = 0; k < COLUMN; k++) {
                    const size_t row = column * COLUMN + (left + 3 * k) % COLUMN;
                    const float ones = k < left % (COLUMN + 1) ? 1 : 0;
                    x[row * TILE + i] = i % 2 ? ones : (float)check_uniform(t, -1, 1);
                }
            }
        }
        memcpy(y, x, sizeof x);
        t->ref->ransac_middle(x, want);
        t->isa->ransac_middle(y, got);
        for (size_t i = 0; i < 4 * TILE; i++) {
            CHECK(t, got[i] == want[i], "case %zu: rank %zu is %g, want %g", first + i % TILE,
                  23 + i / TILE, (double)got[i], (double)want[i]);
        }
    }
}

static void single_predictions_match_reference(check *t)
{
    enum { N_CHAN = 40, MOST = 20 };
    double x[N_CHAN * TILE], w[MOST * MOST], want[MOST], got[MOST + 1];
    for (size_t i = 0; i < N_CHAN * TILE; i++) {
        x[i] = check_uniform(t, -1, 1);
    }
    for (size_t i = 0; i < MOST * MOST; i++) {
        w[i] = check_uniform(t, -1, 1);
    }
    for (size_t n_item = 1; n_item <= MOST; n_item++) {
        const size_t n_from = 1 + check_random(t) % MOST;
        int32_t from[MOST];
        tess_ransac_item item[MOST];
        for (size_t i = 0; i < n_from; i++) {
            from[i] = (int32_t)(check_random(t) % N_CHAN);
        }
        for (size_t m = 0; m < n_item; m++) {
            const uint32_t to = (uint32_t)((m + n_item / 2) % n_item);
            item[m] = (tess_ransac_item){.w = (uint32_t)(check_random(t) % MOST * (MOST - n_from)),
                                         .x = (uint32_t)(check_random(t) % TILE),
                                         .to = to};
        }
        t->ref->ransac_exact(item, n_item, w, from, n_from, x, want);
        got[n_item] = 77;
        t->isa->ransac_exact(item, n_item, w, from, n_from, x, got);
        CHECK(t, memcmp(got, want, n_item * sizeof *got) == 0 && got[n_item] == 77,
              "%zu items of %zu products: bits differ from the reference", n_item, n_from);
    }
}

static void sums_match_reference(check *t)
{
    double x[TILE], p[TILE], want[3 * TILE], got[3 * TILE];
    for (size_t i = 0; i < TILE; i++) {
        x[i] = check_uniform(t, -1, 1);
        p[i] = check_uniform(t, -1, 1);
        for (size_t k = 0; k < 3; k++) {
            want[k * TILE + i] = got[k * TILE + i] = check_uniform(t, -1, 1);
        }
    }
    t->ref->ransac_sums(x, p, want);
    t->isa->ransac_sums(x, p, got);
    CHECK(t, memcmp(got, want, sizeof got) == 0, "bits differ from the reference");
}

const check_test test_autoreject_ransac_list[] = {
    {"ransac predictions", predictions_match_reference},
    {"ransac medians", medians_match_reference},
    {"ransac medians of 0 and 1", medians_of_zeros_and_ones},
    {"ransac medians of fifty", medians_of_fifty_zeros_and_ones},
    {"ransac sums", sums_match_reference},
    {"ransac numbered predictions", numbered_predictions_match_reference},
    {"ransac middle four of fifty", middle_four_of_fifty},
    {"ransac single predictions", single_predictions_match_reference},
    {NULL, NULL},
};
