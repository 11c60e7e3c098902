// Stage of decode's local likelihood: a Gaussian sum over an electrode's spikes at single points.
#ifndef TESS_STAGE_DECODE_JOINT_H
#define TESS_STAGE_DECODE_JOINT_H

#include <stdint.h>

enum {
    TESS_STAGE_DECODE_JOINT = 0x0120,
};

// out[j] = log sum_i exp(bias_i - |x_i - y_j|^2), -inf if every bias is
//
// x     in   dtype [n_dim][n], coordinates divided by sqrt(2) bandwidths
// bias  in   dtype [n] log weights, or NULL: all 0
// y     in   dtype [n_y][n_dim]
// out   out  f64 [n_y]
typedef struct tess_stage_decode_joint {
    const void *x;
    const void *bias;
    const void *y;
    double *out;
    int64_t n; // >= 1
    int64_t n_dim;
    int64_t n_y;
    int32_t dtype; // TESS_F32 or TESS_F64
    int32_t reserved;
} tess_stage_decode_joint;

#endif
