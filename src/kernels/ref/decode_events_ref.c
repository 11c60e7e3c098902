// Sums of window masses along lines, as plainly as they can be said.

#include "kernels/isa.h"

#include <math.h>

void TESS_KFN(events_line)(const double *const *restrict rows, const int64_t *restrict shift,
                           const int64_t *restrict n_item, size_t n_row, double base, int64_t first,
                           size_t n, double *restrict best)
{
    *best = -(double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        double sum = base;
        for (size_t k = 0; k < n_row; k++) {
            const int64_t at = first + (int64_t)i + shift[k];
            sum += at >= 0 && at < n_item[k] ? rows[k][at] : 0;
        }
        *best = sum > *best ? sum : *best;
    }
}
