// Pairs for one dtype; included by clifford_pair_ref.c only.

static SCALAR *T_NAME(item)(T_NAME(tess_cl_rows) rows, uint8_t k, size_t r, size_t i)
{
    return rows.data + (ptrdiff_t)k * rows.component + (ptrdiff_t)r * rows.row + i;
}

void TESS_KFN(T_NAME(clifford_pair))(const T_NAME(tess_cl_pair) *restrict pair, SCALAR *restrict q)
{
    for (size_t r = 0; r < pair->n_row; r++) {
        for (size_t i = 0; i < pair->n; i++) {
            SCALAR sum = 0;
            for (size_t t = 0; t < pair->n_entry; t++) {
                const tess_cl_entry *e = &pair->entries[t];
                const SCALAR x = *T_NAME(item)(pair->x, e->a, r, i);
                const SCALAR y = *T_NAME(item)(pair->y, e->b, r, i);
                sum = FMA(e->is_negative ? -x : x, y, sum);
            }
            q[r * TESS_CL_GEMM_ROW + i] = sum;
        }
    }
}

void TESS_KFN(T_NAME(clifford_unpair))(const T_NAME(tess_cl_pair) *restrict pair,
                                       const SCALAR *restrict grad, size_t grad_row,
                                       T_NAME(tess_cl_rows) grad_x, T_NAME(tess_cl_rows) grad_y)
{
    for (size_t r = 0; r < pair->n_row; r++) {
        for (size_t t = 0; t < pair->n_entry; t++) {
            const tess_cl_entry *e = &pair->entries[t];
            for (size_t i = 0; i < pair->n; i++) {
                const SCALAR g = e->is_negative ? -grad[r * grad_row + i] : grad[r * grad_row + i];
                if (grad_x.data) {
                    SCALAR *to = T_NAME(item)(grad_x, e->a, r, i);
                    *to = FMA(g, *T_NAME(item)(pair->y, e->b, r, i), *to);
                }
                if (grad_y.data) {
                    SCALAR *to = T_NAME(item)(grad_y, e->b, r, i);
                    *to = FMA(g, *T_NAME(item)(pair->x, e->a, r, i), *to);
                }
            }
        }
    }
}
