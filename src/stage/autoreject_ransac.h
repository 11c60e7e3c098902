// The stage of autoreject's RANSAC: the contract between systems/autoreject and the backends.
#ifndef TESS_STAGE_AUTOREJECT_RANSAC_H
#define TESS_STAGE_AUTOREJECT_RANSAC_H

#include "base/sorting_networks.h"

#include <stdint.h>

enum {
    TESS_STAGE_AUTOREJECT_RANSAC = 0x0440,
};

// How well channels agree with what subsets of them predict.
//
//   p[e][c][t] = median over r of sum_i w[r][c][i] x[e][from[r][i]][t],  i in order
//   out[e][c]  = sum_t x p / (sqrt(sum_t x^2) sqrt(sum_t p^2));  NaN for 0 / 0
//   power[e][c] = sum_t x^2;  not finite if a sample is not
//
// x     in   f64 [n_epoch][.][n_time], last axis contiguous, strides in items
// channels in [n_chan] rows of x that are channel 0, 1, ...; NULL: 0, 1, ...
// from  in   [n_resample][n_from] channels
// w     in   f64 [n_resample][n_chan][n_from]
// out, power  out  f64 [n_epoch][n_chan]
// packed tmp f64 [n_chan + 7][n_resample][n_from], for devices with memory of their own
typedef struct tess_stage_autoreject_ransac {
    const double *x;
    const int64_t *channels;
    const int32_t *from;
    const double *w;
    double *out;
    double *power;
    int64_t n_epoch;
    int64_t n_chan;
    int64_t n_time;
    int64_t n_resample;
    int64_t n_from;
    int64_t stride_epoch;
    int64_t stride_chan;
    double *packed;
} tess_stage_autoreject_ransac;

#endif
