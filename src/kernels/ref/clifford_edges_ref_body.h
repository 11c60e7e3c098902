// Edges for one dtype; included by clifford_edges_ref.c only.

void TESS_KFN(T_NAME(clifford_edges))(const T_NAME(tess_cl_edges) *restrict e, SCALAR *restrict sum)
{
    for (size_t i = 0; i < e->n_edge; i++) {
        const SCALAR *x = e->x + (e->senders ? e->senders[i] : (int64_t)i) * e->x_row;
        const SCALAR *scale =
            e->scale ? e->scale + (e->edges ? e->edges[i] : (int64_t)i) * e->scale_row : NULL;
        for (size_t n = 0; n < e->n; n++) {
            sum[n] = FMA(scale ? scale[e->is_narrow ? 0 : n] : 1, x[n], sum[n]);
        }
    }
}

void TESS_KFN(T_NAME(clifford_dot))(const SCALAR *restrict x, ptrdiff_t x_component,
                                    const SCALAR *restrict y, ptrdiff_t y_component,
                                    size_t n_component, size_t n, SCALAR *restrict dot)
{
    for (size_t i = 0; i < n; i++) {
        dot[i] = 0;
        for (size_t k = 0; k < n_component; k++) {
            dot[i] = FMA(x[(ptrdiff_t)k * x_component + (ptrdiff_t)i],
                         y[(ptrdiff_t)k * y_component + (ptrdiff_t)i], dot[i]);
        }
    }
}
