// Stages of autoreject: the contract between systems/autoreject and the backends.
#ifndef TESS_STAGE_AUTOREJECT_H
#define TESS_STAGE_AUTOREJECT_H

#include <stdint.h>

enum {
    TESS_STAGE_AUTOREJECT_PTP = 0x0401,
    TESS_STAGE_AUTOREJECT_VOTES = 0x0402,
};

// Peak-to-peak of every row of a tile.
//
//   out[e][c] = max_t x[e][c][t] - min_t x[e][c][t];  NaN anywhere in a row makes it NaN.
//
// x    in   dtype [n_epoch][n_chan][n_time], last axis contiguous, strides in items
// out  out  dtype [n_epoch][n_chan], C-contiguous
typedef struct tess_stage_autoreject_ptp {
    const void *x;
    void *out;
    int64_t n_epoch;
    int64_t n_chan;
    int64_t n_time;
    int64_t stride_epoch;
    int64_t stride_chan;
    int32_t dtype; // TESS_F32 or TESS_F64
    int32_t reserved;
} tess_stage_autoreject_ptp;

// Channels that vote against their epoch.
//
//   votes[e][c] = delta[e][c] > thresholds[c];  counts[e] = sum_c votes[e][c]
//
// delta       in   f64 [n_epoch][n_chan], rows stride_epoch items apart
// thresholds  in   f64 [n_chan]
// votes       out  i8 [n_epoch][n_chan], rows stride_epoch items apart too; 0 or 1
// counts      out  i64 [n_epoch]
typedef struct tess_stage_autoreject_votes {
    const double *delta;
    const double *thresholds;
    int8_t *votes;
    int64_t *counts;
    int64_t n_epoch;
    int64_t n_chan;
    int64_t stride_epoch;
} tess_stage_autoreject_votes;

#endif
