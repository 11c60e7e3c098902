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
//
// The rest is for devices with memory of their own, which take n_tile tiles, one after another,
// tile_stride items apart, and no folds:
//
// left          in   u64 [n_fold][(n_epoch + 63) / 64] bits in that order: those that do not train
// test_members  in   i32 epochs that test fold f: from test_first[f]
// train_members in   i32 epochs that train fold f: from first[f]
// medians       tmp  f64 [n_tile][n_chan][n_fold][16]
// errors        tmp  f64 [n_tile][n_chan][n_fold][most_train]
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
    const uint64_t *left;
    const int32_t *test_members;
    const int64_t *test_first;
    const int32_t *train_members;
    double *medians;
    double *errors;
    int64_t n_tile;
    int64_t tile_stride;
    int64_t n_error; // first[n_fold]
    int64_t most_test;
    int64_t most_train;
} tess_stage_autoreject_global;

#endif
