// Stages of autoreject's store and local search.
#ifndef TESS_STAGE_AUTOREJECT_LOCAL_H
#define TESS_STAGE_AUTOREJECT_LOCAL_H

#include <stdint.h>

enum {
    TESS_STAGE_AUTOREJECT_SCATTER = 0x0430,
};

// Samples in tiles of 16: everything these stages work on.
enum { TESS_STAGE_AUTOREJECT_TILE = 16 };

// Rearranges epochs by tiles of time.
//
//   tiles[k * tile_stride + (e * n_chan + c) * 16 + i] = x[e][c][16 k + i], 0 from n_time on
//
// x      in   f64 [n_epoch][n_chan][n_time], C-contiguous
// tiles  out  f64, ceil(n_time / 16) tiles of [n_epoch][n_chan][16], tile_stride items apart
typedef struct tess_stage_autoreject_scatter {
    const double *x;
    double *tiles;
    int64_t n_epoch;
    int64_t n_chan;
    int64_t n_time;
    int64_t tile_stride;
} tess_stage_autoreject_scatter;

#endif
