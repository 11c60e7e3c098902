// Selection without sorting.
#ifndef TESS_BASE_SELECT_H
#define TESS_BASE_SELECT_H

#include <stdint.h>

// The value at place k of x[n] if it were sorted; no NaN. Reorders x: smaller values before, larger
// behind.
double tess_select(double *x, int64_t n, int64_t k);

// Median of x[n], n >= 1, no NaN; the mean of the two middle values for even n. Reorders x.
double tess_median(double *x, int64_t n);

// The same without reordering; scratch [2 n]. Faster of some hundred items.
double tess_median_of(const double *x, int64_t n, double *scratch);

#endif
