// The errors of growing means against medians over the 16 samples of a tile; built once per ISA.
//
// Rows are taken in blocks of one word of membership bits, all splits of a batch in turn: the block
// stays in the first-level cache meanwhile.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

enum { TILE = 16, HALF = 8, BLOCK = 64, BATCH = 16 };

#ifdef V_HAS_LANES
// All lanes of short vectors at once, so that the bits are gone through once, and two rows, whose
// squares are summed without leaving the registers. A residual begins as a copy of the median:
// loaded every time, since moving it from a register would take the place of a product.
#define CHUNKS(X) X(0) X(2) X(4) X(6)
#define BEGIN(t) v_f64 s##t = v_load_f64(sum + (t)), u##t = v_load_f64(sum + HALF + (t));
#define NEXT(t)                                                                                    \
    s##t = v_add_f64(s##t, v_load_f64(row + (t)));                                                 \
    u##t = v_add_f64(u##t, v_load_f64(row + HALF + (t)));                                          \
    r0 = v_fnma_f64(s##t, by, v_load_f64(median + (t)));                                           \
    r1 = v_fnma_f64(u##t, by, v_load_f64(median + HALF + (t)));                                    \
    const v_f64 q##t = v_fma_f64(r1, r1, v_mul_f64(r0, r0));
#define END(t)                                                                                     \
    v_store_f64(sum + (t), s##t);                                                                  \
    v_store_f64(sum + HALF + (t), u##t);
// The two halves of the squares of the row of the lowest bit.
#define TAKE_ROW(halves)                                                                           \
    v_f64 halves;                                                                                  \
    {                                                                                              \
        const double *row = x + (ptrdiff_t)__builtin_ctzll(bits) * TILE;                           \
        const v_f64 by = v_set1_f64(*inverse++);                                                   \
        v_f64 r0, r1;                                                                              \
        V_FORGET(median);                                                                          \
        CHUNKS(NEXT)                                                                               \
        halves = v_add_pairs_f64(v_add_pairs_f64(q0, q2), v_add_pairs_f64(q4, q6));                \
        bits &= bits - 1;                                                                          \
    }

// sse[i] += the squared error at the i-th set bit.
static inline void add_errors(const double *x, uint64_t bits, const double *inverse,
                              const double *median, double *sum, double *squares, double *sse)
{
    (void)squares;
    CHUNKS(BEGIN)
    for (size_t n = (size_t)__builtin_popcountll(bits) / 2; n > 0; n--) {
        TAKE_ROW(first)
        TAKE_ROW(second)
        v_store_f64(sse, v_add_f64(v_load_f64(sse), v_add_pairs_f64(first, second)));
        sse += 2;
    }
    if (bits) {
        TAKE_ROW(last)
        *sse += v_first_f64(v_add_pairs_f64(last, last));
    }
    CHUNKS(END)
}
#else
// squares[i][.] of the i-th set bit's row in the lanes t and t + HALF; x, median, sum and squares
// point at lane t.
static inline void squares_of(const double *x, uint64_t bits, const double *inverse, size_t width,
                              const double *median, double *sum, double *squares)
{
    const v_f64 m0 = v_take_f64(median, width), m1 = v_take_f64(median + HALF, width);
    v_f64 s0 = v_take_f64(sum, width), s1 = v_take_f64(sum + HALF, width);
    for (; bits; bits &= bits - 1) {
        const double *row = x + (ptrdiff_t)__builtin_ctzll(bits) * TILE;
        s0 = v_add_f64(s0, v_take_f64(row, width));
        s1 = v_add_f64(s1, v_take_f64(row + HALF, width));
        const v_f64 by = v_set1_f64(*inverse++);
        const v_f64 r0 = v_fnma_f64(s0, by, m0), r1 = v_fnma_f64(s1, by, m1);
        v_put_f64(squares, width, v_fma_f64(r1, r1, v_mul_f64(r0, r0)));
        squares += HALF;
    }
    v_put_f64(sum, width, s0);
    v_put_f64(sum + HALF, width, s1);
}

// sse[i] += the sum of squares[i][.], i < n. squares has room for a multiple of 8 rows.
static inline void add_rows(const double *squares, size_t n, size_t width, double *sse)
{
    for (size_t i = 0; i < n; i += 8) {
        double total[8];
        v_row_sums_f64(squares + i * HALF, total);
        for (size_t j = 0; j < 8 && i + j < n; j += width) {
            const size_t left = n - i - j < width ? n - i - j : width;
            const v_f64 sum = v_add_f64(v_take_f64(sse + i + j, left), v_take_f64(total + j, left));
            v_put_f64(sse + i + j, left, sum);
        }
    }
}

// sse[i] += the squared error at the i-th set bit.
static inline void add_errors(const double *x, uint64_t bits, const double *inverse,
                              const double *median, double *sum, double *squares, double *sse)
{
    const size_t width = v_len_f64() < HALF ? v_len_f64() : HALF;
    for (size_t t = 0; t < HALF; t += width) {
        squares_of(x + t, bits, inverse, width, median + t, sum + t, squares + t);
    }
    add_rows(squares, (size_t)__builtin_popcountll(bits), width, sse);
}
#endif

void TESS_KFN(autoreject_curve)(const double *restrict x, size_t n_row,
                                const uint64_t *restrict validation, size_t n_split,
                                const double *restrict inverse, const double *restrict median,
                                double *restrict sse, size_t n_train)
{
    double squares[BLOCK * HALF] __attribute__((aligned(64))) = {0};
    const size_t n_word = (n_row + BLOCK - 1) / BLOCK;
    for (size_t first = 0; first < n_split; first += BATCH) {
        const size_t n_batch = n_split - first < BATCH ? n_split - first : BATCH;
        double sum[BATCH][TILE] __attribute__((aligned(64))) = {{0}};
        size_t n_done[BATCH] = {0};
        for (size_t w = 0; w < n_word; w++) {
            const uint64_t rows =
                n_row - w * BLOCK < BLOCK ? ((uint64_t)1 << (n_row - w * BLOCK)) - 1 : UINT64_MAX;
            for (size_t b = 0; b < n_batch; b++) {
                const size_t s = first + b;
                const uint64_t bits = ~validation[s * n_word + w] & rows;
                add_errors(x + w * BLOCK * TILE, bits, inverse + n_done[b], median + s * TILE,
                           sum[b], squares, sse + s * n_train + n_done[b]);
                n_done[b] += (size_t)__builtin_popcountll(bits);
            }
        }
    }
}
