// The reference of ptp for one dtype; included by ptp_ref.c only.
#include "kernels/simd/dtype.h"

void TESS_KFN(T_NAME(ptp))(const SCALAR *restrict x, size_t n_row, ptrdiff_t row_stride, size_t n,
                           SCALAR *restrict out)
{
    for (size_t r = 0; r < n_row; r++) {
        const SCALAR *row = x + (ptrdiff_t)r * row_stride;
        SCALAR lo = row[0];
        SCALAR hi = row[0];
        int has_nan = 0;
        for (size_t i = 0; i < n; i++) {
            lo = row[i] < lo ? row[i] : lo;
            hi = row[i] > hi ? row[i] : hi;
            has_nan |= isnan(row[i]);
        }
        // The range of a row of zeros is +0 whatever their signs, and every NaN is the same one.
        const SCALAR range = hi - lo + 0;
        out[r] = has_nan || isnan(range) ? (SCALAR)NAN : range;
    }
}
