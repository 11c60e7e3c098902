// Stages of autoreject's threshold search: the contract between systems/autoreject and the
// backends.
#ifndef TESS_STAGE_AUTOREJECT_THRESHOLD_H
#define TESS_STAGE_AUTOREJECT_THRESHOLD_H

#include <stdint.h>

enum {
    TESS_STAGE_AUTOREJECT_CURVE = 0x0410,
};

// What tiles of 16 samples, one after another, add to the squared errors of every split of every
// channel.
//
// The rows of a channel are its samples in the n_epoch epochs and, with augmented, as many
// predicted ones: row r is epoch r, or epoch r - n_epoch of augmented. In the order of their
// peak-to-peak, with the rows of split s that train it being i_1, i_2, ... and med the median of
// those that validate it,
//
//   sse[c][s][k-1] += sum_t ((x_{i_1} + ... + x_{i_k})[t] / k - med[t])^2,   k = 1..n_train
//
// x          in     f64 [n_tile][n_epoch][.][16], strides in items
// augmented  in     f64 likewise with strides of its own; NULL: none
// order      in     i32 [n_chan][n_row] rows by rising peak-to-peak
// validation in     u64 [n_chan][n_split][(n_row + 63) / 64]: bit i % 64 of word i / 64 is set if
//                   the i-th row in that order validates
// inverse    in     f64 [n_train] 1, 1/2, 1/3 ...
// sse        inout  f64 [n_chan][n_split][n_train]
//
// The curves of neighbouring channels, in validation and sse, are stride_curves >= n_split apart.
//
// The rest is for devices with memory of their own:
//
// members    in     i32 [n_split][n_row - n_train] rows that validate, in any order
// member_first in   [n_split + 1] where those of a split begin
// medians    tmp    f64 [n_tile][n_chan][n_split][16]
// errors     tmp    f64 [n_tile][n_chan][n_split][n_train]
typedef struct tess_stage_autoreject_curve {
    const double *x;
    const double *augmented;
    const int32_t *order;
    const uint64_t *validation;
    const double *inverse;
    double *sse;
    int64_t n_tile;
    int64_t n_epoch;
    int64_t n_row; // n_epoch, or twice that
    int64_t n_chan;
    int64_t n_split;
    int64_t n_train;
    int64_t stride_tile;
    int64_t stride_epoch;
    int64_t stride_chan;
    int64_t augmented_stride_tile;
    int64_t augmented_stride_epoch;
    int64_t augmented_stride_chan;
    int64_t stride_curves;
    const int32_t *members;
    const int64_t *member_first;
    double *medians;
    double *errors;
    int32_t is_fresh; // 1: sse is written, not added to
    int32_t reserved;
} tess_stage_autoreject_curve;

#endif
