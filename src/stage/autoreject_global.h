// The stage of autoreject's global threshold: the contract between systems/autoreject and the
// backends.
#ifndef TESS_STAGE_AUTOREJECT_GLOBAL_H
#define TESS_STAGE_AUTOREJECT_GLOBAL_H

#include <stdint.h>

enum {
    TESS_STAGE_AUTOREJECT_GLOBAL = 0x0441,
};

// What a tile of 16 samples adds to the squared errors of every fold.
//
// All channels share one order of the epochs; channels g n_chan / n_group up to those of g + 1 are
// added into row g of the errors, one after the other. With i_1, i_2, ... the epochs in that order
// that train fold f, and med the median of those that test it, or of those that train it,
//
//   errors[g][first[f] + k-1] += sum_t ((x_{i_1} + ... + x_{i_k})[t] / k - med[t])^2
//
// x          in     f64 [n_epoch][n_chan][16], C-contiguous
// order      in     [n_epoch] epochs
// folds      in     [n_fold][n_epoch] in that order: 1 trains, 2 tests, 0 neither
// first      in     [n_fold + 1] 0, then the running number of epochs that train
// inverse    in     f64 [n_epoch] 1, 1/2, 1/3 ...
// test       inout  f64 [n_group][first[n_fold]], against the median of those that test
// train      inout  the same against the median of those that train; NULL: not wanted
typedef struct tess_stage_autoreject_global {
    const double *x;
    const int32_t *order;
    const uint8_t *folds;
    const int64_t *first;
    const double *inverse;
    double *test;
    double *train;
    int64_t n_epoch;
    int64_t n_chan;
    int64_t n_fold;
    int64_t n_group;
} tess_stage_autoreject_global;

#endif
