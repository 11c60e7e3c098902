// Where the sums of the matrix products of stage clifford.fcgp go, and how they lose their scales:
// a warpgroup's at once (wgmma.cuh says which a thread has), or four in a row, already without
// their scales: put.
#ifndef TESS_CLIFFORD_FCGP_STORE_CUH
#define TESS_CLIFFORD_FCGP_STORE_CUH

#include "backend/cuda/clifford/common/matrix.cuh"

namespace clifford_fcgp
{

using namespace clifford_mma;
using clifford_matrix::leaving;

// Results of f32 anywhere, strides in items; boxed: the copy engine can take them there.
struct f32_results {
    CUtensorMap map;
    float *data;
    int64_t stride[3]; // (result, row, column)
    int32_t n_row, n_column;
    int32_t is_boxed;
    int32_t has_fours; // words of 16 bytes

    // Item by item, by a warpgroup.
    __device__ __forceinline__ void copy(const clifford_matrix::slice &one, bool adds) const
    {
        constexpr int columns = 32;
        const int column = one.column + int(threadIdx.x) % columns;
        const uint32_t chunk = threadIdx.x % columns / 4;
        float *to = data + one.result * stride[0] + column * stride[2];
#pragma unroll 1
        for (int r = int(threadIdx.x) % 128 / columns; r < clifford_matrix::slice_rows;
             r += 128 / columns) {
            float value[1];
            clifford::load_shared(one.from + swizzle_128(r, int(chunk)) + threadIdx.x % 4 * 4,
                                  value);
            float *const item = to + (one.row + r) * stride[1];
            if (one.row + r < n_row && column < n_column) {
                *item = adds ? __ldcg(item) + value[0] : value[0];
            }
        }
    }
    __device__ __forceinline__ void put(const clifford_matrix::place &at, float4 v,
                                        bool adds) const;
    // scale: of a thread's two rows.
    template <int n>
    __device__ __forceinline__ void store(const clifford_matrix::place &where,
                                          const float (&sum)[n], const unscale (&scale)[2],
                                          bool adds, uint32_t room) const
    {
        clifford_matrix::store_sums<float>(
            where, sum, scale, room, [&](const clifford_matrix::slice &one) {
                if (is_boxed) {
                    clifford_matrix::send_slice(map, one, adds ? leaving::added : leaving::stored);
                } else {
                    copy(one, adds);
                }
            });
    }
};

__device__ __forceinline__ void f32_results::put(const clifford_matrix::place &at, float4 v,
                                                 bool adds) const
{
    float *const to = data + at.result * stride[0] + at.row * stride[1] + at.column * stride[2];
    if (at.row >= n_row) {
        return;
    }
    if (has_fours && at.column + 4 <= n_column) {
        if (adds) {
            const float4 old = __ldcg(reinterpret_cast<const float4 *>(to));
            v = make_float4(old.x + v.x, old.y + v.y, old.z + v.z, old.w + v.w);
        }
        *reinterpret_cast<float4 *>(to) = v;
        return;
    }
    const float items[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (at.column + i < n_column) {
            float *const item = to + i * stride[2];
            *item = adds ? __ldcg(item) + items[i] : items[i];
        }
    }
}

// The product, whose rows have scales of their own.
struct store_product {
    f32_results to;
    const int *left_exponent, *right_exponent; // of x and y, by row
    const int *weight_exponent;
    int32_t product_exponent;

    __device__ __forceinline__ unscale scale_of(int any_row) const
    {
        const int row = min(any_row, to.n_row - 1);
        return unscale_by(__ldcg(left_exponent + row) + __ldcg(right_exponent + row) +
                          __ldcg(weight_exponent) - product_exponent);
    }
    __device__ __forceinline__ void put(const clifford_matrix::place &at, float4 v) const
    {
        to.put(at, v, false);
    }
    template <int n>
    __device__ __forceinline__ void operator()(const clifford_matrix::place &where,
                                               const float (&sum)[n], uint32_t room) const
    {
        const int row = where.row + clifford_matrix::slice_row();
        const unscale scale[2] = {scale_of(row), scale_of(row + 8)};
        to.store(where, sum, scale, false, room);
    }
};

// Gradients of the pairs, as f16 with the scale of their row of gradients and that of the weights.
struct store_pairs {
    CUtensorMap map;
    clifford_box_array to; // to the full pitch of rows
    int32_t sum_exponent;

    __device__ __forceinline__ float scale_of(int) const
    {
        return power_of_two(-sum_exponent);
    }
    __device__ __forceinline__ void put(const clifford_matrix::place &at, float4 v) const
    {
        if (at.row < to.n_row && at.column < to.n_item) {
            const uint2 word = make_uint2(pack_half(v.x, v.y), pack_half(v.z, v.w));
            *reinterpret_cast<uint2 *>(static_cast<__half *>(to.data) +
                                       at.result * to.stride_layer + at.row * to.stride_row +
                                       at.column) = word;
        }
    }
    template <int n>
    __device__ __forceinline__ void operator()(const clifford_matrix::place &where,
                                               const float (&sum)[n], uint32_t room) const
    {
        const float scale[2] = {scale_of(0), scale_of(0)};
        clifford_matrix::store_sums<__half>(
            where, sum, scale, room, [&](const clifford_matrix::slice &one) {
                clifford_matrix::send_slice(map, one, leaving::kept);
            });
    }
};

// Gradients of the weights, to which chunks after the first are added. One scale for all.
struct store_weights {
    f32_results to;
    const int *common_exponent;
    int32_t adds;

    __device__ __forceinline__ unscale scale_of(int) const
    {
        return unscale_by(__ldcg(common_exponent));
    }
    __device__ __forceinline__ void put(const clifford_matrix::place &at, float4 v) const
    {
        to.put(at, v, adds != 0);
    }
    template <int n>
    __device__ __forceinline__ void operator()(const clifford_matrix::place &where,
                                               const float (&sum)[n], uint32_t room) const
    {
        const unscale scale[2] = {scale_of(0), scale_of(0)};
        to.store(where, sum, scale, adds != 0, room);
    }
};

} // namespace clifford_fcgp

#endif
