// Inside the clusterless likelihood on CUDA: tiles of spikes, and the launches between them.
#ifndef TESS_CUDA_DECODE_KDE_H
#define TESS_CUDA_DECODE_KDE_H

#include "backend/cuda/decode/stages.h"
#include "stage/decode_likelihood.h"

// Spikes of a tile; all of one range. Arrays of a tile have them side by side.
constexpr int kde_tile_spikes = 128;

struct kde_tile {
    int64_t first; // spike of the range
    int32_t range;
    int32_t n;
};

// What the kernels of a slab of tiles share, by value.
struct kde_work {
    tess_kde_model model; // electrodes_there is the one to read
    const tess_kde_range *ranges;
    const kde_tile *tiles;
    tess_kde_counts *counts;
    int64_t n_place;  // of all places of the grid, or bins without one
    int64_t n_column; // moments of a cell with padding; bins without a grid
    int64_t n_cell;   // 1 without a grid
    int64_t n_value;  // padded values of axes[1]; 1 on a line
    float *x;         // [tile][max_feature][spikes] scaled marks
    float *moments;   // [tile][n_cell][n_column][spikes]
    float *partial;   // plane: [tile][rows][order][n_value][spikes]
    float *places;    // [tile][n_place][spikes]; without a grid the moments
    int64_t *anew;    // [spikes of the slab] tile * 128 + spike: those to be computed in f64
    unsigned *n_anew; // how many
};

// The electrode of a tile, and one of its spikes.
__device__ inline const tess_kde_electrode &kde_electrode_of(const kde_work &w, int64_t tile)
{
    return w.model.electrodes_there[w.ranges[w.tiles[tile].range].electrode];
}

// Each launches its kernels over n_tile tiles and returns the launch's error.
cudaError_t kde_launch_marks(cudaStream_t stream, const kde_work &w, int64_t n_tile);
cudaError_t kde_launch_moments(cudaStream_t stream, const kde_work &w, int64_t n_tile);
cudaError_t kde_launch_places(cudaStream_t stream, const kde_work &w, int64_t n_tile);
cudaError_t kde_launch_finish(cudaStream_t stream, const kde_work &w, int64_t n_tile);

// Values of all spikes of the tiles in f64, written as the model's type. is_listed: of the spikes
// listed in anew alone, and of those only values that are NaN.
cudaError_t kde_launch_exact(cudaStream_t stream, const kde_work &w, int64_t n_tile,
                             bool is_listed);

#endif
