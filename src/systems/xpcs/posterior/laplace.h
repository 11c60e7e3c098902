// A normal at a top of the posterior.
#ifndef TESS_XPCS_POSTERIOR_LAPLACE_H
#define TESS_XPCS_POSTERIOR_LAPLACE_H

#include "systems/xpcs/posterior/sample.h"

typedef struct tess_xp_normal {
    int64_t n;
    double u[TESS_XP_MAX_COORD];                        // the top, in coordinates
    double root[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD]; // lower, of the covariance
    double log_density;                                 // of the posterior at the top
    double log_determinant;                             // of the root
} tess_xp_normal;

// Climbs from the coordinates u. False in *is_found where there is no top with a covariance.
TESS_MUST_CHECK tess_status tess_xp_laplace_climb(tess_xp_sampler *sampler, const double *u,
                                                  tess_xp_normal *out, bool *is_found);
// x [n] = u + root z; returns the log density of the normal there.
double tess_xp_normal_draw(const tess_xp_normal *normal, const double *z, double *x);
// The log density of the normal at x.
double tess_xp_normal_at(const tess_xp_normal *normal, const double *x);
// Log of the evidence that the normal stands for.
double tess_xp_normal_evidence(const tess_xp_normal *normal);

// Draws of the posterior by importance from the normal at the top near the fit.
TESS_MUST_CHECK tess_status tess_xp_sampler_laplace(tess_xp_sampler *sampler);

#endif
