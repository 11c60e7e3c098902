// The phases of a fit: what each makes of the sums of a pass. They call one way, from the search to
// the bootstrap. Profiles and the bootstrap go in lanes.
#ifndef TESS_XPCS_FIT_PHASES_H
#define TESS_XPCS_FIT_PHASES_H

#include "systems/xpcs/fit/step.h"

// search.c
TESS_MUST_CHECK tess_status tess_xp_search_begin(tess_xp_engine *engine);
TESS_MUST_CHECK tess_status tess_xp_search_costed(tess_xp_engine *engine);
TESS_MUST_CHECK tess_status tess_xp_search_fitted(tess_xp_engine *engine);
// finish.c
TESS_MUST_CHECK tess_status tess_xp_finish_begin(tess_xp_engine *engine);
TESS_MUST_CHECK tess_status tess_xp_finish_evaluated(tess_xp_engine *engine);
// intervals.c
TESS_MUST_CHECK tess_status tess_xp_intervals_begin(tess_xp_engine *engine);
TESS_MUST_CHECK tess_status tess_xp_intervals_evaluated(tess_xp_engine *engine);
// After a pass, when all its lanes were evaluated.
TESS_MUST_CHECK tess_status tess_xp_intervals_judge(tess_xp_engine *engine);
// bootstrap.c
TESS_MUST_CHECK tess_status tess_xp_bootstrap_begin(tess_xp_engine *engine);
TESS_MUST_CHECK tess_status tess_xp_bootstrap_fitted(tess_xp_engine *engine);
void tess_xp_bootstrap_weights(const tess_xp_problem *problem, int64_t replicate, double *weight);
void tess_xp_bootstrap_sd(const tess_xp_engine *engine, double *sd, int64_t *n_good);

#endif
