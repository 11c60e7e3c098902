// RANSAC by way of f32: predictions that say which subsets are in the middle, and what these
// predict in f64; built once per ISA.

#include "base/sorting_networks.h"
#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#include <math.h>

enum { TILE = TESS_RANSAC_TILE, NUMBERS = (1 << TESS_RANSAC_NUMBER_BITS) - 1 };

#define ROWS_4(X) X(0) X(1) X(2) X(3)
#define ROWS_6(X) ROWS_4(X) X(4) X(5)

#ifdef V_HAS_LANES
// The last bits of number in those of sum: there a mask is bits, and need not be of whole lanes.
static inline v_f32 numbered(v_f32 sum, v_u32 number)
{
    return v_select_f32(v_set1_u32(NUMBERS), v_from_bits_f32(number), sum);
}

// All 16 samples of n rows from one subset: 24 sums of 6 rows fill the registers.
#define VECTORS 4
#define KEEP(k)                                                                                    \
    v_store_f32(out + (k)*out_row, numbered(a##k, number));                                        \
    v_store_f32(out + (k)*out_row + 4, numbered(b##k, number));                                    \
    v_store_f32(out + (k)*out_row + 8, numbered(c##k, number));                                    \
    v_store_f32(out + (k)*out_row + 12, numbered(d##k, number));
#define FIRST(k, weights, lane, sum, x) v_f32 sum##k = v_mul_lane_f32(weights, lane, x);
#define MORE(k, weights, lane, sum, x) sum##k = v_fma_lane_f32(weights, lane, x, sum##k);
#define TERMS_4(X, sum, x)                                                                         \
    X(0, w0, 0, sum, x) X(1, w0, 1, sum, x) X(2, w0, 2, sum, x) X(3, w0, 3, sum, x)
// The last four of six weights, so that nothing past them is read.
#define TERMS_6(X, sum, x) TERMS_4(X, sum, x) X(4, w1, 2, sum, x) X(5, w1, 3, sum, x)
#define WEIGHTS_4(type) type w0 = v_load_f32(w);
#define WEIGHTS_6(type)                                                                            \
    WEIGHTS_4(type)                                                                                \
    type w1 = v_load_f32(w + 2);
#define NOTHING
// Samples of the next source are loaded as soon as those of this one are done with: a step's
// products fill the queue, and loads behind them would come too late.
#define STEP(n, X)                                                                                 \
    TERMS_##n(X, a, x0) x0 = v_load_f32(row);                                                      \
    TERMS_##n(X, b, x1) x1 = v_load_f32(row + 4);                                                  \
    TERMS_##n(X, c, x2) x2 = v_load_f32(row + 8);                                                  \
    TERMS_##n(X, d, x3) x3 = v_load_f32(row + 12);                                                 \
    w += next;                                                                                     \
    WEIGHTS_##n(NOTHING)
#define SUM(n)                                                                                     \
    const size_t last = n_from - 1;                                                                \
    const float *row = x + (size_t)from[0] * TILE;                                                 \
    v_f32 x0 = v_load_f32(row), x1 = v_load_f32(row + 4);                                          \
    v_f32 x2 = v_load_f32(row + 8), x3 = v_load_f32(row + 12);                                     \
    WEIGHTS_##n(v_f32) size_t next = last > 0 ? (n) : 0;                                           \
    row = x + (size_t)from[last > 0] * TILE;                                                       \
    STEP(n, FIRST)                                                                                 \
    for (size_t i = 2; i <= last; i++) {                                                           \
        row = x + (size_t)from[i] * TILE;                                                          \
        STEP(n, MORE)                                                                              \
    }                                                                                              \
    if (last > 0) {                                                                                \
        TERMS_##n(MORE, a, x0) TERMS_##n(MORE, b, x1) TERMS_##n(MORE, c, x2)                       \
            TERMS_##n(MORE, d, x3)                                                                 \
    }
#else
static inline v_f32 numbered(v_f32 sum, v_u32 number)
{
    const v_u32 kept = v_and_u32(v_bits_f32(sum), v_set1_u32(~(uint32_t)NUMBERS));
    return v_from_bits_f32(v_or_u32(kept, number));
}

#define VECTORS 1
#define KEEP(k) v_put_f32(out + (k)*out_row, TILE, numbered(a##k, number));
#define FIRST(k) v_f32 a##k = v_mul_f32(v_set1_f32(w[k]), row);
#define MORE(k) a##k = v_fma_f32(v_set1_f32(w[k]), row, a##k);
#define SUM(n)                                                                                     \
    v_f32 row = v_take_f32(x + (size_t)from[0] * TILE, TILE);                                      \
    ROWS_##n(FIRST) for (size_t i = 1; i < n_from; i++)                                            \
    {                                                                                              \
        w += (n);                                                                                  \
        row = v_take_f32(x + (size_t)from[i] * TILE, TILE);                                        \
        ROWS_##n(MORE)                                                                             \
    }
#endif

#define PREDICT(n)                                                                                 \
    static inline void predict_##n(const float *restrict w, const int32_t *restrict from,          \
                                   size_t n_from, v_u32 number, const float *restrict x,           \
                                   float *restrict out, size_t out_row)                            \
    {                                                                                              \
        SUM(n)                                                                                     \
        ROWS_##n(KEEP)                                                                             \
    }

PREDICT(4)
PREDICT(6)

void TESS_KFN(ransac_predict_f32)(const float *restrict w, size_t n_row,
                                  const int32_t *restrict from, size_t n_from, size_t n_resample,
                                  const float *restrict x, float *restrict out)
{
    const size_t out_row = n_resample * TILE;
    for (size_t r = 0; r < n_resample; r++) {
        const v_u32 number = v_set1_u32((uint32_t)r);
        for (size_t t = 0; t < TILE; t += VECTORS * v_part_f32(TILE)) {
            if (n_row == 6) {
                predict_6(w, from, n_from, number, x + t, out + t, out_row);
            } else {
                predict_4(w, from, n_from, number, x + t, out + t, out_row);
            }
        }
        w += n_from * n_row;
        from += n_from;
        out += TILE;
    }
}

#define TAKE(i) v_f32 x##i = v_take_f32(x + (i)*TILE, TILE);
#define EXCHANGE(i, j)                                                                             \
    {                                                                                              \
        const v_f32 low = v_min_f32(x##i, x##j);                                                   \
        x##j = v_max_f32(x##i, x##j);                                                              \
        x##i = low;                                                                                \
    }
#define STORE(i) v_put_f32(x + (i)*TILE, TILE, x##i);

static inline void sort_column(float *restrict x)
{
    ITEMS_10(TAKE) NETWORK_10(EXCHANGE) ITEMS_10(STORE)
}

static inline void middle_four(float *restrict x, float *restrict middle)
{
    enum { COLUMN = 10 };
    for (size_t first = 0; first < 50; first += COLUMN) {
        sort_column(x + first * TILE);
    }
    MIDDLE_FOUR_OF_50(TAKE, EXCHANGE)
    v_put_f32(middle, TILE, x32);
    v_put_f32(middle + TILE, TILE, x24);
    v_put_f32(middle + 2 * TILE, TILE, x25);
    v_put_f32(middle + 3 * TILE, TILE, x17);
}

void TESS_KFN(ransac_middle)(float *restrict x, float *restrict middle)
{
    for (size_t t = 0; t < TILE; t += v_part_f32(TILE)) {
        middle_four(x + t, middle + t);
    }
}

// Items go on side by side, since each waits for its own last product.
#define ROWS_8(X) ROWS_6(X) X(6) X(7)
#define EXACT_TAKE(m)                                                                              \
    const double *restrict w##m = w + item[(m) < n_item ? (m) : 0].w;                              \
    const double *restrict x##m = x + item[(m) < n_item ? (m) : 0].x;

#ifdef V_HAS_LANES
// Two weights of a load: it is loads that this waits for.
#define EXACT_START(m)                                                                             \
    EXACT_TAKE(m)                                                                                  \
    v_f64 sum##m = v_set1_f64(0);
#define EXACT_LOAD(m) const v_f64 pair##m = v_hold_f64(v_load_f64(w##m + i));
#define EXACT_ADD(m) sum##m = v_fma_lane_f64(pair##m, 0, v_load_first_f64(x##m + at), sum##m);
#define EXACT_ADD_SECOND(m)                                                                        \
    sum##m = v_fma_lane_f64(pair##m, 1, v_load_first_f64(x##m + at_second), sum##m);
#define EXACT_ADD_LAST(m)                                                                          \
    sum##m = v_fma_lane_f64(v_load_first_f64(w##m + i), 0, v_load_first_f64(x##m + at), sum##m);
#define EXACT_SUM(m) v_first_f64(sum##m)
#define EXACT_LOOP(n)                                                                              \
    size_t i = 0;                                                                                  \
    for (; i + 2 <= n_from; i += 2) {                                                              \
        const size_t at = (size_t)from[i] * TILE, at_second = (size_t)from[i + 1] * TILE;          \
        ROWS_##n(EXACT_LOAD) ROWS_##n(EXACT_ADD) ROWS_##n(EXACT_ADD_SECOND)                        \
    }                                                                                              \
    for (; i < n_from; i++) {                                                                      \
        const size_t at = (size_t)from[i] * TILE;                                                  \
        ROWS_##n(EXACT_ADD_LAST)                                                                   \
    }
#else
#define EXACT_START(m)                                                                             \
    EXACT_TAKE(m)                                                                                  \
    double sum##m = 0;
#define EXACT_ADD(m) sum##m = fma(w##m[i], x##m[at], sum##m);
#define EXACT_SUM(m) sum##m
#define EXACT_LOOP(n)                                                                              \
    for (size_t i = 0; i < n_from; i++) {                                                          \
        const size_t at = (size_t)from[i] * TILE;                                                  \
        ROWS_##n(EXACT_ADD)                                                                        \
    }
#endif

#define EXACT_KEEP(m)                                                                              \
    if ((m) < n_item) {                                                                            \
        out[item[m].to] = EXACT_SUM(m);                                                            \
    }
#define EXACT(n)                                                                                   \
    static inline void exact_##n(const tess_ransac_item *restrict item, size_t n_item,             \
                                 const double *restrict w, const int32_t *restrict from,           \
                                 size_t n_from, const double *restrict x, double *restrict out)    \
    {                                                                                              \
        ROWS_##n(EXACT_START) EXACT_LOOP(n) ROWS_##n(EXACT_KEEP)                                   \
    }

EXACT(4)
EXACT(8)

void TESS_KFN(ransac_exact)(const tess_ransac_item *restrict item, size_t n_item,
                            const double *restrict w, const int32_t *restrict from, size_t n_from,
                            const double *restrict x, double *restrict out)
{
    for (; n_item >= 8; n_item -= 8, item += 8) {
        exact_8(item, 8, w, from, n_from, x, out);
    }
    if (n_item > 4) {
        exact_8(item, n_item, w, from, n_from, x, out);
    } else if (n_item > 0) {
        exact_4(item, n_item, w, from, n_from, x, out);
    }
}
