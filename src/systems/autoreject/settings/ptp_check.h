// Everything that can be wrong with what a caller of peak-to-peak and simulation gives.
#ifndef TESS_AUTOREJECT_PTP_CHECK_H
#define TESS_AUTOREJECT_PTP_CHECK_H

#include "tessera/autoreject/ptp.h"

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

#endif
