// Sums of arrays of multivectors on CUDA, with conversion between types.

#include "backend/cuda/clifford/stages.h"
#include "stage/clifford.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace
{

constexpr int threads = 256;
constexpr int64_t max_blocks = 132 * 32; // larger arrays loop over the grid

__device__ __forceinline__ int64_t offset_of(const tess_cl_view &view, const int64_t (&at)[3])
{
    return at[0] * view.stride[0] + at[1] * view.stride[1] + at[2] * view.stride[2];
}

__device__ __forceinline__ float load(const void *data, int32_t dtype, int64_t i)
{
    switch (dtype) {
    case TESS_BF16:
        return __bfloat162float(static_cast<const __nv_bfloat16 *>(data)[i]);
    case TESS_F16:
        return __half2float(static_cast<const __half *>(data)[i]);
    default:
        return static_cast<const float *>(data)[i];
    }
}

__device__ __forceinline__ void store(void *data, int32_t dtype, int64_t i, float value)
{
    switch (dtype) {
    case TESS_BF16:
        static_cast<__nv_bfloat16 *>(data)[i] = __float2bfloat16_rn(value);
        break;
    case TESS_F16:
        static_cast<__half *>(data)[i] = __float2half_rn(value);
        break;
    default:
        static_cast<float *>(data)[i] = value;
    }
}

__device__ __forceinline__ double load_as(double, const void *data, int32_t dtype, int64_t i)
{
    return dtype == TESS_F64 ? static_cast<const double *>(data)[i] : double(load(data, dtype, i));
}

__device__ __forceinline__ float load_as(float, const void *data, int32_t dtype, int64_t i)
{
    return load(data, dtype, i);
}

__device__ __forceinline__ void store_as(void *data, int32_t dtype, int64_t i, double value)
{
    if (dtype == TESS_F64) {
        static_cast<double *>(data)[i] = value;
    } else {
        store(data, dtype, i, float(value));
    }
}

__device__ __forceinline__ void store_as(void *data, int32_t dtype, int64_t i, float value)
{
    store(data, dtype, i, value);
}

// The types are the same for every thread, so the branches on them cost little beside the memory.
template <typename T>
__global__ void __launch_bounds__(threads) sum_kernel(const tess_stage_clifford_sum a)
{
    const int64_t n_item = a.shape[0] * a.shape[1] * a.shape[2];
    const int64_t step = int64_t(gridDim.x) * threads;
    for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < n_item; i += step) {
        const int64_t row = i / a.shape[2];
        const int64_t at[3] = {row / a.shape[1], row % a.shape[1], i - row * a.shape[2]};
        T sum = T(0);
#pragma unroll
        for (int t = 0; t < 4; t++) {
            if (t < a.n_term) {
                const T term =
                    load_as(T(), a.terms[t].data, a.term_dtype, offset_of(a.terms[t], at));
                sum = t == 0 ? term : sum + term;
            }
        }
        store_as(a.out.data, a.out_dtype, offset_of(a.out, at), sum);
    }
}

cudaError_t sum_launch(cudaStream_t stream, const void *args)
{
    const tess_stage_clifford_sum &a = *static_cast<const tess_stage_clifford_sum *>(args);
    const int64_t needed = (a.shape[0] * a.shape[1] * a.shape[2] - 1) / threads + 1;
    const unsigned blocks = unsigned(needed < max_blocks ? needed : max_blocks);
    if (a.out_dtype == TESS_F64 || a.term_dtype == TESS_F64) {
        sum_kernel<double><<<blocks, threads, 0, stream>>>(a);
    } else {
        sum_kernel<float><<<blocks, threads, 0, stream>>>(a);
    }
    return cudaGetLastError();
}

tess_status sum_supports(const tess_backend_device *, const void *)
{
    return TESS_OK;
}

size_t sum_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_clifford_sum = {
    TESS_STAGE_CLIFFORD_SUM, "clifford.sum", sizeof(tess_stage_clifford_sum), sum_supports,
    sum_scratch_bytes,       sum_launch,
};
