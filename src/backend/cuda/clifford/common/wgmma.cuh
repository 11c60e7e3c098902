// The matrix instructions of Hopper's warpgroups (wgmma): operands in shared memory, sums in
// registers. Only sm_90a has them: elsewhere these functions do nothing, and
// TESS_CUDA_HAS_GROUPS is 0.
//
// 128 threads multiply 64 rows with 256, 128 or 64 columns over 16 items of the inner axis.
// Operands lie as tiles of rows of 128 bytes in the copy engine's swizzle (swizzle_128), from a
// multiple of 1024 bytes on, inner axis dense, or turned: rows (columns) dense. Sums of thread t:
// rows 16 (t / 32) + t % 32 / 4 and 8 further, columns 8 j + 2 (t % 4) and the next: sum[4 j + 2
// (second row) + (next column)], which is mma's c for 8 columns after 8. Products run until
// group_wait, and between group_fence and group_wait nobody else touches their sums.
#ifndef TESS_CLIFFORD_WGMMA_CUH
#define TESS_CLIFFORD_WGMMA_CUH

#include "backend/cuda/clifford/common/mma.cuh"
#include "backend/cuda/warpgroup.cuh"

namespace clifford_mma
{

constexpr int most_shared_bytes = 227 * 1024; // of a block, where there are warpgroups

using warpgroup::give_registers;
using warpgroup::group_commit;
using warpgroup::group_fence;
using warpgroup::group_wait;
using warpgroup::take_registers;

// A barrier of the threads of one of the block's warpgroups.
__device__ __forceinline__ void group_sync(int group)
{
    asm volatile("bar.sync %0, 128;\n" ::"r"(group + 1) : "memory");
}

// How the instruction finds a tile: its address, 1024 bytes from eight rows to the next eight, the
// swizzle. Adding 2 moves 16 items along the inner axis.
__device__ __forceinline__ uint64_t tile_descriptor(uint32_t address)
{
    return uint64_t((address & 0x3ffff) >> 4) | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 |
           uint64_t(1) << 62;
}

// The same of a turned tile: 64 rows (columns) are one row of 128 bytes; `stride` bytes to the next
// 64. Adding 128 moves 16 items along the inner axis.
__device__ __forceinline__ uint64_t turned_descriptor(uint32_t address, uint32_t stride)
{
    return uint64_t((address & 0x3ffff) >> 4) | uint64_t(stride >> 4) << 16 |
           uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}

// Fragments of mma as sums of 128 columns.
__device__ __forceinline__ float (&as_group_sums(float (&c)[16][4]))[64]
{
    return reinterpret_cast<float(&)[64]>(c);
}

// clang-format off
#define CL_WGMMA_REGISTERS_32 \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
    "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define CL_WGMMA_REGISTERS_64 \
    CL_WGMMA_REGISTERS_32 "," \
    "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
    "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define CL_WGMMA_REGISTERS_128 \
    CL_WGMMA_REGISTERS_64 "," \
    "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79," \
    "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95," \
    "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111," \
    "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define CL_WGMMA_SUMS_32(d) \
    "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), \
    "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
    "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), \
    "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
    "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), \
    "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
    "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), \
    "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define CL_WGMMA_SUMS_64(d) \
    CL_WGMMA_SUMS_32(d), \
    "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), \
    "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
    "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), \
    "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
    "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), \
    "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
    "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), \
    "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define CL_WGMMA_SUMS_128(d) \
    CL_WGMMA_SUMS_64(d), \
    "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), \
    "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), \
    "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), \
    "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), \
    "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), \
    "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), \
    "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), \
    "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), \
    "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), \
    "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), \
    "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), \
    "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), \
    "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), \
    "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), \
    "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), \
    "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
// The text of a product: keeps is whether the sums are added to.
#define CL_WGMMA(columns, types, registers, keep, operands) \
    "{\n.reg .pred keeps;\nsetp.ne.b32 keeps, " keep ", 0;\n" \
    "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." types " {" registers "}, " operands \
    ";\n}\n"
// clang-format on

// d = a b, or d += a b with keep. T is __half or __nv_bfloat16.
template <typename T>
__device__ __forceinline__ void group_multiply(float (&d)[128], uint64_t a, uint64_t b, int keep);
template <typename T>
__device__ __forceinline__ void group_multiply(float (&d)[64], uint64_t a, uint64_t b, int keep);

// The same with a held as fragments of mma, one per warp, and b turned.
template <typename T>
__device__ __forceinline__ void group_multiply_held(float (&d)[128], const uint32_t (&a)[4],
                                                    uint64_t b, int keep);
template <typename T>
__device__ __forceinline__ void group_multiply_held(float (&d)[64], const uint32_t (&a)[4],
                                                    uint64_t b, int keep);

template <>
__device__ __forceinline__ void group_multiply<__half>(float (&d)[128], uint64_t a, uint64_t b,
                                                       int keep)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile(
        CL_WGMMA("256", "f16.f16", CL_WGMMA_REGISTERS_128, "%130", "%128, %129, keeps, 1, 1, 0, 0")
        : CL_WGMMA_SUMS_128(d)
        : "l"(a), "l"(b), "r"(keep));
#endif
}

template <>
__device__ __forceinline__ void group_multiply<__nv_bfloat16>(float (&d)[128], uint64_t a,
                                                              uint64_t b, int keep)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile(CL_WGMMA("256", "bf16.bf16", CL_WGMMA_REGISTERS_128, "%130",
                          "%128, %129, keeps, 1, 1, 0, 0")
                 : CL_WGMMA_SUMS_128(d)
                 : "l"(a), "l"(b), "r"(keep));
#endif
}

template <>
__device__ __forceinline__ void group_multiply<__half>(float (&d)[64], uint64_t a, uint64_t b,
                                                       int keep)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile(
        CL_WGMMA("128", "f16.f16", CL_WGMMA_REGISTERS_64, "%66", "%64, %65, keeps, 1, 1, 0, 0")
        : CL_WGMMA_SUMS_64(d)
        : "l"(a), "l"(b), "r"(keep));
#endif
}

template <>
__device__ __forceinline__ void group_multiply<__nv_bfloat16>(float (&d)[64], uint64_t a,
                                                              uint64_t b, int keep)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile(
        CL_WGMMA("128", "bf16.bf16", CL_WGMMA_REGISTERS_64, "%66", "%64, %65, keeps, 1, 1, 0, 0")
        : CL_WGMMA_SUMS_64(d)
        : "l"(a), "l"(b), "r"(keep));
#endif
}

template <>
__device__ __forceinline__ void group_multiply_held<__half>(float (&d)[128], const uint32_t (&a)[4],
                                                            uint64_t b, int keep)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile(CL_WGMMA("256", "f16.f16", CL_WGMMA_REGISTERS_128, "%133",
                          "{%128,%129,%130,%131}, %132, keeps, 1, 1, 1")
                 : CL_WGMMA_SUMS_128(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
#endif
}

template <>
__device__ __forceinline__ void
group_multiply_held<__nv_bfloat16>(float (&d)[128], const uint32_t (&a)[4], uint64_t b, int keep)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile(CL_WGMMA("256", "bf16.bf16", CL_WGMMA_REGISTERS_128, "%133",
                          "{%128,%129,%130,%131}, %132, keeps, 1, 1, 1")
                 : CL_WGMMA_SUMS_128(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
#endif
}

template <>
__device__ __forceinline__ void group_multiply_held<__half>(float (&d)[64], const uint32_t (&a)[4],
                                                            uint64_t b, int keep)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile(CL_WGMMA("128", "f16.f16", CL_WGMMA_REGISTERS_64, "%69",
                          "{%64,%65,%66,%67}, %68, keeps, 1, 1, 1")
                 : CL_WGMMA_SUMS_64(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
#endif
}

template <>
__device__ __forceinline__ void
group_multiply_held<__nv_bfloat16>(float (&d)[64], const uint32_t (&a)[4], uint64_t b, int keep)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile(CL_WGMMA("128", "bf16.bf16", CL_WGMMA_REGISTERS_64, "%69",
                          "{%64,%65,%66,%67}, %68, keeps, 1, 1, 1")
                 : CL_WGMMA_SUMS_64(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
#endif
}

// f16 with a held and b not turned: 64 columns.
__device__ __forceinline__ void group_multiply_held_half(float (&d)[32], const uint32_t (&a)[4],
                                                         uint64_t b, int keep)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile(CL_WGMMA("64", "f16.f16", CL_WGMMA_REGISTERS_32, "%37",
                          "{%32,%33,%34,%35}, %36, keeps, 1, 1, 0")
                 : CL_WGMMA_SUMS_32(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
#endif
}

// d += a b for f16, and either operand may be turned.
template <bool turned_a, bool turned_b>
__device__ __forceinline__ void group_multiply_half(float (&d)[128], uint64_t a, uint64_t b)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile(CL_WGMMA("256", "f16.f16", CL_WGMMA_REGISTERS_128, "1",
                          "%128, %129, keeps, 1, 1, %130, %131")
                 : CL_WGMMA_SUMS_128(d)
                 : "l"(a), "l"(b), "n"(int(turned_a)), "n"(int(turned_b)));
#endif
}

template <bool turned_a, bool turned_b>
__device__ __forceinline__ void group_multiply_half(float (&d)[64], uint64_t a, uint64_t b)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile(
        CL_WGMMA("128", "f16.f16", CL_WGMMA_REGISTERS_64, "1", "%64, %65, keeps, 1, 1, %66, %67")
        : CL_WGMMA_SUMS_64(d)
        : "l"(a), "l"(b), "n"(int(turned_a)), "n"(int(turned_b)));
#endif
}

#undef CL_WGMMA
#undef CL_WGMMA_REGISTERS_32
#undef CL_WGMMA_REGISTERS_64
#undef CL_WGMMA_REGISTERS_128
#undef CL_WGMMA_SUMS_32
#undef CL_WGMMA_SUMS_64
#undef CL_WGMMA_SUMS_128

} // namespace clifford_mma

#endif
