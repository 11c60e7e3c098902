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
    EACH_ROW
    {
        const VF w0 = V(load)(at), w1 = V(load)(at + step);
        ADD(a, 0);
        ADD(b, 1);
        ADD(d, 2);
        ADD(e, 3);
        ADD(f, 4);
        ADD(g, 5);
        ADD(h, 6);
        ADD(j, 7);
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
#undef KEEP
#undef ADD_ONE
#undef KEEP_ONE
#undef KEEP_AT

void TESS_KFN(T_NAME(decode_accumulate))(const SCALAR *restrict c, size_t c_stride, size_t c_group,
                                         const int32_t *restrict group, const SCALAR *restrict w,
                                         size_t w_stride, size_t w_group, size_t n, size_t n_group,
                                         size_t n_out, size_t n_lane, SCALAR *restrict out,
                                         size_t out_stride)
{
    const V(rows) rows = {n, n_group, c_stride, c_group, w_stride, w_group, out_stride, group};
    const size_t step = V(len)();
    size_t s = 0;
    for (; n_lane - s >= 2 * step; s += 2 * step) {
        size_t k = 0;
#if V_REGISTERS >= 32
        for (; n_out - k >= 8; k += 8) {
            V(sum_8x2)(&rows, c + k, w + s, out + k * out_stride + s);
        }
#endif
        for (; n_out - k >= 4; k += 4) {
            V(sum_4x2)(&rows, c + k, w + s, out + k * out_stride + s);
        }
        if (n_out - k >= 2) {
            V(sum_2x2)(&rows, c + k, w + s, out + k * out_stride + s);
            k += 2;
        }
        if (k < n_out) {
            V(sum_1x2)(&rows, c + k, w + s, out + k * out_stride + s);
        }
    }
    for (; s < n_lane; s += step) {
        size_t k = 0;
        for (; n_out - k >= 8; k += 8) {
            V(sum_8x1)(&rows, c + k, w + s, out + k * out_stride + s);
        }
        for (; n_out - k >= 4; k += 4) {
            V(sum_4x1)(&rows, c + k, w + s, out + k * out_stride + s);
        }
        for (; k < n_out; k++) {
            V(sum_1x1)(&rows, c + k, w + s, out + k * out_stride + s);
        }
    }
}

#undef EACH_ROW
