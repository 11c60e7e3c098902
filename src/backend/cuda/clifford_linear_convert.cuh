// Rows of f32 as tiles of f16 for the matrix instructions, each row with a scale of its own, by a
// few warps of a block. A warp has two rows at a time; the next two are on their way from the cache
// meanwhile, and those after them from memory.
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
constexpr int most_items = lane_fours * 32 * 4;

// Rows are dense, begin at multiples of 16 bytes, and have a multiple of four items.
struct arrays {
    const float *from;
    int64_t stride_component, stride_row;
    // A copy for others, or NULL: [component][row][pitch], exponent [component][row].
    __half *copy;
    int32_t *exponent;
    int64_t copy_component, pitch;
    int64_t n_row;
    int32_t n; // items of a row, at most most_items
};

// Where rows go in shared memory: slabs of 64 items, rows of 128 bytes in the swizzle of
// swizzle_128. What is behind n up to the slab's end becomes zero. factor takes a row's scale out.
struct tile {
    uint32_t slabs;
    uint32_t slab_bytes;
    uint32_t factor; // f32 [row]
};

// Some rows of a component.
struct row_set {
    const float *from;
    int64_t first; // row of all components
    __half *copy;
    int n_row;

    __device__ __forceinline__ row_set(const arrays &a, int component, int64_t row, int most)
        : from(a.from + component * a.stride_component + row * a.stride_row),
          first(component * a.n_row + row),
          copy(a.copy + component * a.copy_component + row * a.pitch),
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

// Zeros behind the end.
__device__ __forceinline__ void load(held_pair &held, const arrays &a, const row_set &set, int row)
{
    const int first = int(threadIdx.x) % 32 * 4;
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

__device__ __forceinline__ void store_shared_pair(uint32_t at, uint2 v)
{
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};\n" ::"r"(at), "r"(v.x), "r"(v.y) : "memory");
}

// Whole rows of n_row to the tile, and to the copy where there is one.
__device__ __forceinline__ void store(const float4 (&held)[lane_fours], const arrays &a,
                                      const row_set &set, const tile &to, int row, float scale)
{
    const int lane = int(threadIdx.x) % 32;
    const int left = a.n - lane * 4;
    const uint32_t place = to.slabs + uint32_t(lane / 16) * to.slab_bytes +
                           swizzle_128(row, lane % 16 / 2) + uint32_t(lane % 2 * 8);
    __half *copy = set.copy + row * a.pitch + lane * 4;
    const bool copies = a.copy != nullptr && row < set.n_row;
#pragma unroll
    for (int j = 0; j < lane_fours; j++) {
        const float4 v = held[j];
        const uint2 four =
            make_uint2(pack_half(v.x * scale, v.y * scale), pack_half(v.z * scale, v.w * scale));
        // Both slabs of 128 items where one is begun: the other is not read.
        if (j * 128 < a.n) {
            store_shared_pair(place + uint32_t(2 * j) * to.slab_bytes, four);
        }
        if (copies && j * 128 < left) {
            clifford::store_word(reinterpret_cast<uint2 *>(copy + j * 128), four);
        }
    }
}

__device__ __forceinline__ void convert(const held_pair &held, const arrays &a, const row_set &set,
                                        const tile &to, int row)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int exponent =
            exponent_of(__reduce_max_sync(clifford::all_lanes, largest_held(held[i])));
        if (threadIdx.x % 32 == 0) {
            clifford::store_shared(to.factor + uint32_t(row + i) * 4,
                                   power_of_two(exponent - half_exponent));
            if (a.exponent != nullptr && row + i < set.n_row) {
                a.exponent[set.first + row + i] = exponent;
            }
        }
        store(held[i], a, set, to, row + i, scale_to_half(exponent));
    }
}

// The part of warp `warp` of all `warps`; when_free waits for the tile to be free.
template <typename Wait>
__device__ __forceinline__ void convert_set(const arrays &a, const row_set &set, const tile &to,
                                            int warp, Wait when_free)
{
    constexpr int step = 2 * warps;
    held_pair held[2];
    load(held[0], a, set, 2 * warp);
    when_free();
#pragma unroll 1
    for (int row = 2 * warp; row < set.n_row; row += 2 * step) {
#pragma unroll
        for (int odd = 0; odd < 2; odd++) {
            const int at = row + odd * step;
            load(held[1 - odd], a, set, at + step);
            prefetch(a, set, at + pairs_ahead * step);
            if (at < set.n_row) {
                convert(held[odd], a, set, to, at);
            }
        }
    }
}

} // namespace clifford_convert

#endif
