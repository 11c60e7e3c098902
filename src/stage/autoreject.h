// Stages of autoreject: the contract between systems/autoreject and the backends.
#ifndef TESS_STAGE_AUTOREJECT_H
#define TESS_STAGE_AUTOREJECT_H

#include <stdint.h>

enum {
    TESS_STAGE_AUTOREJECT_PTP = 0x0401,
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

#endif
