// The standard deviation that the fit took for a point.
#ifndef TESS_XPCS_RESULT_NOISE_H
#define TESS_XPCS_RESULT_NOISE_H

#include "systems/xpcs/store/store.h"
#include "tessera/xpcs/result.h"

typedef struct tess_xp_noise {
    const tess_xpcs_result_info *info;
    tess_xpcs_data *data;
    double *per_lag;  // [n_angle][n_frame]; NULL: not by lag
    bool has_dataset; // of every point, with the data
} tess_xp_noise;

// Looks at the data where sigma was estimated by lag.
TESS_MUST_CHECK tess_status tess_xp_noise_open(const tess_xpcs_result_info *info,
                                               tess_xpcs_data *data, tess_xp_noise *out);
// Safe on a zeroed struct.
void tess_xp_noise_close(tess_xp_noise *noise);

// By lag [n_frame] of an angle; NULL: the same for all, or of every point.
const double *tess_xp_noise_lags(const tess_xp_noise *noise, int64_t angle);
// Of rows first..first+count-1, sigma [count][n_frame]; on the diagonal that of its neighbours, or
// NaN.
TESS_MUST_CHECK tess_status tess_xp_noise_rows(const tess_xp_noise *noise, int64_t angle,
                                               int64_t first, int64_t count, double *sigma);

#endif
