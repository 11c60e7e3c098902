// Stage clifford.fcgp on tensor cores: weights to f16 with one exact scale for all, and gradients
// of weights from f32 to their type.

#include "backend/cuda/clifford/common/clifford.cuh"
#include "backend/cuda/clifford/common/mma.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_weights.cuh"
#include "backend/cuda/warp_sum.h"

#include <cfloat>

namespace clifford
{

namespace
{

constexpr int threads = 256;
constexpr int width = 8;    // weights of a thread at a time
constexpr int batch = 5;    // times, all on their way before the first is used
constexpr int resident = 4; // blocks of a multiprocessor
static_assert(fc_weight_blocks == resident * n_multiprocessor, "one wave");

// Where eights of weights are: number i of all.
struct eights {
    uint32_t per_line, n;

    __device__ __forceinline__ explicit eights(const fc_weights &p)
        : per_line(uint32_t(p.n_out + width - 1) / width), n(uint32_t(p.n_line) * per_line)
    {
    }
    __device__ __forceinline__ uint32_t line(uint32_t i) const
    {
        return i / per_line;
    }
    __device__ __forceinline__ uint32_t first(uint32_t i) const
    {
        return (i - line(i) * per_line) * width;
    }
    // Lines of paths outside the mask are neither read nor written.
    __device__ __forceinline__ bool has(const fc_weights &p, uint32_t i) const
    {
        return i < n && (p.is_whole || (p.path_mask >> (line(i) / uint32_t(p.n_in)) & 1) != 0);
    }
    template <typename W>
    __device__ __forceinline__ const W *at(const fc_weights &p, uint32_t i) const
    {
        if (p.is_whole) {
            return static_cast<const W *>(p.weight.data) + int64_t(i) * width;
        }
        const uint32_t path = line(i) / uint32_t(p.n_in);
        return static_cast<const W *>(p.weight.data) + path * p.weight.stride[0] +
               (line(i) - path * p.n_in) * p.weight.stride[1] + first(i) * p.weight.stride[2];
    }
    __device__ __forceinline__ __half *packed(const fc_weights &p, uint32_t i) const
    {
        return p.packed + (p.is_whole ? int64_t(i) * width : line(i) * p.out_pitch + first(i));
    }
};

// From batch to batch of a thread, and within one.
__device__ __forceinline__ uint32_t step()
{
    return gridDim.x * threads;
}

// Eights i, i + step, ..; zeros where there are none. No branches between the loads: they wait
// together.
template <typename W>
__device__ __forceinline__ void load_batch(float (&w)[batch][width], const fc_weights &p,
                                           const eights &all, uint32_t i)
{
    constexpr int part = 16 / int(sizeof(W)); // weights of 16 bytes
    pack<W, part> items[batch][width / part];
#pragma unroll
    for (int b = 0; b < batch; b++) {
        const W *const at = all.at<W>(p, i + b * step());
        const bool has = all.has(p, i + b * step());
#pragma unroll
        for (int j = 0; j < width / part; j++) {
            items[b][j] = has ? load_fresh<W, part>(at + j * part) : zero_pack<W, part>();
        }
    }
#pragma unroll
    for (int b = 0; b < batch; b++) {
#pragma unroll
        for (int j = 0; j < width; j++) {
            w[b][j] = widen(items[b][j / part].at[j % part]);
        }
    }
}

// The same for weights that lie anyhow.
template <typename W>
__device__ __forceinline__ void load_items(float (&w)[batch][width], const fc_weights &p,
                                           const eights &all, uint32_t i)
{
#pragma unroll
    for (int b = 0; b < batch; b++, i += step()) {
        const W *const at = all.at<W>(p, i);
        const int n = all.has(p, i) ? p.n_out - int(all.first(i)) : 0;
#pragma unroll
        for (int j = 0; j < width; j++) {
            w[b][j] = j < n ? widen(at[j * p.weight.stride[2]]) : 0.0f;
        }
    }
}

template <typename W>
__device__ __forceinline__ void load_weights(float (&w)[batch][width], const fc_weights &p,
                                             const eights &all, uint32_t i)
{
    if (p.are_packs) {
        load_batch<W>(w, p, all, i);
    } else {
        load_items<W>(w, p, all, i);
    }
}

__device__ __forceinline__ void store_batch(float (&w)[batch][width], const fc_weights &p,
                                            const eights &all, uint32_t i, float scale)
{
#pragma unroll
    for (int b = 0; b < batch; b++, i += step()) {
        if (all.has(p, i)) {
#pragma unroll
            for (int j = 0; j < width; j++) {
                w[b][j] *= scale;
            }
            store_pack<__half, width>(all.packed(p, i), narrow_pack<__half, width>(w[b]));
        }
    }
}

// The largest of a value over the block, for all its threads.
__device__ __forceinline__ uint32_t max_over_block(uint32_t value)
{
    __shared__ uint32_t partials[threads / 32];
    value = warp_max(value);
    if (threadIdx.x % 32 == 0) {
        partials[threadIdx.x / 32] = value;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < threads / 32; i++) {
        value = max(value, partials[i]);
    }
    return value;
}

// fmaxf is one instruction and passes NaN by: only infinities, which do not count, make it count
// anew.
__device__ __forceinline__ uint32_t largest_of(const float (&w)[batch][width], uint32_t most)
{
    float peak = 0.0f;
#pragma unroll
    for (int i = 0; i < batch * width; i++) {
        peak = fmaxf(peak, fabsf(w[i / width][i % width]));
    }
    if (peak <= FLT_MAX) {
        return max(most, __float_as_uint(peak));
    }
#pragma unroll
    for (int i = 0; i < batch * width; i++) {
        most = max(most, clifford_mma::magnitude(w[i / width][i % width]));
    }
    return most;
}

template <typename W>
__global__ void __launch_bounds__(threads, resident)
    largest_kernel(const __grid_constant__ fc_weights p)
{
#if TESS_CUDA_HAS_MATRIX
    const eights all(p);
    float w[batch][width];
    uint32_t most = 0;
    wait_for_previous();
    let_next_start();
    for (uint32_t i = blockIdx.x * threads + threadIdx.x; i < all.n; i += batch * step()) {
        load_weights<W>(w, p, all, i);
        most = largest_of(w, most);
    }
    most = max_over_block(most);
    if (threadIdx.x == 0) {
        p.partials[blockIdx.x] = most;
    }
#endif
}

// Lines of out_pitch halves; what lies behind n_out is never read. The first weights are read while
// the kernel before still looks for the largest: it writes none.
template <typename W>
__global__ void __launch_bounds__(threads, resident)
    weights_kernel(const __grid_constant__ fc_weights p)
{
#if TESS_CUDA_HAS_MATRIX
    const eights all(p);
    float w[batch][width];
    uint32_t i = blockIdx.x * threads + threadIdx.x;
    load_weights<W>(w, p, all, i);
    wait_for_previous();
    let_next_start();
    uint32_t most = 0;
    for (int j = int(threadIdx.x); j < fc_weight_blocks; j += threads) {
        most = max(most, __ldcg(p.partials + j));
    }
    const int exponent = clifford_mma::exponent_of(max_over_block(most));
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *p.exponent = exponent - clifford_mma::half_exponent;
    }
    const float scale = clifford_mma::scale_to_half(exponent);
    while (i < all.n) {
        store_batch(w, p, all, i, scale);
        i += batch * step();
        if (i < all.n) {
            load_weights<W>(w, p, all, i);
        }
    }
#endif
}

struct narrow_args {
    const float *from; // [line][n_out]
    tess_cl_view to;
    int64_t n_line;
    int32_t n_in, n_out;
};

template <typename W>
__global__ void __launch_bounds__(threads) narrow_kernel(const __grid_constant__ narrow_args p)
{
#if TESS_CUDA_HAS_MATRIX
    wait_for_previous();
    let_next_start();
    for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < p.n_line * p.n_out;
         i += int64_t(gridDim.x) * threads) {
        const int64_t line = i / p.n_out;
        const int64_t path = line / p.n_in;
        const int64_t in = line - path * p.n_in;
        const int64_t out = i - line * p.n_out;
        static_cast<W *>(
            p.to.data)[path * p.to.stride[0] + in * p.to.stride[1] + out * p.to.stride[2]] =
            narrow<W>(__ldcg(p.from + i));
    }
#endif
}

template <typename W>
cudaError_t pack_type(cudaStream_t stream, fc_weights p)
{
    const tess_cl_view &w = p.weight;
    constexpr int half = 16 / int(sizeof(W));
    p.are_packs = w.stride[2] == 1 && w.stride[0] % half == 0 && w.stride[1] % half == 0 &&
                  p.n_out % width == 0 && reinterpret_cast<uintptr_t>(w.data) % 16 == 0;
    const uint64_t all_paths = ~UINT64_C(0) >> (64 - p.n_line / p.n_in);
    p.is_whole = p.are_packs && w.stride[1] == p.n_out && w.stride[0] == p.n_in * w.stride[1] &&
                 p.out_pitch == p.n_out && (p.path_mask & all_paths) == all_paths;
    const dim3 grid(fc_weight_blocks);
    const cudaError_t error = launch_early(largest_kernel<W>, grid, threads, 0, stream, p);
    return error != cudaSuccess ? error
                                : launch_early(weights_kernel<W>, grid, threads, 0, stream, p);
}

} // namespace

cudaError_t fc_pack_weights(cudaStream_t stream, const fc_weights &p, int32_t dtype)
{
    return dtype == TESS_F16    ? pack_type<__half>(stream, p)
           : dtype == TESS_BF16 ? pack_type<__nv_bfloat16>(stream, p)
                                : pack_type<float>(stream, p);
}

cudaError_t fc_narrow_weights(cudaStream_t stream, const float *from, const tess_cl_view &to,
                              int64_t n_line, int32_t n_in, int32_t n_out, int32_t dtype)
{
    const narrow_args args = {from, to, n_line, n_in, n_out};
    const dim3 grid(4 * fc_weight_blocks);
    return dtype == TESS_F16
               ? launch_early(narrow_kernel<__half>, grid, threads, 0, stream, args)
               : launch_early(narrow_kernel<__nv_bfloat16>, grid, threads, 0, stream, args);
}

} // namespace clifford
