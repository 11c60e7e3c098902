// The fit as a machine: its state says where the next pass goes, and the sums of a pass lead to the
// next state. The state is one block of plain bytes, so that a checkpoint between two passes, or in
// the middle of one together with the sums so far, continues to the bit.
//
// Large data are looked at in part first: guesses, screens and the steps of a fit far from its
// minimum take a few per cent of the leaves, spread evenly. Every result comes from all points.
//
//   guess      costs of the starts that compete where none was given
//   screen     costs of a Latin hypercube, of which the best are fitted
//   fit        trust-region steps from each start in turn, in mixed precision first if asked for
//   refine     the best minima again with tight tolerances
//   robust     the same with a robust loss, contrast and offset as parameters, from the best
//   finish     Gauss-Newton steps until what is left is far below the errors; the last pass has the
//              exact contrasts, for the covariance
//   bootstrap  fits to resampled frames from the optimum
#ifndef TESS_XPCS_FIT_ENGINE_H
#define TESS_XPCS_FIT_ENGINE_H

#include "systems/xpcs/fit/step.h"

TESS_MUST_CHECK tess_status tess_xp_engine_create(tess_context *ctx, tess_xp_problem *problem,
                                                  tess_xp_pass *pass, tess_xp_engine *engine);
void tess_xp_engine_destroy(tess_xp_engine *engine);
// The state of a fit that has not begun. Looks at the data where no start was given.
TESS_MUST_CHECK tess_status tess_xp_engine_begin(tess_xp_engine *engine);
// From the state as it is to its end.
TESS_MUST_CHECK tess_status tess_xp_engine_run(tess_xp_engine *engine);
// How much of the fit is done, 0 to 1: a guess, since nobody knows how many passes are left.
double tess_xp_engine_done(const tess_xp_engine *engine);

#endif
