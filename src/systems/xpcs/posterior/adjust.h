// A likelihood flattened to errors that are larger than its own.
//
// Points that share a frame have correlated noise, which the likelihood of independent points does
// not know: it rises too steeply to the right place. With the information H that it claims and the
// precision P that its maximum has, d the distance from there in coordinates,
//
//   l(u) -> l(u0) + (d' P d) / (d' H d) (l(u) - l(u0))
//
// has the curvature P at u0 and the hills, bounds and level lines along any direction that l has
// (R. E. Chandler, S. Bate, Biometrika 94, 2007).
#ifndef TESS_XPCS_POSTERIOR_ADJUST_H
#define TESS_XPCS_POSTERIOR_ADJUST_H

#include "systems/xpcs/posterior/coords.h"

typedef struct tess_xp_adjust {
    int32_t is_on;
    int32_t is_bare; // evaluations are of the likelihood as it was, without priors
    int64_t n;       // coordinates but that of the noise
    double u[TESS_XP_MAX_COORD];
    double theta[TESS_XPCS_MAX_PARAM];                             // there
    double noisy[TESS_XPCS_MAX_PARAM * TESS_XPCS_MAX_PARAM];       // lower root of P^-1
    double independent[TESS_XPCS_MAX_PARAM * TESS_XPCS_MAX_PARAM]; // and of H^-1
    double *sums;                                                  // of a pass at u
} tess_xp_adjust;

// Roots from covariances [n][n], whose lower triangles are read. False: they have none.
bool tess_xp_adjust_set(tess_xp_adjust *adjust, int64_t n, const double *noisy,
                        const double *independent);
// Flattens the likelihood of value, at coordinates u with noise s. slope [n]: what is left to add
// to the gradient by the coordinates.
void tess_xp_adjust_apply(const tess_xp_adjust *adjust, const tess_xp_density *density,
                          const double *u, double s, tess_xp_density_value *value, double *slope);

#endif
