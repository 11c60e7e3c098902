// Starts of two components.
#ifndef TESS_XPCS_FIT_START_TWO_H
#define TESS_XPCS_FIT_START_TWO_H

#include "systems/xpcs/fit/problem.h"

// Looks at part of the data: how fast they decay, and which velocity makes their fringes. Fills
// two_rate and two_velocity of the problem, whose points count and have contrasts.
TESS_MUST_CHECK tess_status tess_xp_two_look(tess_xp_problem *problem);
// What follows from that for every parameter, given starts and bounds aside.
void tess_xp_two_guess(const tess_xp_problem *problem, double *theta);
// theta holds numbers in 0..1 and becomes a start near the guess.
void tess_xp_two_place(const tess_xp_problem *problem, double *theta);
// The start in which reference and sample have changed places: the model is the same where 1 - fs
// can be written as fs.
void tess_xp_two_exchange(const tess_xp_problem *problem, const double *theta, double *out);
// Whether rates, velocity and fraction are nearly those of another point at all times: amplitude,
// exponent and offset may differ much where a rate hardly changes.
bool tess_xp_two_is_same(const tess_xp_problem *problem, const double *a, const double *b);

#endif
