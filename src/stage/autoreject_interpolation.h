// Stages of autoreject's interpolation: the contract between systems/autoreject and the backends.
#ifndef TESS_STAGE_AUTOREJECT_INTERPOLATION_H
#define TESS_STAGE_AUTOREJECT_INTERPOLATION_H

#include <stdint.h>

enum {
    TESS_STAGE_AUTOREJECT_AUGMENT = 0x0420,
    TESS_STAGE_AUTOREJECT_REPAIR = 0x0421,
};

// The same weights for every epoch.
//
//   out[e][r][t] = sum_i w[r][i] x[e][i][t],  i in order
//
// w    in   f64 [n_row][n_chan], C-contiguous
// x    in   f64 [n_epoch][n_chan][width], last axis contiguous, strides in items
// out  out  f64 [n_epoch][n_row][width], last axis contiguous, strides in items; not x
typedef struct tess_stage_autoreject_augment {
    const double *w;
    const double *x;
    double *out;
    int64_t n_epoch;
    int64_t n_row;
    int64_t n_chan;
    int64_t width;
    int64_t stride_epoch;
    int64_t stride_chan;
    int64_t out_stride_epoch;
    int64_t out_stride_row;
} tess_stage_autoreject_augment;

// Weights of its own for every repair. Repair j predicts channels bad[first[j]..first[j+1]) of
// epoch epoch[j] from the channels that are not among them, whose samples are not read: NaN in a
// bad channel does no harm.
//
//   out[k][t] = sum_i w[k][i] x[epoch[j]][i][t],  k = first[j]..first[j+1]-1,  i in order
//
// epoch in   [n_repair] indices into x; NULL: 0, 1, ...
// first in   [n_repair + 1] ascending
// bad   in   [first[n_repair]] channels, ascending within a repair
// w     in   f64 [first[n_repair]][n_chan], C-contiguous
// x     inout f64 [.][n_chan][width], last axis contiguous, strides in items
// out   out  f64 [first[n_repair]][width], C-contiguous; NULL: the bad channels of x are
//            overwritten (an epoch must not be in two repairs then)
typedef struct tess_stage_autoreject_repair {
    const int64_t *epoch;
    const int64_t *first;
    const int32_t *bad;
    const double *w;
    double *x;
    double *out;
    int64_t n_repair;
    int64_t n_chan;
    int64_t width;
    int64_t stride_epoch;
    int64_t stride_chan;
} tess_stage_autoreject_repair;

#endif
