// What the kernels of autoreject's fit share: the tiles, and rows of them that are listed.
#ifndef TESS_CUDA_AUTOREJECT_TILE_H
#define TESS_CUDA_AUTOREJECT_TILE_H

#include <cstdint>

enum { TILE = 16, WARP = 32 };

constexpr unsigned every_lane = 0xffffffffu;

// The rows of one channel in one tile: row r is epoch r, or epoch r - n_epoch of augmented.
struct tile_rows {
    const double *x;
    const double *augmented;
    int64_t stride; // items from epoch to epoch
    int64_t augmented_stride;
    int n_epoch;
};

__device__ __forceinline__ const double *row_of(const tile_rows &rows, int r)
{
    return r < rows.n_epoch ? rows.x + r * rows.stride
                            : rows.augmented + (r - rows.n_epoch) * rows.augmented_stride;
}

#endif
