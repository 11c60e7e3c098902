// Repairs samples in place.
#ifndef TESS_AUTOREJECT_APPLY_H
#define TESS_AUTOREJECT_APPLY_H

#include "runtime/watch.h"
#include "systems/autoreject/interpolation/repair.h"

typedef struct tess_ar_samples {
    tess_device *device; // that works on x, where x lies: a few rows of samples of the host are not
                         // worth the way to a GPU
    double *x;           // [n_epoch][.][width], last axis contiguous, strides in items
    int64_t n_epoch;
    int64_t width;
    int64_t stride_epoch;
    int64_t stride_chan;
    const uint8_t *bad;  // [n_epoch][.] by the same channels; not 0: predict
    int64_t stride_bad;  // from epoch to epoch
    const int32_t *rows; // [n] which channel of x and bad is channel i of the repairer
    int64_t n;           // of the repairer
    int64_t first_epoch; // added to numbers of epochs in messages
} tess_ar_samples;

// Every epoch by itself, from the channels of the repairer that are not bad in it. progress counts
// epochs up to total, done of which came before; NULL: none. TESS_E_NUMERIC for an epoch in which
// all of them are.
TESS_MUST_CHECK tess_status tess_ar_repair_samples(tess_context *ctx, tess_ar_repairer *repairer,
                                                   const tess_ar_samples *samples,
                                                   tess_watch *progress, int64_t done,
                                                   int64_t total);

#endif
