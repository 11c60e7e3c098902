// The stage that fills autoreject's store where it keeps the predictions as well: for devices that
// share the host's memory.
#ifndef TESS_STAGE_AUTOREJECT_INTAKE_H
#define TESS_STAGE_AUTOREJECT_INTAKE_H

#include "stage/autoreject_local.h"

enum {
    TESS_STAGE_AUTOREJECT_INTAKE_KEPT = 0x0432,
};

// predicted  out  f64, what w predicts, laid out as the tiles of the intake
typedef struct tess_stage_autoreject_intake_kept {
    tess_stage_autoreject_intake intake;
    double *predicted;
} tess_stage_autoreject_intake_kept;

#endif
