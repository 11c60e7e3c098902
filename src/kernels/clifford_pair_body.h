// Pairs for one dtype; included by clifford_pair.c only.
#include "kernels/simd/dtype.h"

#define ROWS T_NAME(tess_cl_rows)
#define PAIR T_NAME(tess_cl_pair)

static inline SCALAR *T_NAME(line)(ROWS rows, uint8_t k, size_t r)
{
    return rows.data + (ptrdiff_t)k * rows.component + (ptrdiff_t)r * rows.row;
}

static inline VF V(add_signed)(const tess_cl_entry *e, VF a, VF b, VF sum)
{
    return e->is_negative ? V(fnma)(a, b, sum) : V(fma)(a, b, sum);
}

// The sums of one row, four vectors at a time where there are.
static void T_NAME(pair_row)(const PAIR *pair, size_t r, SCALAR *restrict q)
{
    const size_t step = V(len)(), n = pair->n;
    size_t i = 0;
    for (; n - i >= 4 * step; i += 4 * step) {
        VF s0 = V(set1)(0), s1 = s0, s2 = s0, s3 = s0;
        for (size_t t = 0; t < pair->n_entry; t++) {
            const tess_cl_entry *e = &pair->entries[t];
            const SCALAR *x = T_NAME(line)(pair->x, e->a, r) + i;
            const SCALAR *y = T_NAME(line)(pair->y, e->b, r) + i;
            s0 = V(add_signed)(e, V(load)(x), V(load)(y), s0);
            s1 = V(add_signed)(e, V(load)(x + step), V(load)(y + step), s1);
            s2 = V(add_signed)(e, V(load)(x + 2 * step), V(load)(y + 2 * step), s2);
            s3 = V(add_signed)(e, V(load)(x + 3 * step), V(load)(y + 3 * step), s3);
        }
        V(store)(q + i, s0);
        V(store)(q + i + step, s1);
        V(store)(q + i + 2 * step, s2);
        V(store)(q + i + 3 * step, s3);
    }
    for (; i < n; i += step) {
        VF sum = V(set1)(0);
        for (size_t t = 0; t < pair->n_entry; t++) {
            const tess_cl_entry *e = &pair->entries[t];
            const VF x = V(take)(T_NAME(line)(pair->x, e->a, r) + i, n - i);
            const VF y = V(take)(T_NAME(line)(pair->y, e->b, r) + i, n - i);
            sum = V(add_signed)(e, x, y, sum);
        }
        V(put)(q + i, n - i, sum);
    }
}

void TESS_KFN(T_NAME(clifford_pair))(const PAIR *restrict pair, SCALAR *restrict q)
{
    for (size_t r = 0; r < pair->n_row; r++) {
        T_NAME(pair_row)(pair, r, q + r * TESS_CL_GEMM_ROW);
    }
}

// to += +-g by.
static void T_NAME(add_product)(const tess_cl_entry *e, const SCALAR *restrict g,
                                const SCALAR *restrict by, size_t n, SCALAR *restrict to)
{
    for (size_t i = 0; i < n; i += V(len)()) {
        const VF sum =
            V(add_signed)(e, V(take)(g + i, n - i), V(take)(by + i, n - i), V(take)(to + i, n - i));
        V(put)(to + i, n - i, sum);
    }
}

void TESS_KFN(T_NAME(clifford_unpair))(const PAIR *restrict pair, const SCALAR *restrict grad,
                                       size_t grad_row, ROWS grad_x, ROWS grad_y)
{
    for (size_t r = 0; r < pair->n_row; r++) {
        const SCALAR *g = grad + r * grad_row;
        for (size_t t = 0; t < pair->n_entry; t++) {
            const tess_cl_entry *e = &pair->entries[t];
            if (grad_x.data) {
                T_NAME(add_product)
                (e, g, T_NAME(line)(pair->y, e->b, r), pair->n, T_NAME(line)(grad_x, e->a, r));
            }
            if (grad_y.data) {
                T_NAME(add_product)
                (e, g, T_NAME(line)(pair->x, e->a, r), pair->n, T_NAME(line)(grad_y, e->b, r));
            }
        }
    }
}

#undef ROWS
#undef PAIR
