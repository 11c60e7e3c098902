// Squared errors of the local search, as plainly as they can be said.

#include "kernels/isa.h"

#include <math.h>

enum { TILE = 16 };

void TESS_KFN(local_sse)(const double *restrict sum, double count, const double *restrict median,
                         size_t n_row, double *restrict sse)
{
    for (size_t r = 0; r < n_row; r++) {
        for (size_t t = 0; t < TILE; t++) {
            const double error = sum[r * TILE + t] / count - median[r * TILE + t];
            sse[t] = fma(error, error, sse[t]);
        }
    }
}
