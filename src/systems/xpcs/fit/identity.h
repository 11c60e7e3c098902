// What tells a fit from others. Strategy, threads and chunks are left out: they change nothing.
#ifndef TESS_XPCS_FIT_IDENTITY_H
#define TESS_XPCS_FIT_IDENTITY_H

#include "runtime/identity.h"
#include "systems/xpcs/fit/problem.h"

// settings: 32 digits that stand for everything but the data. id is to be freed whatever comes
// back.
TESS_MUST_CHECK tess_status tess_xp_identity_make(const tess_device *device,
                                                  const tess_xp_problem *problem, tess_identity *id,
                                                  char settings[33]);

#endif
