// Small symmetric positive definite systems, row-major, lower triangle.
#ifndef TESS_NUMERICS_CHOLESKY_H
#define TESS_NUMERICS_CHOLESKY_H

#include <stdbool.h>
#include <stdint.h>

// a = l l^T in place; what is above the diagonal is neither read nor written. False if a is not
// positive definite, a being unspecified then.
bool tess_cholesky(double *a, int64_t n);

// b := l^-1 b, and b := (l l^T)^-1 b.
void tess_lower_solve(const double *l, int64_t n, double *b);
void tess_cholesky_solve(const double *l, int64_t n, double *b);

// b [n][m] := (l l^T)^-1 b, all columns at once.
void tess_cholesky_solve_rows(const double *l, int64_t n, double *b, int64_t m);

// inverse [n][n] = (l l^T)^-1, both triangles. l is used up.
void tess_cholesky_inverse(double *l, int64_t n, double *inverse);

#endif
