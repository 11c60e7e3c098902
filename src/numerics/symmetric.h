// Small symmetric matrices.
#ifndef TESS_NUMERICS_SYMMETRIC_H
#define TESS_NUMERICS_SYMMETRIC_H

#include <stdint.h>

// Eigenvalues and, in rows of vectors [n][n], orthonormal eigenvectors of a [n][n], which is used
// up; in no order. By Jacobi's rotations: for n up to some tens.
void tess_symmetric_eigen(double *a, int64_t n, double *values, double *vectors);

#endif
