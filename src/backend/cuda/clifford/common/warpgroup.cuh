// Order of a warpgroup's matrix instructions (wgmma): after fence registers are theirs, commit
// closes a set of them, wait<n> leaves at most the n newest sets unfinished. Only sm_90a has them.
#ifndef TESS_CLIFFORD_WARPGROUP_CUH
#define TESS_CLIFFORD_WARPGROUP_CUH

namespace clifford_mma
{

__device__ __forceinline__ void group_fence()
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#endif
}

__device__ __forceinline__ void group_commit()
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
#endif
}

template <int newest>
__device__ __forceinline__ void group_wait()
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(newest) : "memory");
#endif
}

} // namespace clifford_mma

#endif
