// Stage of decode's clusterless mixtures: log intensities of marks at every bin.
#ifndef TESS_STAGE_DECODE_GMM_H
#define TESS_STAGE_DECODE_GMM_H

#include "base/gmm_values.h"

enum { TESS_STAGE_DECODE_GMM = 0x0130 };

// values[s][p] = max(log_rate + log sum_c N_c(mark_s, centre_p) - log_occupancy[p], floor); a
// mark's values do not depend on the others.
typedef struct tess_stage_decode_gmm {
    tess_gmm_bins bins;
    int64_t n_spike;
    const double *marks; // [n_spike][n_feature]
    double *values;      // [n_spike][n_bin] out
    int64_t *n_floored;  // [n_spike] out: bins on the floor
} tess_stage_decode_gmm;

#endif
