// What makes two runs of a plan the same computation.
#ifndef TESS_RUNTIME_RUN_IDENTITY_H
#define TESS_RUNTIME_RUN_IDENTITY_H

#include "runtime/identity.h"
#include "runtime/plan.h"

// fingerprint: of the source; zero without one.
void tess_run_identity_make(tess_context *ctx, const tess_plan *plan, tess_hash fingerprint,
                            tess_identity *id);

#endif
