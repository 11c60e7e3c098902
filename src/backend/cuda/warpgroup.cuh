// What all matrix instructions of Hopper's warpgroups (wgmma) need: fences of their registers, and
// how many of these a thread has. Only sm_90a has them: elsewhere these functions do nothing, and
// TESS_CUDA_HAS_GROUPS is 0.
#ifndef TESS_CUDA_WARPGROUP_CUH
#define TESS_CUDA_WARPGROUP_CUH

#include "backend/cuda/level.h"

namespace warpgroup
{

// After fence registers are the instructions', commit closes a set of them, wait<n> leaves at most
// the n newest sets unfinished. Between fence and wait nobody else touches their sums.
__device__ __forceinline__ void group_fence()
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#endif
}

__device__ __forceinline__ void group_commit()
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
#endif
}

template <int newest>
__device__ __forceinline__ void group_wait()
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(newest) : "memory");
#endif
}

// Registers per thread of a warpgroup from here on; all its warps say so.
template <int registers>
__device__ __forceinline__ void give_registers()
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(registers));
#endif
}

template <int registers>
__device__ __forceinline__ void take_registers()
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(registers));
#endif
}

} // namespace warpgroup

#endif
