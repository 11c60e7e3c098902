// Small symmetric matrices.
#ifndef TESS_NUMERICS_SYMMETRIC_H
#define TESS_NUMERICS_SYMMETRIC_H

#include <stdint.h>

// Eigenvalues and, in rows of vectors [n][n], orthonormal eigenvectors of a [n][n], which is used
// up; in no order. By Jacobi's rotations: for n up to some tens.
void tess_symmetric_eigen(double *a, int64_t n, double *values, double *vectors);

// The same by a tridiagonal matrix, for n up to some hundreds: errors are small against the largest
// eigenvalue, not against each. work [2 n].
void tess_symmetric_eigen_ql(double *a, int64_t n, double *values, double *vectors, double *work);

#endif
