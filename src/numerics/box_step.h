// The best step of a quadratic model within bounds.
#ifndef TESS_NUMERICS_BOX_STEP_H
#define TESS_NUMERICS_BOX_STEP_H

#include <stdint.h>

// From x [n] with gradient g and symmetric hessian [n][n], by active sets: step [n] stays within
// the bounds. Parameters of is_held (NULL: none) do not move. work [n (n + 4)]. Returns by how much
// the model falls, g step + step hessian step / 2 with its sign turned; NaN where the matrix of
// what is free is not positive definite.
double tess_box_step(int64_t n, const double *gradient, const double *hessian, const double *x,
                     const double *lower, const double *upper, const uint8_t *is_held, double *step,
                     double *work);

#endif
