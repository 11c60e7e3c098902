// RANSAC: predictions of channels from subsets of them; built once per ISA.
//
// A step takes one source: its samples by the weights of many channels. As many sums as the
// registers hold go on at a time, so that every load serves many products.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

enum { TILE = TESS_RANSAC_TILE, LINE = 8 };

#define ROWS_4(X) X(0) X(1) X(2) X(3)
#define ROWS_6(X) ROWS_4(X) X(4) X(5)
#define ROWS_8(X) ROWS_6(X) X(6) X(7)
#define ROWS_12(X) ROWS_8(X) X(8) X(9) X(10) X(11)

#define START(k) v_f64 a##k = v_set1_f64(0), b##k = v_set1_f64(0);
#define KEEP(k)                                                                                    \
    v_store_f64(out + (k)*out_row, a##k);                                                          \
    v_store_f64(out + (k)*out_row + len, b##k);

#ifdef V_HAS_LANES
// Two weights of a load, each an operand of its products: spreading them over a vector would take
// the place of a product each.
#define PAIRS_4(X) X(0, 1) X(2, 3)
#define PAIRS_8(X) PAIRS_4(X) X(4, 5) X(6, 7)
#define PAIRS_12(X) PAIRS_8(X) X(8, 9) X(10, 11)
#define ADD(j, k)                                                                                  \
    {                                                                                              \
        const v_f64 pair = v_load_f64(w + (j));                                                    \
        a##j = v_fma_lane_f64(pair, 0, x0, a##j);                                                  \
        b##j = v_fma_lane_f64(pair, 0, x1, b##j);                                                  \
        a##k = v_fma_lane_f64(pair, 1, x0, a##k);                                                  \
        b##k = v_fma_lane_f64(pair, 1, x1, b##k);                                                  \
    }
#define ADD_ALL(n) PAIRS_##n(ADD)
#define AT_ONCE 1
#else
#define ADD(k)                                                                                     \
    {                                                                                              \
        const v_f64 weight = v_set1_f64(w[k]);                                                     \
        a##k = v_fma_f64(weight, x0, a##k);                                                        \
        b##k = v_fma_f64(weight, x1, b##k);                                                        \
    }
#define ADD_ALL(n) ROWS_##n(ADD)
// Two steps without a jump: what is left beside the products would fill as many cycles as they.
#define AT_ONCE 2
#endif

#define STEP(n)                                                                                    \
    {                                                                                              \
        const double *row = x + (size_t)*from++ * TILE;                                            \
        const v_f64 x0 = v_load_f64(row), x1 = v_load_f64(row + len);                              \
        ADD_ALL(n)                                                                                 \
        w += w_row;                                                                                \
    }

// Two vectors of n rows from one subset.
#define PREDICT(n)                                                                                 \
    static inline void predict_##n(const double *restrict w, size_t w_row,                         \
                                   const int32_t *restrict from, size_t n_from,                    \
                                   const double *restrict x, double *restrict out, size_t out_row) \
    {                                                                                              \
        const size_t len = v_len_f64();                                                            \
        ROWS_##n(START);                                                                           \
        for (size_t i = 0; i < n_from / AT_ONCE; i++) {                                            \
            STEP(n)                                                                                \
            if (AT_ONCE == 2) {                                                                    \
                STEP(n)                                                                            \
            }                                                                                      \
        }                                                                                          \
        if (n_from % AT_ONCE) {                                                                    \
            STEP(n)                                                                                \
        }                                                                                          \
        ROWS_##n(KEEP)                                                                             \
    }

PREDICT(4)
#if V_REGISTERS >= 32
PREDICT(8)
PREDICT(12)

static inline void predict(const double *restrict w, size_t n_row, const int32_t *restrict from,
                           size_t n_from, const double *restrict x, double *restrict out,
                           size_t out_row)
{
    if (n_row == 12) {
        predict_12(w, n_row, from, n_from, x, out, out_row);
    } else if (n_row == 8) {
        predict_8(w, n_row, from, n_from, x, out, out_row);
    } else {
        predict_4(w, n_row, from, n_from, x, out, out_row);
    }
}
#else
PREDICT(6)

static inline void predict(const double *restrict w, size_t n_row, const int32_t *restrict from,
                           size_t n_from, const double *restrict x, double *restrict out,
                           size_t out_row)
{
    if (n_row == 12) {
        predict_6(w, n_row, from, n_from, x, out, out_row);
        predict_6(w + 6, n_row, from, n_from, x, out + 6 * out_row, out_row);
        return;
    }
    for (size_t k = 0; k < n_row; k += 4) {
        predict_4(w + k, n_row, from, n_from, x, out + k * out_row, out_row);
    }
}
#endif

// Rows of one vector: the only one of a tile.
static inline void predict_narrow(const double *restrict w, size_t n_row,
                                  const int32_t *restrict from, size_t n_from,
                                  const double *restrict x, double *restrict out, size_t out_row)
{
    for (size_t k = 0; k < n_row; k++) {
        v_f64 sum = v_set1_f64(0);
        for (size_t i = 0; i < n_from; i++) {
            const v_f64 row = v_take_f64(x + (size_t)from[i] * TILE, TILE);
            sum = v_fma_f64(v_set1_f64(w[i * n_row + k]), row, sum);
        }
        v_put_f64(out + k * out_row, TILE, sum);
    }
}

// Some lines of the next tile: its rows are read in no order, so that the hardware does not see
// them coming.
static inline const double *fetch(const double *next, const double *end, size_t n_line)
{
    for (size_t i = 0; i < n_line && next < end; i++, next += LINE) {
        __builtin_prefetch(next, 0, 2);
    }
    return next;
}

void TESS_KFN(ransac_predict)(const double *restrict w, size_t n_row, const int32_t *restrict from,
                              size_t n_from, size_t n_resample, const double *restrict x,
                              size_t n_next, const double *next, double *restrict out)
{
    const size_t len = v_len_f64(), out_row = n_resample * TILE;
    const double *const end = next + n_next;
    const size_t n_line = n_next / LINE / n_resample + 1; // of it during each subset
    for (size_t r = 0; r < n_resample; r++) {
        next = fetch(next, end, n_line);
        if (2 * len > TILE) {
            predict_narrow(w, n_row, from, n_from, x, out, out_row);
        }
        for (size_t t = 0; 2 * len <= TILE && t < TILE; t += 2 * len) {
            predict(w, n_row, from, n_from, x + t, out + t, out_row);
        }
        w += n_from * n_row;
        from += n_from;
        out += TILE;
    }
}
