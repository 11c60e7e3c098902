// Steps along the valleys of the model.
#ifndef TESS_XPCS_FIT_CURVE_H
#define TESS_XPCS_FIT_CURVE_H

#include "systems/xpcs/fit/problem.h"

// A rate a t^e + o looks nearly the same as long as its value and its slope at the middle of the
// times do; in a, e and o that is a curve. x [n_free] + step, straight in those values instead; x
// [k] has its own step exactly, where k is not -1. Within the bounds.
void tess_xp_curve(const tess_xp_problem *problem, const double *x, const double *step, int64_t k,
                   double *out);

#endif
