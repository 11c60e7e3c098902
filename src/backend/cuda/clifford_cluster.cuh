// Clusters of blocks: barriers and copies that reach the shared memory of the other blocks.
#ifndef TESS_CLIFFORD_CLUSTER_CUH
#define TESS_CLIFFORD_CLUSTER_CUH

#include "backend/cuda/clifford_mma.cuh"

namespace clifford_mma
{

__device__ __forceinline__ uint32_t cluster_rank()
{
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
    return rank;
}

// Asks for a line of device memory to be in the cache.
__device__ __forceinline__ void prefetch(const void *address)
{
    asm volatile("prefetch.global.L2 [%0];\n" ::"l"(address));
}

// By all threads of all blocks of the cluster.
__device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;\n" ::
                     : "memory");
}

// Arrives at the barrier that lies at this address in the block of that rank.
__device__ __forceinline__ void barrier_arrive_at(uint32_t barrier, uint32_t rank)
{
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n"
                 "}\n" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

// Copies to the same address in every block of the mask; each completes on its own barrier. More
// than one block only with sm_90a.
__device__ __forceinline__ void copy_bulk_to(uint32_t to, const void *from, uint32_t bytes,
                                             uint32_t barrier, uint32_t ranks)
{
    if ((ranks & (ranks - 1)) == 0) {
        copy_bulk(to, from, bytes, barrier);
        return;
    }
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1], %2, [%3], %4;\n" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier), "h"(uint16_t(ranks))
                 : "memory");
#endif
}

} // namespace clifford_mma

#endif
