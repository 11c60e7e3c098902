// What the files of a pass on the GPU share: the kernel's arguments and the shape of its blocks.
//
// A part is a few tiles of a leaf at up to 48 angles: the work of one block. Sums of parts are
// added into leaves in their order, so that bits depend on the shape of the data alone.
#ifndef TESS_CUDA_XPCS_PASS_H
#define TESS_CUDA_XPCS_PASS_H

#include "stage/xpcs.h"

#include <cuda_runtime.h>

enum {
    xp_run = TESS_STAGE_XPCS_RUN,
    xp_part_tiles = 2,
    xp_leaf_parts = TESS_STAGE_XPCS_LEAF / xp_part_tiles,
    xp_block_angles = 48, // most of a block
    xp_launch_sets = 16,  // whose grids fit a kernel's arguments
    xp_max_warps = 6,
};

enum xp_weighing { XP_PLAIN = 0, XP_WEIGHTED = 1, XP_ROBUST = 2 };

struct xp_pass {
    const double *grid[xp_launch_sets][8]; // C_D, by D0, alpha, D_offset; C_G
                                           // likewise. Of two components the first is all
    double eps[xp_launch_sets];
    const tess_xp_angle *angles; // [n_set][n_angle], of the launch's first set
    const int64_t *row_offset;
    const unsigned char *records;
    const double *lag_weight;
    const double *frame_weight; // [n_set][n_frame], of the launch's first set
    double *partial;            // [n_set][n_leaf][xp_leaf_parts][n_partial]
    int64_t n_partial;          // n_angle (6 + 3 p), then p (p + 1) / 2 + 1 of every round
    int64_t first_tile;         // whose record is the first
    int32_t first_row;          // where it lies
    int32_t first_run;
    int64_t n_tile; // of the matrix
    int64_t n_frame;
    int64_t n_leaf;
    int64_t first_leaf; // of a part of all leaves: of every period the first group
    int64_t group;
    int64_t period;    // 0: leaves follow each other
    int32_t first_set; // of the launch, in partial
    int32_t n_angle;
    int32_t round_angles; // of a block; a multiple of 8 but for the last block
    int32_t item_bytes;
    int32_t has_sigma; // records have a sd plane
    int32_t use_sigma; // and it counts
    int32_t power;
    int32_t loss;
    double f_scale;
};

// grid: parts, rounds of angles, sets. want is 0 (cost), 1 (and gradient) or 2 (and Hessian).
cudaError_t xp_launch_static(cudaStream_t stream, dim3 blocks, int warps, const xp_pass &a,
                             int want, xp_weighing weighing);
cudaError_t xp_launch_laminar(cudaStream_t stream, dim3 blocks, int warps, const xp_pass &a,
                              int want, xp_weighing weighing);
cudaError_t xp_launch_mixed(cudaStream_t stream, dim3 blocks, int warps, const xp_pass &a, int want,
                            xp_weighing weighing);
// Blocks of all warps, whatever the number of angles.
cudaError_t xp_launch_two(cudaStream_t stream, dim3 blocks, const xp_pass &a, int want,
                          xp_weighing weighing);

#endif
