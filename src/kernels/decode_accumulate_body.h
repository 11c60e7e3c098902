// decode_accumulate for one dtype; included by decode_kde.c only.
//
// Sums stay in registers: 8 columns of c by two vectors of lanes where there are 32 registers, 4 by
// two elsewhere. A column's sum starts from zero and is added to out at the end, so that neither
// the blocking nor the ISA shows in it, and long sums are sums of partial sums.
#include "kernels/simd/dtype.h"

#define ADD(sum, k)                                                                                \
    const VF c##k = V(set1)(row[k]);                                                               \
    sum##0 = V(fma)(c##k, w0, sum##0);                                                             \
    sum##1 = V(fma)(c##k, w1, sum##1)

#define KEEP(sum, k)                                                                               \
    V(store)(out + (k)*out_stride, V(add)(V(load)(out + (k)*out_stride), sum##0));                 \
    V(store)(out + (k)*out_stride + step, V(add)(V(load)(out + (k)*out_stride + step), sum##1))

#define ADD_ONE(sum, k) sum = V(fma)(V(set1)(row[k]), w0, sum)
#define KEEP_ONE(sum, k) V(store)(out + (k)*out_stride, V(add)(V(load)(out + (k)*out_stride), sum))

#if V_REGISTERS >= 32
// 8 columns, two vectors.
static inline void V(sum_8x2)(const SCALAR *c, size_t c_stride, const SCALAR *w, size_t w_stride,
                              size_t n, SCALAR *out, size_t out_stride)
{
    const size_t step = V(len)();
    const VF zero = V(set1)(0);
    VF a0 = zero, b0 = zero, d0 = zero, e0 = zero, f0 = zero, g0 = zero, h0 = zero, j0 = zero;
    VF a1 = zero, b1 = zero, d1 = zero, e1 = zero, f1 = zero, g1 = zero, h1 = zero, j1 = zero;
    for (size_t i = 0; i < n; i++) {
        const SCALAR *row = c + i * c_stride;
        const VF w0 = V(load)(w + i * w_stride), w1 = V(load)(w + i * w_stride + step);
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
static inline void V(sum_4x2)(const SCALAR *c, size_t c_stride, const SCALAR *w, size_t w_stride,
                              size_t n, SCALAR *out, size_t out_stride)
{
    const size_t step = V(len)();
    const VF zero = V(set1)(0);
    VF a0 = zero, b0 = zero, d0 = zero, e0 = zero;
    VF a1 = zero, b1 = zero, d1 = zero, e1 = zero;
    for (size_t i = 0; i < n; i++) {
        const SCALAR *row = c + i * c_stride;
        const VF w0 = V(load)(w + i * w_stride), w1 = V(load)(w + i * w_stride + step);
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

// 4 columns, one vector.
static inline void V(sum_4x1)(const SCALAR *c, size_t c_stride, const SCALAR *w, size_t w_stride,
                              size_t n, SCALAR *out, size_t out_stride)
{
    const VF zero = V(set1)(0);
    VF a = zero, b = zero, d = zero, e = zero;
    for (size_t i = 0; i < n; i++) {
        const SCALAR *row = c + i * c_stride;
        const VF w0 = V(load)(w + i * w_stride);
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
static inline void V(sum_1x1)(const SCALAR *c, size_t c_stride, const SCALAR *w, size_t w_stride,
                              size_t n, SCALAR *out, size_t out_stride)
{
    VF a = V(set1)(0);
    for (size_t i = 0; i < n; i++) {
        const SCALAR *row = c + i * c_stride;
        const VF w0 = V(load)(w + i * w_stride);
        ADD_ONE(a, 0);
    }
    KEEP_ONE(a, 0);
}

#undef ADD
#undef KEEP
#undef ADD_ONE
#undef KEEP_ONE

void TESS_KFN(T_NAME(decode_accumulate))(const SCALAR *restrict c, size_t c_stride,
                                         const SCALAR *restrict w, size_t w_stride, size_t n,
                                         size_t n_out, size_t n_lane, SCALAR *restrict out,
                                         size_t out_stride)
{
    const size_t step = V(len)();
    size_t s = 0;
    for (; n_lane - s >= 2 * step; s += 2 * step) {
        size_t k = 0;
#if V_REGISTERS >= 32
        for (; n_out - k >= 8; k += 8) {
            V(sum_8x2)(c + k, c_stride, w + s, w_stride, n, out + k * out_stride + s, out_stride);
        }
#endif
        for (; n_out - k >= 4; k += 4) {
            V(sum_4x2)(c + k, c_stride, w + s, w_stride, n, out + k * out_stride + s, out_stride);
        }
        for (; k < n_out; k++) {
            SCALAR *to = out + k * out_stride + s;
            V(sum_1x1)(c + k, c_stride, w + s, w_stride, n, to, out_stride);
            V(sum_1x1)(c + k, c_stride, w + s + step, w_stride, n, to + step, out_stride);
        }
    }
    for (; s < n_lane; s += step) {
        size_t k = 0;
        for (; n_out - k >= 4; k += 4) {
            V(sum_4x1)(c + k, c_stride, w + s, w_stride, n, out + k * out_stride + s, out_stride);
        }
        for (; k < n_out; k++) {
            V(sum_1x1)(c + k, c_stride, w + s, w_stride, n, out + k * out_stride + s, out_stride);
        }
    }
}
