// Matrix products for one dtype; included by clifford_gemm.c only.
#include "kernels/simd/dtype.h"

// Where a panel of the result goes.
typedef struct T_NAME(target) {
    size_t stride;
    size_t n_col; // at most two vectors
    int is_first;
} T_NAME(target);

static inline void T_NAME(keep)(SCALAR *c, size_t n, int is_first, VF v)
{
    if (n >= V(len)()) {
        V(store)(c, is_first ? v : V(add)(V(load)(c), v));
    } else if (n > 0) {
        V(store_n)(c, n, is_first ? v : V(add)(V(load_n)(c, n, 0), v));
    }
}

#define START(k) VF p##k = V(set1)(0), q##k = V(set1)(0);
#define ADD(k)                                                                                     \
    const VF x##k = V(set1)(a[(k)*row_step]);                                                      \
    p##k = V(fma)(x##k, b0, p##k);                                                                 \
    q##k = V(fma)(x##k, b1, q##k);
#define KEEP(k)                                                                                    \
    T_NAME(keep)(c + (k)*to->stride, to->n_col, to->is_first, p##k);                               \
    T_NAME(keep)(c + (k)*to->stride + step, right, to->is_first, q##k);

// Every item of the result is one chain of fused steps along the depth: neither the rows beside it
// nor the ISA show in it. Forced inline, because the steps are constants of the caller. The panel
// that follows is asked for early: matrices are larger than the second-level cache.
#define TILE(n_row)                                                                                \
    static ALWAYS_INLINE void T_NAME(tile_##n_row)(                                                \
        const SCALAR *restrict a, size_t row_step, size_t depth_step, const SCALAR *restrict b,    \
        size_t depth, const T_NAME(target) * to, SCALAR *restrict c)                               \
    {                                                                                              \
        const size_t step = V(len)();                                                              \
        const size_t right = to->n_col > step ? to->n_col - step : 0;                              \
        const size_t next = depth * 2 * step;                                                      \
        ROWS_##n_row(START);                                                                       \
        for (size_t i = 0; i < depth; i++) {                                                       \
            const VF b0 = V(load)(b), b1 = V(load)(b + step);                                      \
            __builtin_prefetch(b + next, 0, 2);                                                    \
            __builtin_prefetch(b + next + step, 0, 2);                                             \
            ROWS_##n_row(ADD);                                                                     \
            a += depth_step;                                                                       \
            b += 2 * step;                                                                         \
        }                                                                                          \
        ROWS_##n_row(KEEP);                                                                        \
    }

TILE(1)
TILE(2)
TILE(4)
#if V_REGISTERS >= 32
TILE(8)
TILE(14)
#else
TILE(6)
#endif

// All rows against one panel.
static ALWAYS_INLINE void T_NAME(panel)(const SCALAR *restrict a, size_t row_step,
                                        size_t depth_step, size_t n_row, const SCALAR *restrict b,
                                        size_t depth, const T_NAME(target) * to, SCALAR *restrict c)
{
    size_t row = 0;
#define TILES_OF(n)                                                                                \
    for (; n_row - row >= (n); row += (n)) {                                                       \
        T_NAME(tile_##n)                                                                           \
        (a + row * row_step, row_step, depth_step, b, depth, to, c + row * to->stride);            \
    }
#if V_REGISTERS >= 32
    TILES_OF(14)
    TILES_OF(8)
#else
    TILES_OF(6)
#endif
    TILES_OF(4)
    TILES_OF(2)
    TILES_OF(1)
#undef TILES_OF
}

void TESS_KFN(T_NAME(clifford_gemm))(const SCALAR *restrict a, size_t n_row,
                                     const SCALAR *restrict b, size_t depth, size_t n_col,
                                     SCALAR *restrict c, size_t c_stride, int is_first)
{
    const size_t width = 2 * V(len)();
    for (size_t j = 0; j < n_col; j += width) {
        const T_NAME(target) to = {c_stride, n_col - j < width ? n_col - j : width, is_first};
        T_NAME(panel)(a, TESS_CL_GEMM_ROW, 1, n_row, b + j * depth, depth, &to, c + j);
    }
}

// A few rows against all panels. What of a they need is brought together first: it lies one row of
// the tile apart for every step, which many panels feel.
#define TURNED(n_row)                                                                              \
    static void T_NAME(turned_##n_row)(const SCALAR *restrict a, const SCALAR *restrict b,         \
                                       size_t depth, size_t n_col, SCALAR *restrict c,             \
                                       size_t c_stride, int is_first)                              \
    {                                                                                              \
        const size_t width = 2 * V(len)();                                                         \
        SCALAR rows[TESS_CL_GEMM_DEPTH * MOST_ROWS];                                               \
        for (size_t i = 0; i < depth; i++) {                                                       \
            memcpy(rows + i * (n_row), a + i * TESS_CL_GEMM_ROW, (n_row) * sizeof *rows);          \
        }                                                                                          \
        for (size_t j = 0; j < n_col; j += width) {                                                \
            const T_NAME(target) to = {c_stride, n_col - j < width ? n_col - j : width, is_first}; \
            T_NAME(tile_##n_row)(rows, 1, n_row, b + j * depth, depth, &to, c + j);                \
        }                                                                                          \
    }

TURNED(1)
TURNED(2)
TURNED(4)
#if V_REGISTERS >= 32
TURNED(8)
TURNED(14)
#else
TURNED(6)
#endif

void TESS_KFN(T_NAME(clifford_gemm_t))(const SCALAR *restrict a, size_t n_row,
                                       const SCALAR *restrict b, size_t depth, size_t n_col,
                                       SCALAR *restrict c, size_t c_stride, int is_first)
{
    const size_t width = 2 * V(len)();
    if (n_col <= FEW_PANELS * width) {
        for (size_t j = 0; j < n_col; j += width) {
            const T_NAME(target) to = {c_stride, n_col - j < width ? n_col - j : width, is_first};
            T_NAME(panel)(a, 1, TESS_CL_GEMM_ROW, n_row, b + j * depth, depth, &to, c + j);
        }
        return;
    }
    size_t row = 0;
#define ROWS_OF(n)                                                                                 \
    for (; n_row - row >= (n); row += (n)) {                                                       \
        T_NAME(turned_##n)(a + row, b, depth, n_col, c + row * c_stride, c_stride, is_first);      \
    }
#if V_REGISTERS >= 32
    ROWS_OF(14)
    ROWS_OF(8)
#else
    ROWS_OF(6)
#endif
    ROWS_OF(4)
    ROWS_OF(2)
    ROWS_OF(1)
#undef ROWS_OF
}

void TESS_KFN(T_NAME(clifford_gemm_pack))(const SCALAR *restrict x, size_t n_col, size_t depth,
                                          SCALAR *restrict b)
{
    const size_t step = V(len)();
    for (size_t j = 0; j < n_col; j += 2 * step, b += 2 * step * depth) {
        const size_t left = n_col - j;
        const size_t right = left > step ? left - step : 0;
        V(store)(b, left >= step ? V(load)(x + j) : V(load_n)(x + j, left, 0));
        V(store)
        (b + step, right >= step ? V(load)(x + j + step)
                   : right > 0   ? V(load_n)(x + j + step, right, 0)
                                 : V(set1)(0));
    }
}

#undef START
#undef ADD
#undef KEEP
#undef TILE
#undef TURNED
