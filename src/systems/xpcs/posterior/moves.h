// Draws by a surrogate of the posterior: it proposes, all data accept.
//
// After the warm-up a polynomial is fitted to what the chains saw of the density. Paths of NUTS on
// it cost nothing; where one ends, one evaluation of the density decides by the ratio of both
// densities whether the chain goes there. Paths are reversible for the surrogate, so that the draws
// are the posterior's, however good it is; how good it is decides how many are accepted.
#ifndef TESS_XPCS_POSTERIOR_MOVES_H
#define TESS_XPCS_POSTERIOR_MOVES_H

#include "systems/xpcs/posterior/sample.h"

// Room, if the options want a surrogate at all.
TESS_MUST_CHECK tess_status tess_xp_moves_open(tess_xp_sampler *sampler);
// Draw of the warm-up of a chain, which may be remembered.
void tess_xp_moves_see(tess_xp_sampler *sampler, int64_t chain);
// All chains have warmed up: fits the surrogate. False where NUTS goes on instead.
bool tess_xp_moves_begin(tess_xp_sampler *sampler);
// A draw of every chain.
TESS_MUST_CHECK tess_status tess_xp_moves_round(tess_xp_sampler *sampler);

#endif
