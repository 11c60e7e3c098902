// C[k] = A[k] W[grade of k] with the matrix units: the forward pass and grad_x of stage
// clifford.linear.
//
// Both operands lie with the inner axis dense, come through shared memory in tiles of 64 of it, a
// few tiles ahead, and are multiplied in f32 sums. What belongs to a row is summed in the order of
// the inner axis, whatever tile the row is in.

#include "backend/cuda/clifford_groups.cuh"
#include "backend/cuda/clifford_linear_tensor.h"
#include "backend/cuda/clifford_mma.cuh"
#include "backend/cuda/clifford_types.cuh"

namespace
{

using namespace clifford_mma;
using namespace clifford_types;

constexpr int inner_tile = 64; // items: rows of 128 bytes

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
    static constexpr int threads = rows / warp_rows * (columns / warp_columns) * 32;
    static constexpr int copy_bytes = (rows + columns) * inner_tile * 2;
    static constexpr int stage_bytes = copies * copy_bytes;
    static constexpr int shared_bytes = stages * stage_bytes;
};

// A warpgroup has 64 rows by 128 columns, a warp 16 of the rows.
using rows_shape_used = rows_shape<128, 128, 16, 128, 3, 2>;
using rows_shape_exact = rows_shape<128, 128, 16, 128, 3, 1, 2>;

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
#if TESS_CLIFFORD_HAS_GROUPS
    const uint64_t a = rows_of_inner(tile_a - threadIdx.x / 32 % 4 * 2048);
    const uint64_t b = rows_of_inner(tile_b);
    group_fence();
#pragma unroll
    for (int step = 0; step < inner_tile / 16; step++) {
        group_multiply<M>(sum[0], a + 2 * step, b + 2 * step, true);
    }
    group_commit();
    group_wait<0>();
#else
#pragma unroll
    for (int step = 0; step < inner_tile / 16; step++) {
        fragments<S> held;
        held.load(tile_a, tile_b, step);
        multiply_fragments<S, M>(sum, held, held);
    }
#endif
}

// With both copies. The matrix units cut bits off a sum, so it is short, and added up outside.
template <class S, typename M>
__device__ __forceinline__ void multiply_stage_exact(warp_sums<S> &whole, uint32_t tile_a,
                                                     uint32_t tile_b)
{
    warp_sums<S> sum;
#if TESS_CLIFFORD_HAS_GROUPS
    const uint64_t a = rows_of_inner(tile_a - threadIdx.x / 32 % 4 * 2048);
    const uint64_t b = rows_of_inner(tile_b);
    constexpr int rest = S::copy_bytes / 16;
    group_fence();
#pragma unroll
    for (int step = 0; step < inner_tile / 16; step++) {
        group_multiply<M>(sum[0], a + 2 * step + rest, b + 2 * step, step > 0);
        group_multiply<M>(sum[0], a + 2 * step, b + 2 * step + rest, true);
        group_multiply<M>(sum[0], a + 2 * step, b + 2 * step, true);
    }
    group_commit();
    group_wait<0>();
#else
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
#endif
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
struct alignas(4 * sizeof(TC)) item_quad {
    TC at[4];
};

// Sums to values, in shared memory: the warp's 16 rows of pitch 136, which keeps pairs of rows
// in different banks.
constexpr int value_pitch = 136;

template <class S, typename TC>
__device__ __forceinline__ void keep_values(const clifford_rows_args &p, int component,
                                            const warp_sums<S> &sum, int64_t row, int64_t column,
                                            float *values)
{
    const int lane = int(threadIdx.x) % 32;
    const bool biased = p.bias != nullptr && (p.bias_all || component == 0);
    const float *factor = p.w.factor + p.grade[component] * p.n_j;
    float of_row[2] = {1.0f, 1.0f};
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t at = row + half * 8 + lane / 4;
        if (p.a.exponent != nullptr && at < p.n_i) {
            of_row[half] = power_of_two(p.a.exponent[component * p.n_i + at] - half_exponent);
        }
    }
#pragma unroll
    for (int j = 0; j < S::columns / 8; j++) {
        const int in_tile = j * 8 + lane % 4 * 2;
        const int64_t at = min(column + in_tile, p.n_j - 1);
        const int64_t next = min(at + 1, p.n_j - 1);
        const float factor_0 = factor[at];
        const float factor_1 = factor[next];
        const float bias_0 = biased ? bias_of<TC>(p, at) : 0.0f;
        const float bias_1 = biased ? bias_of<TC>(p, next) : 0.0f;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float2 *to =
                reinterpret_cast<float2 *>(values + (half * 8 + lane / 4) * value_pitch + in_tile);
            *to = make_float2(sum[0][j][2 * half] * factor_0 * of_row[half] + bias_0,
                              sum[0][j][2 * half + 1] * factor_1 * of_row[half] + bias_1);
        }
    }
}

// A warp's row at a time, four columns per lane: whole lines of memory. Loads of what is there go
// before all stores.
template <typename TC>
__device__ __forceinline__ void store_quads(const clifford_rows_args &p, TC *to, int64_t row,
                                            int64_t column, const float *values)
{
    constexpr int at_once = 8;
    const int lane = int(threadIdx.x) % 32;
    const bool inside = column + lane * 4 < p.n_j;
    to += column + lane * 4;
#pragma unroll
    for (int first = 0; first < 16; first += at_once) {
        item_quad<TC> old[at_once];
#pragma unroll
        for (int r = 0; r < at_once; r++) {
            if (p.add && inside && row + first + r < p.n_i) {
                old[r] = *reinterpret_cast<const item_quad<TC> *>(to + (first + r) * p.c.stride[1]);
            }
        }
#pragma unroll
        for (int r = 0; r < at_once; r++) {
            const float4 value =
                *reinterpret_cast<const float4 *>(values + (first + r) * value_pitch + lane * 4);
            const float four[4] = {value.x, value.y, value.z, value.w};
            item_quad<TC> quad;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                quad.at[i] = narrow<TC>(p.add ? four[i] + widen(old[r].at[i]) : four[i]);
            }
            if (inside && row + first + r < p.n_i) {
                *reinterpret_cast<item_quad<TC> *>(to + (first + r) * p.c.stride[1]) = quad;
            }
        }
    }
}

template <class S, typename TC>
__device__ __forceinline__ void store_items(const clifford_rows_args &p, TC *to, int64_t row,
                                            int64_t column, const float *values)
{
    for (int r = 0; r < 16 && row + r < p.n_i; r++) {
        for (int n = int(threadIdx.x) % 32; n < S::columns && column + n < p.n_j; n += 32) {
            TC *place = to + r * p.c.stride[1] + (column + n) * p.c.stride[2];
            const float value = values[r * value_pitch + n];
            *place = narrow<TC>(p.add ? value + widen(*place) : value);
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
    const int64_t place_a = component * p.a.stride + i0 * p.a.pitch;
    const int64_t place_w = (p.grade[component] * p.n_j + j0) * p.w.pitch;

    const int n_tile = int((p.n_l - 1) / inner_tile + 1);
    const auto copy_stage = [&](int tile) {
        const uint32_t to = base + uint32_t(tile % S::stages * S::stage_bytes);
        const int64_t l = int64_t(tile) * inner_tile;
#pragma unroll
        for (int copy = 0; copy < S::copies && tile < n_tile; copy++) {
            const M *a = static_cast<const M *>(copy == 0 ? p.a.data : p.a.low) + place_a + l;
            const M *w = static_cast<const M *>(copy == 0 ? p.w.data : p.w.low) + place_w + l;
            copy_tile<S::rows, S::threads>(to + copy * S::copy_bytes, a, p.a.pitch, p.n_i - i0,
                                           p.n_l - l);
            copy_tile<S::columns, S::threads>(to + copy * S::copy_bytes + S::rows * inner_tile * 2,
                                              w, p.w.pitch, p.n_j - j0, p.n_l - l);
        }
        copy_commit();
    };
    const int warp_row = int(threadIdx.x) / 32 * S::warp_rows;
    warp_sums<S> sum = {};
    for (int tile = 0; tile < S::stages - 1; tile++) {
        copy_stage(tile);
    }
    for (int tile = 0; tile < n_tile; tile++) {
        copy_wait<S::stages - 2>();
        fence_async_proxy();
        __syncthreads();
        copy_stage(tile + S::stages - 1);
        const uint32_t stage = base + uint32_t(tile % S::stages * S::stage_bytes);
        const uint32_t tile_a = stage + uint32_t(warp_row * inner_tile * 2);
        const uint32_t tile_b = stage + uint32_t(S::rows * inner_tile * 2);
        if constexpr (S::copies == 2) {
            multiply_stage_exact<S, M>(sum, tile_a, tile_b);
        } else {
            multiply_stage<S, M>(sum, tile_a, tile_b);
        }
    }
    __syncthreads();
    float *values = reinterpret_cast<float *>(shared) + warp_row * value_pitch;
    const int64_t row = i0 + warp_row;
    keep_values<S, TC>(p, component, sum, row, j0, values);
    __syncwarp();
    TC *to = static_cast<TC *>(p.c.data) + component * p.c.stride[0] + row * p.c.stride[1];
    if (p.quads) {
        store_quads(p, to, row, j0, values);
    } else {
        store_items<S>(p, to, row, j0, values);
    }
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
        return p.a.low != nullptr ? launch_rows_tensor<rows_shape_exact, __half, float>(stream, p)
                                  : launch_rows_tensor<rows_shape_used, __half, float>(stream, p);
    }
    if (dtype == TESS_F16) {
        return launch_rows_tensor<rows_shape_used, __half, __half>(stream, p);
    }
    return launch_rows_tensor<rows_shape_used, __nv_bfloat16, __nv_bfloat16>(stream, p);
}
