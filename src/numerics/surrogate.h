// A cheap stand-in for a log density: a polynomial of the fourth degree where the density was seen,
// and a Student's t far from there, so that it is a density whatever the polynomial does.
//
// Proposals that a reversible kernel of the stand-in makes are accepted by the true density over
// the stand-in (delayed acceptance): exact, with one evaluation each.
#ifndef TESS_NUMERICS_SURROGATE_H
#define TESS_NUMERICS_SURROGATE_H

#include <stddef.h>
#include <stdint.h>

enum { TESS_SURROGATE_MAX_N = 10 };

// All of it lies in one block of tess_surrogate_bytes() bytes without pointers.
typedef struct tess_surrogate tess_surrogate;

size_t tess_surrogate_bytes(int64_t n);

// What was seen of the density: n_seen points x [n], values, gradients [n].
typedef struct tess_surrogate_seen {
    const double *x;
    const double *value;
    const double *gradient;
    int64_t n_seen;
} tess_surrogate_seen;

// Fits to three of four points; the fourth ones tell how well: *error is the standard deviation of
// value less stand-in there. scratch of tess_surrogate_scratch() bytes. 0: too few points, or they
// span no space.
size_t tess_surrogate_scratch(int64_t n);
int tess_surrogate_fit(tess_surrogate *surrogate, int64_t n, const tess_surrogate_seen *seen,
                       void *scratch, double *error);
// Log density but for a constant, and gradient [n].
double tess_surrogate_at(const tess_surrogate *surrogate, const double *x, double *gradient);
// The covariance [n][n] of what was seen: a metric.
const double *tess_surrogate_covariance(const tess_surrogate *surrogate);

#endif
