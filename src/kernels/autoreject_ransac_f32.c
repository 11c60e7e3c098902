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
#define START(k)                                                                                   \
    v_f32 a##k = v_set1_f32(0), b##k = v_set1_f32(0), c##k = v_set1_f32(0), d##k = v_set1_f32(0);
#define KEEP(k)                                                                                    \
    v_store_f32(out + (k)*out_row, numbered(a##k, number));                                        \
    v_store_f32(out + (k)*out_row + 4, numbered(b##k, number));                                    \
    v_store_f32(out + (k)*out_row + 8, numbered(c##k, number));                                    \
    v_store_f32(out + (k)*out_row + 12, numbered(d##k, number));
#define ADD(k, weights, lane)                                                                      \
    a##k = v_fma_lane_f32(weights, lane, x0, a##k);                                                \
    b##k = v_fma_lane_f32(weights, lane, x1, b##k);                                                \
    c##k = v_fma_lane_f32(weights, lane, x2, c##k);                                                \
    d##k = v_fma_lane_f32(weights, lane, x3, d##k);
#define ADD_4 ADD(0, w0, 0) ADD(1, w0, 1) ADD(2, w0, 2) ADD(3, w0, 3)
// The last four of six weights, so that nothing past them is read.
#define ADD_6                                                                                      \
    const v_f32 w1 = v_load_f32(w + 2);                                                            \
    ADD_4 ADD(4, w1, 2) ADD(5, w1, 3)
#define STEP(n)                                                                                    \
    const float *row = x + (size_t)from[i] * TILE;                                                 \
    const v_f32 x0 = v_load_f32(row), x1 = v_load_f32(row + 4);                                    \
    const v_f32 x2 = v_load_f32(row + 8), x3 = v_load_f32(row + 12);                               \
    const v_f32 w0 = v_load_f32(w);                                                                \
    ADD_##n
#else
static inline v_f32 numbered(v_f32 sum, v_u32 number)
{
    const v_u32 kept = v_and_u32(v_bits_f32(sum), v_set1_u32(~(uint32_t)NUMBERS));
    return v_from_bits_f32(v_or_u32(kept, number));
}

#define VECTORS 1
#define START(k) v_f32 a##k = v_set1_f32(0);
#define KEEP(k) v_put_f32(out + (k)*out_row, TILE, numbered(a##k, number));
#define ADD(k) a##k = v_fma_f32(v_set1_f32(w[k]), row, a##k);
#define STEP(n)                                                                                    \
    const v_f32 row = v_take_f32(x + (size_t)from[i] * TILE, TILE);                                \
    ROWS_##n(ADD)
#endif

#define PREDICT(n)                                                                                 \
    static inline void predict_##n(const float *restrict w, const int32_t *restrict from,          \
                                   size_t n_from, v_u32 number, const float *restrict x,           \
                                   float *restrict out, size_t out_row)                            \
    {                                                                                              \
        ROWS_##n(START);                                                                           \
        for (size_t i = 0; i < n_from; i++, w += (n)) {                                            \
            STEP(n)                                                                                \
        }                                                                                          \
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
    const double *restrict w##m = item[(m) < n_item ? (m) : 0].w;                                  \
    const double *restrict x##m = item[(m) < n_item ? (m) : 0].x;

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
        *item[m].to = EXACT_SUM(m);                                                                \
    }
#define EXACT(n)                                                                                   \
    static inline void exact_##n(const tess_ransac_item *restrict item, size_t n_item,             \
                                 const int32_t *restrict from, size_t n_from)                      \
    {                                                                                              \
        ROWS_##n(EXACT_START) EXACT_LOOP(n) ROWS_##n(EXACT_KEEP)                                   \
    }

EXACT(4)
EXACT(8)

void TESS_KFN(ransac_exact)(const tess_ransac_item *restrict item, size_t n_item,
                            const int32_t *restrict from, size_t n_from)
{
    for (; n_item > 8; n_item -= 8, item += 8) {
        exact_8(item, 8, from, n_from);
    }
    if (n_item > 4) {
        exact_8(item, n_item, from, n_from);
    } else {
        exact_4(item, n_item, from, n_from);
    }
}
