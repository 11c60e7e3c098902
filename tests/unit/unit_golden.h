// Golden data: arrays of the files of tests/golden by name.
#ifndef TESS_TESTS_UNIT_GOLDEN_H
#define TESS_TESTS_UNIT_GOLDEN_H

#include "tessera/io.h"
#include "unit.h"

// An array of a golden file ("decode/03_open_field_2d"); a test fails if it is not there. Values of
// any number type are read as doubles (golden_f64), integers and flags as int64 (golden_i64). *n,
// if not NULL, becomes the number of items. free() the result.
double *golden_f64(tess_context *ctx, const char *file, const char *name, int64_t *n);
int64_t *golden_i64(tess_context *ctx, const char *file, const char *name, int64_t *n);
// A single number.
double golden_scalar(tess_context *ctx, const char *file, const char *name);

// Every |got - want| <= tolerance; equal infinities are equal.
#define assert_near(got, want, n, tolerance)                                                       \
    golden_check_near((got), (want), (n), (tolerance), #got, __FILE__, __LINE__)
void golden_check_near(const double *got, const double *want, int64_t n, double tolerance,
                       const char *what, const char *file, int line);

#endif
