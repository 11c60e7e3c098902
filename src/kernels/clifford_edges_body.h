// Edges for one dtype; included by clifford_edges.c only.
#include "kernels/simd/dtype.h"

#define EDGES T_NAME(tess_cl_edges)

static inline const SCALAR *T_NAME(x_of)(const EDGES *e, size_t i)
{
    return e->x + (e->senders ? e->senders[i] : (int64_t)i) * e->x_row;
}

static inline const SCALAR *T_NAME(scale_of)(const EDGES *e, size_t i)
{
    return e->scale + (e->edges ? e->edges[i] : (int64_t)i) * e->scale_row;
}

// Two vectors of features while all edges go by: the sums stay in registers.
static void T_NAME(edges_pair)(const EDGES *e, size_t at, SCALAR *restrict sum)
{
    const size_t step = V(len)();
    VF s0 = V(load)(sum + at), s1 = V(load)(sum + at + step);
    VF by0 = V(set1)(1), by1 = by0;
    for (size_t i = 0; i < e->n_edge; i++) {
        const SCALAR *x = T_NAME(x_of)(e, i) + at;
        if (e->scale && e->is_narrow) {
            by0 = by1 = V(set1)(*T_NAME(scale_of)(e, i));
        } else if (e->scale) {
            const SCALAR *scale = T_NAME(scale_of)(e, i) + at;
            by0 = V(load)(scale);
            by1 = V(load)(scale + step);
        }
        s0 = V(fma)(by0, V(load)(x), s0);
        s1 = V(fma)(by1, V(load)(x + step), s1);
    }
    V(store)(sum + at, s0);
    V(store)(sum + at + step, s1);
}

// One vector, or what is left of one.
static void T_NAME(edges_one)(const EDGES *e, size_t at, SCALAR *restrict sum)
{
    const size_t n = e->n - at;
    VF s = V(take)(sum + at, n);
    VF by = V(set1)(1);
    for (size_t i = 0; i < e->n_edge; i++) {
        if (e->scale) {
            by = e->is_narrow ? V(set1)(*T_NAME(scale_of)(e, i))
                              : V(take)(T_NAME(scale_of)(e, i) + at, n);
        }
        s = V(fma)(by, V(take)(T_NAME(x_of)(e, i) + at, n), s);
    }
    V(put)(sum + at, n, s);
}

void TESS_KFN(T_NAME(clifford_edges))(const EDGES *restrict edges, SCALAR *restrict sum)
{
    const size_t step = V(len)();
    size_t at = 0;
    for (; edges->n - at >= 2 * step; at += 2 * step) {
        T_NAME(edges_pair)(edges, at, sum);
    }
    for (; at < edges->n; at += step) {
        T_NAME(edges_one)(edges, at, sum);
    }
}

void TESS_KFN(T_NAME(clifford_dot))(const SCALAR *restrict x, ptrdiff_t x_component,
                                    const SCALAR *restrict y, ptrdiff_t y_component,
                                    size_t n_component, size_t n, SCALAR *restrict dot)
{
    for (size_t at = 0; at < n; at += V(len)()) {
        VF sum = V(set1)(0);
        for (size_t k = 0; k < n_component; k++) {
            const VF a = V(take)(x + (ptrdiff_t)k * x_component + at, n - at);
            const VF b = V(take)(y + (ptrdiff_t)k * y_component + at, n - at);
            sum = V(fma)(a, b, sum);
        }
        V(put)(dot + at, n - at, sum);
    }
}

#undef EDGES
