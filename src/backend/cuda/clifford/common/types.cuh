// Types of the items of clifford's arrays, and how they are widened and rounded.
#ifndef TESS_CLIFFORD_TYPES_CUH
#define TESS_CLIFFORD_TYPES_CUH

#include "tessera/array.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace clifford
{

// The type that items of type T are computed in: f32 for 16 bits.
template <typename T>
struct compute_of {
    using type = float;
};

template <>
struct compute_of<double> {
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

// Two at once, which one instruction can.
__device__ __forceinline__ void narrow_pair(float first, float second, __nv_bfloat16 *items)
{
    const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
    items[0] = pair.x;
    items[1] = pair.y;
}

__device__ __forceinline__ void narrow_pair(float first, float second, __half *items)
{
    const __half2 pair = __floats2half2_rn(first, second);
    items[0] = pair.x;
    items[1] = pair.y;
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

} // namespace clifford

#endif
