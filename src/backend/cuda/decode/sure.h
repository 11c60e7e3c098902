// What sums of a decoding spike f32 is sure of.
#ifndef TESS_CUDA_DECODE_SURE_H
#define TESS_CUDA_DECODE_SURE_H

#include "backend/cuda/decode/kde.h"

// Log of the least sum that is sure, of a spike whose first moments, or nodes, add up to total.
__device__ inline double kde_least_sure(const kde_work &w, const tess_kde_electrode &e,
                                        double total)
{
    // As on the CPU: sums below this many nats per unit of weight are not sure.
    constexpr double deepest = -52;
    const double least = deepest + log(e.total_weight);
    if (w.model.grid.n_dim == 0 || e.n_cell == 0) {
        return least;
    }
    const double by_depth = log(w.growth * total + e.far_weight) - w.model.grid.depth;
    return by_depth > least ? by_depth : least;
}

// Whether f32 can do a spike of this tile at all.
__device__ inline bool kde_is_within(const kde_work &w, const tess_kde_electrode &e, int64_t tile,
                                     int spike)
{
    bool within = w.has_nodes ? e.n_step > 0 : e.basis != nullptr;
    const float *x = w.x + tile * w.model.max_feature * kde_tile_spikes + spike;
    for (int64_t f = 0; f < e.n_feature; f++) {
        within = within && fabs(double(x[f * kde_tile_spikes])) <= w.model.mark_reach;
    }
    return within;
}

// Lists a spike with values to be computed anew, or counts its values at the floor.
__device__ inline void kde_count(const kde_work &w, int64_t spike_of_slab, int unsure,
                                 int64_t floored)
{
    if (unsure > 0) {
        w.anew[atomicAdd(w.n_anew, 1u)] = spike_of_slab;
        return;
    }
    auto *counts = reinterpret_cast<unsigned long long *>(w.counts);
    atomicAdd(counts, static_cast<unsigned long long>(floored));
    atomicAdd(counts + 1, static_cast<unsigned long long>(floored == w.model.n_bin));
}

#endif
