// Where tiles lie: rows and runs from their numbers in closed form, without a search.
#ifndef TESS_CUDA_XPCS_TILES_H
#define TESS_CUDA_XPCS_TILES_H

#include "stage/xpcs.h"

#include <cmath>
#include <cuda_runtime.h>

struct xp_tile {
    int row;
    int run;
    int column; // first
    int n_column;
    int width; // padded
};

// Tiles of rows of 1..m columns.
__host__ __device__ inline uint32_t xp_tiles_of(uint32_t m)
{
    const uint32_t full = m / TESS_STAGE_XPCS_RUN, rest = m % TESS_STAGE_XPCS_RUN;
    return TESS_STAGE_XPCS_RUN / 2 * full * (full + 1) + rest * (full + 1);
}

__host__ __device__ inline void xp_set_columns(int64_t n_frame, xp_tile *tile)
{
    const int left = int(n_frame) - (tile->row + 1 + tile->run * TESS_STAGE_XPCS_RUN);
    tile->column = int(n_frame) - left;
    tile->n_column = left < TESS_STAGE_XPCS_RUN ? left : int(TESS_STAGE_XPCS_RUN);
    tile->width =
        (tile->n_column + TESS_STAGE_XPCS_PAD - 1) / TESS_STAGE_XPCS_PAD * TESS_STAGE_XPCS_PAD;
}

// The tile from which so many, itself included, are left: they are numbered from the longest row.
// A matrix of 200 000 frames has 8e7 of them: 32 bits do, whose division is short.
__host__ __device__ inline xp_tile xp_tile_at(int64_t n_frame, uint32_t left)
{
    constexpr uint32_t half = TESS_STAGE_XPCS_RUN / 2;
    uint32_t full = uint32_t((sqrtf(1 + float(left) / (half / 4)) - 1) / 2);
    while (full > 0 && half * full * (full + 1) >= left) {
        full--;
    }
    while (half * (full + 1) * (full + 2) < left) {
        full++;
    }
    const uint32_t rest = left - half * full * (full + 1);
    const uint32_t m = TESS_STAGE_XPCS_RUN * full + (rest + full) / (full + 1);
    xp_tile tile;
    tile.row = int(n_frame - 1 - m);
    tile.run = int(xp_tiles_of(m) - left);
    xp_set_columns(n_frame, &tile);
    return tile;
}

// The one behind a tile; none is behind the last.
__device__ inline xp_tile xp_tile_after(int64_t n_frame, xp_tile tile)
{
    if (tile.column + tile.n_column < n_frame) {
        tile.run++;
    } else {
        tile.row++;
        tile.run = 0;
    }
    xp_set_columns(n_frame, &tile);
    return tile;
}

// Bytes of a record of RUN columns.
__host__ __device__ inline int64_t xp_record_bytes(int64_t n_angle, int item_bytes, int has_sigma)
{
    const int64_t bytes = n_angle * (TESS_STAGE_XPCS_HEAD * int64_t(sizeof(double)) +
                                     TESS_STAGE_XPCS_RUN * (item_bytes + (has_sigma ? 8 : 0)));
    return (bytes + 63) / 64 * 64;
}

// Where a tile's record begins, counted from the first of all.
__device__ inline int64_t xp_record_at(const int64_t *row_offset, int row, int run,
                                       int64_t full_bytes)
{
    return row_offset[row] + run * full_bytes;
}

#endif
