// What the kernels of stage clifford.maps share: rows, pairs of components, products by TF32.
//
// Channels are read as four quads of components, words of 16 bytes. Half of the pairs have all
// their components in two of them, which are dealt out to these four pairs.
#ifndef TESS_CUDA_CLIFFORD_MAPS_CUH
#define TESS_CUDA_CLIFFORD_MAPS_CUH

#include "backend/cuda/clifford/common/tf32.cuh"
#include "stage/clifford_maps.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace clifford_maps
{

using clifford_mma::copy_async_16;
using clifford_mma::copy_commit;
using clifford_mma::copy_wait;
using clifford_mma::multiply_1688;
using clifford_mma::shared_address;

constexpr int n_component = TESS_CL_MAPS_COMPONENTS;
constexpr int n_pair = TESS_CL_MAPS_PAIRS;
constexpr int half_pairs = n_pair / 2;

struct side {
    float *data;
    int64_t stride;
    int32_t n_channel, n_scalar;
    int32_t channels, scalars, width; // of a group

    __host__ explicit side(const tess_cl_maps_side &s)
        : data(static_cast<float *>(s.data)), stride(s.stride), n_channel(int32_t(s.n_channel)),
          n_scalar(int32_t(s.n_scalar)), channels(int32_t(s.n_channel / s.n_group)),
          scalars(int32_t(s.n_scalar / s.n_group)), width(channels * n_component + scalars)
    {
    }
    __device__ __forceinline__ int channel_at(int channel) const
    {
        return channel / channels * width + channel % channels * n_component;
    }
    __device__ __forceinline__ int scalar_at(int scalar) const
    {
        return scalar / scalars * width + channels * n_component + scalar % scalars;
    }
};

// Pairs k and 15 - k: what the pseudoscalar brings together.
struct dual_pairs {
    // Quads of a half of the pairs.
    __host__ __device__ static constexpr int quad(int half, int which)
    {
        return half == 0 ? 3 * which : 1 + which;
    }
    // Which of the eight components of these quads is component b of pair j.
    __host__ __device__ static constexpr int place(int, int j, int b)
    {
        return b == 0 ? j : 7 - j;
    }
    __host__ __device__ static constexpr int first(int b)
    {
        return b == 0 ? 0 : 15;
    }
};

// Pairs k and e_0 k.
struct null_pairs {
    __host__ __device__ static constexpr int quad(int half, int which)
    {
        return 2 * half + which;
    }
    __host__ __device__ static constexpr int place(int half, int j, int b)
    {
        // 0 1, 2 5, 3 6, 4 7; behind 8: 0 3, 1 4, 2 5, 6 7.
        return half == 0 ? (j == 0 ? b : 1 + j + 3 * b) : (j == 3 ? 6 + b : j + 3 * b);
    }
    __host__ __device__ static constexpr int first(int b)
    {
        return b;
    }
};

// A factor whose lower 13 bits the matrix instructions will not read: they cut, which on average is
// as much too little as this is too much. What TF32 holds stays what it is, and so do NaN and
// infinities. The conversion proper takes two instructions, and moves of what it made.
__device__ __forceinline__ uint32_t to_tf32(float value)
{
    return __float_as_uint(value * 1.00035f);
}

// Two quads, rounded.
__device__ __forceinline__ void load_quads(const float *one, const float *other,
                                           uint32_t (&values)[8])
{
    const float4 a = *reinterpret_cast<const float4 *>(one);
    const float4 b = *reinterpret_cast<const float4 *>(other);
    values[0] = to_tf32(a.x);
    values[1] = to_tf32(a.y);
    values[2] = to_tf32(a.z);
    values[3] = to_tf32(a.w);
    values[4] = to_tf32(b.x);
    values[5] = to_tf32(b.y);
    values[6] = to_tf32(b.z);
    values[7] = to_tf32(b.w);
}

struct lane_place {
    int g, t;

    __device__ __forceinline__ lane_place() : g(int(threadIdx.x) % 32 / 4), t(int(threadIdx.x) % 4)
    {
    }
};

// maps_rows.cu and maps_sums.cu; null_pairs where is_null.
cudaError_t launch_rows(cudaStream_t stream, const tess_stage_clifford_maps &a, bool is_null);
cudaError_t launch_sums(cudaStream_t stream, const tess_stage_clifford_maps &a, bool is_null);
size_t rows_shared_bytes();
size_t sums_shared_bytes();
size_t sums_scratch_bytes(const tess_stage_clifford_maps &a);

} // namespace clifford_maps

#endif
