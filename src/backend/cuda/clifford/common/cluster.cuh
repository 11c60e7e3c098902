// Clusters of blocks: barriers that reach the shared memory of the other blocks.
#ifndef TESS_CLIFFORD_CLUSTER_CUH
#define TESS_CLIFFORD_CLUSTER_CUH

#include "backend/cuda/clifford/common/mma.cuh"

namespace clifford_mma
{

__device__ __forceinline__ uint32_t cluster_rank()
{
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
    return rank;
}

// By all threads of all blocks of the cluster.
__device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;\n" ::
                     : "memory");
}

// Arrives at the barrier that lies at this address in the block of that rank, to say that reads of
// shared memory are over. Nothing written is handed on: a release of the cluster's scope would be a
// fence over device memory each time.
__device__ __forceinline__ void barrier_arrive_at(uint32_t barrier, uint32_t rank)
{
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
                 "}\n" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

} // namespace clifford_mma

#endif
