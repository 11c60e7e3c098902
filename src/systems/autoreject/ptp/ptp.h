// Private types of peak-to-peak and simulation.
#ifndef TESS_SYSTEMS_AUTOREJECT_PTP_H
#define TESS_SYSTEMS_AUTOREJECT_PTP_H

#include "runtime/plan.h"
#include "tessera/autoreject/ptp.h"

// What a ptp plan keeps.
typedef struct ptp_settings {
    int32_t nonfinite; // tess_autoreject_nonfinite
    int32_t reserved;
} ptp_settings;

extern const tess_plan_ops tess_ar_ptp_ops;
extern const tess_plan_ops tess_ar_simulate_ops;

// check.c: everything that can be wrong with what a caller gives.
TESS_MUST_CHECK tess_status tess_ar_check_epochs(const tess_array *x, const char *name);
TESS_MUST_CHECK tess_status tess_ar_check_ptp_out(const tess_array *x, const tess_array *out);
TESS_MUST_CHECK tess_status tess_ar_check_ptp_config(const tess_autoreject_ptp_config *given,
                                                     tess_autoreject_ptp_config *config);
TESS_MUST_CHECK tess_status tess_ar_check_simulate_config(
    const tess_autoreject_simulate_config *given, tess_autoreject_simulate_config *config);

// First epoch and channel whose peak-to-peak is not finite, as TESS_E_NUMERIC; TESS_OK if none.
TESS_MUST_CHECK tess_status tess_ar_check_finite(const void *ptp, tess_dtype dtype,
                                                 int64_t first_epoch, int64_t n_epoch,
                                                 int64_t n_chan);

// run.c: starts the stage over one array the device can reach.
TESS_MUST_CHECK tess_status tess_ar_ptp_stage(tess_device *device, const tess_array *x, void *out);

#endif
