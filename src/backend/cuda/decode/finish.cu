// From sums to floored log intensities in f32; spikes that f32 cannot do are listed.
//
// A block has 32 spikes and eight warps, whose lanes are the spikes while bins are read and the
// bins while values are written.

#include "backend/cuda/decode/sure.h"

namespace
{

constexpr int lanes = 32;
constexpr int warps = 8;

struct spike_state {
    float sure[lanes];
    float floor[lanes];
    float most[warps][lanes];
    float total[warps][lanes];
    int unsure[warps][lanes];
    int floored[warps][lanes];
    float value[lanes][lanes + 1];
};

// Log intensity of one spike at a bin, before any floor.
__device__ inline float value_of(const kde_work &w, const tess_kde_electrode &e, const float *sums,
                                 int64_t p)
{
    const int64_t place = w.model.grid.n_dim > 0 ? w.model.place_of_bin[p] : p;
    return logf(sums[place * kde_tile_spikes]) + e.offset_f32[p];
}

// Where the block's spikes and their sums are.
struct part {
    const tess_kde_electrode *e;
    const float *sums; // of the thread's spike
    int64_t tile;
    int first; // spike of the tile
    int n;     // spikes of the tile
};

// From the first moments of all cells: what sums of the spike are sure; nothing of one that is
// beyond f32.
__device__ void find_sure(const kde_work &w, const part &t, spike_state &s)
{
    const int lane = int(threadIdx.x);
    const int warp = int(threadIdx.y);
    const int spike = t.first + lane;
    float total = 0;
    if (w.model.grid.n_dim > 0) {
        const float *moments = w.moments + t.tile * w.n_cell * w.n_column * kde_tile_spikes + spike;
        for (int64_t c = warp; c < w.n_cell; c += warps) {
            total += moments[c * w.n_column * kde_tile_spikes];
        }
    }
    s.total[warp][lane] = total;
    __syncthreads();
    if (warp == 0) {
        total = 0;
        for (int k = 0; k < warps; k++) {
            total += s.total[k][lane];
        }
        const bool within = kde_is_within(w, *t.e, t.tile, spike);
        s.sure[lane] = within ? float(kde_least_sure(w, *t.e, double(total))) : INFINITY;
    }
    __syncthreads();
}

// The floor: given, or by the largest value that is sure.
__device__ void find_floor(const kde_work &w, const part &t, spike_state &s)
{
    const int lane = int(threadIdx.x);
    const int warp = int(threadIdx.y);
    const bool is_relative = w.model.floor_kind == TESS_KDE_FLOOR_RELATIVE;
    float most = -INFINITY;
    if (is_relative) {
#pragma unroll 4
        for (int64_t p = warp; p < w.model.n_bin; p += warps) {
            const float v = value_of(w, *t.e, t.sums, p);
            most = v > most && v >= s.sure[lane] + t.e->offset_f32[p] ? v : most;
        }
    }
    s.most[warp][lane] = most;
    __syncthreads();
    if (warp == 0) {
        for (int k = 0; k < warps; k++) {
            most = fmaxf(most, s.most[k][lane]);
        }
        s.floor[lane] =
            is_relative ? float(double(most) - w.model.floor_nats) : float(w.model.floor_value);
    }
    __syncthreads();
}

// Floored values, NaN where one may lie above the floor and is not sure; and how many of each.
__device__ void write_values(const kde_work &w, const part &t, spike_state &s, float *values)
{
    const int lane = int(threadIdx.x);
    const int warp = int(threadIdx.y);
    const int64_t n_bin = w.model.n_bin;
    const float sure = s.sure[lane];
    const float floor = s.floor[lane];
    // No intensity anywhere: any constant will do.
    const float lowest = floor > -INFINITY ? floor : float(w.model.floor_value);
    int unsure = 0;
    int floored = 0;
    for (int64_t first = 0; first < n_bin; first += lanes) {
        __syncthreads();
#pragma unroll
        for (int j = warp; j < lanes; j += warps) {
            const int64_t p = first + j;
            if (p < n_bin) {
                const float least = sure + t.e->offset_f32[p];
                const float v = value_of(w, *t.e, t.sums, p);
                const bool is_anew = !(v >= least) && least > floor;
                const bool is_above = v >= least && v > lowest;
                unsure += is_anew;
                floored += !is_above;
                s.value[lane][j] = is_anew ? NAN : is_above ? v : lowest;
            }
        }
        __syncthreads();
        for (int k = warp; k < lanes && t.first + k < t.n; k += warps) {
            if (first + lane < n_bin) {
                values[k * n_bin + first + lane] = s.value[k][lane];
            }
        }
    }
    s.unsure[warp][lane] = unsure;
    s.floored[warp][lane] = floored;
    __syncthreads();
}

// One warp: lists the spikes with values to be computed anew, and counts what the others have.
__device__ void count(const kde_work &w, const part &t, const spike_state &s)
{
    const int lane = int(threadIdx.x);
    int unsure = 0;
    int64_t floored = 0;
    for (int k = 0; k < warps; k++) {
        unsure += s.unsure[k][lane];
        floored += s.floored[k][lane];
    }
    kde_count(w, t.tile * kde_tile_spikes + t.first + lane, unsure, floored);
}

__global__ void __launch_bounds__(lanes *warps) finish_kernel(kde_work w)
{
    __shared__ spike_state s;
    part t;
    t.tile = blockIdx.x / (kde_tile_spikes / lanes);
    t.first = int(blockIdx.x % (kde_tile_spikes / lanes)) * lanes;
    t.n = w.tiles[t.tile].n;
    if (t.first >= t.n) {
        return;
    }
    t.e = &kde_electrode_of(w, t.tile);
    t.sums = w.places + t.tile * w.n_place * kde_tile_spikes + t.first + threadIdx.x;
    const kde_tile tile = w.tiles[t.tile];
    find_sure(w, t, s);
    find_floor(w, t, s);
    write_values(w, t, s,
                 static_cast<float *>(w.ranges[tile.range].values) +
                     (tile.first + t.first) * w.model.n_bin);
    if (threadIdx.y == 0 && t.first + int(threadIdx.x) < t.n) {
        count(w, t, s);
    }
}

} // namespace

cudaError_t kde_launch_finish(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    const unsigned blocks = unsigned(n_tile * (kde_tile_spikes / lanes));
    finish_kernel<<<blocks, dim3(lanes, warps), 0, stream>>>(w);
    return cudaGetLastError();
}
