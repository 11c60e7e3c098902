// decode_accumulate for one dtype; included by decode_kde.c only.
//
// Sums stay in registers: 8 columns of c by two vectors of lanes where there are 32 registers, 4 by
// two elsewhere. A column's sum starts from zero and is added to out at the end, so that neither
// the blocking nor the ISA shows in it, and long sums are sums of partial sums.
#include "kernels/simd/dtype.h"

typedef struct V(rows) {
    size_t n, n_group;
    size_t c_stride, c_group;
    size_t w_stride, w_group;
    size_t out_stride;
    const int32_t *group;
} V(rows);

#define EACH_ROW                                                                                   \
    for (size_t i = 0; i < r->n_group; i++)                                                        \
        for (const SCALAR *row = c + (r->group ? (size_t)r->group[i] : i) * r->c_group,            \
                          *at = w + i * r->w_group, *end = row + r->n * r->c_stride;               \
             row != end; row += r->c_stride, at += r->w_stride)

#define ADD(sum, k)                                                                                \
    const VF c##k = V(set1)(row[k]);                                                               \
    sum##0 = V(fma)(c##k, w0, sum##0);                                                             \
    sum##1 = V(fma)(c##k, w1, sum##1)

// Of 8 columns: by the vector where its items can be multiplied by, else one by one. Rows of c that
// lie apart are asked for ahead, since no core foresees them.
#ifdef V_HAS_LANES
#define LANES (16 / sizeof(SCALAR))
#define BEGIN_8                                                                                    \
    VF columns[8 / LANES];                                                                         \
    for (size_t k = 0; k < 8 / LANES; k++) {                                                       \
        columns[k] = V(load)(row + k * LANES);                                                     \
    }                                                                                              \
    __builtin_prefetch((const void *)((uintptr_t)row + ahead), 0, 3)
#define ADD_8(sum, k)                                                                              \
    sum##0 = V(fma_lane)(columns[(k) / LANES], (k) % LANES, w0, sum##0);                           \
    sum##1 = V(fma_lane)(columns[(k) / LANES], (k) % LANES, w1, sum##1)
#else
#define BEGIN_8 __builtin_prefetch((const void *)((uintptr_t)row + ahead), 0, 3)
#define ADD_8 ADD
#endif

#define KEEP_AT(to, sum) V(store)((to), V(add)(V(load)(to), (sum)))
#define KEEP(sum, k)                                                                               \
    KEEP_AT(out + (k)*r->out_stride, sum##0);                                                      \
    KEEP_AT(out + (k)*r->out_stride + step, sum##1)

#define ADD_ONE(sum, k) sum = V(fma)(V(set1)(row[k]), w0, sum)
#define KEEP_ONE(sum, k) KEEP_AT(out + (k)*r->out_stride, sum)

#if V_REGISTERS >= 32
// 8 columns, two vectors.
static inline void V(sum_8x2)(const V(rows) * r, const SCALAR *c, const SCALAR *w, SCALAR *out)
{
    const size_t step = V(len)();
    const VF zero = V(set1)(0);
    VF a0 = zero, b0 = zero, d0 = zero, e0 = zero, f0 = zero, g0 = zero, h0 = zero, j0 = zero;
    VF a1 = zero, b1 = zero, d1 = zero, e1 = zero, f1 = zero, g1 = zero, h1 = zero, j1 = zero;
    const size_t ahead = ROWS_AHEAD * r->c_stride * sizeof *c;
    EACH_ROW
    {
        const VF w0 = V(load)(at), w1 = V(load)(at + step);
        BEGIN_8;
        ADD_8(a, 0);
        ADD_8(b, 1);
        ADD_8(d, 2);
        ADD_8(e, 3);
        ADD_8(f, 4);
        ADD_8(g, 5);
        ADD_8(h, 6);
        ADD_8(j, 7);
    }
    KEEP(a, 0);
    KEEP(b, 1);
    KEEP(d, 2);
    KEEP(e, 3);
    KEEP(f, 4);
    KEEP(g, 5);
    KEEP(h, 6);
    KEEP(j, 7);
}

#endif

// 4 columns, two vectors.
static inline void V(sum_4x2)(const V(rows) * r, const SCALAR *c, const SCALAR *w, SCALAR *out)
{
    const size_t step = V(len)();
    const VF zero = V(set1)(0);
    VF a0 = zero, b0 = zero, d0 = zero, e0 = zero;
    VF a1 = zero, b1 = zero, d1 = zero, e1 = zero;
    EACH_ROW
    {
        const VF w0 = V(load)(at), w1 = V(load)(at + step);
        ADD(a, 0);
        ADD(b, 1);
        ADD(d, 2);
        ADD(e, 3);
    }
    KEEP(a, 0);
    KEEP(b, 1);
    KEEP(d, 2);
    KEEP(e, 3);
}

// 2 columns, two vectors.
static inline void V(sum_2x2)(const V(rows) * r, const SCALAR *c, const SCALAR *w, SCALAR *out)
{
    const size_t step = V(len)();
    const VF zero = V(set1)(0);
    VF a0 = zero, b0 = zero;
    VF a1 = zero, b1 = zero;
    EACH_ROW
    {
        const VF w0 = V(load)(at), w1 = V(load)(at + step);
        ADD(a, 0);
        ADD(b, 1);
    }
    KEEP(a, 0);
    KEEP(b, 1);
}

// One column, two vectors.
static inline void V(sum_1x2)(const V(rows) * r, const SCALAR *c, const SCALAR *w, SCALAR *out)
{
    const size_t step = V(len)();
    const VF zero = V(set1)(0);
    VF a0 = zero;
    VF a1 = zero;
    EACH_ROW
    {
        const VF w0 = V(load)(at), w1 = V(load)(at + step);
        ADD(a, 0);
    }
    KEEP(a, 0);
}

// 8 columns, one vector.
static inline void V(sum_8x1)(const V(rows) * r, const SCALAR *c, const SCALAR *w, SCALAR *out)
{
    const VF zero = V(set1)(0);
    VF a = zero, b = zero, d = zero, e = zero, f = zero, g = zero, h = zero, j = zero;
    EACH_ROW
    {
        const VF w0 = V(load)(at);
        ADD_ONE(a, 0);
        ADD_ONE(b, 1);
        ADD_ONE(d, 2);
        ADD_ONE(e, 3);
        ADD_ONE(f, 4);
        ADD_ONE(g, 5);
        ADD_ONE(h, 6);
        ADD_ONE(j, 7);
    }
    KEEP_ONE(a, 0);
    KEEP_ONE(b, 1);
    KEEP_ONE(d, 2);
    KEEP_ONE(e, 3);
    KEEP_ONE(f, 4);
    KEEP_ONE(g, 5);
    KEEP_ONE(h, 6);
    KEEP_ONE(j, 7);
}

// 4 columns, one vector.
static inline void V(sum_4x1)(const V(rows) * r, const SCALAR *c, const SCALAR *w, SCALAR *out)
{
    const VF zero = V(set1)(0);
    VF a = zero, b = zero, d = zero, e = zero;
    EACH_ROW
    {
        const VF w0 = V(load)(at);
        ADD_ONE(a, 0);
        ADD_ONE(b, 1);
        ADD_ONE(d, 2);
        ADD_ONE(e, 3);
    }
    KEEP_ONE(a, 0);
    KEEP_ONE(b, 1);
    KEEP_ONE(d, 2);
    KEEP_ONE(e, 3);
}

// One column, one vector.
static inline void V(sum_1x1)(const V(rows) * r, const SCALAR *c, const SCALAR *w, SCALAR *out)
{
    const VF zero = V(set1)(0);
    VF a = zero;
    EACH_ROW
    {
        const VF w0 = V(load)(at);
        ADD_ONE(a, 0);
    }
    KEEP_ONE(a, 0);
}

#undef ADD
#undef ADD_8
#undef BEGIN_8
#undef LANES
#undef KEEP
#undef ADD_ONE
#undef KEEP_ONE
#undef KEEP_AT

// Two vectors of 8, 4, 2 or 1 columns.
static inline void V(sum_pair)(const V(rows) * r, size_t width, const SCALAR *c, const SCALAR *w,
                               SCALAR *out)
{
    if (width == 8) {
#if V_REGISTERS >= 32
        V(sum_8x2)(r, c, w, out);
#else
        V(sum_4x2)(r, c, w, out);
        V(sum_4x2)(r, c + 4, w, out + 4 * r->out_stride);
#endif
    } else if (width == 4) {
        V(sum_4x2)(r, c, w, out);
    } else if (width == 2) {
        V(sum_2x2)(r, c, w, out);
    } else {
        V(sum_1x2)(r, c, w, out);
    }
}

// One vector of as many.
static inline void V(sum_one)(const V(rows) * r, size_t width, const SCALAR *c, const SCALAR *w,
                              SCALAR *out)
{
    if (width == 8) {
        V(sum_8x1)(r, c, w, out);
    } else if (width == 4) {
        V(sum_4x1)(r, c, w, out);
    } else {
        for (size_t k = 0; k < width; k++) {
            V(sum_1x1)(r, c + k, w, out + k * r->out_stride);
        }
    }
}

void TESS_KFN(T_NAME(decode_accumulate))(const SCALAR *restrict c, size_t c_stride, size_t c_group,
                                         const int32_t *restrict group, const SCALAR *restrict w,
                                         size_t w_stride, size_t w_group, size_t n, size_t n_group,
                                         size_t n_out, size_t n_lane, SCALAR *restrict out,
                                         size_t out_stride)
{
    const V(rows) rows = {n, n_group, c_stride, c_group, w_stride, w_group, out_stride, group};
    const size_t step = V(len)();
    // Columns by columns: those of c are read from afar once, weights of all lanes stay at hand.
    for (size_t k = 0, width; k < n_out; k += width) {
        const size_t left = n_out - k;
        width = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
        size_t s = 0;
        for (; n_lane - s >= 2 * step; s += 2 * step) {
            V(sum_pair)(&rows, width, c + k, w + s, out + k * out_stride + s);
        }
        for (; s < n_lane; s += step) {
            V(sum_one)(&rows, width, c + k, w + s, out + k * out_stride + s);
        }
    }
}

#undef EACH_ROW
