// Products for one dtype; included by clifford_product.c only.
#include "kernels/simd/dtype.h"

#include "kernels/clifford_load.h"

#define ROWS T_NAME(tess_cl_rows)
#define PRODUCT T_NAME(tess_cl_product)

static inline const SCALAR *T_NAME(row_at)(ROWS rows, ptrdiff_t k, ptrdiff_t r, size_t i)
{
    return rows.data + k * rows.component + r * rows.row + i;
}

// Up to a vector of features by the list of terms. Sums wait in memory: vectors of some ISAs have
// no size to make arrays of.
static void T_NAME(product_any)(const PRODUCT *p, ptrdiff_t r, size_t i)
{
    enum { LANES = V_MAX_BYTES / sizeof(SCALAR) };
    SCALAR out[TESS_CL_MAX_COMPONENTS * LANES];
    const size_t n = p->n - i, step = V(len)();
    const VF zero = V(set1)(0);
    VF pair = zero, path = zero;
    for (int k = 0; k < p->list->n_component; k++) {
        V(store)(out + (size_t)k * step, zero);
    }
    for (int t = 0; t < p->list->n_entry; t++) {
        const tess_cl_entry *e = &p->list->entries[t];
        const VF a = V(take)(T_NAME(row_at)(p->a, e->a, r, i), n);
        const VF b = V(take)(T_NAME(row_at)(p->b, e->b, r, i), n);
        pair = e->is_negative ? V(fnma)(a, b, pair) : V(fma)(a, b, pair);
        if (e->ends_pair) {
            const VF w = V(load)(p->weight + e->path * p->weight_stride + i);
            SCALAR *to = out + e->out * step;
            V(store)(to, V(fma)(w, pair, V(load)(to)));
            if (p->grad_weight) {
                path = V(fma)(V(take)(T_NAME(row_at)(p->x, e->out, r, i), n), pair, path);
            }
            pair = zero;
        }
        if (p->grad_weight && e->ends_path) {
            SCALAR *to = p->grad_weight + e->path * p->weight_stride + i;
            V(store)(to, V(add)(V(load)(to), path));
            path = zero;
        }
    }
    if (p->tau) {
        const size_t at = (size_t)r * p->tau_row + i;
        V(store)(out, V(fma)(V(load)(p->tau + at), V(load)(p->slope + at), V(load)(out)));
    }
    for (ptrdiff_t k = 0; p->out.data && k < p->list->n_component; k++) {
        V(put)
        (p->out.data + k * p->out.component + r * p->out.row + i, n,
         V(load)(out + (size_t)k * step));
    }
}

void TESS_KFN(T_NAME(clifford_product))(const PRODUCT *restrict product)
{
    for (ptrdiff_t r = 0; r < (ptrdiff_t)product->n_row; r++) {
        for (size_t i = 0; i < product->n; i += V(len)()) {
            T_NAME(product_any)(product, r, i);
        }
    }
}

#undef ROWS
#undef PRODUCT
