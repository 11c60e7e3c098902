// Rows of f32 as rows of f16 with a scale of their own, by a few warps that run beside a matrix
// product. A warp has two rows at a time; the next two are on their way from the cache meanwhile,
// and those after them from memory.
#ifndef TESS_CLIFFORD_LINEAR_CONVERT_CUH
#define TESS_CLIFFORD_LINEAR_CONVERT_CUH

#include "backend/cuda/clifford_device.cuh"
#include "backend/cuda/clifford_mma.cuh"

namespace clifford_convert
{

using namespace clifford_mma;

constexpr int warps = 3;
constexpr int pairs_ahead = 4; // of a warp's rows, that the cache is asked for
constexpr int lane_fours = 4;  // of items that a lane holds of a row
constexpr int span = lane_fours * 32 * 4;

// Rows are dense, begin at multiples of 16 bytes in both arrays, and have a multiple of four items.
struct arrays {
    const float *from;
    __half *to;
    int32_t *exponent; // [component][row]
    int64_t stride_component, stride_row;
    int64_t to_component, pitch;
    int64_t n_row;
    int32_t n; // items of a row
};

// Some rows of a component, and where the first of them lies.
struct row_set {
    const float *from;
    __half *to;
    int32_t *exponent;
    int n_row;

    __device__ __forceinline__ row_set(const arrays &a, int component, int64_t row, int most)
        : from(a.from + component * a.stride_component + row * a.stride_row),
          to(a.to + component * a.to_component + row * a.pitch),
          exponent(a.exponent + component * a.n_row + row),
          n_row(int(min(max(a.n_row - row, int64_t(0)), int64_t(most))))
    {
    }
};

using held_pair = float4[2][lane_fours];

// Asks the cache for a pair of rows.
__device__ __forceinline__ void prefetch(const arrays &a, const row_set &set, int row)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        if (row + i < set.n_row && clifford::is_elected()) {
            asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;\n" ::"l"(
                             set.from + (row + i) * a.stride_row),
                         "r"(a.n * int(sizeof(float)))
                         : "memory");
        }
    }
}

// Items from `base` on; zeros behind the end.
__device__ __forceinline__ void load(held_pair &held, const arrays &a, const row_set &set, int row,
                                     int base)
{
    const int first = base + int(threadIdx.x) % 32 * 4;
    const float *at = set.from + row * a.stride_row + first;
#pragma unroll
    for (int i = 0; i < 2; i++, at += a.stride_row) {
        const int left = row + i < set.n_row ? a.n - first : 0;
#pragma unroll
        for (int j = 0; j < lane_fours; j++) {
            uint4 bits = {};
            if (j * 128 < left) {
                bits = clifford::load_once(reinterpret_cast<const uint4 *>(at + j * 128));
            }
            memcpy(&held[i][j], &bits, sizeof(bits));
        }
    }
}

__device__ __forceinline__ float largest_of(float4 v, float most)
{
    return fmaxf(fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))), most);
}

__device__ __forceinline__ uint32_t largest_finite_of(float4 v, uint32_t most)
{
    return max(max(max(magnitude(v.x), magnitude(v.y)), max(magnitude(v.z), magnitude(v.w))), most);
}

// The largest finite magnitude that a lane holds of a row.
__device__ __forceinline__ uint32_t largest_held(const float4 (&held)[lane_fours])
{
    float most = 0.0f;
#pragma unroll
    for (int j = 0; j < lane_fours; j++) {
        most = largest_of(held[j], most);
    }
    uint32_t bits = __float_as_uint(most);
    if (bits >= 0x7f800000u) {
        bits = 0;
#pragma unroll
        for (int j = 0; j < lane_fours; j++) {
            bits = largest_finite_of(held[j], bits);
        }
    }
    return bits;
}

__device__ __forceinline__ void store(const held_pair &held, const arrays &a, const row_set &set,
                                      int row, int base, const float (&scale)[2])
{
    const int first = base + int(threadIdx.x) % 32 * 4;
    __half *at = set.to + row * a.pitch + first;
#pragma unroll
    for (int i = 0; i < 2; i++, at += a.pitch) {
        const int left = row + i < set.n_row ? a.n - first : 0;
#pragma unroll
        for (int j = 0; j < lane_fours; j++) {
            const float4 v = held[i][j];
            if (j * 128 < left) {
                clifford::store_word(reinterpret_cast<uint2 *>(at + j * 128),
                                     make_uint2(pack_half(v.x * scale[i], v.y * scale[i]),
                                                pack_half(v.z * scale[i], v.w * scale[i])));
            }
        }
    }
}

// A pair that was loaded from its first item on. What a warp cannot hold is read again.
__device__ __forceinline__ void convert(held_pair &held, const arrays &a, const row_set &set,
                                        int row)
{
    uint32_t most[2] = {largest_held(held[0]), largest_held(held[1])};
    for (int base = span; base < a.n; base += span) {
        load(held, a, set, row, base);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            most[i] = max(most[i], largest_held(held[i]));
        }
    }
    float scale[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int exponent = exponent_of(__reduce_max_sync(clifford::all_lanes, most[i]));
        scale[i] = scale_to_half(exponent);
        if (threadIdx.x % 32 == 0 && row + i < set.n_row) {
            set.exponent[row + i] = exponent;
        }
    }
    for (int base = 0; base < a.n; base += span) {
        if (a.n > span) {
            load(held, a, set, row, base);
        }
        store(held, a, set, row, base, scale);
    }
}

// The part of warp `warp` of all `warps`.
__device__ __forceinline__ void convert_set(const arrays &a, const row_set &set, int warp)
{
    constexpr int step = 2 * warps;
    held_pair held[2];
    load(held[0], a, set, 2 * warp, 0);
#pragma unroll 1
    for (int row = 2 * warp; row < set.n_row; row += 2 * step) {
#pragma unroll
        for (int odd = 0; odd < 2; odd++) {
            const int at = row + odd * step;
            load(held[1 - odd], a, set, at + step, 0);
            prefetch(a, set, at + pairs_ahead * step);
            convert(held[odd], a, set, at);
        }
    }
}

} // namespace clifford_convert

#endif
