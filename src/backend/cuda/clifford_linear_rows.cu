// C[k] = A[k] W[grade of k] with the matrix units: the forward pass and grad_x of stage
// clifford.linear.
//
// Both operands lie with the inner axis dense, come through shared memory in tiles of 64 of it, a
// few tiles ahead, and are multiplied in f32 sums. What belongs to a row is summed in the order of
// the inner axis, whatever tile the row is in.

#include "backend/cuda/clifford_linear_tensor.h"
#include "backend/cuda/clifford_mma.cuh"
#include "backend/cuda/clifford_types.cuh"

namespace
{

using namespace clifford_mma;
using namespace clifford_types;

constexpr int inner_tile = 64; // items: rows of 128 bytes

// A block's tile, a warp's part of it, tiles in shared memory, blocks per multiprocessor.
template <int rows_, int columns_, int warp_rows_, int warp_columns_, int stages_, int blocks_>
struct rows_shape {
    static constexpr int rows = rows_;
    static constexpr int columns = columns_;
    static constexpr int warp_rows = warp_rows_;
    static constexpr int warp_columns = warp_columns_;
    static constexpr int stages = stages_;
    static constexpr int blocks = blocks_;
    static constexpr int threads = rows / warp_rows * (columns / warp_columns) * 32;
    static constexpr int stage_bytes = (rows + columns) * inner_tile * 2;
    static constexpr int shared_bytes = stages * stage_bytes;
};

// 64 x 64 per warp asks for the least shared memory traffic that the registers allow.
using rows_shape_used = rows_shape<128, 128, 64, 64, 3, 2>;

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

template <class S, typename M>
__device__ __forceinline__ void
multiply_stage(float (&sum)[S::warp_rows / 16][S::warp_columns / 8][4], uint32_t tile_a,
               uint32_t tile_b)
{
    fragments<S> held[2];
    held[0].load(tile_a, tile_b, 0);
#pragma unroll
    for (int step = 0; step < inner_tile / 16; step++) {
        if (step + 1 < inner_tile / 16) {
            held[(step + 1) % 2].load(tile_a, tile_b, step + 1);
        }
        const fragments<S> &now = held[step % 2];
#pragma unroll
        for (int i = 0; i < S::warp_rows / 16; i++) {
#pragma unroll
            for (int j = 0; j < S::warp_columns / 8; j++) {
                multiply_16816<M>(sum[i][j], now.a[i], now.b[j / 2][j % 2 * 2],
                                  now.b[j / 2][j % 2 * 2 + 1]);
            }
        }
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

// Columns j and j + 1 of a row.
template <typename TC>
__device__ __forceinline__ void store_pair(const clifford_rows_args &p, TC *row, int64_t j,
                                           float first, float second)
{
    if (p.pairs) {
        item_pair<TC> *place = reinterpret_cast<item_pair<TC> *>(row + j);
        if (p.add) {
            const item_pair<TC> old = *place;
            first += widen(old.first);
            second += widen(old.second);
        }
        *place = {narrow<TC>(first), narrow<TC>(second)};
        return;
    }
    TC *place = row + j * p.c.stride[2];
    *place = narrow<TC>(p.add ? first + widen(*place) : first);
    if (j + 1 < p.n_j) {
        place += p.c.stride[2];
        *place = narrow<TC>(p.add ? second + widen(*place) : second);
    }
}

// row and column: of the warp's first sum.
template <class S, typename TC>
__device__ __forceinline__ void
store_sums(const clifford_rows_args &p, int component,
           const float (&sum)[S::warp_rows / 16][S::warp_columns / 8][4], int64_t row,
           int64_t column)
{
    const int lane = int(threadIdx.x) % 32;
    const bool biased = p.bias != nullptr && (p.bias_all || component == 0);
    const float *factor = p.w.factor + p.grade[component] * p.n_j;
    float factors[S::warp_rows / 8];
#pragma unroll
    for (int i = 0; i < S::warp_rows / 8; i++) {
        const int64_t at = row + i * 8 + lane / 4;
        factors[i] = 1.0f;
        if (p.a.exponent != nullptr && at < p.n_i) {
            factors[i] = power_of_two(p.a.exponent[component * p.n_i + at] - half_exponent);
        }
    }
#pragma unroll
    for (int j = 0; j < S::warp_columns / 8; j++) {
        const int64_t at = column + j * 8 + lane % 4 * 2;
        if (at >= p.n_j) {
            continue;
        }
        const int64_t next = min(at + 1, p.n_j - 1);
        const float factor_0 = factor[at];
        const float factor_1 = factor[next];
        const float bias_0 = biased ? bias_of<TC>(p, at) : 0.0f;
        const float bias_1 = biased ? bias_of<TC>(p, next) : 0.0f;
#pragma unroll
        for (int i = 0; i < S::warp_rows / 8; i++) {
            const int64_t to = row + i * 8 + lane / 4;
            if (to < p.n_i) {
                const float *pair = &sum[i / 2][j][i % 2 * 2];
                store_pair(
                    p, static_cast<TC *>(p.c.data) + component * p.c.stride[0] + to * p.c.stride[1],
                    at, pair[0] * factor_0 * factors[i] + bias_0,
                    pair[1] * factor_1 * factors[i] + bias_1);
            }
        }
    }
}

template <class S, typename M, typename TC>
__global__ void __launch_bounds__(S::threads, S::blocks)
    rows_kernel(const __grid_constant__ clifford_rows_args p)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    const uint32_t base = shared_address(shared);
    const int64_t n_tile_j = (p.n_j - 1) / S::columns + 1;
    const int64_t n_tile_i = (p.n_i - 1) / S::rows + 1;
    const int component = int(blockIdx.x / (n_tile_j * n_tile_i));
    const int64_t i0 = blockIdx.x / n_tile_j % n_tile_i * S::rows;
    const int64_t j0 = blockIdx.x % n_tile_j * S::columns;
    const M *a = static_cast<const M *>(p.a.data) + component * p.a.stride + i0 * p.a.pitch;
    const M *w = static_cast<const M *>(p.w.data) + (p.grade[component] * p.n_j + j0) * p.w.pitch;

    const int n_tile = int((p.n_l - 1) / inner_tile + 1);
    const auto copy_stage = [&](int tile) {
        if (tile < n_tile) {
            const uint32_t to = base + uint32_t(tile % S::stages * S::stage_bytes);
            const int64_t l = int64_t(tile) * inner_tile;
            copy_tile<S::rows, S::threads>(to, a + l, p.a.pitch, p.n_i - i0, p.n_l - l);
            copy_tile<S::columns, S::threads>(to + S::rows * inner_tile * 2, w + l, p.w.pitch,
                                              p.n_j - j0, p.n_l - l);
        }
        copy_commit();
    };
    constexpr int warps_across = S::columns / S::warp_columns;
    const int warp = int(threadIdx.x) / 32;
    const int warp_row = warp / warps_across * S::warp_rows;
    const int warp_column = warp % warps_across * S::warp_columns;
    float sum[S::warp_rows / 16][S::warp_columns / 8][4] = {};
    for (int tile = 0; tile < S::stages - 1; tile++) {
        copy_stage(tile);
    }
    for (int tile = 0; tile < n_tile; tile++) {
        copy_wait<S::stages - 2>();
        __syncthreads();
        copy_stage(tile + S::stages - 1);
        const uint32_t stage = base + uint32_t(tile % S::stages * S::stage_bytes);
        multiply_stage<S, M>(sum, stage + uint32_t(warp_row * inner_tile * 2),
                             stage + uint32_t((S::rows + warp_column) * inner_tile * 2));
    }
    store_sums<S, TC>(p, component, sum, i0 + warp_row, j0 + warp_column);
}

template <class S, typename M, typename TC>
cudaError_t launch_rows_tensor(cudaStream_t stream, const clifford_rows_args &p)
{
    const int64_t blocks =
        ((p.n_i - 1) / S::rows + 1) * ((p.n_j - 1) / S::columns + 1) * p.n_component;
    if (blocks > INT32_MAX) {
        return cudaErrorInvalidConfiguration;
    }
    const cudaError_t error = cudaFuncSetAttribute(
        rows_kernel<S, M, TC>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    if (error != cudaSuccess) {
        return error;
    }
    rows_kernel<S, M, TC><<<unsigned(blocks), S::threads, S::shared_bytes, stream>>>(p);
    return cudaGetLastError();
}

} // namespace

cudaError_t clifford_linear_rows(cudaStream_t stream, int32_t dtype, const clifford_rows_args &p)
{
    if (dtype == TESS_F32) {
        return launch_rows_tensor<rows_shape_used, __half, float>(stream, p);
    }
    if (dtype == TESS_F16) {
        return launch_rows_tensor<rows_shape_used, __half, __half>(stream, p);
    }
    return launch_rows_tensor<rows_shape_used, __nv_bfloat16, __nv_bfloat16>(stream, p);
}
