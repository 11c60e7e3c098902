// Runs that share passes over the data.
//
// Their number follows from the size of the problem alone, since they are part of the state; how
// many of them a pass takes is the plan's, and changes nothing that they find.
#ifndef TESS_XPCS_FIT_LANES_H
#define TESS_XPCS_FIT_LANES_H

#include "systems/xpcs/fit/step.h"

enum { TESS_XP_MAX_LANE = 16 };

// Binds the engine's parts to those of lane k, within lanes.
void tess_xp_lane_bind(tess_xp_engine *engine, int64_t k);
// The same, and the head has what it says of a run from there; leave() puts it back.
void tess_xp_lane_enter(tess_xp_engine *engine, int64_t k);
void tess_xp_lane_leave(tess_xp_engine *engine);
// All lanes without work, the first one at work on nothing.
void tess_xp_lanes_clear(tess_xp_engine *engine);
// Whether the phase has several.
bool tess_xp_has_lanes(const tess_xp_engine *engine);
// Lanes of the next pass, at most most, into list. Returns how many.
int64_t tess_xp_lanes_next(tess_xp_engine *engine, int64_t most, int64_t *list);
const tess_xp_lane *tess_xp_lane_at(const tess_xp_engine *engine, int64_t k);
// Bytes of a lane, for a problem's sizes as the engine has them.
size_t tess_xp_lane_size(const tess_xp_engine *engine);

#endif
