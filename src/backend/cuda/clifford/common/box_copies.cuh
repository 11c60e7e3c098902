// Copies of boxes of arrays (boxes.h makes their maps) between device and shared memory, by the
// copy engine of Hopper.
#ifndef TESS_CLIFFORD_BOX_COPIES_CUH
#define TESS_CLIFFORD_BOX_COPIES_CUH

#include "backend/cuda/clifford/common/mma.cuh"

#include <cuda.h>

namespace clifford_mma
{

// Asks for a map, a kernel's argument, before the first copy needs it.
__device__ __forceinline__ void prefetch_map(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];\n" ::"l"(map) : "memory");
}

// A box of an array, in the swizzle of swizzle_128, completing on the barrier; items outside the
// array are zero. To this block, or with a mask to the same place and barrier in several of the
// cluster.
__device__ __forceinline__ void copy_box(uint32_t to, const CUtensorMap *map, int x, int y, int z,
                                         uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];\n" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void copy_box_cluster(uint32_t to, const CUtensorMap *map, int x, int y,
                                                 int z, uint32_t barrier, uint16_t mask)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;\n" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(mask)
                 : "memory");
#endif
}

// A box from shared memory into an array, or added to it; items outside the array are left out. One
// thread starts its copies, then commit_bulk_out and wait_bulk_out_read.
__device__ __forceinline__ void store_box(const CUtensorMap *map, int x, int y, int z,
                                          uint32_t from)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group "
                 "[%0, {%1, %2, %3}], [%4];\n" ::"l"(map),
                 "r"(x), "r"(y), "r"(z), "r"(from)
                 : "memory");
}

// The same for what the next kernel reads: the second-level cache gives up everything else first.
__device__ __forceinline__ void store_box_kept(const CUtensorMap *map, int x, int y, int z,
                                               uint32_t from)
{
    asm volatile("{\n"
                 ".reg .b64 kept;\n"
                 "createpolicy.fractional.L2::evict_last.b64 kept, 1.0;\n"
                 "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint "
                 "[%0, {%1, %2, %3}], [%4], kept;\n"
                 "}\n" ::"l"(map),
                 "r"(x), "r"(y), "r"(z), "r"(from)
                 : "memory");
}

__device__ __forceinline__ void add_box(const CUtensorMap *map, int x, int y, int z, uint32_t from)
{
    asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group "
                 "[%0, {%1, %2, %3}], [%4];\n" ::"l"(map),
                 "r"(x), "r"(y), "r"(z), "r"(from)
                 : "memory");
}

} // namespace clifford_mma

#endif
