// Whether straight error bars hold: the profile of data without noise, on a sketch.
#ifndef TESS_XPCS_FIT_BEND_H
#define TESS_XPCS_FIT_BEND_H

#include "systems/xpcs/fit/sketch.h"

// The minimum of a fit, contrast and offset [n_angle]. sd [n_param]: 0 where a parameter does not
// move.
typedef struct tess_xp_fitted_point {
    const double *theta;
    const double *contrast;
    const double *offset;
    const double *sd;
} tess_xp_fitted_point;

// is_bent [n_param]: an end of the 95 % interval lies elsewhere than the straight one by more than
// a tenth of its length, or cannot be found.
TESS_MUST_CHECK tess_status tess_xp_find_bends(tess_context *ctx, tess_device *device,
                                               tess_xp_problem *problem,
                                               const tess_xp_fitted_point *point, int32_t *is_bent);

#endif
