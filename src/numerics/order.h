// Order statistics.
#ifndef TESS_NUMERICS_ORDER_H
#define TESS_NUMERICS_ORDER_H

#include <stdint.h>

// The value at place k of x[n] if it were sorted; no NaN. Reorders x: smaller values before, larger
// behind.
double tess_select(double *x, int64_t n, int64_t k);

// Median of x[n], n >= 1, no NaN; the mean of the two middle values for even n. Reorders x.
double tess_median(double *x, int64_t n);

// order[0..n) = indices of x by rising value, equal values in index order. scratch [n]. No NaN.
void tess_order_stable(const double *x, int64_t n, int64_t *order, int64_t *scratch);

#endif
