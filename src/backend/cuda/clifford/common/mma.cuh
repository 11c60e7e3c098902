// PTX that the matrix products of clifford share: copies into shared memory, fragments, the
// instructions of the tensor cores, and scales that are exact powers of two.
//
// Fragments of mma m16n8k16 (16-bit types), lane = 4 * g + t:
//   a[4]  halves (row, k) = (g, 2t..), (g + 8, 2t..), (g, 2t + 8..), (g + 8, 2t + 8..)
//   b[2]  halves (k, col) = (2t.., g), (2t + 8.., g)
//   c[4]  floats (row, col) = (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
// ldmatrix gives a from a row-major (row, k) tile, b from a row-major (col, k) tile; with .trans
// the same from (k, row) and (k, col) tiles.
#ifndef TESS_CLIFFORD_MMA_CUH
#define TESS_CLIFFORD_MMA_CUH

#include "backend/cuda/level.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

namespace clifford_mma
{

__device__ __forceinline__ uint32_t shared_address(const void *pointer)
{
    return uint32_t(__cvta_generic_to_shared(pointer));
}

// Copies of 16 bytes that return at once; bytes behind `bytes` (0 or 16) become zero. A group is
// everything since the last commit; wait<n> leaves at most the n newest groups unfinished.
__device__ __forceinline__ void copy_async_16(uint32_t to, const void *from, int bytes = 16)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void copy_commit()
{
    asm volatile("cp.async.commit_group;\n" ::: "memory");
}

template <int newest>
__device__ __forceinline__ void copy_wait()
{
    asm volatile("cp.async.wait_group %0;\n" ::"n"(newest) : "memory");
}

// Barriers in shared memory (8 bytes each) and copies of whole runs that complete on one. Addresses
// and sizes are multiples of 16 bytes. One thread initialises, fences, and the block synchronises;
// then per phase one thread expects the bytes and starts the copies, all wait for the phase's
// parity (0, 1, 0, ...).
__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

__device__ __forceinline__ void barrier_init_fence()
{
#if TESS_CUDA_HAS_GROUPS
    asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
#endif
}

__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier),
                 "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(barrier) : "memory");
}

// Arrives when this thread's copies of 16 bytes are there.
__device__ __forceinline__ void barrier_arrive_behind_copies(uint32_t barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];\n" ::"r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
#if TESS_CUDA_HAS_GROUPS
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
#else
                 "mbarrier.test_wait.parity.shared::cta.b64 done, [%0], %1;\n"
#endif
                 "@done bra finished;\n"
                 "bra again;\n"
                 "finished:\n"
                 "}\n" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

__device__ __forceinline__ void copy_bulk(uint32_t to, const void *from, uint32_t bytes,
                                          uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];\n" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

// policy: how long the second-level cache shall keep the run.
__device__ __forceinline__ void copy_bulk(uint32_t to, const void *from, uint32_t bytes,
                                          uint32_t barrier, uint64_t policy)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1], %2, [%3], %4;\n" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
                 : "memory");
}

// Copies of whole runs the other way. A thread's copies since its last commit are a group; it waits
// until all but the newest groups have been read from shared memory, which may be written again.
__device__ __forceinline__ void copy_bulk_out(void *to, uint32_t from, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n" ::"l"(to),
                 "r"(from), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void commit_bulk_out()
{
    asm volatile("cp.async.bulk.commit_group;\n" ::: "memory");
}

template <int newest = 0>
__device__ __forceinline__ void wait_bulk_out_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;\n" ::"n"(newest) : "memory");
}

// Ordinary writes to shared memory before, reads by the copy engine or wgmma after.
__device__ __forceinline__ void fence_async_proxy()
{
    asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

// Rows of 16 bytes: lanes 0-7 address those of the first 8x8 matrix, 8-15 of the second, and so on.
__device__ __forceinline__ void load_matrix_x4(uint32_t (&r)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ void load_matrix_x4_trans(uint32_t (&r)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// c += a b. T is __half or __nv_bfloat16: what the 16-bit items of a and b are.
template <typename T>
__device__ __forceinline__ void multiply_16816(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                               uint32_t b1);

template <>
__device__ __forceinline__ void multiply_16816<__half>(float (&c)[4], const uint32_t (&a)[4],
                                                       uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ __forceinline__ void multiply_16816<__nv_bfloat16>(float (&c)[4], const uint32_t (&a)[4],
                                                              uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Byte offset of 16-byte chunk `chunk` of row `row` in a tile of rows of 128 bytes. Eight
// rows at one chunk, and eight chunks of a row, lie in different banks.
__device__ __forceinline__ uint32_t swizzle_128(int row, int chunk)
{
    return uint32_t(row * 128 + ((chunk ^ (row & 7)) << 4));
}

// f32 as f16 with an exact scale. TF32 and f16 both have 10 bits of mantissa; what f16 lacks in
// range, one power of two per row (or tensor) makes up for: the largest item gets an exponent of
// 14, and items down to 2^-28 of it keep all their bits.
constexpr int half_exponent = 14;

// |value| as an integer that orders as the numbers do. Maxima of these are exact. Infinities and
// NaN count as 0: they stay what they are under any scale, which is for the finite items beside
// them.
__device__ __forceinline__ uint32_t magnitude(float value)
{
    const uint32_t bits = __float_as_uint(value) & 0x7fffffffu;
    return bits < 0x7f800000u ? bits : 0u;
}

// The exponent of a maximum of magnitudes, -112..127: scale_to_half is finite for all of them.
__device__ __forceinline__ int exponent_of(uint32_t largest)
{
    return max(int(largest >> 23) - 127, half_exponent - 126);
}

// 2^exponent for -126..127.
__device__ __forceinline__ float power_of_two(int exponent)
{
    return __uint_as_float(uint32_t(exponent + 127) << 23);
}

__device__ __forceinline__ float scale_to_half(int exponent)
{
    return power_of_two(half_exponent - exponent);
}

// a in the lower half.
__device__ __forceinline__ uint32_t pack_half(float a, float b)
{
    const __half2 both = __floats2half2_rn(a, b);
    uint32_t bits;
    memcpy(&bits, &both, sizeof(bits));
    return bits;
}

__device__ __forceinline__ uint32_t pack_bfloat16(float a, float b)
{
    const __nv_bfloat162 both = __floats2bfloat162_rn(a, b);
    uint32_t bits;
    memcpy(&bits, &both, sizeof(bits));
    return bits;
}

// Writes two items of the type to shared memory.
__device__ __forceinline__ void put_pair(uint32_t to, float first, float second, float)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};\n" ::"r"(to), "f"(first), "f"(second)
                 : "memory");
}

__device__ __forceinline__ void put_pair(uint32_t to, float first, float second, __half)
{
    asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(to), "r"(pack_half(first, second)) : "memory");
}

__device__ __forceinline__ void put_pair(uint32_t to, float first, float second, __nv_bfloat16)
{
    asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(to), "r"(pack_bfloat16(first, second))
                 : "memory");
}

// Takes both scales from a sum of products of scaled items: sum * 2^(a + b - 2 * half_exponent), in
// two steps, because the whole factor can leave the range of f32 where the result does not.
struct unscale {
    float first;
    float second;
};

__device__ __forceinline__ unscale unscale_of(int exponent_a, int exponent_b)
{
    const int whole = exponent_a + exponent_b - 2 * half_exponent;
    const int half = whole >> 1;
    return {power_of_two(half), power_of_two(whole - half)};
}

// The same for a sum * 2^exponent.
__device__ __forceinline__ unscale unscale_by(int exponent)
{
    const int half = min(max(exponent >> 1, -126), 127);
    return {power_of_two(half), power_of_two(min(max(exponent - half, -126), 127))};
}

__device__ __forceinline__ float operator*(float sum, unscale factors)
{
    return sum * factors.first * factors.second;
}

} // namespace clifford_mma

#endif
