// Spherical splines: stiffness 4, 50 terms, smoothing 1e-5 (Perrin et al. 1989).
//
// A constant added to the kernel changes no prediction, because the coefficients sum to 0. The
// kernel here is g(x) - g(0): then the matrix of any directions is positive semi-definite, a zero
// vector included, and a Cholesky factor is all that is needed.
#ifndef TESS_AUTOREJECT_SPLINE_H
#define TESS_AUTOREJECT_SPLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// g(x[i]) - g(0), in place.
void tess_ar_spline_kernel(double *x, int64_t n);

// out[i][j] = kernel of unit vectors a[i] . b[j].
void tess_ar_spline_matrix(const double *a, int64_t n_a, const double *b, int64_t n_b, double *out);

// H [n][n]: the block of the inverse of [G + lambda, 1; 1, 0] that belongs to G, from which the
// weights of every set of bad channels follow. g is used up. False: not positive definite, which
// takes positions that are not finite.
bool tess_ar_spline_inverse(double *g, int64_t n, double *h);

// W [n_to][n_from] from g_from [n_from][n_from] and g_cross [n_from][n_to + 1], both used up; the
// last column of g_cross need not be set.
bool tess_ar_spline_direct(double *g_from, double *g_cross, int64_t n_from, int64_t n_to,
                           double *w);

#endif
