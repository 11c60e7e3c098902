// Sums at the bins from moments of cells: along axes[1] in the plane, then along axes[0].
//
// A thread has the sums of eight spikes at 16 coordinates: what it reads is used as often as it
// takes for the arithmetic to be the limit.

#include "backend/cuda/decode/kde.h"

namespace
{

constexpr int blocks_at_once = 2;
constexpr int at_once = blocks_at_once * TESS_KDE_BLOCK;
constexpr int spike_threads = 16; // each with spikes 4 k .. + 3 and 64 more
constexpr int most_groups = 8;    // of coordinates in a block of threads

struct reach {
    int first;
    int end;
};

// Cells within reach of one of the blocks from k on of an axis.
__device__ inline reach reach_of(const tess_kde_axis &axis, int64_t k)
{
    reach r = {int(axis.n_cell), 0};
    for (int64_t j = k; j < k + blocks_at_once && j < axis.n_block; j++) {
        if (axis.first[j] < axis.end[j]) {
            r.first = axis.first[j] < r.first ? axis.first[j] : r.first;
            r.end = axis.end[j] > r.end ? axis.end[j] : r.end;
        }
    }
    return r;
}

// sum[spike][coordinate] += value of the spike * table entry of the coordinate.
__device__ inline void add_entries(const float *values, const float *table, int64_t block_items,
                                   bool has_second, float (&sum)[8][at_once])
{
    const float4 *from = reinterpret_cast<const float4 *>(values);
    const float4 v0 = from[threadIdx.x];
    const float4 v1 = from[spike_threads + threadIdx.x];
    const float v[8] = {v0.x, v0.y, v0.z, v0.w, v1.x, v1.y, v1.z, v1.w};
    const float4 none = {0, 0, 0, 0};
    const float4 *first = reinterpret_cast<const float4 *>(table);
    const float4 *second = reinterpret_cast<const float4 *>(table + block_items);
    const float4 t[4] = {__ldg(first), __ldg(first + 1), has_second ? __ldg(second) : none,
                         has_second ? __ldg(second + 1) : none};
#pragma unroll
    for (int s = 0; s < 8; s++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            sum[s][4 * k] = fmaf(v[s], t[k].x, sum[s][4 * k]);
            sum[s][4 * k + 1] = fmaf(v[s], t[k].y, sum[s][4 * k + 1]);
            sum[s][4 * k + 2] = fmaf(v[s], t[k].z, sum[s][4 * k + 2]);
            sum[s][4 * k + 3] = fmaf(v[s], t[k].w, sum[s][4 * k + 3]);
        }
    }
}

__device__ inline void clear(float (&sum)[8][at_once])
{
#pragma unroll
    for (int k = 0; k < 8 * at_once; k++) {
        sum[k / at_once][k % at_once] = 0;
    }
}

// Sums of n coordinates to rows of a tile's spikes.
__device__ inline void store(const float (&sum)[8][at_once], int n, float *out)
{
#pragma unroll
    for (int k = 0; k < at_once; k++) {
        if (k < n) {
            float4 *to = reinterpret_cast<float4 *>(out + k * kde_tile_spikes);
            to[threadIdx.x] = make_float4(sum[0][k], sum[1][k], sum[2][k], sum[3][k]);
            to[spike_threads + threadIdx.x] =
                make_float4(sum[4][k], sum[5][k], sum[6][k], sum[7][k]);
        }
    }
}

__global__ void __launch_bounds__(spike_threads *most_groups) values_kernel(kde_work w)
{
    const tess_kde_grid &grid = w.model.grid;
    const tess_kde_axis &axis = grid.axes[1];
    const int64_t tile = blockIdx.x;
    const int64_t row = blockIdx.y;
    const int64_t k = (int64_t(blockIdx.z) * blockDim.y + threadIdx.y) * blocks_at_once;
    if (k >= axis.n_block) {
        return;
    }
    const int64_t order = grid.order;
    const bool has_second = k + 1 < axis.n_block;
    const reach r = reach_of(axis, k);
    int64_t from = grid.row_first[row];
    int64_t to = grid.row_first[row + 1];
    while (from < to && grid.column[from] < r.first) {
        from++;
    }
    while (from < to && grid.column[to - 1] >= r.end) {
        to--;
    }
    const int64_t block_items = axis.n_cell * order * TESS_KDE_BLOCK;
    const float *table = axis.table + k * block_items;
    const float *moments = w.moments + tile * w.n_cell * w.n_column * kde_tile_spikes;
    float *out =
        w.partial + ((tile * grid.axes[0].n_cell + row) * order * w.n_value + k * TESS_KDE_BLOCK) *
                        kde_tile_spikes;
    for (int64_t b = 0; b < order; b++) {
        float sum[8][at_once];
        clear(sum);
        for (int64_t cell = from; cell < to; cell++) {
            const float *of_cell = moments + cell * w.n_column * kde_tile_spikes;
            const float *of_column = table + grid.column[cell] * order * TESS_KDE_BLOCK;
#pragma unroll 2
            for (int a = 0; a < int(order - b); a++) {
                add_entries(of_cell + a * kde_tile_spikes, of_column + a * TESS_KDE_BLOCK,
                            block_items, has_second, sum);
            }
        }
        moments += (order - b) * kde_tile_spikes;
        store(sum, has_second ? at_once : TESS_KDE_BLOCK, out);
        out += w.n_value * kde_tile_spikes;
    }
}

__global__ void __launch_bounds__(spike_threads *most_groups) places_kernel(kde_work w)
{
    const tess_kde_grid &grid = w.model.grid;
    const tess_kde_axis &axis = grid.axes[0];
    const int64_t tile = blockIdx.x;
    const int64_t value = blockIdx.y;
    const int64_t k = (int64_t(blockIdx.z) * blockDim.y + threadIdx.y) * blocks_at_once;
    if (k >= axis.n_block) {
        return;
    }
    const int64_t order = grid.order;
    const bool is_plane = grid.n_dim == 2;
    const bool has_second = k + 1 < axis.n_block;
    // A line's rows are its cells, and its degrees their moments.
    const int64_t degree_items = (is_plane ? w.n_value : 1) * kde_tile_spikes;
    const int64_t row_items = is_plane ? order * degree_items : w.n_column * kde_tile_spikes;
    const float *rows = (is_plane ? w.partial + value * kde_tile_spikes : w.moments) +
                        tile * axis.n_cell * row_items;
    const int64_t block_items = axis.n_cell * order * TESS_KDE_BLOCK;
    const float *table = axis.table + k * block_items;
    float sum[8][at_once];
    clear(sum);
    const reach r = reach_of(axis, k);
    for (int64_t row = r.first; row < r.end; row++) {
        const float *of_row = rows + row * row_items;
        const float *entry = table + row * order * TESS_KDE_BLOCK;
#pragma unroll 2
        for (int b = 0; b < int(order); b++) {
            add_entries(of_row + b * degree_items, entry + b * TESS_KDE_BLOCK, block_items,
                        has_second, sum);
        }
    }
    store(sum, has_second ? at_once : TESS_KDE_BLOCK,
          w.places +
              (tile * w.n_place + (value * axis.n_block + k) * TESS_KDE_BLOCK) * kde_tile_spikes);
}

// Groups of coordinates: so many in a block of threads, and so many blocks.
void groups(int64_t n_block, dim3 *threads, unsigned *blocks)
{
    const int64_t n = (n_block + blocks_at_once - 1) / blocks_at_once;
    const int64_t parts = (n + most_groups - 1) / most_groups;
    *threads = dim3(spike_threads, unsigned((n + parts - 1) / parts));
    *blocks = unsigned(parts);
}

} // namespace

cudaError_t kde_launch_places(cudaStream_t stream, const kde_work &w, int64_t n_tile)
{
    const tess_kde_grid &grid = w.model.grid;
    const unsigned tiles = unsigned(n_tile);
    dim3 threads;
    unsigned blocks;
    if (grid.n_dim == 2) {
        groups(grid.axes[1].n_block, &threads, &blocks);
        const dim3 along(tiles, unsigned(grid.axes[0].n_cell), blocks);
        values_kernel<<<along, threads, 0, stream>>>(w);
        const cudaError_t error = cudaGetLastError();
        if (error != cudaSuccess) {
            return error;
        }
    }
    groups(grid.axes[0].n_block, &threads, &blocks);
    const dim3 across(tiles, unsigned(grid.n_dim == 2 ? grid.axes[1].n_value : 1), blocks);
    places_kernel<<<across, threads, 0, stream>>>(w);
    return cudaGetLastError();
}
