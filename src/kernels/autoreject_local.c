// Squared errors of the local search; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

enum { TILE = 16 };

void TESS_KFN(local_sse)(const double *restrict sum, double count, const double *restrict median,
                         size_t n_row, double *restrict sse)
{
    const v_f64 n = v_set1_f64(count);
    for (size_t t = 0; t < TILE; t += v_part_f64(TILE)) {
        v_f64 a = v_take_f64(sse + t, TILE);
        for (size_t r = 0; r < n_row; r++) {
            const size_t at = r * TILE + t;
            const v_f64 error =
                v_sub_f64(v_div_f64(v_take_f64(sum + at, TILE), n), v_take_f64(median + at, TILE));
            a = v_fma_f64(error, error, a);
        }
        v_put_f64(sse + t, TILE, a);
    }
}
