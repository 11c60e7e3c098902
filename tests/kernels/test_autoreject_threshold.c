// The kernels of the threshold search have the reference's bits on every ISA.

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { TILE = 16, N_MOST = 2500 };

// What a column may look like: a lane of its own for each kind.
static double value_of(check *t, size_t kind, size_t i)
{
    const double u = check_uniform(t, -1, 1);
    switch (kind) {
    case 0:
        return 3.5e-6; // constant
    case 1:
        return (double)(check_random(t) % 5) * 1e-6; // ties everywhere
    case 2:
        return u * u * u * 1e-5 * (check_random(t) % 20 ? 1 : 1000); // outliers
    case 3:
        return check_random(t) % 2 ? 0.0 : -0.0;
    case 4:
        return (check_random(t) % 2 ? 1 : -1) * (1 + u) * 1e-300;
    case 5:
        return check_random(t) % 2 ? u * 1e200 : u * 1e-200;
    case 6:
        return (double)i; // sorted
    case 7:
        return i % 2 ? 7.0 : -3.0; // the middle lies between two values
    case 8:
        return 5e-324 * (double)(check_random(t) % 7);
    case 9:
        return 1 + 0x1p-52 * (double)(check_random(t) % 4); // neighbours
    default:
        return u * 4e-5;
    }
}

static void fill(check *t, double *x, size_t n)
{
    const size_t shift = check_random(t) % TILE;
    for (size_t i = 0; i < n; i++) {
        for (size_t lane = 0; lane < TILE; lane++) {
            x[i * TILE + lane] = value_of(t, (lane + shift) % TILE, i);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// By sorting, independent of both.
static double sorted_median(const double *x, size_t n)
{
    static double column[N_MOST];
    for (size_t i = 0; i < n; i++) {
        column[i] = x[i * TILE];
    }
    qsort(column, n, sizeof *column, by_value);
    return (n % 2 ? column[n / 2] : 0.5 * (column[n / 2 - 1] + column[n / 2])) + 0.0;
}

static void median_matches_sorting(check *t)
{
    static const size_t lengths[] = {25, 31, 120, 121, 193, 600, N_MOST};
    for (size_t k = 1; k < 24 + ARRAY_LEN(lengths); k++) {
        const size_t n = k < 24 ? k : lengths[k - 24];
        check_block block = check_take(n * TILE * sizeof(double), 0);
        double *x = block.data;
        static float rounded[N_MOST * TILE];
        static int32_t index[N_MOST];
        double got[TILE] = {0};
        float gaps[TILE] = {0};
        for (int round = 0; round < (t->quick ? 4 : 12); round++) {
            fill(t, x, n);
            for (size_t i = 0; i < n; i++) { // all rows, from somewhere on
                index[i] = (int32_t)((i + (size_t)round) % n);
            }
            // Hints of an earlier call, none, and wild ones.
            for (size_t lane = 0; round % 3 == 1 && lane < TILE; lane++) {
                gaps[lane] = 0;
            }
            for (size_t lane = 0; round % 3 == 2 && lane < TILE; lane++) {
                got[lane] = value_of(t, lane, lane);
                gaps[lane] = (float)(check_uniform(t, 0, 1) * (lane % 2 ? 1e-12 : 1e12));
            }
            t->isa->autoreject_median(x, index, n, rounded, gaps, got);
            for (size_t lane = 0; lane < TILE; lane++) {
                const double want = sorted_median(x + lane, n);
                CHECK(t, memcmp(&got[lane], &want, sizeof want) == 0,
                      "n=%zu lane %zu: got %a, want %a", n, lane, got[lane], want);
            }
        }
        check_release(&block);
    }
}

enum { N_ROW = 300, N_SPLIT = 19 };

// Splits with n_validation rows each.
static void mark_rows(check *t, size_t n_row, size_t n_validation, uint64_t *bits)
{
    const size_t n_word = (n_row + 63) / 64;
    memset(bits, 0, N_SPLIT * n_word * sizeof *bits);
    for (size_t s = 0; s < N_SPLIT; s++) {
        for (size_t n = 0; n < n_validation;) {
            const size_t r = check_random(t) % n_row;
            const uint64_t bit = (uint64_t)1 << (r % 64);
            n += !(bits[s * n_word + r / 64] & bit);
            bits[s * n_word + r / 64] |= bit;
        }
    }
}

static void curve_matches_reference(check *t)
{
    static const size_t lengths[] = {2, 3, 8, 9, 10, 63, 64, 65, 66, 80, 127, 128, 129, N_ROW};
    static double x[N_ROW * TILE], inverse[N_ROW], median[N_SPLIT * TILE], want[N_SPLIT * N_ROW];
    static uint64_t bits[N_SPLIT * ((N_ROW + 63) / 64)];
    for (size_t k = 0; k < ARRAY_LEN(lengths); k++) {
        const size_t n_row = lengths[k], n_train = n_row - (n_row + 4) / 5;
        for (size_t i = 0; i < n_row * TILE; i++) {
            inverse[i / TILE] = 1 / (double)(i / TILE + 1);
            x[i] = check_uniform(t, -1e-5, 1e-5);
        }
        for (size_t i = 0; i < N_SPLIT * TILE; i++) {
            median[i] = check_uniform(t, -1e-6, 1e-6);
        }
        for (size_t i = 0; i < N_SPLIT * n_train; i++) {
            want[i] = check_uniform(t, 0, 1e-10);
        }
        mark_rows(t, n_row, n_row - n_train, bits);
        const size_t bytes = N_SPLIT * n_train * sizeof(double);
        check_block block = check_take(bytes, sizeof(double));
        memcpy(block.data, want, bytes);
        t->ref->autoreject_curve(x, n_row, bits, N_SPLIT, inverse, median, want, n_train);
        t->isa->autoreject_curve(x, n_row, bits, N_SPLIT, inverse, median, block.data, n_train);
        CHECK(t, memcmp(block.data, want, bytes) == 0, "%zu rows: bits differ from the reference",
              n_row);
        CHECK(t, check_release(&block), "%zu rows: wrote past the end", n_row);
    }
}

// The mean of the first k rows against the median, by definition.
static void curve_known_answers(check *t)
{
    const double inverse[] = {1, 0.5};
    const uint64_t bits[] = {2};
    double x[3 * TILE], median[TILE], sse[2] = {10, 20};
    for (size_t lane = 0; lane < TILE; lane++) {
        x[lane] = (double)lane;
        x[TILE + lane] = 1000;
        x[2 * TILE + lane] = 4;
        median[lane] = 1;
    }
    t->isa->autoreject_curve(x, 3, bits, 1, inverse, median, sse, 2);
    double want[2] = {10, 20};
    for (size_t lane = 0; lane < TILE; lane++) {
        const double first = (double)lane - 1, both = ((double)lane + 4) / 2 - 1;
        want[0] += first * first;
        want[1] += both * both;
    }
    CHECK(t, sse[0] == want[0] && sse[1] == want[1], "got %g and %g, want %g and %g", sse[0],
          sse[1], want[0], want[1]);
}

const check_test test_autoreject_threshold_list[] = {
    {"autoreject_median sorts", median_matches_sorting},
    {"autoreject_curve matches reference", curve_matches_reference},
    {"autoreject_curve known answers", curve_known_answers},
    {NULL, NULL},
};
