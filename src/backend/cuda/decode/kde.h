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
    bool has_nodes;        // n_cell nodes of one column instead of moments of cells
    tess_kde_axis axes[2]; // of the nodes or the grid
    double growth;         // total weight <= growth * sum of first moments, or of nodes
    int64_t n_place;       // of all places of the grid, or bins without one
    int64_t n_column;      // moments of a cell with padding; bins without a grid
    int64_t n_cell;        // 1 without a grid
    int64_t n_value;       // padded values of axes[1]; 1 on a line
    int64_t n_strip;       // of nodes
    float *x;              // [tile][max_feature][spikes] scaled marks
    float *moments;        // [tile][n_cell][n_column][spikes]
    float *totals;         // with nodes: [tile][n_strip][spikes] their sums
    float *partial;   // plane: [tile][rows][order][n_value][spikes]; with nodes as bins.cu has it
    float *places;    // [tile][n_place][spikes]; without a grid the moments
    int64_t *anew;    // [spikes of the slab] tile * 128 + spike: those to be computed in f64
    unsigned *n_anew; // how many
};

// The electrode of a tile, and one of its spikes.
__device__ inline const tess_kde_electrode &kde_electrode_of(const kde_work &w, int64_t tile)
{
    return w.model.electrodes_there[w.ranges[w.tiles[tile].range].electrode];
}

// Whether all electrodes that have spikes have so many features.
inline bool kde_all_have(const tess_kde_model &m, int64_t n_feature)
{
    for (int64_t e = 0; e < m.n_electrode; e++) {
        if (m.electrodes[e].n_spike > 0 && m.electrodes[e].n_feature != n_feature) {
            return false;
        }
    }
    return true;
}

// Whether this module has the instructions that kde_launch_spread needs; and into how many strips
// it cuts the nodes.
bool kde_has_spread();
int64_t kde_strips(const tess_kde_nodes &nodes);

// Each launches its kernels over n_tile tiles and returns the launch's error.
cudaError_t kde_launch_marks(cudaStream_t stream, const kde_work &w, int64_t n_tile);
cudaError_t kde_launch_moments(cudaStream_t stream, const kde_work &w, int64_t n_tile);
cudaError_t kde_launch_places(cudaStream_t stream, const kde_work &w, int64_t n_tile);
cudaError_t kde_launch_spread(cudaStream_t stream, const kde_work &w, int64_t n_tile);
cudaError_t kde_launch_bins(cudaStream_t stream, const kde_work &w, int64_t n_tile);
cudaError_t kde_launch_finish(cudaStream_t stream, const kde_work &w, int64_t n_tile);

// Values of all spikes of the tiles in f64, written as the model's type. is_listed: of the spikes
// listed in anew alone, and of those only values that are NaN.
cudaError_t kde_launch_exact(cudaStream_t stream, const kde_work &w, int64_t n_tile,
                             bool is_listed);

#endif
