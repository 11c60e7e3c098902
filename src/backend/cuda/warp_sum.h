// The sum and the largest over all lanes of a warp, for all of them: an instruction from sm_80 on.
#ifndef TESS_CUDA_WARP_SUM_H
#define TESS_CUDA_WARP_SUM_H

#include "backend/cuda/level.h"

template <typename I>
__device__ __forceinline__ I warp_sum(I value)
{
#if TESS_CUDA_HAS_MATRIX
    return __reduce_add_sync(0xffffffffu, value);
#else
    for (int step = 16; step > 0; step /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, step);
    }
    return value;
#endif
}

template <typename I>
__device__ __forceinline__ I warp_max(I value)
{
#if TESS_CUDA_HAS_MATRIX
    return __reduce_max_sync(0xffffffffu, value);
#else
    for (int step = 16; step > 0; step /= 2) {
        value = max(value, __shfl_xor_sync(0xffffffffu, value, step));
    }
    return value;
#endif
}

#endif
