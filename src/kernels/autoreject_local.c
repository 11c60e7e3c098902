// Squared errors of the local search; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

enum { TILE = 16 };

// Lanes of a vector that a tile fills.
static inline size_t lanes(void)
{
    return v_len_f64() < TILE ? v_len_f64() : TILE;
}

static inline v_f64 load(const double *x)
{
    return v_len_f64() <= TILE ? v_load_f64(x) : v_load_n_f64(x, TILE, 0);
}

static inline void store(double *x, v_f64 v)
{
    if (v_len_f64() <= TILE) {
        v_store_f64(x, v);
    } else {
        v_store_n_f64(x, TILE, v);
    }
}

void TESS_KFN(local_sse)(const double *restrict sum, double count, const double *restrict median,
                         size_t n_row, double *restrict sse)
{
    const v_f64 n = v_set1_f64(count);
    for (size_t t = 0; t < TILE; t += lanes()) {
        v_f64 a = load(sse + t);
        for (size_t r = 0; r < n_row; r++) {
            const size_t at = r * TILE + t;
            const v_f64 error = v_sub_f64(v_div_f64(load(sum + at), n), load(median + at));
            a = v_fma_f64(error, error, a);
        }
        store(sse + t, a);
    }
}
