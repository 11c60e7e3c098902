// Quantiles of more values than memory holds, exact, in a few passes over the data.
//
// Doubles order like integers after a twist of their bits. A pass counts the values of a window of
// such integers in bins; the bin of the wanted rank is the next window. Once it holds few values
// they are collected and sorted.
#ifndef TESS_XPCS_STORE_ORDER_H
#define TESS_XPCS_STORE_ORDER_H

#include "systems/xpcs/store/scan.h"

// One quantile of one set of values of one angle.
typedef struct tess_xp_quantile {
    int64_t n;       // values of the set; 0: not wanted
    double fraction; // 0..1
    double low;      // no value is below
    double high;     // nor above
    double value;    // result: interpolated linearly as NumPy does
} tess_xp_quantile;

// Values of set number s of an angle in one tile, out [RUN], and how many; the same in every pass,
// no NaN.
typedef int64_t (*tess_xp_values)(const void *self, int64_t angle, int64_t set,
                                  const tess_xp_tile *tile, const double *y, double *out);

// quantiles [n_angle][n_set]: those of angles that are dealt to others are not wanted.
TESS_MUST_CHECK tess_status tess_xp_order(tess_context *ctx, tess_xpcs_data *data,
                                          tess_comm_deal angles, const char *stage, int64_t n_set,
                                          tess_xp_values values, const void *self,
                                          tess_xp_quantile *quantiles);

// Memory of so many quantiles at a time, besides that of a scan.
uint64_t tess_xp_order_bytes(int64_t n_search);

// a at position 0 and b at 1, as NumPy interpolates.
double tess_xp_lerp(double a, double b, double t);

#endif
