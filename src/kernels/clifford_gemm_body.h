// Matrix products for one dtype; included by clifford_gemm.c only.
#include "kernels/simd/dtype.h"

// Where a panel of the result goes.
typedef struct T_NAME(target) {
    size_t stride;
    size_t n_col; // at most two vectors
    int is_first;
} T_NAME(target);

// Writes or adds the sums of a tile whose columns do not fill two vectors.
static void T_NAME(keep)(const SCALAR *restrict sums, size_t n_row, const T_NAME(target) * to,
                         SCALAR *restrict c)
{
    const size_t step = V(len)();
    for (size_t row = 0; row < n_row; row++, c += to->stride, sums += 2 * step) {
        for (size_t j = 0; j < to->n_col; j += step) {
            const size_t n = to->n_col - j;
            const VF v = V(load)(sums + j);
            if (n >= step) {
                V(store)(c + j, to->is_first ? v : V(add)(V(load)(c + j), v));
            } else {
                V(store_n)(c + j, n, to->is_first ? v : V(add)(V(load_n)(c + j, n, 0), v));
            }
        }
    }
}

#define START(k) VF p##k = V(set1)(0), q##k = V(set1)(0);
#define BY_ITEM(k)                                                                                 \
    const VF x##k = V(set1)(a[(k)*row_step]);                                                      \
    p##k = V(fma)(x##k, b0, p##k);                                                                 \
    q##k = V(fma)(x##k, b1, q##k);
#ifdef V_HAS_LANES
// Rows lie side by side (row_step is 1); a vector of them is loaded once for all its lanes.
#define LANES (16 / sizeof(SCALAR))
#define BY_LANE(k)                                                                                 \
    const VF x##k = V(load)(a + (k) / LANES * LANES);                                              \
    p##k = V(fma_lane)(x##k, (k) % LANES, b0, p##k);                                               \
    q##k = V(fma_lane)(x##k, (k) % LANES, b1, q##k);
#else
#define BY_LANE BY_ITEM
#endif
// A tile is added to what is there: asked for first, it has come when the sums are made.
#define ASK(k)                                                                                     \
    for (size_t j = 0; j < 2 * step; j += CACHE_LINE / sizeof(SCALAR)) {                           \
        __builtin_prefetch(c + (k)*to->stride + j, 1, 3);                                          \
    }
#define WRITE(k)                                                                                   \
    V(store)(c + (k)*to->stride, p##k);                                                            \
    V(store)(c + (k)*to->stride + step, q##k);
#define INCREASE(k)                                                                                \
    V(store)(c + (k)*to->stride, V(add)(V(load)(c + (k)*to->stride), p##k));                       \
    V(store)(c + (k)*to->stride + step, V(add)(V(load)(c + (k)*to->stride + step), q##k));
#define STORE(k)                                                                                   \
    V(store)(sums + 2 * (k)*step, p##k);                                                           \
    V(store)(sums + (2 * (k) + 1) * step, q##k);

// Every item of the result is one chain of fused steps along the depth: neither the rows beside it
// nor the ISA show in it. Forced inline, because the steps are constants of the caller. Panels are
// asked for early: matrices are larger than the second-level cache.
#define TILE(n_row)                                                                                \
    static ALWAYS_INLINE void T_NAME(tile_##n_row)(                                                \
        const SCALAR *restrict a, size_t row_step, size_t depth_step, const SCALAR *restrict b,    \
        size_t depth, const T_NAME(target) * to, SCALAR *restrict c)                               \
    {                                                                                              \
        const size_t step = V(len)();                                                              \
        const size_t ahead = (STEPS_AHEAD > 0 ? STEPS_AHEAD : depth) * 2 * step;                   \
        (void)row_step;                                                                            \
        ROWS_##n_row(ASK);                                                                         \
        ROWS_##n_row(START);                                                                       \
        for (size_t i = 0; i < depth; i++) {                                                       \
            const VF b0 = V(load)(b), b1 = V(load)(b + step);                                      \
            __builtin_prefetch(b + ahead, 0, AHEAD_LEVEL);                                         \
            __builtin_prefetch(b + ahead + step, 0, AHEAD_LEVEL);                                  \
            ROWS_##n_row(ADD_##n_row);                                                             \
            a += depth_step;                                                                       \
            b += 2 * step;                                                                         \
        }                                                                                          \
        if (to->n_col < 2 * step) {                                                                \
            SCALAR sums[(n_row)*2 * V_MAX_BYTES / sizeof(SCALAR)];                                 \
            ROWS_##n_row(STORE);                                                                   \
            T_NAME(keep)(sums, n_row, to, c);                                                      \
        } else if (to->is_first) {                                                                 \
            ROWS_##n_row(WRITE);                                                                   \
        } else {                                                                                   \
            ROWS_##n_row(INCREASE);                                                                \
        }                                                                                          \
    }

EACH_TILE(TILE)

// All rows against one panel after the other.
static ALWAYS_INLINE void T_NAME(by_panels)(const SCALAR *restrict a, size_t row_step,
                                            size_t depth_step, size_t n_row,
                                            const SCALAR *restrict b, size_t depth, size_t n_col,
                                            SCALAR *restrict c, size_t c_stride, int is_first)
{
    const size_t width = 2 * V(len)();
    for (size_t j = 0; j < n_col; j += width, b += width * depth, c += width) {
        const T_NAME(target) to = {c_stride, n_col - j < width ? n_col - j : width, is_first};
        size_t row = 0;
#define ROWS_OF(n)                                                                                 \
    for (; n_row - row >= (n); row += (n)) {                                                       \
        T_NAME(tile_##n)                                                                           \
        (a + row * row_step, row_step, depth_step, b, depth, &to, c + row * c_stride);             \
    }
        EACH_TILE(ROWS_OF)
#undef ROWS_OF
    }
}

// A few rows against all panels. What of a they need is brought together first.
#define GATHERED(n_row)                                                                            \
    static ALWAYS_INLINE void T_NAME(gathered_##n_row)(                                            \
        const SCALAR *restrict a, size_t row_step, size_t depth_step, const SCALAR *restrict b,    \
        size_t depth, size_t n_col, SCALAR *restrict c, size_t c_stride, int is_first)             \
    {                                                                                              \
        const size_t width = 2 * V(len)();                                                         \
        SCALAR rows[TESS_CL_GEMM_DEPTH * MOST_ROWS];                                               \
        for (size_t i = 0; i < depth; i++) {                                                       \
            for (size_t k = 0; k < (n_row); k++) {                                                 \
                rows[i * (n_row) + k] = a[k * row_step + i * depth_step];                          \
            }                                                                                      \
        }                                                                                          \
        for (size_t j = 0; j < n_col; j += width) {                                                \
            const T_NAME(target) to = {c_stride, n_col - j < width ? n_col - j : width, is_first}; \
            T_NAME(tile_##n_row)(rows, 1, n_row, b + j * depth, depth, &to, c + j);                \
        }                                                                                          \
    }

EACH_TILE(GATHERED)

static ALWAYS_INLINE void T_NAME(by_rows)(const SCALAR *restrict a, size_t row_step,
                                          size_t depth_step, size_t n_row, const SCALAR *restrict b,
                                          size_t depth, size_t n_col, SCALAR *restrict c,
                                          size_t c_stride, int is_first)
{
    size_t row = 0;
#define ROWS_OF(n)                                                                                 \
    for (; n_row - row >= (n); row += (n)) {                                                       \
        T_NAME(gathered_##n)                                                                       \
        (a + row * row_step, row_step, depth_step, b, depth, n_col, c + row * c_stride, c_stride,  \
         is_first);                                                                                \
    }
    EACH_TILE(ROWS_OF)
#undef ROWS_OF
}

void TESS_KFN(T_NAME(clifford_gemm))(const SCALAR *restrict a, size_t n_row,
                                     const SCALAR *restrict b, size_t depth, size_t n_col,
                                     SCALAR *restrict c, size_t c_stride, int is_first)
{
    if (HAS_LANES) {
        T_NAME(by_rows)(a, TESS_CL_GEMM_ROW, 1, n_row, b, depth, n_col, c, c_stride, is_first);
    } else {
        T_NAME(by_panels)(a, TESS_CL_GEMM_ROW, 1, n_row, b, depth, n_col, c, c_stride, is_first);
    }
}

// The items a step of the depth needs lie side by side here, but one row of the tile apart for
// every step, which many panels feel.
void TESS_KFN(T_NAME(clifford_gemm_t))(const SCALAR *restrict a, size_t n_row,
                                       const SCALAR *restrict b, size_t depth, size_t n_col,
                                       SCALAR *restrict c, size_t c_stride, int is_first)
{
    if (n_col <= FEW_PANELS * 2 * V(len)()) {
        T_NAME(by_panels)(a, 1, TESS_CL_GEMM_ROW, n_row, b, depth, n_col, c, c_stride, is_first);
    } else {
        T_NAME(by_rows)(a, 1, TESS_CL_GEMM_ROW, n_row, b, depth, n_col, c, c_stride, is_first);
    }
}

void TESS_KFN(T_NAME(clifford_gemm_pack))(const SCALAR *restrict x, size_t n_col, size_t depth,
                                          SCALAR *restrict b)
{
    const size_t step = V(len)();
    for (size_t j = 0; j < n_col; j += 2 * step, b += 2 * step * depth) {
        const size_t left = n_col - j;
        const size_t right = left > step ? left - step : 0;
        V(store)(b, V(take)(x + j, left));
        V(store)
        (b + step, right >= step ? V(load)(x + j + step)
                   : right > 0   ? V(load_n)(x + j + step, right, 0)
                                 : V(set1)(0));
    }
}

#undef START
#undef LANES
#undef BY_ITEM
#undef BY_LANE
#undef ASK
#undef WRITE
#undef INCREASE
#undef STORE
#undef TILE
#undef GATHERED
