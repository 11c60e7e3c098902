// How many values there are at each lag, and which lags are short and long.
#ifndef TESS_XPCS_STORE_LAGS_H
#define TESS_XPCS_STORE_LAGS_H

#include "systems/xpcs/store/store.h"

typedef struct tess_xp_lags {
    int64_t n_angle;
    int64_t n_frame;
    int32_t *n_value; // [n_angle][n_frame] finite values by j - i
    int32_t *n_step;  // [n_angle][n_frame] neighbours in a tile's row, both finite, by the lesser
    double *least;    // [n_angle] of all values
    double *largest;
} tess_xp_lags;

// One pass over the data; nothing of angles that are dealt to others.
TESS_MUST_CHECK tess_status tess_xp_lags_count(tess_context *ctx, tess_xpcs_data *data,
                                               tess_comm_deal angles, tess_xp_lags *out);
// Memory of the counts, n_angle and n_frame given.
size_t tess_xp_lags_bytes(const tess_xp_lags *lags);
void tess_xp_lags_destroy(tess_context *ctx, tess_xp_lags *lags);

// The lag below which a fraction of counts [n_frame] lie, interpolated as NumPy does. n: their sum,
// above 0.
double tess_xp_lag_quantile(const int32_t *counts, int64_t n_frame, int64_t n, double fraction);
// The sum of counts of lags first..last.
int64_t tess_xp_lag_sum(const int32_t *counts, int64_t first, int64_t last);

#endif
