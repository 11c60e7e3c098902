// Stage clifford.fcgp on tensor cores: weights to f16 with one exact scale for all, and gradients
// of weights from f32 to their type.

#include "backend/cuda/clifford.cuh"
#include "backend/cuda/clifford_fcgp_weights.cuh"
#include "backend/cuda/clifford_mma.cuh"

namespace clifford
{

namespace
{

constexpr int threads = 256;
constexpr int width = 8; // weights of a thread

template <typename W>
__device__ __forceinline__ void load_weights(float (&w)[width], const fc_weights &p, uint32_t line,
                                             uint32_t n0)
{
    const uint32_t path = line / uint32_t(p.n_in);
    const W *at = static_cast<const W *>(p.weight.data) + path * p.weight.stride[0] +
                  (line - path * p.n_in) * p.weight.stride[1] + n0 * p.weight.stride[2];
    if (p.are_packs) {
        constexpr int half = sizeof(W) == 4 ? 4 : 8; // of 16 bytes
        pack<W, half> items[width / half];
#pragma unroll
        for (int i = 0; i < width / half; i++) {
            items[i] = load_pack<W, half>(at + i * half);
        }
#pragma unroll
        for (int i = 0; i < width; i++) {
            w[i] = widen(items[i / half].at[i % half]);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < width; i++) {
        w[i] = int(n0) + i < p.n_out ? widen(at[i * p.weight.stride[2]]) : 0.0f;
    }
}

// The largest of a value over the block, for all its threads.
__device__ __forceinline__ uint32_t max_over_block(uint32_t value)
{
    __shared__ uint32_t partials[threads / 32];
    value = __reduce_max_sync(all_lanes, value);
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

__device__ __forceinline__ bool takes(const fc_weights &p, uint32_t line)
{
    return (p.path_mask >> (line / uint32_t(p.n_in)) & 1) != 0;
}

template <typename W>
__global__ void __launch_bounds__(threads) largest_kernel(const __grid_constant__ fc_weights p)
{
    const uint32_t per_line = uint32_t(p.n_out + width - 1) / width;
    const uint32_t n = uint32_t(p.n_line) * per_line;
    wait_for_previous();
    let_next_start();
    uint32_t most = 0;
#pragma unroll 2
    for (uint32_t i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads) {
        const uint32_t line = i / per_line;
        if (takes(p, line)) {
            float w[width];
            load_weights<W>(w, p, line, (i - line * per_line) * width);
#pragma unroll
            for (int j = 0; j < width; j++) {
                most = max(most, clifford_mma::magnitude(w[j]));
            }
        }
    }
    most = max_over_block(most);
    if (threadIdx.x == 0) {
        p.partials[blockIdx.x] = most;
    }
}

// Lines of out_pitch halves; what lies behind n_out is never read.
template <typename W>
__global__ void __launch_bounds__(threads) weights_kernel(const __grid_constant__ fc_weights p)
{
    const uint32_t per_line = uint32_t(p.n_out + width - 1) / width;
    const uint32_t n = uint32_t(p.n_line) * per_line;
    wait_for_previous();
    let_next_start();
    uint32_t most = 0;
    for (int i = int(threadIdx.x); i < fc_weight_blocks; i += threads) {
        most = max(most, __ldcg(p.partials + i));
    }
    const int exponent = clifford_mma::exponent_of(max_over_block(most));
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *p.exponent = exponent - clifford_mma::half_exponent;
    }
    const float scale = clifford_mma::scale_to_half(exponent);
#pragma unroll 2
    for (uint32_t i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads) {
        const uint32_t line = i / per_line;
        if (takes(p, line)) {
            const uint32_t n0 = (i - line * per_line) * width;
            float w[width];
            load_weights<W>(w, p, line, n0);
#pragma unroll
            for (int j = 0; j < width; j++) {
                w[j] *= scale;
            }
            store_pack<__half, width>(p.packed + line * p.out_pitch + n0,
                                      narrow_pack<__half, width>(w));
        }
    }
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
    wait_for_previous();
    let_next_start();
    for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < p.n_line * p.n_out;
         i += int64_t(gridDim.x) * threads) {
        const int64_t line = i / p.n_out;
        const int64_t path = line / p.n_in;
        narrow(__ldcg(p.from + i),
               static_cast<W *>(
                   p.to.data)[path * p.to.stride[0] + (line - path * p.n_in) * p.to.stride[1] +
                              (i - line * p.n_out) * p.to.stride[2]]);
    }
}

template <typename W>
cudaError_t pack_type(cudaStream_t stream, fc_weights p)
{
    const tess_cl_view &w = p.weight;
    constexpr int half = 16 / int(sizeof(W));
    p.are_packs = w.stride[2] == 1 && w.stride[0] % half == 0 && w.stride[1] % half == 0 &&
                  p.n_out % width == 0 && reinterpret_cast<uintptr_t>(w.data) % 16 == 0;
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
