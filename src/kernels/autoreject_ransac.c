// RANSAC: predictions of channels from subsets of them, and their median; built once per ISA.

#include "kernels/autoreject_networks.h"
#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#include <math.h>

enum { TILE = TESS_RANSAC_TILE, ROWS = TESS_RANSAC_ROWS };

#define ROWS_4(X) X(0) X(1) X(2) X(3)
#define ROWS_8(X) ROWS_4(X) X(4) X(5) X(6) X(7)

#define START_1(k) v_f64 a##k = v_set1_f64(0);
#define ADD_1(k) a##k = v_fma_f64(v_set1_f64(w[k]), x0, a##k);
#define KEEP_1(k) v_put_f64(out + (k)*out_row, TILE, a##k);
#define START_2(k) v_f64 a##k = v_set1_f64(0), b##k = v_set1_f64(0);
#define ADD_2(k)                                                                                   \
    const v_f64 w##k = v_set1_f64(w[k]);                                                           \
    a##k = v_fma_f64(w##k, x0, a##k);                                                              \
    b##k = v_fma_f64(w##k, x1, b##k);
#define KEEP_2(k)                                                                                  \
    v_store_f64(out + (k)*out_row, a##k);                                                          \
    v_store_f64(out + (k)*out_row + len, b##k);

// Eight rows of one vector: the only one of a tile.
static inline void predict_1(const double *restrict w, const int32_t *restrict from, size_t n_from,
                             const double *restrict x, double *restrict out, size_t out_row)
{
    ROWS_8(START_1)
    for (size_t i = 0; i < n_from; i++, w += ROWS) {
        const v_f64 x0 = v_take_f64(x + (size_t)from[i] * TILE, TILE);
        ROWS_8(ADD_1)
    }
    ROWS_8(KEEP_1)
}

// Some rows of two vectors: as many as the registers hold, so that every load serves many products.
#if V_REGISTERS >= 32
#define ROWS_AT_ONCE 8
#define ROWS_OF_2(X) ROWS_8(X)
#else
#define ROWS_AT_ONCE 4
#define ROWS_OF_2(X) ROWS_4(X)
#endif

static inline void predict_2(const double *restrict w, const int32_t *restrict from, size_t n_from,
                             const double *restrict x, double *restrict out, size_t out_row)
{
    const size_t len = v_len_f64();
    ROWS_OF_2(START_2)
    for (size_t i = 0; i < n_from; i++, w += ROWS) {
        const double *row = x + (size_t)from[i] * TILE;
        const v_f64 x0 = v_load_f64(row), x1 = v_load_f64(row + len);
        ROWS_OF_2(ADD_2)
    }
    ROWS_OF_2(KEEP_2)
}

void TESS_KFN(ransac_predict)(const double *restrict w, const int32_t *restrict from, size_t n_from,
                              size_t n_resample, const double *restrict x, double *restrict out)
{
    const size_t len = v_len_f64(), out_row = n_resample * TILE;
    for (size_t r = 0; r < n_resample; r++) {
        if (2 * len > TILE) {
            predict_1(w, from, n_from, x, out, out_row);
        }
        for (size_t t = 0; 2 * len <= TILE && t < TILE; t += 2 * len) {
            for (size_t k = 0; k < ROWS; k += ROWS_AT_ONCE) {
                predict_2(w + k, from, n_from, x + t, out + t + k * out_row, out_row);
            }
        }
        w += n_from * ROWS;
        from += n_from;
        out += TILE;
    }
}

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
    if (n == 25) { // half of the usual 50: no item to test for
        sort_25(x, 25);
    } else if (n <= 8) {
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

// One vector of the usual 50 rows: the first half is sorted in place, the second stays in registers
// while it meets it.
#define LOW_EVEN(i, j) low0 = v_min_f64(low0, v_max_f64(v_take_f64(a + (i)*TILE, TILE), x##j));
#define LOW_ODD(i, j) low1 = v_min_f64(low1, v_max_f64(v_take_f64(a + (i)*TILE, TILE), x##j));
#define HIGH_EVEN(i, j) high0 = v_min_f64(high0, v_max_f64(v_take_f64(a + (i)*TILE, TILE), x##j));
#define HIGH_ODD(i, j) high1 = v_min_f64(high1, v_max_f64(v_take_f64(a + (i)*TILE, TILE), x##j));

static inline v_f64 median_50(double *restrict a)
{
    enum { n = 25 };
    sort_25(a, n);
    const double *x = a + n * TILE;
    ITEMS_25(LOAD) NETWORK_25(EXCHANGE) v_f64 low0 = x24, low1 = v_take_f64(a + 24 * TILE, TILE);
    v_f64 high0 = v_set1_f64((double)INFINITY), high1 = high0;
    RANK_25_OF_50(LOW_EVEN, LOW_ODD)
    RANK_26_OF_50(HIGH_EVEN, HIGH_ODD)
    const v_f64 sum = v_add_f64(v_min_f64(low0, low1), v_min_f64(high0, high1));
    return v_mul_f64(sum, v_set1_f64(0.5));
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
