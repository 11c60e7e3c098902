// Matrix products of Hopper's warpgroups for the likelihood, and the copies that feed them.
//
// 128 threads multiply 64 rows by 16 with 16 by N, both bf16, sums in f32. The left matrix is in
// registers, lane = 4 g + t of warp w: a[0] row 16 w + g, items 2 t and 2 t + 1, a[1] row 8
// further, a[2] and a[3] items 8 further. The right one is in shared memory, eight columns by eight
// items (128 bytes, a column's items side by side) after eight by eight. Sums: d[4 j + 2 h + e] is
// row 16 w + g + 8 h, column 8 j + 2 t + e. Only sm_90a has them: elsewhere this does nothing.
#ifndef TESS_CUDA_DECODE_MATRIX_H
#define TESS_CUDA_DECODE_MATRIX_H

#include "backend/cuda/warpgroup.cuh"

#include <cstdint>

using warpgroup::give_registers;
using warpgroup::group_commit;
using warpgroup::group_fence;
using warpgroup::group_wait;
using warpgroup::take_registers;

__device__ __forceinline__ uint32_t shared_address(const void *pointer)
{
    return uint32_t(__cvta_generic_to_shared(pointer));
}

// Barriers of 8 bytes in shared memory: one thread initialises and fences, the block synchronises;
// phases are waited for by parity 0, 1, 0, ...
__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

__device__ __forceinline__ void barrier_init_fence()
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
#endif
}

__device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#endif
}

__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra finished;\n"
                 "bra again;\n"
                 "finished:\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
#endif
}

// A run of bytes into shared memory, which completes on a barrier; all multiples of 16.
__device__ __forceinline__ void copy_run(uint32_t to, const void *from, uint32_t bytes,
                                         uint32_t barrier)
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
#endif
}

// How the instruction finds the right matrix: item_bytes from eight items to the next eight,
// column_bytes from eight columns to the next.
__device__ __forceinline__ uint64_t right_matrix(uint32_t address, uint32_t item_bytes,
                                                 uint32_t column_bytes)
{
    return uint64_t((address & 0x3ffff) >> 4) | uint64_t(item_bytes >> 4) << 16 |
           uint64_t(column_bytes >> 4) << 32;
}

// d[0..n-1] += a b; N = 2 n columns.
template <int n>
__device__ __forceinline__ void multiply(float *d, const uint32_t (&a)[4], uint64_t b);

// clang-format off
#define KDE_SUMS_8(d) \
    "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), \
    "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define KDE_REGISTERS_8 \
    "%0,%1,%2,%3,%4,%5,%6,%7"
#define KDE_SUMS_32(d) \
    "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), \
    "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
    "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), \
    "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
    "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), \
    "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
    "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), \
    "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define KDE_REGISTERS_32 \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
    "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define KDE_SUMS_64(d) \
    KDE_SUMS_32(d), \
    "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), \
    "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
    "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), \
    "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
    "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), \
    "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
    "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), \
    "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define KDE_REGISTERS_64 \
    KDE_REGISTERS_32 "," \
    "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
    "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define KDE_SUMS_96(d) \
    KDE_SUMS_64(d), \
    "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), \
    "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), \
    "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), \
    "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), \
    "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), \
    "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), \
    "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), \
    "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define KDE_REGISTERS_96 \
    KDE_REGISTERS_64 "," \
    "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79," \
    "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define KDE_SUMS_128(d) \
    KDE_SUMS_96(d), \
    "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), \
    "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), \
    "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), \
    "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), \
    "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), \
    "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), \
    "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), \
    "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
#define KDE_REGISTERS_128 \
    KDE_REGISTERS_96 "," \
    "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111," \
    "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define KDE_MULTIPLY(n, columns, a0, a1, a2, a3, b) \
    template <> \
    __device__ __forceinline__ void multiply<n>(float *d, const uint32_t (&a)[4], uint64_t right) \
    { \
        asm volatile("{.reg .pred keeps; setp.ne.b32 keeps, 1, 0; " \
                     "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32.bf16.bf16 " \
                     "{" KDE_REGISTERS_##n "}, {%" a0 ",%" a1 ",%" a2 ",%" a3 "}, %" b \
                     ", keeps, 1, 1, 0;}" \
                     : KDE_SUMS_##n(d) \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(right)); \
    }
#if TESS_CUDA_HAS_GROUPS
KDE_MULTIPLY(8, "16", "8", "9", "10", "11", "12")
KDE_MULTIPLY(32, "64", "32", "33", "34", "35", "36")
KDE_MULTIPLY(64, "128", "64", "65", "66", "67", "68")
KDE_MULTIPLY(96, "192", "96", "97", "98", "99", "100")
KDE_MULTIPLY(128, "256", "128", "129", "130", "131", "132")
#else
template <int n>
__device__ __forceinline__ void multiply(float *, const uint32_t (&)[4], uint64_t)
{
}
#endif
// clang-format on
#undef KDE_SUMS_8
#undef KDE_REGISTERS_8
#undef KDE_SUMS_32
#undef KDE_REGISTERS_32
#undef KDE_SUMS_64
#undef KDE_REGISTERS_64
#undef KDE_SUMS_96
#undef KDE_REGISTERS_96
#undef KDE_SUMS_128
#undef KDE_REGISTERS_128
#undef KDE_MULTIPLY

#endif
