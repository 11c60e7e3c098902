// Looks for all minima of a fit on a sketch of the data, before any pass over all of them.
#ifndef TESS_XPCS_FIT_SCOUT_H
#define TESS_XPCS_FIT_SCOUT_H

#include "systems/xpcs/fit/sketch.h"

enum { TESS_XP_MAX_MINIMA = 12 };

typedef struct tess_xp_minima {
    int64_t n;
    double theta[TESS_XP_MAX_MINIMA][TESS_XPCS_MAX_PARAM]; // the cheapest first
    double excess[TESS_XP_MAX_MINIMA];   // of chi2 over the first's, in units of chi2 per point
    int64_t n_start[TESS_XP_MAX_MINIMA]; // that ended there
} tess_xp_minima;

// starts [n_start][stride]: tried besides those of a Latin hypercube. What the sketch cannot tell
// from the best one is in minima, which may be none.
TESS_MUST_CHECK tess_status tess_xp_scout(tess_context *ctx, tess_device *device,
                                          tess_xp_problem *problem, const double *starts,
                                          int64_t n_start, int64_t stride, tess_xp_minima *minima);

#endif
