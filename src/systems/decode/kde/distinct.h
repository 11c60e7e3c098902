// The distinct values of one coordinate of the bins.
#ifndef TESS_SYSTEMS_DECODE_DISTINCT_H
#define TESS_SYSTEMS_DECODE_DISTINCT_H

#include <stdint.h>

// value[n_value], rising; returns n_value.
int64_t tess_de_distinct(const double *x, int64_t n, double *value);

// Which of them x, one of them, is.
int64_t tess_de_distinct_find(const double *value, int64_t n_value, double x);

#endif
