// Copies of activations and weights as the matrix units read them: 16-bit items, dense along the
// inner axis, f32 scaled by exact powers of two (see linear_tensor.h).
//
// A warp owns a row of activations, a block owns eight columns of weights; both take the largest
// item first and the row stays in registers where it is short enough.

#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/common/mma.cuh"
#include "backend/cuda/clifford/common/types.cuh"
#include "backend/cuda/clifford/linear/linear_bias.cuh"
#include "backend/cuda/clifford/linear/linear_tensor.h"
#include "backend/cuda/warp_sum.h"

#include <algorithm>

namespace
{

using namespace clifford_mma;
using clifford::narrow;
using clifford::widen;

constexpr int prepare_threads = 256;
constexpr int prepare_warps = prepare_threads / 32;
static_assert(prepare_threads == clifford_bias::threads);
constexpr int short_pieces = 2; // of 8 items per lane that a warp keeps
constexpr int long_pieces = 4;  // where rows are longer
constexpr int piece_items = 32 * 8;
constexpr int weight_outers = 8;
constexpr int weight_span = 512;

template <typename M>
constexpr bool is_half = false;
template <>
constexpr bool is_half<__half> = true;

__device__ __forceinline__ uint32_t pack(__half, float a, float b)
{
    return pack_half(a, b);
}

__device__ __forceinline__ uint32_t pack(__nv_bfloat16, float a, float b)
{
    return pack_bfloat16(a, b);
}

// Items k .. k + 7 of a row, zeros behind its end.
template <typename T>
__device__ __forceinline__ void load_eight(float (&to)[8], const T *row, int64_t stride, int64_t k,
                                           int64_t n, bool vectors)
{
    if (sizeof(T) == 4 && vectors && k + 8 <= n) {
        const float4 low = *reinterpret_cast<const float4 *>(row + k);
        const float4 high = *(reinterpret_cast<const float4 *>(row + k) + 1);
        to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
        to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        to[i] = k + i < n ? widen(row[(k + i) * stride]) : 0.0f;
    }
}

template <int row_pieces, typename T>
__device__ __forceinline__ void load_span(float (&held)[row_pieces][8], const T *row,
                                          int64_t stride, int64_t base, int64_t n, bool vectors)
{
    const int lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < row_pieces; i++) {
        load_eight(held[i], row, stride, base + (i * 32 + lane) * 8, n, vectors);
    }
}

// What a 16-bit item leaves of a value. Infinities leave nothing.
template <typename M>
__device__ __forceinline__ float rest_of(float value)
{
    const float rest = value - widen(narrow<M>(value));
    return rest == rest ? rest : 0.0f;
}

// The warp's items, scaled, or what the copy of those lacks.
template <int row_pieces, typename M>
__device__ __forceinline__ void store_span(M *to, const float (&held)[row_pieces][8], float scale,
                                           int64_t n, bool rest)
{
    const int lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < row_pieces; i++) {
        const int k = (i * 32 + lane) * 8;
        uint32_t packed[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const float a = held[i][2 * j] * scale;
            const float b = held[i][2 * j + 1] * scale;
            packed[j] = rest ? pack(M{}, rest_of<M>(a), rest_of<M>(b)) : pack(M{}, a, b);
        }
        if (k < n) {
            *reinterpret_cast<uint4 *>(to + k) =
                make_uint4(packed[0], packed[1], packed[2], packed[3]);
        }
    }
}

template <int row_pieces, typename T, typename M>
__device__ void prepare_row(const clifford_copy &copy, int64_t component, int64_t row,
                            int64_t component_rows)
{
    const int lane = int(threadIdx.x) % 32;
    const T *from = static_cast<const T *>(copy.from.data) + component * copy.from.stride[0] +
                    row * copy.from.stride[1];
    const int64_t place = component * copy.to.stride + row * copy.to.pitch;
    M *to = static_cast<M *>(copy.to.data) + place;
    M *low = static_cast<M *>(copy.to.low) + place;
    const bool vectors =
        copy.from.stride[2] == 1 && reinterpret_cast<uintptr_t>(from) % sizeof(float4) == 0;
    constexpr bool scaled = sizeof(T) == 4;
    constexpr int row_span = row_pieces * piece_items;
    float held[row_pieces][8];
    float scale = 1.0f;
    load_span(held, from, copy.from.stride[2], 0, copy.n_inner, vectors);
    if (scaled) {
        uint32_t largest = 0;
        for (int64_t base = 0;;) {
#pragma unroll
            for (int i = 0; i < row_pieces * 8; i++) {
                largest = max(largest, magnitude(held[i / 8][i % 8]));
            }
            base += row_span;
            if (base >= copy.n_inner) {
                break;
            }
            load_span(held, from, copy.from.stride[2], base, copy.n_inner, vectors);
        }
        const int exponent = exponent_of(warp_max(largest));
        scale = scale_to_half(exponent);
        if (lane == 0) {
            copy.to.exponent[component * component_rows + row] = exponent;
        }
        if (copy.n_inner > row_span) {
            load_span(held, from, copy.from.stride[2], 0, copy.n_inner, vectors);
        }
    }
    for (int64_t base = 0;;) {
        const int64_t left = copy.to.pitch - base;
        store_span(to + base, held, scale, left, false);
        if (scaled && copy.to.low != nullptr) {
            store_span(low + base, held, scale, left, true);
        }
        base += row_span;
        if (base >= copy.n_inner) {
            break;
        }
        load_span(held, from, copy.from.stride[2], base, copy.n_inner, vectors);
    }
}

// A warp's column of a tile.
template <typename M>
__device__ __forceinline__ void store_columns(const clifford_prepare_args &p, M *data,
                                              const M (&tile)[weight_outers][weight_span + 8],
                                              int64_t grade, int64_t outer, int64_t base)
{
    const int warp = int(threadIdx.x) / 32;
    const int64_t place = p.weight_to.by_fours ? grade * clifford_fours_columns(p.n_outer) +
                                                     clifford_fours_place(outer + warp)
                                               : grade * p.n_outer + outer + warp;
    M *to = data + place * p.weight_to.pitch + base;
    for (int l = int(threadIdx.x) % 32 * 8; l < weight_span; l += 32 * 8) {
        if (outer + warp < p.n_outer && base + l < p.weight_to.pitch) {
            *reinterpret_cast<uint4 *>(to + l) = *reinterpret_cast<const uint4 *>(&tile[warp][l]);
        }
    }
}

// Every 32nd item of a column from `first` on, zeros behind its end.
template <typename W>
__device__ __forceinline__ void load_column(float (&held)[weight_span / 32], const W *from,
                                            int64_t stride, int64_t first, int64_t n)
{
#pragma unroll
    for (int i = 0; i < weight_span / 32; i++) {
        const int64_t l = first + 32 * i;
        held[i] = l < n ? widen(from[l * stride]) : 0.0f;
    }
}

// Eight columns of a grade's weights. Threads follow the axis that lies dense in memory; the copy
// is turned in shared memory.
template <typename W, typename M>
__device__ void prepare_weights(const clifford_prepare_args &p, int64_t block)
{
    __shared__ uint32_t largest[weight_outers];
    __shared__ alignas(16) M tile[weight_outers][weight_span + 8];
    const int t = int(threadIdx.x);
    const int lane = t % 32;
    const int64_t per_grade = p.weight_blocks / p.n_grade;
    const int64_t grade = block / per_grade;
    const int64_t outer = block % per_grade * weight_outers;
    const bool along = p.weight.stride[1] == 1;
    const int o = along ? t / 32 : t % weight_outers;
    const int first = along ? lane : t / weight_outers;
    const int64_t n_inner = outer + o < p.n_outer ? p.n_inner : 0;
    const W *from = static_cast<const W *>(p.weight.data) + grade * p.weight.stride[0] +
                    (outer + o) * p.weight.stride[2];
    if (t < weight_outers) {
        largest[t] = 0;
    }
    float held[weight_span / 32]; // short columns stay here
    uint32_t mine = 0;
    for (int64_t base = 0; base < p.n_inner; base += weight_span) {
        load_column(held, from, p.weight.stride[1], base + first, n_inner);
#pragma unroll
        for (int i = 0; i < weight_span / 32; i++) {
            mine = max(mine, magnitude(held[i]));
        }
    }
    __syncthreads();
    if (is_half<M>) {
        atomicMax(&largest[o], mine);
    }
    __syncthreads();
    const int exponent = is_half<M> ? exponent_of(largest[o]) : half_exponent;
    const float scale = scale_to_half(exponent);
    if (first == 0 && n_inner > 0) {
        p.weight_to.factor[grade * p.n_outer + outer + o] = power_of_two(exponent - half_exponent);
    }
    for (int copy = 0; copy < (p.weight_to.low != nullptr ? 2 : 1); copy++) {
        M *data = static_cast<M *>(copy == 0 ? p.weight_to.data : p.weight_to.low);
        for (int64_t base = 0; base < p.n_inner; base += weight_span) {
            if (p.n_inner > weight_span) {
                load_column(held, from, p.weight.stride[1], base + first, n_inner);
            }
#pragma unroll
            for (int i = 0; i < weight_span / 32; i++) {
                const float value = held[i] * scale;
                tile[o][first + 32 * i] = narrow<M>(copy == 0 ? value : rest_of<M>(value));
            }
            __syncthreads();
            store_columns<M>(p, data, tile, grade, outer, base);
            __syncthreads();
        }
    }
}

template <int row_pieces, typename T, typename W, typename M>
__global__ void __launch_bounds__(prepare_threads, row_pieces == short_pieces ? 4 : 2)
    prepare_kernel(const __grid_constant__ clifford_prepare_args p)
{
#if TESS_CUDA_HAS_MATRIX
    clifford::wait_for_previous();
    clifford::let_next_start();
    if (blockIdx.x < p.weight_blocks) {
        prepare_weights<W, M>(p, blockIdx.x);
        return;
    }
    const int64_t per_copy = (p.n_row - 1) / prepare_warps + 1;
    const int64_t block = blockIdx.x - p.weight_blocks;
    if (block >= p.row_blocks) {
        clifford_bias::sum_rows<T>(p.bias, block - p.row_blocks);
        return;
    }
    const int64_t row = block % per_copy * prepare_warps + threadIdx.x / 32;
    if (row < p.n_row) {
        prepare_row<row_pieces, T, M>(p.copy[block / per_copy], row / p.component_rows,
                                      row % p.component_rows, p.component_rows);
    }
#endif
}

template <typename T, typename W, typename M>
cudaError_t launch_prepare(cudaStream_t stream, const clifford_prepare_args &p)
{
    const int64_t bias_blocks = p.bias.from == nullptr ? 0 : p.bias.n_block * p.bias.n_part;
    const int64_t blocks = p.weight_blocks + p.row_blocks + bias_blocks;
    if (blocks > INT32_MAX) {
        return cudaErrorInvalidConfiguration;
    }
    const int64_t longest = std::max(p.copy[0].n_inner, p.copy[1].n_inner);
    const auto kernel = longest <= short_pieces * piece_items
                            ? prepare_kernel<short_pieces, T, W, M>
                            : prepare_kernel<long_pieces, T, W, M>;
    return blocks > 0 ? clifford::launch_early(kernel, dim3(unsigned(blocks)), prepare_threads, 0,
                                               stream, p)
                      : cudaSuccess;
}

} // namespace

cudaError_t clifford_linear_prepare(cudaStream_t stream, int32_t dtype, int32_t weight_dtype,
                                    clifford_prepare_args &p)
{
    p.weight_blocks =
        p.weight.data != nullptr ? ((p.n_outer - 1) / weight_outers + 1) * p.n_grade : 0;
    p.row_blocks = ((p.n_row - 1) / prepare_warps + 1) * p.n_copy;
    const bool wide = weight_dtype == TESS_F32;
    if (dtype == TESS_F32) {
        return launch_prepare<float, float, __half>(stream, p);
    }
    if (dtype == TESS_F16) {
        return wide ? launch_prepare<__half, float, __half>(stream, p)
                    : launch_prepare<__half, __half, __half>(stream, p);
    }
    return wide ? launch_prepare<__nv_bfloat16, float, __nv_bfloat16>(stream, p)
                : launch_prepare<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16>(stream, p);
}
