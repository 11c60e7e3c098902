// Where the sums of the matrix products of stage clifford.fcgp go, and how they lose their scales.
// clifford_wgmma.cuh says which sums a thread has.
#ifndef TESS_CLIFFORD_FCGP_STORE_CUH
#define TESS_CLIFFORD_FCGP_STORE_CUH

#include "backend/cuda/clifford_matrix.cuh"

namespace clifford_fcgp
{

using namespace clifford_mma;

// Results of f32 anywhere, strides in items; boxed: the copy engine can take them there.
struct f32_results {
    CUtensorMap map;
    float *data;
    int64_t stride[3]; // (result, row, column)
    int32_t n_row, n_column;
    int32_t is_boxed;

    // One by one.
    __device__ __forceinline__ void put(float *item, bool adds, float value) const
    {
        *item = adds ? __ldcg(item) + value : value;
    }
    // scale: of a thread's two rows.
    template <int n>
    __device__ __forceinline__ void store(const clifford_matrix::place &where, int group,
                                          const float (&sum)[n], const unscale (&scale)[2],
                                          bool adds, uint32_t room) const
    {
        if (is_boxed) {
            clifford_matrix::store_sums<float>(map, adds, where, group, sum, scale, room);
            return;
        }
        const int column = where.column + int(threadIdx.x) % 4 * 2;
#pragma unroll
        for (int second = 0; second < 2; second++) {
            const int row = clifford_matrix::own_row(where, group) + 8 * second;
            float *const line = data + where.result * stride[0] + row * stride[1];
#pragma unroll
            for (int i = 0; i < n / 2; i++) {
                const int at = column + i / 2 * 8 + i % 2;
                if (row < n_row && at < n_column) {
                    put(line + at * stride[2], adds,
                        sum[i / 2 * 4 + 2 * second + i % 2] * scale[second]);
                }
            }
        }
    }
};

// The product, whose rows have scales of their own.
struct store_product {
    f32_results to;
    const int *left_exponent, *right_exponent; // of x and y, by row
    const int *weight_exponent;
    int32_t product_exponent;

    template <int n>
    __device__ __forceinline__ void operator()(const clifford_matrix::place &where, int group,
                                               const float (&sum)[n], uint32_t room) const
    {
        const int weight = __ldcg(weight_exponent) - product_exponent;
        unscale scale[2];
#pragma unroll
        for (int second = 0; second < 2; second++) {
            const int row = min(clifford_matrix::own_row(where, group) + 8 * second, to.n_row - 1);
            scale[second] =
                unscale_by(__ldcg(left_exponent + row) + __ldcg(right_exponent + row) + weight);
        }
        to.store(where, group, sum, scale, false, room);
    }
};

// Gradients of the pairs, as f16 with the scale of their row of gradients and that of the weights.
struct store_pairs {
    CUtensorMap map;
    int32_t sum_exponent;

    template <int n>
    __device__ __forceinline__ void operator()(const clifford_matrix::place &where, int group,
                                               const float (&sum)[n], uint32_t room) const
    {
        const float factor = power_of_two(-sum_exponent);
        const float scale[2] = {factor, factor};
        clifford_matrix::store_sums<__half>(map, false, where, group, sum, scale, room);
    }
};

// Gradients of the weights, to which chunks after the first are added. One scale for all.
struct store_weights {
    f32_results to;
    const int *common_exponent;
    int32_t adds;

    template <int n>
    __device__ __forceinline__ void operator()(const clifford_matrix::place &where, int group,
                                               const float (&sum)[n], uint32_t room) const
    {
        const unscale factors = unscale_by(__ldcg(common_exponent));
        const unscale scale[2] = {factors, factors};
        to.store(where, group, sum, scale, adds != 0, room);
    }
};

} // namespace clifford_fcgp

#endif
