// Electrodes that are predicted from each other: the matrices of one group.
#ifndef TESS_AUTOREJECT_ELECTRODES_H
#define TESS_AUTOREJECT_ELECTRODES_H

#include "runtime/context.h"

typedef struct tess_ar_electrodes {
    tess_heap *heap;
    int64_t n;
    double *g; // [n][n], shifted as in spline.h
    double *h; // [n][n]
} tess_ar_electrodes;

// directions [n][3]. destroy() also after a failure.
TESS_MUST_CHECK tess_status tess_ar_electrodes_create(tess_context *ctx, const double *directions,
                                                      int64_t n, tess_ar_electrodes *e);
void tess_ar_electrodes_destroy(tess_ar_electrodes *e);

// R [n][n]: row c predicts channel c from all others.
void tess_ar_electrodes_leave_one_out(const tess_ar_electrodes *e, double *r);

// As tess_ar_repairer_weights() and _map().
size_t tess_ar_electrodes_scratch(const tess_ar_electrodes *e, int64_t n_bad);
TESS_MUST_CHECK tess_status tess_ar_electrodes_weights(const tess_ar_electrodes *e,
                                                       const int32_t *bad, int64_t n_bad,
                                                       double *scratch, double *weights);
size_t tess_ar_electrodes_map_scratch(const tess_ar_electrodes *e, int64_t n_from, int64_t n_to);
// to NULL: all n.
TESS_MUST_CHECK tess_status tess_ar_electrodes_map(const tess_ar_electrodes *e, const int32_t *from,
                                                   int64_t n_from, const int32_t *to, int64_t n_to,
                                                   double *scratch, double *weights);

#endif
