// Matrix instructions of warps on TF32: f32 as it lies in memory, without scales. Lanes and sums as
// in mma.cuh.
#ifndef TESS_CLIFFORD_TF32_CUH
#define TESS_CLIFFORD_TF32_CUH

#include "backend/cuda/clifford/common/mma.cuh"

namespace clifford_mma
{

// The nearest number of TF32, as the instructions below read it.
__device__ __forceinline__ uint32_t round_to_tf32(float value)
{
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
}

// c += a b of TF32, m16n8k8, with c as for m16n8k16:
//   a[4]  (row, k) = (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)
//   b     (k, col) = (t, g), (t + 4, g)
// ldmatrix gives a from a row-major (row, k) tile, as if its items were pairs of 16 bits.
__device__ __forceinline__ void multiply_1688(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                              uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

} // namespace clifford_mma

#endif
