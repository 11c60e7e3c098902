// What a user should know of a fit: did it end well, can it be trusted, what to do if not.
#ifndef TESS_XPCS_FIT_QUALITY_H
#define TESS_XPCS_FIT_QUALITY_H

#include "systems/xpcs/fit/result.h"
#include "systems/xpcs/fit/step.h"

// Convergence, quality, message and recovery of the result, which is complete otherwise; warnings
// go to the problem.
TESS_MUST_CHECK tess_status tess_xp_quality_judge(const tess_xp_engine *engine,
                                                  tess_xpcs_result *result);
// What the reduced chi2 alone says, a tess_xpcs_quality.
int32_t tess_xp_quality_of_chi2(double reduced_chi2);
// Of two components: f0 and f2, exchanged components.
void tess_xp_quality_two(const tess_xp_engine *engine, const tess_xpcs_result *result);

#endif
