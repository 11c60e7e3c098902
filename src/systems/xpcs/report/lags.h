// What lies along the diagonals of an angle, or of all: means by lag, in bins that grow with it.
#ifndef TESS_XPCS_REPORT_LAGS_H
#define TESS_XPCS_REPORT_LAGS_H

#include "systems/xpcs/report/sweep.h"

enum { TESS_XP_LAG_BINS = 64 };

typedef struct tess_xp_lag_curve {
    int64_t n;
    double tau[TESS_XP_LAG_BINS]; // s
    double measured[TESS_XP_LAG_BINS];
    double fitted[TESS_XP_LAG_BINS];
    double residual[TESS_XP_LAG_BINS]; // mean, in sigma of a point
    double rms[TESS_XP_LAG_BINS];      // of the residuals
    double scatter[TESS_XP_LAG_BINS];  // of the mean, were the points independent: 1 / sqrt(points)
} tess_xp_lag_curve;

// sums [n_frame] by lag.
void tess_xp_lag_bins(const tess_xp_sum *sums, int64_t n_frame, double dt_s,
                      tess_xp_lag_curve *out);

#endif
