// Items of clifford's arrays on the device: loads and stores that compute in f32 or f64.
#ifndef TESS_CLIFFORD_TYPES_CUH
#define TESS_CLIFFORD_TYPES_CUH

#include "tessera/array.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace clifford_types
{

// The type that items of type T are computed in.
template <typename T>
struct computed {
    using type = float;
};

template <>
struct computed<double> {
    using type = double;
};

__device__ __forceinline__ float widen(float value)
{
    return value;
}

__device__ __forceinline__ double widen(double value)
{
    return value;
}

__device__ __forceinline__ float widen(__half value)
{
    return __half2float(value);
}

__device__ __forceinline__ float widen(__nv_bfloat16 value)
{
    return __bfloat162float(value);
}

template <typename T, typename C>
__device__ __forceinline__ T narrow(C value)
{
    return T(value);
}

template <>
__device__ __forceinline__ __half narrow<__half, float>(float value)
{
    return __float2half_rn(value);
}

template <>
__device__ __forceinline__ __nv_bfloat16 narrow<__nv_bfloat16, float>(float value)
{
    return __float2bfloat16_rn(value);
}

// Calls visit(T{}, W{}) with the types of activations and weights.
template <typename Visit>
auto with_types(int32_t dtype, int32_t weight_dtype, Visit visit)
{
    switch (dtype) {
    case TESS_F64:
        return visit(double{}, double{});
    case TESS_F16:
        return weight_dtype == TESS_F32 ? visit(__half{}, float{}) : visit(__half{}, __half{});
    case TESS_BF16:
        return weight_dtype == TESS_F32 ? visit(__nv_bfloat16{}, float{})
                                        : visit(__nv_bfloat16{}, __nv_bfloat16{});
    default:
        return visit(float{}, float{});
    }
}

} // namespace clifford_types

#endif
