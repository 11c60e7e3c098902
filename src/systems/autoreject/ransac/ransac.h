// RANSAC: what its files share.
#ifndef TESS_AUTOREJECT_RANSAC_H
#define TESS_AUTOREJECT_RANSAC_H

#include "systems/autoreject/epochs/epochs.h"
#include "tessera/autoreject/ransac.h"

typedef struct ransac {
    tess_context *ctx;
    tess_device *device;
    tess_autoreject_epochs *epochs;
    const int64_t *channels; // [n_chan] of the epochs
    int64_t n_chan;
    int64_t n_from; // channels in a subset
    tess_autoreject_ransac_config config;
    int32_t *subsets; // [n_resample][n_from] among channels
    double *mappings; // [n_resample][n_chan][n_from]
    size_t subsets_bytes;
    size_t mappings_bytes;
} ransac;

// check.c: config and channels; fills everything but subsets and mappings.
TESS_MUST_CHECK tess_status tess_ar_ransac_check(tess_context *ctx, tess_autoreject_epochs *epochs,
                                                 const int64_t *channels, int64_t n_chan,
                                                 const tess_autoreject_ransac_config *given,
                                                 ransac *r);

// subsets.c: draws the subsets and makes their weights.
TESS_MUST_CHECK tess_status tess_ar_ransac_prepare(ransac *r);
void tess_ar_ransac_release(ransac *r);

// correlate.c: goes through the epochs; result's arrays but subsets and mappings.
TESS_MUST_CHECK tess_status tess_ar_ransac_correlate(ransac *r,
                                                     tess_autoreject_ransac_result *result);

#endif
