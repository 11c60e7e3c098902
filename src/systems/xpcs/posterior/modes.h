// Hills of a posterior: found from the minima of the fit, and weighed by jumps between them.
//
// Chains walk within a hill. After every draw one jumps: to a point of the normals at all tops, by
// their evidence, accepted by the ratio of the density to that of the normals at both ends
// (Metropolis with independent proposals). That is exact, and where draws are then is what the
// hills weigh.
#ifndef TESS_XPCS_POSTERIOR_MODES_H
#define TESS_XPCS_POSTERIOR_MODES_H

#include "systems/xpcs/posterior/laplace.h"

typedef struct tess_xp_modes {
    int64_t n; // 0: not looked for
    tess_xp_normal at[TESS_XP_MAX_MODE];
    double log_weight[TESS_XP_MAX_MODE]; // normalised
} tess_xp_modes;

// Tops near all minima of the fit, the first that of the fit itself; those of no weight are left
// out. Nothing is looked for where there is one minimum or the options do not want it.
TESS_MUST_CHECK tess_status tess_xp_modes_find(tess_xp_sampler *sampler, tess_xp_modes *modes);
// A point x [coords.n] for draw number draw of a chain.
void tess_xp_modes_propose(const tess_xp_sampler *sampler, const tess_xp_modes *modes,
                           int64_t chain, int64_t draw, double *x);
// The log density of all normals together at x, and which hill it is in.
double tess_xp_modes_density(const tess_xp_modes *modes, const double *x, int64_t *which);
// Whether a jump is taken: log densities and those of the normals, from and to.
bool tess_xp_modes_accept(const tess_xp_sampler *sampler, int64_t chain, int64_t draw,
                          double log_ratio);
// Weights by the draws, and the tops, into the result.
void tess_xp_modes_tell(tess_xp_sampler *sampler, const tess_xp_modes *modes);

#endif
