// Weighted sums of rows: a matrix product with few, short or scattered rows; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

// Inputs that are copied at a time, a few vectors of each, so that their rows may lie pages apart.
enum { MIX_INPUTS = 128 };

#ifdef V_HAS_LANES
// Five rows by four vectors: a weight is an operand as it was loaded, where spreading it over a
// vector would take the place of a product, and short vectors make use of it together.
#define VECTORS 4
#define PARTS(X, k) X(a, 0, k) X(b, 1, k) X(c, 2, k) X(d, 3, k)
#else
#define VECTORS 2
#define PARTS(X, k) X(a, 0, k) X(b, 1, k)
#endif

typedef struct mix_block {
    const double *w;
    size_t w_stride;
    double *out;
    size_t out_stride;
    const int32_t *to;
    size_t n;    // inputs in the block
    size_t left; // columns from here on, at least 1
    int is_first;
    // Of w, and what is read ahead of.
    size_t column[MIX_INPUTS + 1];
    double x[(MIX_INPUTS + 1) * VECTORS * V_MAX_BYTES / sizeof(double)];
} mix_block;

static inline size_t minus(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

// The next columns of a row: rows lie apart, so that the hardware does not see them coming.
static inline void fetch_next(const double *x, size_t left)
{
    const size_t step = v_len_f64();
    for (size_t i = VECTORS * step; i < 2 * VECTORS * step && i < left; i += 8) {
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
#define ROWS_5(X) ROWS_4(X) X(4)
#define ROWS_6(X) ROWS_5(X) X(5)
#define ROWS_12(X) ROWS_6(X) X(6) X(7) X(8) X(9) X(10) X(11)

// Every sum runs over the inputs in order, one fused step each: neither the blocking nor the ISA
// shows in it.
#define START_PART(sum, i, k)                                                                      \
    v_f64 sum##k =                                                                                 \
        m->is_first ? v_set1_f64(0) : v_take_f64(out##k + (i)*step, minus(m->left, (i)*step));
#define START(k)                                                                                   \
    double *const out##k = out_row(m, row + (k));                                                  \
    fetch_next(out##k, m->left);                                                                   \
    PARTS(START_PART, k)
#define KEEP_PART(sum, i, k) v_put_f64(out##k + (i)*step, minus(m->left, (i)*step), sum##k);
#define KEEP(k) PARTS(KEEP_PART, k)

#ifdef V_HAS_LANES
#define TAKE_WEIGHT(k) v_f64 w##k = v_load_first_f64(w + (k)*m->w_stride);
#define NEXT_WEIGHT(k) w##k = v_load_first_f64(w + (k)*m->w_stride);
#define TERM_0(k) a##k = v_fma_lane_f64(w##k, 0, x0, a##k);
#define TERM_1(k) b##k = v_fma_lane_f64(w##k, 0, x1, b##k);
#define TERM_2(k) c##k = v_fma_lane_f64(w##k, 0, x2, c##k);
#define TERM_3(k) d##k = v_fma_lane_f64(w##k, 0, x3, d##k);
// The next input is loaded as soon as this one is done with: loads behind its products, which fill
// the queue, would come too late.
#define SUM(n_row)                                                                                 \
    const double *x = m->x, *w = first + m->column[0];                                             \
    v_f64 x0 = v_load_f64(x), x1 = v_load_f64(x + step);                                           \
    v_f64 x2 = v_load_f64(x + 2 * step), x3 = v_load_f64(x + 3 * step);                            \
    ROWS_##n_row(TAKE_WEIGHT) for (size_t i = 1; i <= m->n; i++)                                   \
    {                                                                                              \
        x += VECTORS * step;                                                                       \
        w = first + m->column[i];                                                                  \
        ROWS_##n_row(TERM_0) x0 = v_load_f64(x);                                                   \
        ROWS_##n_row(TERM_1) x1 = v_load_f64(x + step);                                            \
        ROWS_##n_row(TERM_2) x2 = v_load_f64(x + 2 * step);                                        \
        ROWS_##n_row(TERM_3) x3 = v_load_f64(x + 3 * step);                                        \
        ROWS_##n_row(NEXT_WEIGHT)                                                                  \
    }
#else
#define ADD(k)                                                                                     \
    const v_f64 w##k = v_set1_f64(w[(k)*m->w_stride]);                                             \
    a##k = v_fma_f64(w##k, x0, a##k);                                                              \
    b##k = v_fma_f64(w##k, x1, b##k);
#define SUM(n_row)                                                                                 \
    for (size_t i = 0; i < m->n; i++) {                                                            \
        const double *w = first + m->column[i];                                                    \
        const v_f64 x0 = v_load_f64(m->x + i * VECTORS * step);                                    \
        const v_f64 x1 = v_load_f64(m->x + (i * VECTORS + 1) * step);                              \
        ROWS_##n_row(ADD)                                                                          \
    }
#endif

#define MIX_ROWS(n_row)                                                                            \
    static void mix_##n_row(const mix_block *m, size_t row)                                        \
    {                                                                                              \
        const size_t step = v_len_f64();                                                           \
        const double *first = m->w + row * m->w_stride;                                            \
        ROWS_##n_row(START) SUM(n_row) ROWS_##n_row(KEEP)                                          \
    }

MIX_ROWS(1)
MIX_ROWS(2)
MIX_ROWS(4)
#ifdef V_HAS_LANES
MIX_ROWS(5)
#define MOST_ROWS 5
#define MIX_MOST mix_5
#elif V_REGISTERS >= 32
MIX_ROWS(12)
#define MOST_ROWS 12
#define MIX_MOST mix_12
#else
MIX_ROWS(6)
#define MOST_ROWS 6
#define MIX_MOST mix_6
#endif

static void mix_all_rows(const mix_block *b, size_t n_row)
{
    size_t row = 0;
    for (; n_row - row >= MOST_ROWS; row += MOST_ROWS) {
        MIX_MOST(b, row);
    }
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
    for (size_t t = 0; t < width; t += VECTORS * step) {
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
                double *copy = b.x + i * VECTORS * step;
                for (size_t k = 0; k < VECTORS; k++) {
                    v_store_f64(copy + k * step,
                                v_take_f64(row + k * step, minus(b.left, k * step)));
                }
            }
            b.column[b.n] = b.n > 0 ? b.column[b.n - 1] : 0;
            mix_all_rows(&b, n_row);
            first += b.n;
        } while (first < n_in);
    }
}
