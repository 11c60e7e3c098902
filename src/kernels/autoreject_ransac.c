// RANSAC: medians of predictions, and their agreement with the samples; built once per ISA.

#include "base/sorting_networks.h"
#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#include <math.h>

enum { TILE = TESS_RANSAC_TILE };

static inline void exchange(double *a, double *b)
{
    const v_f64 va = v_take_f64(a, TILE), vb = v_take_f64(b, TILE);
    v_put_f64(a, TILE, v_min_f64(va, vb));
    v_put_f64(b, TILE, v_max_f64(va, vb));
}

// n rows of one vector ascending; items past them are infinite, so that they stay behind.
#define LOAD(i)                                                                                    \
    v_f64 x##i = (i) < n ? v_take_f64(x + (i)*TILE, TILE) : v_set1_f64((double)INFINITY);
#define EXCHANGE(i, j)                                                                             \
    {                                                                                              \
        const v_f64 low = v_min_f64(x##i, x##j);                                                   \
        x##j = v_max_f64(x##i, x##j);                                                              \
        x##i = low;                                                                                \
    }
#define STORE(i)                                                                                   \
    if ((i) < n) {                                                                                 \
        v_put_f64(x + (i)*TILE, TILE, x##i);                                                       \
    }
#define SORT(most)                                                                                 \
    static inline void sort_##most(double *restrict x, const size_t n)                             \
    {                                                                                              \
        ITEMS_##most(LOAD) NETWORK_##most(EXCHANGE) ITEMS_##most(STORE)                            \
    }

SORT(8)
SORT(10)
SORT(16)
SORT(25)
SORT(32)

// Batcher's merge exchange for any number of rows, in memory.
static void sort_many(double *x, size_t n)
{
    size_t top = 1;
    while (2 * top < n) {
        top *= 2;
    }
    for (size_t p = top; p > 0; p /= 2) {
        size_t r = 0, d = p;
        for (size_t q = top;; q /= 2) {
            for (size_t i = 0; i + d < n; i++) {
                if ((i & p) == r) {
                    exchange(x + i * TILE, x + (i + d) * TILE);
                }
            }
            if (q == p) {
                break;
            }
            d = q - p;
            r = p;
        }
    }
}

static void sort(double *x, size_t n)
{
    if (n <= 8) {
        sort_8(x, n);
    } else if (n <= 16) {
        sort_16(x, n);
    } else if (n <= 25) {
        sort_25(x, n);
    } else if (n <= 32) {
        sort_32(x, n);
    } else {
        sort_many(x, n);
    }
}

// The kth smallest, k = 1..n_a+n_b, of two ascending lists: the smallest over i + j = k of the
// larger of their ith and jth items.
static inline v_f64 ranked(const double *a, size_t n_a, const double *b, size_t n_b, size_t k)
{
    v_f64 best = v_set1_f64((double)INFINITY), other = best;
    if (k <= n_b) {
        best = v_take_f64(b + (k - 1) * TILE, TILE);
    }
    if (k <= n_a) {
        other = v_take_f64(a + (k - 1) * TILE, TILE);
    }
    size_t i = k > n_b ? k - n_b : 1;
    const size_t end = k - 1 < n_a ? k - 1 : n_a;
    for (; i + 1 <= end; i += 2) {
        const v_f64 c = v_max_f64(v_take_f64(a + (i - 1) * TILE, TILE),
                                  v_take_f64(b + (k - i - 1) * TILE, TILE));
        const v_f64 d =
            v_max_f64(v_take_f64(a + i * TILE, TILE), v_take_f64(b + (k - i - 2) * TILE, TILE));
        best = v_min_f64(best, c);
        other = v_min_f64(other, d);
    }
    if (i == end) {
        const v_f64 c = v_max_f64(v_take_f64(a + (i - 1) * TILE, TILE),
                                  v_take_f64(b + (k - i - 1) * TILE, TILE));
        best = v_min_f64(best, c);
    }
    return v_min_f64(best, other);
}

// One vector of the usual 50 rows: columns of ten are sorted in place, their middle is found in
// registers.
#define TAKE(i) v_f64 x##i = v_take_f64(x + (i)*TILE, TILE);

static inline v_f64 median_50(double *restrict x)
{
    enum { COLUMN = 10 };
    for (size_t first = 0; first < 50; first += COLUMN) {
        sort_10(x + first * TILE, COLUMN);
    }
    MIDDLE_OF_50(TAKE, EXCHANGE)
    return v_mul_f64(v_add_f64(x24, x25), v_set1_f64(0.5));
}

void TESS_KFN(ransac_median)(double *restrict x, size_t n, double *restrict out)
{
    const size_t half = n - n / 2;
    for (size_t t = 0; n == 50 && t < TILE; t += v_part_f64(TILE)) {
        v_put_f64(out + t, TILE, median_50(x + t));
    }
    for (size_t t = 0; n != 50 && t < TILE; t += v_part_f64(TILE)) {
        double *a = x + t, *b = a + half * TILE;
        sort(a, half);
        sort(b, n - half);
        v_f64 middle = ranked(a, half, b, n - half, half);
        if (n % 2 == 0) {
            const v_f64 next = ranked(a, half, b, n - half, half + 1);
            middle = v_mul_f64(v_add_f64(middle, next), v_set1_f64(0.5));
        }
        v_put_f64(out + t, TILE, middle);
    }
}

void TESS_KFN(ransac_sums)(const double *restrict x, const double *restrict p,
                           double *restrict sums)
{
    for (size_t t = 0; t < TILE; t += v_part_f64(TILE)) {
        const v_f64 vx = v_take_f64(x + t, TILE), vp = v_take_f64(p + t, TILE);
        double *xp = sums + t, *xx = xp + TILE, *pp = xx + TILE;
        v_put_f64(xp, TILE, v_fma_f64(vx, vp, v_take_f64(xp, TILE)));
        v_put_f64(xx, TILE, v_fma_f64(vx, vx, v_take_f64(xx, TILE)));
        v_put_f64(pp, TILE, v_fma_f64(vp, vp, v_take_f64(pp, TILE)));
    }
}
