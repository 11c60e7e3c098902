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
        double got[TILE] = {0};
        double step[TILE] = {0};
        for (int round = 0; round < (t->quick ? 4 : 12); round++) {
            fill(t, x, n);
            // Hints of an earlier call, none, and wild ones.
            for (size_t lane = 0; round % 3 == 1 && lane < TILE; lane++) {
                step[lane] = 0;
            }
            for (size_t lane = 0; round % 3 == 2 && lane < TILE; lane++) {
                got[lane] = value_of(t, lane, lane);
                step[lane] = check_uniform(t, 0, 1) * (lane % 2 ? 1e-12 : 1e12);
            }
            t->isa->autoreject_median(x, n, got, step);
            for (size_t lane = 0; lane < TILE; lane++) {
                const double want = sorted_median(x + lane, n);
                CHECK(t, memcmp(&got[lane], &want, sizeof want) == 0,
                      "n=%zu lane %zu: got %a, want %a", n, lane, got[lane], want);
            }
        }
        check_release(&block);
    }
}

static void curve_matches_reference(check *t)
{
    static const size_t lengths[] = {1, 2, 7, 8, 9, 15, 63, 64, 65, 71, 72, 128, 300};
    static double x[300 * TILE], inverse[300], want[300];
    static int32_t index[300];
    for (size_t k = 0; k < ARRAY_LEN(lengths); k++) {
        const size_t n = lengths[k];
        double median[TILE];
        for (size_t i = 0; i < n; i++) {
            index[i] = (int32_t)(check_random(t) % n);
            inverse[i] = 1 / (double)(i + 1);
            want[i] = check_uniform(t, 0, 1e-10);
            for (size_t lane = 0; lane < TILE; lane++) {
                x[i * TILE + lane] = check_uniform(t, -1e-5, 1e-5);
                median[lane] = check_uniform(t, -1e-6, 1e-6);
            }
        }
        check_block block = check_take(n * sizeof(double), sizeof(double));
        memcpy(block.data, want, n * sizeof(double));
        t->ref->autoreject_curve(x, index, inverse, n, median, want);
        t->isa->autoreject_curve(x, index, inverse, n, median, block.data);
        CHECK(t, memcmp(block.data, want, n * sizeof(double)) == 0,
              "n=%zu: bits differ from the reference", n);
        CHECK(t, check_release(&block), "n=%zu: wrote past the end", n);
    }
}

// The mean of the first k rows against the median, by definition.
static void curve_known_answers(check *t)
{
    const double inverse[] = {1, 0.5};
    const int32_t index[] = {1, 0};
    double x[2 * TILE], median[TILE], sse[2] = {10, 20};
    for (size_t lane = 0; lane < TILE; lane++) {
        x[lane] = 4;
        x[TILE + lane] = (double)lane;
        median[lane] = 1;
    }
    t->isa->autoreject_curve(x, index, inverse, 2, median, sse);
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
