// Autoreject's names for running stages (runtime/run_stage.h).
#ifndef TESS_AUTOREJECT_RUN_STAGE_H
#define TESS_AUTOREJECT_RUN_STAGE_H

#include "runtime/run_stage.h"

#define tess_ar_run_stage tess_run_stage

// what: "fit", for the message.
static inline TESS_MUST_CHECK tess_status tess_ar_check_device(tess_context *ctx, const char *what)
{
    return tess_run_check_device(ctx, "autoreject", what);
}

#endif
