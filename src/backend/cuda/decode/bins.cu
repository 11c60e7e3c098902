// From sums at nodes to floored log intensities: along the columns of nodes in the plane, then
// along the rows, with the logarithms.
//
// Both have their sums in registers, some spikes by 16 coordinates a thread, so that arithmetic is
// the limit. The second keeps all values of a block's spikes in shared memory until their floor is
// known, and writes them once.

#include "backend/cuda/decode/sure.h"

#include <climits>

namespace
{

constexpr int at_once = 2 * TESS_KDE_BLOCK; // coordinates
constexpr int groups_of_8 = kde_tile_spikes / 8;

struct reach {
    int first;
    int end;
};

// Nodes within reach of blocks 2 k and 2 k + 1 of an axis.
__device__ inline reach reach_of(const tess_kde_axis &axis, int k)
{
    reach r = {axis.first[2 * k], axis.end[2 * k]};
    if (2 * k + 1 < axis.n_block && axis.first[2 * k + 1] < axis.end[2 * k + 1]) {
        r.first = min(r.first, axis.first[2 * k + 1]);
        r.end = max(r.end, axis.end[2 * k + 1]);
    }
    return r;
}

// What a node gives to 16 coordinates.
struct entries {
    float4 t[4];
};

__device__ inline entries entries_of(const float *table, int64_t block_items, bool has_second)
{
    const float4 none = {0, 0, 0, 0};
    const float4 *first = reinterpret_cast<const float4 *>(table);
    const float4 *second = reinterpret_cast<const float4 *>(table + block_items);
    return {{__ldg(first), __ldg(first + 1), has_second ? __ldg(second) : none,
             has_second ? __ldg(second + 1) : none}};
}

__device__ inline void add(float v, const entries &e, float (&sum)[at_once])
{
#pragma unroll
    for (int k = 0; k < 4; k++) {
        sum[4 * k] = fmaf(v, e.t[k].x, sum[4 * k]);
        sum[4 * k + 1] = fmaf(v, e.t[k].y, sum[4 * k + 1]);
        sum[4 * k + 2] = fmaf(v, e.t[k].z, sum[4 * k + 2]);
        sum[4 * k + 3] = fmaf(v, e.t[k].w, sum[4 * k + 3]);
    }
}

template <int spikes>
__device__ inline void clear(float (&sum)[spikes][at_once])
{
#pragma unroll
    for (int k = 0; k < spikes * at_once; k++) {
        sum[k / at_once][k % at_once] = 0;
    }
}

// A row of nodes to the values of axes[1]: out [tile][spikes / 8][row][n_value][8]. A thread has
// spikes 4 k .. + 3 and 64 more; the row lies in shared memory.
constexpr int spike_threads = kde_tile_spikes / 8;
constexpr int most_groups = 8; // of coordinates in a block of threads

__global__ void __launch_bounds__(spike_threads *most_groups) columns_kernel(kde_work w)
{
    extern __shared__ float4 nodes[]; // [columns][spikes / 4]
    const tess_kde_axis &axis = w.axes[1];
    const int64_t tile = blockIdx.x;
    const int64_t row = blockIdx.y;
    const int n_item = int(axis.n_cell) * (kde_tile_spikes / 4);
    const float4 *from = reinterpret_cast<const float4 *>(w.moments) +
                         (tile * w.n_cell + row * axis.n_cell) * (kde_tile_spikes / 4);
    const int n_thread = int(blockDim.x * blockDim.y);
#pragma unroll 8
    for (int i = int(threadIdx.y * blockDim.x + threadIdx.x); i < n_item; i += n_thread) {
        nodes[i] = __ldcs(from + i);
    }
    __syncthreads();
    const int k = int(blockIdx.z * blockDim.y + threadIdx.y);
    if (2 * k >= axis.n_block) {
        return;
    }
    const bool has_second = 2 * k + 1 < axis.n_block;
    const reach r = reach_of(axis, k);
    const int64_t block_items = axis.n_cell * TESS_KDE_BLOCK;
    const float *table = axis.table + 2 * k * block_items;
    float sum[8][at_once];
    clear(sum);
#pragma unroll 2
    for (int g = r.first; g < r.end; g++) {
        const float4 a = nodes[g * (kde_tile_spikes / 4) + int(threadIdx.x)];
        const float4 b = nodes[g * (kde_tile_spikes / 4) + spike_threads + int(threadIdx.x)];
        const entries e = entries_of(table + g * TESS_KDE_BLOCK, block_items, has_second);
        const float v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
        for (int s = 0; s < 8; s++) {
            add(v[s], e, sum[s]);
        }
    }
    const int64_t group_items = w.axes[0].n_cell * w.n_value * 2;
    float4 *out = reinterpret_cast<float4 *>(w.partial) +
                  (tile * groups_of_8 + threadIdx.x / 2) * group_items +
                  (row * w.n_value + k * at_once) * 2 + threadIdx.x % 2;
    float4 *out_second = out + groups_of_8 / 2 * group_items;
    const int n = has_second ? at_once : TESS_KDE_BLOCK;
#pragma unroll
    for (int j = 0; j < at_once; j++) {
        if (j < n) {
            out[2 * j] = make_float4(sum[0][j], sum[1][j], sum[2][j], sum[3][j]);
            out_second[2 * j] = make_float4(sum[4][j], sum[5][j], sum[6][j], sum[7][j]);
        }
    }
}

constexpr int threads = 256;
constexpr int most_spikes = kde_tile_spikes; // of a block, four a thread

// What the threads of a block share besides the values.
struct block_state {
    float sure[most_spikes];
    int most[most_spikes]; // ordered()
};

// Integers in the order of the numbers.
__device__ inline int ordered(float x)
{
    const int bits = __float_as_int(x);
    return bits < 0 ? bits ^ INT_MAX : bits;
}

__device__ inline float from_ordered(int x)
{
    return __int_as_float(x < 0 ? x ^ INT_MAX : x);
}

// Where the block's spikes are.
struct part {
    const tess_kde_electrode *e;
    int64_t tile;
    int first;  // spike of the tile
    int spikes; // of the block, some of them beyond the tile's
    int ld;     // items from spike to spike of the values
};

__device__ void find_sure(const kde_work &w, const part &t, block_state &s)
{
    const int k = int(threadIdx.x);
    if (k < t.spikes) {
        float total = 0;
        for (int64_t strip = 0; strip < w.n_strip; strip++) {
            total += w.totals[(t.tile * w.n_strip + strip) * kde_tile_spikes + t.first + k];
        }
        s.sure[k] = kde_is_within(w, *t.e, t.tile, t.first + k)
                        ? float(kde_least_sure(w, *t.e, double(total)))
                        : INFINITY;
        s.most[k] = ordered(-INFINITY);
    }
    __syncthreads();
}

// Values of all bins to shared memory, and the largest of each spike that is sure.
__device__ void find_values(const kde_work &w, const part &t, block_state &s, float *values)
{
    const tess_kde_axis &axis = w.axes[0];
    const bool is_plane = w.model.nodes.n_dim == 2;
    const int quads = t.spikes / 4;
    const int n_column = is_plane ? int(w.axes[1].n_value) : 1;
    const int n_item = quads * n_column * int((axis.n_block + 1) / 2);
    const int64_t row_items = is_plane ? w.n_value * 2 : kde_tile_spikes / 4;
    const int64_t block_items = axis.n_cell * TESS_KDE_BLOCK;
    for (int item = int(threadIdx.x); item < n_item; item += threads) {
        const int spike = item % quads * 4;
        const int column = item / quads % n_column;
        const int k = item / quads / n_column;
        const int all = t.first + spike;
        const float4 *from = is_plane
                                 ? reinterpret_cast<const float4 *>(w.partial) +
                                       (t.tile * groups_of_8 + all / 8) * axis.n_cell * row_items +
                                       2 * column + all % 8 / 4
                                 : reinterpret_cast<const float4 *>(w.moments) +
                                       t.tile * axis.n_cell * row_items + all / 4;
        const bool has_second = 2 * k + 1 < axis.n_block;
        const reach r = reach_of(axis, k);
        const float *table = axis.table + 2 * k * block_items;
        float sum[4][at_once];
        clear(sum);
#pragma unroll 2
        for (int g = r.first; g < r.end; g++) {
            const float4 a = __ldg(from + g * row_items);
            const entries e = entries_of(table + g * TESS_KDE_BLOCK, block_items, has_second);
            add(a.x, e, sum[0]);
            add(a.y, e, sum[1]);
            add(a.z, e, sum[2]);
            add(a.w, e, sum[3]);
        }
        const int32_t *bins = w.model.nodes.bins + (column * axis.n_block + 2 * k) * TESS_KDE_BLOCK;
        float most[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
#pragma unroll
        for (int j = 0; j < at_once; j++) {
            const int bin = j < TESS_KDE_BLOCK || has_second ? bins[j] : -1;
            if (bin >= 0) {
                const float offset = t.e->offset_f32[bin];
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const float v = logf(sum[i][j]) + offset;
                    values[(spike + i) * t.ld + bin] = v;
                    most[i] = v >= s.sure[spike + i] + offset ? fmaxf(most[i], v) : most[i];
                }
            }
        }
        for (int i = 0; i < 4; i++) {
            atomicMax(&s.most[spike + i], ordered(most[i]));
        }
    }
    __syncthreads();
}

// Floored values, NaN where one may lie above the floor and is not sure; a warp has a spike.
__device__ void write_values(const kde_work &w, const part &t, const block_state &s,
                             const float *values)
{
    const kde_tile tile = w.tiles[t.tile];
    const int64_t n_bin = w.model.n_bin;
    const int lane = int(threadIdx.x) % 32;
    for (int k = int(threadIdx.x) / 32; k < t.spikes && t.first + k < tile.n; k += threads / 32) {
        const float sure = s.sure[k];
        const float floor = w.model.floor_kind == TESS_KDE_FLOOR_RELATIVE
                                ? float(double(from_ordered(s.most[k])) - w.model.floor_nats)
                                : float(w.model.floor_value);
        // No intensity anywhere: any constant will do.
        const float lowest = floor > -INFINITY ? floor : float(w.model.floor_value);
        float *to =
            static_cast<float *>(w.ranges[tile.range].values) + (tile.first + t.first + k) * n_bin;
        int unsure = 0;
        int floored = 0;
        for (int64_t p = lane; p < n_bin; p += 32) {
            const float least = sure + t.e->offset_f32[p];
            const float v = values[k * t.ld + p];
            const bool is_anew = !(v >= least) && least > floor;
            const bool is_above = v >= least && v > lowest;
            unsure += is_anew;
            floored += !is_above;
            to[p] = is_anew ? NAN : is_above ? v : lowest;
        }
        unsure = __reduce_add_sync(0xffffffffu, unsure);
        floored = __reduce_add_sync(0xffffffffu, floored);
        if (lane == 0) {
            kde_count(w, t.tile * kde_tile_spikes + t.first + k, unsure, floored);
        }
    }
}

__global__ void __launch_bounds__(threads, 2) bins_kernel(kde_work w, int spikes, int ld)
{
    extern __shared__ float values[]; // [spikes][ld]
    __shared__ block_state s;
    part t;
    t.tile = blockIdx.x / unsigned(kde_tile_spikes / spikes);
    t.first = int(blockIdx.x % unsigned(kde_tile_spikes / spikes)) * spikes;
    if (t.first >= w.tiles[t.tile].n) {
        return;
    }
    t.e = &kde_electrode_of(w, t.tile);
    t.spikes = spikes;
    t.ld = ld;
    find_sure(w, t, s);
    find_values(w, t, s, values);
    write_values(w, t, s, values);
}

cudaError_t launch_columns(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    const int64_t n = (w.axes[1].n_block + 1) / 2;
    const int64_t parts = (n + most_groups - 1) / most_groups;
    const dim3 block(spike_threads, unsigned((n + parts - 1) / parts));
    const dim3 grid(unsigned(n_tile), unsigned(w.axes[0].n_cell), unsigned(parts));
    const size_t bytes = size_t(w.axes[1].n_cell * kde_tile_spikes) * sizeof(float);
    const cudaError_t error = cudaFuncSetAttribute(
        columns_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
    if (error != cudaSuccess) {
        return error;
    }
    columns_kernel<<<grid, block, bytes, stream>>>(w);
    return cudaGetLastError();
}

} // namespace

cudaError_t kde_launch_bins(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    constexpr size_t half_bytes = 110 << 10; // of shared memory: two blocks side by side
    cudaError_t error = w.model.nodes.n_dim == 2 ? launch_columns(stream, w, n_tile) : cudaSuccess;
    const size_t ld = size_t(w.model.n_bin) | 1;
    int spikes = most_spikes;
    while (spikes > 4 && size_t(spikes) * ld * sizeof(float) > half_bytes) {
        spikes /= 2;
    }
    const size_t bytes = size_t(spikes) * ld * sizeof(float);
    if (error == cudaSuccess) {
        error = cudaFuncSetAttribute(bins_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     int(bytes));
    }
    if (error == cudaSuccess) {
        const unsigned blocks = unsigned(n_tile * (kde_tile_spikes / spikes));
        bins_kernel<<<blocks, threads, bytes, stream>>>(w, spikes, int(ld));
        error = cudaGetLastError();
    }
    return error;
}
