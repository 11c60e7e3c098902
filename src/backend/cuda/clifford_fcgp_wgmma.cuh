// The matrix instructions of a group of four warps (sm_90a): c += a b with a from registers, b from
// shared memory, asynchronous. Rows of a warp are 16 times its number in the group; fragments are
// those of mma m16n8k16.
//
// Order: fence (registers are ready), any number of multiply_group, commit; wait<n> leaves at most
// the n newest commits unfinished. Until then neither a, c nor b may change: keep() holds a's
// registers where the compiler would give them to somebody else.
#ifndef TESS_CLIFFORD_FCGP_WGMMA_CUH
#define TESS_CLIFFORD_FCGP_WGMMA_CUH

#include "backend/cuda/clifford_warpgroup.cuh"

#include <cstdint>
#include <type_traits>

namespace clifford_mma
{

// A matrix of 8 x 8 cores of 128 bytes without swizzle: bytes from core to core along k, and along
// the columns.
__device__ __forceinline__ uint64_t group_matrix(uint32_t address, uint32_t along_k,
                                                 uint32_t along_columns)
{
    return uint64_t(address >> 4 & 0x3fff) | uint64_t(along_k >> 4) << 16 |
           uint64_t(along_columns >> 4) << 32;
}

__device__ __forceinline__ void keep(uint32_t (&a)[4])
{
    asm volatile("" ::"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]) : "memory");
}

template <int n>
__device__ __forceinline__ void keep(float (&c)[n][4])
{
#pragma unroll
    for (int i = 0; i < n; i++) {
        asm volatile("" : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])::"memory");
    }
}

// 64 columns, whose cores have k along their rows of 16 bytes (false), or the columns (true).
__device__ __forceinline__ void multiply_group(float (&c)[8][4], const uint32_t (&a)[4], uint64_t b,
                                               std::integral_constant<bool, false>)
{
    asm volatile("{\n"
                 ".reg .pred accumulate;\n"
                 "setp.ne.b32 accumulate, 1, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%"
                 "22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, "
                 "{%32,%33,%34,%35}, %36, accumulate, 1, 1, 0;\n"
                 "}\n"
                 : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]),
                   "+f"(c[1][1]), "+f"(c[1][2]), "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]),
                   "+f"(c[2][2]), "+f"(c[2][3]), "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]),
                   "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]), "+f"(c[4][2]), "+f"(c[4][3]),
                   "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]), "+f"(c[6][0]),
                   "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]), "+f"(c[7][0]), "+f"(c[7][1]),
                   "+f"(c[7][2]), "+f"(c[7][3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

} // namespace clifford_mma

#endif
