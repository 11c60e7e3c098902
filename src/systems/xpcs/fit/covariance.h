// Errors of contrasts, offsets and physical parameters together.
#ifndef TESS_XPCS_FIT_COVARIANCE_H
#define TESS_XPCS_FIT_COVARIANCE_H

#include "systems/xpcs/fit/result.h"
#include "systems/xpcs/fit/step.h"

// From the last pass of a fit: statuses, covariance and correlation, standard deviations and
// condition of the result, whose chi2 and dof are known.
TESS_MUST_CHECK tess_status tess_xp_covariance_fill(const tess_xp_engine *engine,
                                                    tess_xpcs_result *result);

// From the covariance and the statuses: infinite where nothing is known, then deviations and
// correlations.
void tess_xp_covariance_conclude(tess_xpcs_result *result);

// Free, or at one of its bounds.
int32_t tess_xp_status_of(double x, double lower, double upper);

// Inverse [n][n] of a symmetric matrix that should be positive definite, by its eigenvectors after
// scaling to a unit diagonal, without the directions that cannot be told: errors of parameters that
// have no part in these hold whatever the others are; the others are marked. matrix is used up;
// work [n (3 n + 4)]. Returns the condition of the scaled matrix, of what can be told.
double tess_xp_invert(double *matrix, int64_t n, double *inverse, uint8_t *is_lost, double *work);

#endif
