// Gradients of the items of stage clifford.maps: sums over rows of products of x and the gradient
// of z.
//
// Rows are cut into parts, each with sums of its own, which are added in order at the end. A block
// owns 32 channels of either side, all their components; blocks behind those own 64 columns of
// either side, of what scalars take part in: components of the first pair, scalars, and 1.

#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/maps/maps.cuh"

#include <algorithm>

namespace clifford_maps
{

namespace
{

constexpr int n_thread = 256;
constexpr int tile = 32;                           // channels of either side
constexpr int n_column = tile / 8;                 // tiles of eight channels of z, per warp
constexpr int step_rows = 16;                      // rows at a time
constexpr int row_pitch = tile * n_component + 4;  // floats
constexpr int side_floats = step_rows * row_pitch; // of one side
constexpr int stage_floats = 2 * side_floats;      // of both
constexpr int edge = 64, edge_rows = 32;           // tiles with scalars
constexpr int edge_pitch = edge + 8;
constexpr size_t sums_bytes = 2 * stage_floats * sizeof(float);
constexpr size_t edge_bytes = 2 * edge_rows * edge_pitch * sizeof(float);
constexpr int least_rows = 64; // of a part
constexpr int least_edge_rows = 256;
constexpr int most_edge_parts = 128; // what they leave has to be kept, and added

struct sums_args {
    side x, z;
    float *items;
    float *partials;
    tess_cl_maps_parts parts;
    int64_t n_row;
    int64_t part_rows, edge_rows;
    int32_t n_part, n_edge_part;
    int32_t has_bias;
    int32_t adds;
    int32_t n_across;            // tiles of channels of z
    int32_t n_tile;              // of channels
    int32_t edge_across, n_edge; // of columns of z; of columns of both
};

int64_t tiles(int64_t n, int64_t of)
{
    return (n + of - 1) / of;
}

// The grid does not depend on the device, so that neither do the sums.
sums_args args_of(const tess_stage_clifford_maps &s)
{
    sums_args a = {side(s.x),
                   side(s.z),
                   static_cast<float *>(s.items),
                   static_cast<float *>(s.scratch),
                   tess_cl_maps_parts_of(s.x.n_channel, s.x.n_scalar, s.z.n_channel, s.z.n_scalar),
                   s.n_row,
                   0,
                   0,
                   0,
                   0,
                   s.has_bias,
                   s.adds,
                   0,
                   0,
                   0,
                   0};
    a.n_across = int32_t(tiles(a.z.n_channel, tile));
    a.n_tile = int32_t(tiles(a.x.n_channel, tile)) * a.n_across;
    a.edge_across = int32_t(tiles(2 * a.z.n_channel + a.z.n_scalar, edge));
    a.n_edge = int32_t(tiles(2 * a.x.n_channel + a.x.n_scalar + 1, edge)) * a.edge_across;
    const int64_t wanted = std::max(clifford::n_multiprocessor / a.n_tile, 1);
    const int64_t n_part = std::max<int64_t>(std::min(wanted, tiles(s.n_row, least_rows)), 1);
    a.part_rows = tiles(tiles(s.n_row, n_part), step_rows) * step_rows;
    a.n_part = int32_t(std::max<int64_t>(tiles(s.n_row, std::max<int64_t>(a.part_rows, 1)), 1));
    a.edge_rows = std::max<int64_t>(tiles(s.n_row, most_edge_parts), least_edge_rows);
    a.n_edge_part = int32_t(tiles(s.n_row, a.edge_rows));
    return a;
}

// Partial sums of edges lie behind those of channels.
__device__ __forceinline__ float *edges_of(const sums_args &a)
{
    return a.partials + a.n_part * a.parts.to_pair;
}

struct row_range {
    int64_t begin, end;

    __device__ __forceinline__ row_range(int64_t n_row, int64_t part_rows)
        : begin(blockIdx.y * part_rows), end(begin + part_rows < n_row ? begin + part_rows : n_row)
    {
    }
};

__device__ __forceinline__ void copy_side(float *to, const side &from, int first, int64_t row0,
                                          int64_t end)
{
    const int quad = int(threadIdx.x) % 4;
    const int channel = int(threadIdx.x) / 4 % tile;
    const bool is_channel = first + channel < from.n_channel;
    const float *at = from.data + (is_channel ? from.channel_at(first + channel) + 4 * quad : 0);
    float *place = to + channel * n_component + 4 * quad;
#pragma unroll
    for (int i = 0; i < step_rows * tile * 4 / n_thread; i++) {
        const int row = int(threadIdx.x) / (4 * tile) + i * (n_thread / (4 * tile));
        const bool is_there = is_channel && row0 + row < end;
        copy_async_16(shared_address(place + row * row_pitch),
                      is_there ? at + (row0 + row) * from.stride : from.data, is_there ? 16 : 0);
    }
}

using warp_sums = float[half_pairs][n_column][2][4];

// Adds eight rows: rows t and t + 4 of channels g are a lane's.
template <typename Pairs, int half>
__device__ __forceinline__ void add_rows(const float *x, const float *z, int channel,
                                         warp_sums &sums)
{
    const lane_place lane;
    const int one = Pairs::quad(half, 0) * 4;
    const int other = Pairs::quad(half, 1) * 4;
    const float *at = x + lane.t * row_pitch + (channel + lane.g) * n_component;
    uint32_t x0[8], x4[8];
    load_quads(at + one, at + other, x0);
    load_quads(at + 4 * row_pitch + one, at + 4 * row_pitch + other, x4);
#pragma unroll
    for (int n = 0; n < n_column; n++) {
        const float *from = z + lane.t * row_pitch + (8 * n + lane.g) * n_component;
        uint32_t z0[8], z4[8];
        load_quads(from + one, from + other, z0);
        load_quads(from + 4 * row_pitch + one, from + 4 * row_pitch + other, z4);
#pragma unroll
        for (int j = 0; j < half_pairs; j++) {
            const int a = Pairs::place(half, j, 0);
            const int b = Pairs::place(half, j, 1);
            const uint32_t in[4] = {x0[a], x0[b], x4[a], x4[b]};
            multiply_1688(sums[j][n][0], in, z0[a], z4[a]);
            multiply_1688(sums[j][n][1], in, z0[b], z4[b]);
        }
    }
}

template <int half>
__device__ __forceinline__ void store_sums(const sums_args &a, float *to, int x_first, int z_first,
                                           const warp_sums &sums)
{
    const lane_place lane;
    const int channel = x_first + lane.g;
    if (channel >= a.x.n_channel) {
        return;
    }
#pragma unroll
    for (int j = 0; j < half_pairs; j++) {
        const int64_t line = int64_t(half * half_pairs + j) * a.x.n_channel + channel;
#pragma unroll
        for (int n = 0; n < n_column; n++) {
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int z = z_first + 8 * n + 2 * lane.t + e;
                const auto &of = sums[j][n];
                if (z < a.z.n_channel) {
                    reinterpret_cast<float4 *>(to)[line * a.z.n_channel + z] =
                        make_float4(of[0][e], of[1][e], of[0][2 + e], of[1][2 + e]);
                }
            }
        }
    }
}

template <typename Pairs>
__device__ __forceinline__ void sum_channels(const sums_args &a, float *shared, float *to,
                                             int which)
{
    const row_range rows(a.n_row, a.part_rows);
    const int warp = int(threadIdx.x) / 32;
    const int x_first = which / a.n_across * tile;
    const int z_first = which % a.n_across * tile;
    const int channel = warp % 4 * 8;
    const bool is_first = warp < 4;
    warp_sums sums = {};
    const int n_step = int((rows.end - rows.begin + step_rows - 1) / step_rows);
    const auto copy = [&](int i) {
        float *stage = shared + i % 2 * stage_floats;
        const int64_t row = rows.begin + int64_t(i) * step_rows;
        copy_side(stage, a.x, x_first, row, rows.end);
        copy_side(stage + side_floats, a.z, z_first, row, rows.end);
        copy_commit();
    };
    if (n_step > 0) {
        copy(0);
    }
    for (int i = 0; i < n_step; i++) {
        if (i + 1 < n_step) {
            copy(i + 1);
            copy_wait<1>();
        } else {
            copy_wait<0>();
        }
        __syncthreads();
        const float *stage = shared + i % 2 * stage_floats;
#pragma unroll
        for (int r = 0; r < step_rows; r += 8) {
            const float *x = stage + r * row_pitch;
            if (is_first) {
                add_rows<Pairs, 0>(x, x + side_floats, channel, sums);
            } else {
                add_rows<Pairs, 1>(x, x + side_floats, channel, sums);
            }
        }
        __syncthreads();
    }
    if (is_first) {
        store_sums<0>(a, to, x_first + channel, z_first, sums);
    } else {
        store_sums<1>(a, to, x_first + channel, z_first, sums);
    }
}

// A column of a side: components of the first pair of all channels, two by two, then scalars, then
// 1 (or nothing).
template <typename Pairs>
struct edge_column {
    const float *data;
    int64_t stride;
    float factor, summand;

    __device__ __forceinline__ edge_column(const side &s, int column, bool has_one)
        : data(s.data), stride(s.stride), factor(1.0f), summand(0.0f)
    {
        const int scalar = column - 2 * s.n_channel;
        if (scalar < 0) {
            data += s.channel_at(column / 2) + (column % 2 ? Pairs::first(1) : Pairs::first(0));
        } else if (scalar < s.n_scalar) {
            data += s.scalar_at(scalar);
        } else {
            stride = 0;
            factor = 0.0f;
            summand = scalar == s.n_scalar && has_one ? 1.0f : 0.0f;
        }
    }
    // Loaded whether there is something or not: a branch for each would wait for each.
    __device__ __forceinline__ float at(int64_t row, int64_t end) const
    {
        const float value = __ldg(data + min(row, end - 1) * stride);
        return row >= end ? 0.0f : factor == 0.0f ? summand : value;
    }
};

__device__ __forceinline__ void store_edge(const sums_args &a, float *to, int x, int z, float sum)
{
    const int n_x = 2 * a.x.n_channel;
    const int n_z = 2 * a.z.n_channel;
    if (x < n_x && z < n_z) {
        return; // channels
    }
    if (x > n_x + a.x.n_scalar || z >= n_z + a.z.n_scalar) {
        return; // beyond
    }
    if (x < n_x) {
        to[a.parts.to_scalars - a.parts.to_pair + int64_t(x) * a.z.n_scalar + (z - n_z)] = sum;
    } else if (z < n_z) {
        to[(int64_t(x - n_x) * 2 + z % 2) * a.z.n_channel + z / 2] = sum;
    } else {
        to[a.parts.scalars - a.parts.to_pair + int64_t(x - n_x) * a.z.n_scalar + (z - n_z)] = sum;
    }
}

template <typename Pairs>
__device__ __forceinline__ void sum_edges(const sums_args &a, float *shared, float *to, int which)
{
    constexpr int n_mine = edge_rows * edge / n_thread;
    constexpr int apart = n_thread / edge;
    const int x_first = which / a.edge_across * edge;
    const int z_first = which % a.edge_across * edge;
    if (x_first + edge <= 2 * a.x.n_channel && z_first + edge <= 2 * a.z.n_channel) {
        return;
    }
    const row_range rows(a.n_row, a.edge_rows);
    const lane_place lane;
    const int tid = int(threadIdx.x);
    const int x_mine = tid / 32 % 4 * 16;
    const int z_mine = tid / 128 * (edge / 2);
    const edge_column<Pairs> x(a.x, x_first + tid % edge, a.has_bias != 0);
    const edge_column<Pairs> z(a.z, z_first + tid % edge, false);
    float *const z_shared = shared + edge_rows * edge_pitch;
    float xs[n_mine], zs[n_mine];
    float sums[edge / 16][4] = {};
    const auto fetch = [&](int64_t first) {
#pragma unroll
        for (int i = 0; i < n_mine; i++) {
            xs[i] = x.at(first + tid / edge + i * apart, rows.end);
            zs[i] = z.at(first + tid / edge + i * apart, rows.end);
        }
    };
    fetch(rows.begin);
    for (int64_t first = rows.begin; first < rows.end; first += edge_rows) {
#pragma unroll
        for (int i = 0; i < n_mine; i++) {
            const int place = (tid / edge + i * apart) * edge_pitch + tid % edge;
            shared[place] = xs[i];
            z_shared[place] = zs[i];
        }
        __syncthreads();
        if (first + edge_rows < rows.end) {
            fetch(first + edge_rows);
        }
#pragma unroll
        for (int r = 0; r < edge_rows; r += 8) {
            const float *at = shared + (r + lane.t) * edge_pitch + x_mine + lane.g;
            const uint32_t in[4] = {to_tf32(at[0]), to_tf32(at[8]), to_tf32(at[4 * edge_pitch]),
                                    to_tf32(at[4 * edge_pitch + 8])};
            const float *b = z_shared + (r + lane.t) * edge_pitch + z_mine + lane.g;
#pragma unroll
            for (int n = 0; n < edge / 16; n++) {
                multiply_1688(sums[n], in, to_tf32(b[8 * n]), to_tf32(b[4 * edge_pitch + 8 * n]));
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int n = 0; n < edge / 16; n++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            store_edge(a, to, x_first + x_mine + lane.g + i / 2 * 8,
                       z_first + z_mine + 8 * n + 2 * lane.t + i % 2, sums[n][i]);
        }
    }
}

template <typename Pairs>
__global__ void __launch_bounds__(n_thread, 1) sums_kernel(const __grid_constant__ sums_args a)
{
#if TESS_CUDA_HAS_MATRIX
    extern __shared__ __align__(16) float shared[];
    float *to = a.partials + blockIdx.y * a.parts.to_pair;
    sum_channels<Pairs>(a, shared, to, int(blockIdx.x));
#endif
}

template <typename Pairs>
__global__ void __launch_bounds__(n_thread) edges_kernel(const __grid_constant__ sums_args a)
{
#if TESS_CUDA_HAS_MATRIX
    extern __shared__ __align__(16) float shared[];
    float *to = edges_of(a) + blockIdx.y * (a.parts.n - a.parts.to_pair);
    sum_edges<Pairs>(a, shared, to, int(blockIdx.x));
#endif
}

// Whether an item is of the lines of the bias.
__device__ __forceinline__ bool is_bias(const sums_args &a, int64_t i)
{
    return (i < a.parts.to_scalars &&
            i >= a.parts.to_pair + int64_t(a.x.n_scalar) * 2 * a.z.n_channel) ||
           i >= a.parts.scalars + int64_t(a.x.n_scalar) * a.z.n_scalar;
}

__global__ void __launch_bounds__(n_thread) add_kernel(const __grid_constant__ sums_args a)
{
    const int64_t i = int64_t(blockIdx.x) * n_thread + threadIdx.x;
    if (i >= a.parts.n) {
        return;
    }
    const bool is_edge = i >= a.parts.to_pair;
    const int64_t pitch = is_edge ? a.parts.n - a.parts.to_pair : a.parts.to_pair;
    const float *from = is_edge ? edges_of(a) + (i - a.parts.to_pair) : a.partials + i;
    const int n_part = is_edge ? a.n_edge_part : a.n_part;
    float sum = 0.0f;
#pragma unroll 8
    for (int part = 0; part < n_part; part++) {
        sum += from[part * pitch];
    }
    if (!a.has_bias && is_bias(a, i)) {
        sum = 0.0f; // of zero times a gradient, which may be no number
    }
    a.items[i] = a.adds ? a.items[i] + sum : sum;
}

} // namespace

size_t sums_shared_bytes()
{
    return std::max(sums_bytes, edge_bytes);
}

size_t sums_scratch_bytes(const tess_stage_clifford_maps &s)
{
    const sums_args a = args_of(s);
    return (size_t(a.n_part) * size_t(a.parts.to_pair) +
            size_t(a.n_edge_part) * size_t(a.parts.n - a.parts.to_pair)) *
           sizeof(float);
}

cudaError_t launch_sums(cudaStream_t stream, const tess_stage_clifford_maps &s, bool is_null)
{
    const sums_args a = args_of(s);
    if (a.n_row == 0) {
        return a.adds ? cudaSuccess
                      : cudaMemsetAsync(a.items, 0, size_t(a.parts.n) * sizeof(float), stream);
    }
    cudaError_t error = clifford::launch(
        is_null ? sums_kernel<null_pairs> : sums_kernel<dual_pairs>,
        dim3(unsigned(a.n_tile), unsigned(a.n_part)), n_thread, sums_bytes, stream, a);
    if (error == cudaSuccess) {
        error = clifford::launch(is_null ? edges_kernel<null_pairs> : edges_kernel<dual_pairs>,
                                 dim3(unsigned(a.n_edge), unsigned(a.n_edge_part)), n_thread,
                                 edge_bytes, stream, a);
    }
    if (error == cudaSuccess) {
        error = clifford::launch(add_kernel, dim3(unsigned(tiles(a.parts.n, n_thread))), n_thread,
                                 0, stream, a);
    }
    return error;
}

} // namespace clifford_maps
