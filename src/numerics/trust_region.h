// Bounded nonlinear least squares from sums: trust-region reflective steps (Branch, Coleman, Li)
// on cost, gradient J^T r and matrix J^T J, in the manner of scipy's least_squares(method="trf").
//
// The solver asks for evaluations instead of calling back, so that its whole state is plain bytes
// that a checkpoint can keep between two evaluations.
#ifndef TESS_NUMERICS_TRUST_REGION_H
#define TESS_NUMERICS_TRUST_REGION_H

#include <stddef.h>
#include <stdint.h>

typedef struct tess_trust_options {
    double ftol;
    double xtol;
    double gtol;
    int64_t max_nfev;
    int32_t plain_xtol; // 1: norm of x itself, as scipy; 0: norm of x times the scale
    int32_t reserved;
} tess_trust_options;

typedef enum tess_trust_request {
    TESS_TRUST_EVALUATE = 0, // cost, gradient and Hessian at x_trial are wanted
    TESS_TRUST_DONE = 1
} tess_trust_request;

// All of it lies in one block of tess_trust_bytes(n) bytes without pointers.
typedef struct tess_trust tess_trust;

size_t tess_trust_bytes(int64_t n);
// x_scale NULL, or NaN for one: from the Jacobian, the running maximum of its column norms. x0
// outside the bounds or on them is moved inside.
void tess_trust_begin(tess_trust *state, int64_t n, const double *x0, const double *lower,
                      const double *upper, const double *x_scale,
                      const tess_trust_options *options);
// Where an evaluation is wanted [n].
const double *tess_trust_trial(const tess_trust *state);
// Another one instead, for a step that is better than straight; moved inside the bounds.
void tess_trust_set_trial(tess_trust *state, const double *x);
// Takes the evaluation at the trial point: hessian [n][n]. A cost that is not finite counts as too
// large. Returns what is wanted next.
tess_trust_request tess_trust_next(tess_trust *state, double cost, const double *gradient,
                                   const double *hessian);

typedef struct tess_trust_view {
    const double *x; // best so far [n]
    double cost;
    const double *gradient;
    const double *hessian;
    const double *scale;  // [n] by which x is multiplied: column norms, or 1 / x_scale
    double gradient_norm; // max |g v|, scaled
    double step_norm;     // of the last trial, scaled
    double radius;
    int32_t status;   // 1 gtol, 2 ftol, 3 xtol, 4 both, 0 max_nfev, -1 start not finite, -3 stuck
    int32_t accepted; // 1: the last evaluation was
    int64_t iteration;
    int64_t nfev;
} tess_trust_view;

void tess_trust_look(const tess_trust *state, tess_trust_view *view);

#endif
