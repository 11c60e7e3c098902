// One tile of a sum of products, as systems describe it and kernels carry it out.
#ifndef TESS_BASE_TILE_SUM_H
#define TESS_BASE_TILE_SUM_H

#include <stdint.h>

// out[r][j] = sum over k < n_term of w[r][k] * x[k][j],   r < n_row, j < n. Offsets and steps are
// in items of the arrays w, x and out that the tiles of one pass share. A Toeplitz matrix needs no
// copy of its rows: a step of -1 slides along its generator.
typedef struct tess_tile_sum {
    int64_t w;
    int64_t x;
    int64_t out;
    int32_t w_row;
    int32_t w_term;
    int32_t x_term;
    int32_t out_row;
    int32_t n_term;
    int32_t n_row; // 1..8
    int32_t n;
    int32_t add; // 1: onto what out holds
} tess_tile_sum;

// Cells behind a run of bins that can be written, and eight more behind the last of all.
enum { TESS_RUN_GAP = 8 };

// Bins that follow each other among all bins and among the cells of a grid.
typedef struct tess_tile_run {
    int32_t bin;
    int32_t cell;
    int32_t n;
} tess_tile_run;

#endif
