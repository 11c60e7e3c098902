// Weighted sums of rows: a matrix product with few, short or scattered rows; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

// Inputs that are copied at a time, two vectors of each, so that their rows may lie pages apart.
enum { MIX_INPUTS = 128 };

typedef struct mix_block {
    const double *w;
    size_t w_stride;
    double *out;
    size_t out_stride;
    const int32_t *to;
    size_t n;    // inputs in the block
    size_t left; // columns from here on, at least 1
    int is_first;
    size_t column[MIX_INPUTS]; // of w
    double x[MIX_INPUTS * 2 * V_MAX_BYTES / sizeof(double)];
} mix_block;

static inline size_t minus(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

// The next columns of a row: rows lie apart, so that the hardware does not see them coming.
static inline void fetch_next(const double *x, size_t left)
{
    const size_t step = v_len_f64();
    for (size_t i = 2 * step; i < 4 * step && i < left; i += 8) {
        __builtin_prefetch(x + i, 0, 3);
    }
}

static inline double *out_row(const mix_block *b, size_t row)
{
    return b->out + (b->to ? (size_t)b->to[row] : row) * b->out_stride;
}

#define ROWS_1(X) X(0)
#define ROWS_2(X) ROWS_1(X) X(1)
#define ROWS_4(X) ROWS_2(X) X(2) X(3)
#define ROWS_6(X) ROWS_4(X) X(4) X(5)
#define ROWS_12(X) ROWS_6(X) X(6) X(7) X(8) X(9) X(10) X(11)

// Every sum runs over the inputs in order, one fused step each: neither the blocking nor the ISA
// shows in it.
#define START(k)                                                                                   \
    double *const out##k = out_row(b, row + (k));                                                  \
    fetch_next(out##k, b->left);                                                                   \
    v_f64 a##k = b->is_first ? v_set1_f64(0) : v_take_f64(out##k, b->left);                        \
    v_f64 c##k = b->is_first ? v_set1_f64(0) : v_take_f64(out##k + step, minus(b->left, step));
#define ADD(k)                                                                                     \
    const v_f64 w##k = v_set1_f64(w[(k)*b->w_stride]);                                             \
    a##k = v_fma_f64(w##k, x0, a##k);                                                              \
    c##k = v_fma_f64(w##k, x1, c##k);
#define KEEP(k)                                                                                    \
    v_put_f64(out##k, b->left, a##k);                                                              \
    v_put_f64(out##k + step, minus(b->left, step), c##k);

#define MIX_ROWS(n_row)                                                                            \
    static void mix_##n_row(const mix_block *b, size_t row)                                        \
    {                                                                                              \
        const size_t step = v_len_f64();                                                           \
        ROWS_##n_row(START);                                                                       \
        const double *first = b->w + row * b->w_stride;                                            \
        for (size_t i = 0; i < b->n; i++) {                                                        \
            const double *w = first + b->column[i];                                                \
            const v_f64 x0 = v_load_f64(b->x + i * 2 * step);                                      \
            const v_f64 x1 = v_load_f64(b->x + (i * 2 + 1) * step);                                \
            ROWS_##n_row(ADD)                                                                      \
        }                                                                                          \
        ROWS_##n_row(KEEP)                                                                         \
    }

MIX_ROWS(1)
MIX_ROWS(2)
MIX_ROWS(4)
#if V_REGISTERS >= 32
MIX_ROWS(12)
#else
MIX_ROWS(6)
#endif

static void mix_all_rows(const mix_block *b, size_t n_row)
{
    size_t row = 0;
#if V_REGISTERS >= 32
    for (; n_row - row >= 12; row += 12) {
        mix_12(b, row);
    }
#else
    for (; n_row - row >= 6; row += 6) {
        mix_6(b, row);
    }
#endif
    for (; n_row - row >= 4; row += 4) {
        mix_4(b, row);
    }
    if (n_row - row >= 2) {
        mix_2(b, row);
        row += 2;
    }
    if (row < n_row) {
        mix_1(b, row);
    }
}

void TESS_KFN(mix_f64)(const double *restrict w, size_t w_stride, size_t n_row,
                       const double *restrict x, size_t x_stride, const int32_t *restrict from,
                       const int32_t *restrict column, size_t n_in, size_t width,
                       double *restrict out, size_t out_stride, const int32_t *restrict to)
{
    const size_t step = v_len_f64();
    mix_block b;
    b.w = w, b.w_stride = w_stride;
    b.out_stride = out_stride, b.to = to;
    for (size_t t = 0; t < width; t += 2 * step) {
        b.out = out + t;
        b.left = width - t;
        size_t first = 0;
        do {
            b.is_first = first == 0;
            b.n = n_in - first < MIX_INPUTS ? n_in - first : MIX_INPUTS;
            for (size_t i = 0; i < b.n; i++) {
                const size_t at = from ? (size_t)from[first + i] : first + i;
                b.column[i] = column ? (size_t)column[first + i] : at;
                const double *row = x + at * x_stride + t;
                fetch_next(row, b.left);
                v_store_f64(b.x + i * 2 * step, v_take_f64(row, b.left));
                v_store_f64(b.x + (i * 2 + 1) * step, v_take_f64(row + step, minus(b.left, step)));
            }
            mix_all_rows(&b, n_row);
            first += b.n;
        } while (first < n_in);
    }
}
