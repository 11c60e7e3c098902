// Private types of peak-to-peak.
#ifndef TESS_SYSTEMS_AUTOREJECT_PTP_H
#define TESS_SYSTEMS_AUTOREJECT_PTP_H

#include "runtime/plan.h"
#include "systems/autoreject/settings/ptp_check.h"
#include "tessera/autoreject/ptp.h"

// What a ptp plan keeps.
typedef struct ptp_settings {
    int32_t nonfinite; // tess_autoreject_nonfinite
    int32_t reserved;
} ptp_settings;

extern const tess_plan_ops tess_ar_ptp_ops;

// run.c: starts the stage over one array the device can reach.
TESS_MUST_CHECK tess_status tess_ar_ptp_stage(tess_device *device, const tess_array *x, void *out);

#endif
