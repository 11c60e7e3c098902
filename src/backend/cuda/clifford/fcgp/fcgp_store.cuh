// Where the sums of the matrix products of stage clifford.fcgp go, and how they lose their scales.
// wgmma.cuh says which sums a thread has.
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

// The product, whose rows have scales of their own.
struct store_product {
    f32_results to;
    const int *left_exponent, *right_exponent; // of x and y, by row
    const int *weight_exponent;
    int32_t product_exponent;

    template <int n>
    __device__ __forceinline__ void operator()(const clifford_matrix::place &where,
                                               const float (&sum)[n], uint32_t room) const
    {
        const int weight = __ldcg(weight_exponent) - product_exponent;
        unscale scale[2];
#pragma unroll
        for (int second = 0; second < 2; second++) {
            const int row =
                min(where.row + clifford_matrix::slice_row() + 8 * second, to.n_row - 1);
            scale[second] =
                unscale_by(__ldcg(left_exponent + row) + __ldcg(right_exponent + row) + weight);
        }
        to.store(where, sum, scale, false, room);
    }
};

// Gradients of the pairs, as f16 with the scale of their row of gradients and that of the weights.
struct store_pairs {
    CUtensorMap map;
    int32_t sum_exponent;

    template <int n>
    __device__ __forceinline__ void operator()(const clifford_matrix::place &where,
                                               const float (&sum)[n], uint32_t room) const
    {
        const float factor = power_of_two(-sum_exponent);
        const float scale[2] = {factor, factor};
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

    template <int n>
    __device__ __forceinline__ void operator()(const clifford_matrix::place &where,
                                               const float (&sum)[n], uint32_t room) const
    {
        const unscale factors = unscale_by(__ldcg(common_exponent));
        const unscale scale[2] = {factors, factors};
        to.store(where, sum, scale, adds != 0, room);
    }
};

} // namespace clifford_fcgp

#endif
