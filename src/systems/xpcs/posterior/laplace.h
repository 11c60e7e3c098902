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
void tess_xp_normal_covariance(const tess_xp_normal *normal, double *covariance);
// Log of the evidence that the normal stands for.
double tess_xp_normal_evidence(const tess_xp_normal *normal);
// The same as draws tell it: a likelihood that was flattened is no probability of the data, and
// NaN.
double tess_xp_told_evidence(const tess_xp_sampler *sampler, double evidence);

// --- top.c ---

// Where the priors pull the fit away, the top is looked for, from the fit and from the priors'
// middle: chains that begin at such a fit may never come to where the posterior is. Coordinates
// bend with what is found. Nothing is done where the priors have no say.
TESS_MUST_CHECK tess_status tess_xp_top_find(tess_xp_sampler *sampler, tess_xp_normal *room);

// Draws of the posterior by importance from the normal at the top near the fit.
TESS_MUST_CHECK tess_status tess_xp_sampler_laplace(tess_xp_sampler *sampler);

#endif
