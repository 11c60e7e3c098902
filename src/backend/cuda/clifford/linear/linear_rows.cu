// C[k] = A[k] W[grade of k] with the matrix units: the forward pass and grad_x of stage
// clifford.linear.
//
// Both operands lie with the inner axis dense, come through shared memory in tiles of 64 of it, a
// few tiles ahead, and are multiplied in f32 sums. What belongs to a row is summed in the order of
// the inner axis, whatever tile the row is in. With warpgroups, or where there are none in tiles
// that fit the shared memory of any GPU: f32 to all its bits, the rest is linear_tiles.cu's.

#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/common/mma.cuh"
#include "backend/cuda/clifford/common/types.cuh"
#include "backend/cuda/clifford/common/wgmma.cuh"
#include "backend/cuda/clifford/linear/linear_tensor.h"

#include <algorithm>

namespace
{

using namespace clifford_mma;
using clifford::narrow;
using clifford::widen;

constexpr int inner_tile = 64; // items: rows of 128 bytes

// What a tile's columns are multiplied with, and what they get added.
template <int columns>
struct column_values {
    float factor[columns], bias[columns];
};

// A block's tile, a warp's part of it, tiles in shared memory, blocks per multiprocessor.
template <int rows_, int columns_, int warp_rows_, int warp_columns_, int stages_, int blocks_,
          int copies_ = 1>
struct rows_shape {
    static constexpr int rows = rows_;
    static constexpr int columns = columns_;
    static constexpr int warp_rows = warp_rows_;
    static constexpr int warp_columns = warp_columns_;
    static constexpr int stages = stages_;
    static constexpr int blocks = blocks_;
    static constexpr int copies = copies_; // 2: with what the first lacks
    static constexpr bool by_groups = columns == 128;
    static constexpr bool is_there = by_groups ? TESS_CUDA_HAS_GROUPS : TESS_CUDA_HAS_MATRIX;
    static constexpr int threads = rows / warp_rows * (columns / warp_columns) * 32;
    static constexpr int copy_bytes = (rows + columns) * inner_tile * 2;
    static constexpr int stage_bytes = copies * copy_bytes;
    static constexpr int shared_bytes =
        stages * stage_bytes + 2 * int(sizeof(column_values<columns>));
};

// A warpgroup has 64 rows by 128 columns, a warp 16 of the rows.
using rows_shape_used = rows_shape<128, 128, 16, 128, 3, 2>;
using rows_shape_exact = rows_shape<128, 128, 16, 128, 3, 1, 2>;
using rows_shape_warps = rows_shape<128, 64, 16, 64, 2, 1, 2>;

// Starts the copy of a tile of `rows` rows; rows and items outside the matrix become zero.
template <int rows, int threads, typename M>
__device__ __forceinline__ void copy_tile(uint32_t to, const M *from, int64_t pitch, int64_t n_row,
                                          int64_t n_inner)
{
    const int chunk = int(threadIdx.x) % 8;
    const int first = int(threadIdx.x) / 8;
    const int bytes = int(min(max(n_inner - 8 * chunk, int64_t(0)), int64_t(8))) * 2;
    const M *source = from + (bytes > 0 ? 8 * chunk : 0);
#pragma unroll
    for (int i = 0; i < rows * 8 / threads; i++) {
        const int row = first + i * (threads / 8);
        const bool inside = row < n_row;
        copy_async_16(to + swizzle_128(row, chunk), source + (inside ? row * pitch : 0),
                      inside ? bytes : 0);
    }
}

// A warp's fragments of 16 of the inner axis.
template <class S>
struct fragments {
    uint32_t a[S::warp_rows / 16][4];
    uint32_t b[S::warp_columns / 16][4]; // two columns of eight each

    __device__ __forceinline__ void load(uint32_t tile_a, uint32_t tile_b, int step)
    {
        const int lane = int(threadIdx.x) % 32;
#pragma unroll
        for (int i = 0; i < S::warp_rows / 16; i++) {
            load_matrix_x4(a[i], tile_a + swizzle_128(i * 16 + lane % 16, 2 * step + lane / 16));
        }
#pragma unroll
        for (int j = 0; j < S::warp_columns / 16; j++) {
            load_matrix_x4(b[j], tile_b + swizzle_128(j * 16 + lane % 8 + lane / 16 * 8,
                                                      2 * step + lane / 8 % 2));
        }
    }
};

template <class S>
using warp_sums = float[S::warp_rows / 16][S::warp_columns / 8][4];

template <class S, typename M>
__device__ __forceinline__ void multiply_fragments(warp_sums<S> &sum, const fragments<S> &left,
                                                   const fragments<S> &right)
{
#pragma unroll
    for (int i = 0; i < S::warp_rows / 16; i++) {
#pragma unroll
        for (int j = 0; j < S::warp_columns / 8; j++) {
            multiply_16816<M>(sum[i][j], left.a[i], right.b[j / 2][j % 2 * 2],
                              right.b[j / 2][j % 2 * 2 + 1]);
        }
    }
}

// tile_a: the warp's rows, tile_b: all columns.
template <class S, typename M>
__device__ __forceinline__ void multiply_stage(warp_sums<S> &sum, uint32_t tile_a, uint32_t tile_b)
{
    const uint64_t a = tile_descriptor(tile_a - threadIdx.x / 32 % 4 * 2048);
    const uint64_t b = tile_descriptor(tile_b);
    group_fence();
#pragma unroll
    for (int step = 0; step < inner_tile / 16; step++) {
        group_multiply<M>(as_group_sums(sum[0]), a + 2 * step, b + 2 * step, true);
    }
    group_commit();
    group_wait<0>();
}

// With both copies. The matrix units cut bits off a sum, so it is short, and added up outside.
template <class S, typename M>
__device__ __forceinline__ void multiply_stage_exact(warp_sums<S> &whole, uint32_t tile_a,
                                                     uint32_t tile_b)
{
    warp_sums<S> sum;
    if constexpr (S::by_groups) {
        const uint64_t a = tile_descriptor(tile_a - threadIdx.x / 32 % 4 * 2048);
        const uint64_t b = tile_descriptor(tile_b);
        constexpr int rest = S::copy_bytes / 16;
        group_fence();
#pragma unroll
        for (int step = 0; step < inner_tile / 16; step++) {
            group_multiply<M>(as_group_sums(sum[0]), a + 2 * step + rest, b + 2 * step, step > 0);
            group_multiply<M>(as_group_sums(sum[0]), a + 2 * step, b + 2 * step + rest, true);
            group_multiply<M>(as_group_sums(sum[0]), a + 2 * step, b + 2 * step, true);
        }
        group_commit();
        group_wait<0>();
    } else {
        memset(sum, 0, sizeof(sum));
#pragma unroll
        for (int step = 0; step < inner_tile / 16; step++) {
            fragments<S> high, low;
            high.load(tile_a, tile_b, step);
            low.load(tile_a + S::copy_bytes, tile_b + S::copy_bytes, step);
            multiply_fragments<S, M>(sum, low, high);
            multiply_fragments<S, M>(sum, high, low);
            multiply_fragments<S, M>(sum, high, high);
        }
    }
#pragma unroll
    for (int n = 0; n < S::columns / 2; n++) {
        whole[0][n / 4][n % 4] += sum[0][n / 4][n % 4];
    }
}

template <typename TC>
__device__ __forceinline__ float bias_of(const clifford_rows_args &p, int64_t j)
{
    return p.bias_is_f32 ? static_cast<const float *>(p.bias)[j * p.stride_bias]
                         : widen(static_cast<const TC *>(p.bias)[j * p.stride_bias]);
}

template <typename TC>
struct alignas(2 * sizeof(TC)) item_pair {
    TC first, second;
};

// Asked for before a tile is multiplied: between stores every few columns would wait for them.
template <class S, typename TC>
__device__ __forceinline__ void fetch_columns(const clifford_rows_args &p, int component,
                                              int64_t column, column_values<S::columns> &to)
{
    const bool biased = p.bias != nullptr && (p.bias_all || component == 0);
    for (int c = int(threadIdx.x); c < S::columns; c += S::threads) {
        const int64_t at = min(column + c, p.n_j - 1);
        to.factor[c] = p.w.factor[p.grade[component] * p.n_j + at];
        to.bias[c] = biased ? bias_of<TC>(p, at) : 0.0f;
    }
}

// Where a thread's two rows go, and what they are multiplied with.
template <typename TC>
struct row_values {
    TC *row[2]; // NULL: outside
    float factor[2];

    __device__ __forceinline__ void fetch(const clifford_rows_args &p, int component, int64_t first)
    {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int64_t at = first + half * 8 + int(threadIdx.x) % 32 / 4;
            const bool inside = at < p.n_i;
            row[half] = inside ? static_cast<TC *>(p.c.data) + component * p.c.stride[0] +
                                     at * p.c.stride[1]
                               : nullptr;
            factor[half] = 1.0f;
            if (p.a.exponent != nullptr && inside) {
                factor[half] = power_of_two(p.a.exponent[component * p.n_i + at] - half_exponent);
            }
        }
    }
};

// What is there already in two columns of a thread's rows.
template <typename TC>
struct old_values {
    item_pair<TC> old[2];

    __device__ __forceinline__ void load(const clifford_rows_args &p, TC *const (&rows)[2],
                                         int64_t column)
    {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            if (p.add && p.pairs && rows[half] != nullptr && column < p.n_j) {
                old[half] = *reinterpret_cast<const item_pair<TC> *>(rows[half] + column);
            }
        }
    }

    __device__ __forceinline__ void store(const clifford_rows_args &p, TC *row, int64_t column,
                                          int half, float first, float second) const
    {
        if (row == nullptr || column >= p.n_j) {
            return;
        }
        if (p.pairs) {
            if (p.add) {
                first += widen(old[half].first);
                second += widen(old[half].second);
            }
            *reinterpret_cast<item_pair<TC> *>(row + column) = {narrow<TC>(first),
                                                                narrow<TC>(second)};
            return;
        }
        TC *place = row + column * p.c.stride[2];
        *place = narrow<TC>(p.add ? first + widen(*place) : first);
        if (column + 1 < p.n_j) {
            place += p.c.stride[2];
            *place = narrow<TC>(p.add ? second + widen(*place) : second);
        }
    }
};

// column: the tile's first. Loads of two columns of eight go before their stores.
template <class S, typename TC>
__device__ __forceinline__ void store_sums(const clifford_rows_args &p, const warp_sums<S> &sum,
                                           const row_values<TC> &rows, int64_t column,
                                           const column_values<S::columns> &columns)
{
    constexpr int at_once = 2;
    const int mine = int(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int first = 0; first < S::columns / 8; first += at_once) {
        old_values<TC> there[at_once];
#pragma unroll
        for (int j = 0; j < at_once; j++) {
            there[j].load(p, rows.row, column + mine + (first + j) * 8);
        }
#pragma unroll
        for (int j = 0; j < at_once; j++) {
            const int c = mine + (first + j) * 8;
            const float2 factor = *reinterpret_cast<const float2 *>(columns.factor + c);
            const float2 bias = *reinterpret_cast<const float2 *>(columns.bias + c);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const float *pair = &sum[0][first + j][2 * half];
                there[j].store(p, rows.row[half], column + c, half,
                               pair[0] * factor.x * rows.factor[half] + bias.x,
                               pair[1] * factor.y * rows.factor[half] + bias.y);
            }
        }
    }
}

// A block's tiles one after the other: every gridDim.x-th.
struct tile_walk {
    int tile, component, i, j; // i, j: which rows and columns of tiles

    template <class S>
    __device__ __forceinline__ void go(const clifford_rows_args &p, int to)
    {
        const int n_tile_j = int((p.n_j - 1) / S::columns + 1);
        const int n_tile_i = int((p.n_i - 1) / S::rows + 1);
        tile = to;
        j = to % n_tile_j;
        i = to / n_tile_j % n_tile_i;
        component = to / n_tile_j / n_tile_i;
    }
};

// Starts the copy of the inner tile that begins at l.
template <class S, typename M>
__device__ __forceinline__ void copy_inner(const clifford_rows_args &p, const tile_walk &at,
                                           uint32_t to, int64_t l)
{
    const int64_t i0 = int64_t(at.i) * S::rows;
    const int64_t j0 = int64_t(at.j) * S::columns;
    const int64_t place_a = at.component * p.a.stride + i0 * p.a.pitch + l;
    const int64_t place_w = (p.grade[at.component] * p.n_j + j0) * p.w.pitch + l;
#pragma unroll
    for (int copy = 0; copy < S::copies; copy++) {
        const M *a = static_cast<const M *>(copy == 0 ? p.a.data : p.a.low) + place_a;
        const M *w = static_cast<const M *>(copy == 0 ? p.w.data : p.w.low) + place_w;
        const uint32_t place = to + uint32_t(copy * S::copy_bytes);
        copy_tile<S::rows, S::threads>(place, a, p.a.pitch, p.n_i - i0, p.n_l - l);
        copy_tile<S::columns, S::threads>(place + S::rows * inner_tile * 2, w, p.w.pitch,
                                          p.n_j - j0, p.n_l - l);
    }
}

template <class S, typename M, typename TC>
__device__ __forceinline__ void multiply_rows(const clifford_rows_args &p)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    const uint32_t base = shared_address(shared);
    // Two: the tile that is stored, and the next one's.
    auto *columns =
        reinterpret_cast<column_values<S::columns> *>(shared + S::stages * S::stage_bytes);
    clifford::wait_for_previous();
    clifford::let_next_start();
    const int warp_row = int(threadIdx.x) / 32 * S::warp_rows;
    // Copies run ahead of products, into the next tile too.
    tile_walk ahead = {};
    ahead.go<S>(p, int(blockIdx.x));
    int64_t l_ahead = 0;
    int slot_ahead = 0;
    const auto copy_next = [&] {
        if (ahead.component < p.n_component) {
            copy_inner<S, M>(p, ahead, base + uint32_t(slot_ahead * S::stage_bytes), l_ahead);
            slot_ahead = slot_ahead + 1 == S::stages ? 0 : slot_ahead + 1;
            l_ahead += inner_tile;
            if (l_ahead >= p.n_l) {
                l_ahead = 0;
                ahead.go<S>(p, ahead.tile + int(gridDim.x));
            }
        }
        copy_commit();
    };
    for (int n = 0; n < S::stages - 1; n++) {
        copy_next();
    }
    int slot = 0, turn = 0;
    tile_walk at = {};
    for (at.go<S>(p, int(blockIdx.x)); at.component < p.n_component;
         at.go<S>(p, at.tile + int(gridDim.x)), turn = 1 - turn) {
        const int64_t column = int64_t(at.j) * S::columns;
        row_values<TC> rows;
        rows.fetch(p, at.component, int64_t(at.i) * S::rows + warp_row);
        fetch_columns<S, TC>(p, at.component, column, columns[turn]);
        warp_sums<S> sum = {};
        for (int64_t l = 0; l < p.n_l; l += inner_tile) {
            copy_wait<S::stages - 2>();
            if constexpr (S::by_groups) {
                fence_async_proxy();
            }
            __syncthreads();
            copy_next();
            const uint32_t stage = base + uint32_t(slot * S::stage_bytes);
            const uint32_t tile_a = stage + uint32_t(warp_row * inner_tile * 2);
            const uint32_t tile_b = stage + uint32_t(S::rows * inner_tile * 2);
            slot = slot + 1 == S::stages ? 0 : slot + 1;
            if constexpr (S::copies == 2) {
                multiply_stage_exact<S, M>(sum, tile_a, tile_b);
            } else {
                multiply_stage<S, M>(sum, tile_a, tile_b);
            }
        }
        store_sums<S, TC>(p, sum, rows, column, columns[turn]);
    }
}

template <class S, typename M, typename TC>
__global__ void __launch_bounds__(S::threads, S::blocks)
    rows_kernel(const __grid_constant__ clifford_rows_args p)
{
    if constexpr (S::is_there) {
        multiply_rows<S, M, TC>(p);
    }
}

// Blocks that a large device runs at once; each takes several tiles.
constexpr int64_t rows_multiprocessors = 132;

template <class S, typename M, typename TC>
cudaError_t launch_rows_tensor(cudaStream_t stream, const clifford_rows_args &p)
{
    const int64_t tiles =
        ((p.n_i - 1) / S::rows + 1) * ((p.n_j - 1) / S::columns + 1) * p.n_component;
    if (tiles > INT32_MAX / 2) {
        return cudaErrorInvalidConfiguration;
    }
    const int64_t blocks = std::min(tiles, rows_multiprocessors * S::blocks);
    return clifford::launch_early(rows_kernel<S, M, TC>, dim3(unsigned(blocks)), S::threads,
                                  S::shared_bytes, stream, p);
}

} // namespace

cudaError_t clifford_linear_rows(cudaStream_t stream, int32_t dtype, const clifford_rows_args &p)
{
    if (tess_cuda_level_here() < TESS_CUDA_GROUPS) {
        return p.a.low != nullptr ? launch_rows_tensor<rows_shape_warps, __half, float>(stream, p)
                                  : clifford_linear_tiles(stream, dtype, p);
    }
    if (dtype == TESS_F32) {
        return p.a.low != nullptr ? launch_rows_tensor<rows_shape_exact, __half, float>(stream, p)
                                  : launch_rows_tensor<rows_shape_used, __half, float>(stream, p);
    }
    if (dtype == TESS_F16) {
        return launch_rows_tensor<rows_shape_used, __half, __half>(stream, p);
    }
    return launch_rows_tensor<rows_shape_used, __nv_bfloat16, __nv_bfloat16>(stream, p);
}
