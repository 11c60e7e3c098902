// Order statistics.
#ifndef TESS_NUMERICS_ORDER_H
#define TESS_NUMERICS_ORDER_H

#include "base/select.h"

#include <stdint.h>

// order[0..n) = indices of x by rising value, equal values in index order. scratch [n]. No NaN.
void tess_order_stable(const double *x, int64_t n, int64_t *order, int64_t *scratch);

#endif
