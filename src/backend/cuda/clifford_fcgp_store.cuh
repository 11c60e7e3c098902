// Where the sums of the matrix products of stage clifford.fcgp go, and how they lose their scales.
// clifford_wgmma.cuh says which sums a thread has.
#ifndef TESS_CLIFFORD_FCGP_STORE_CUH
#define TESS_CLIFFORD_FCGP_STORE_CUH

#include "backend/cuda/clifford_matrix.cuh"

namespace clifford_fcgp
{

using namespace clifford_mma;

// First row and column of a thread's sums.
__device__ __forceinline__ int own_row(const clifford_matrix::place &where, int group)
{
    return where.row + group * 64 + int(threadIdx.x) % 128 / 32 * 16 + int(threadIdx.x) % 32 / 4;
}

__device__ __forceinline__ int own_column(const clifford_matrix::place &where)
{
    return where.column + int(threadIdx.x) % 4 * 2;
}

// Results of f32 anywhere, strides in items; are_pairs: two columns can be moved together.
struct f32_results {
    float *data;
    int64_t stride[3]; // (result, row, column)
    int32_t n_row, n_column;
    int32_t are_pairs;

    __device__ __forceinline__ float *row(int result, int r) const
    {
        return data + result * stride[0] + r * stride[1];
    }
    // What is there, or zeros.
    __device__ __forceinline__ float2 load(const float *line, int column) const
    {
        if (are_pairs) {
            return column < n_column ? __ldcg(reinterpret_cast<const float2 *>(line + column))
                                     : make_float2(0, 0);
        }
        return make_float2(column < n_column ? __ldcg(line + column * stride[2]) : 0.0f,
                           column + 1 < n_column ? __ldcg(line + (column + 1) * stride[2]) : 0.0f);
    }
    __device__ __forceinline__ void store(float *line, int column, float first, float second) const
    {
        if (are_pairs) {
            if (column < n_column) {
                *reinterpret_cast<float2 *>(line + column) = make_float2(first, second);
            }
            return;
        }
        if (column < n_column) {
            line[column * stride[2]] = first;
        }
        if (column + 1 < n_column) {
            line[(column + 1) * stride[2]] = second;
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
                                               const float (&sum)[n]) const
    {
        const int weight = __ldcg(weight_exponent) - product_exponent;
        const int column = own_column(where);
#pragma unroll
        for (int second = 0; second < 2; second++) {
            const int row = own_row(where, group) + 8 * second;
            if (row >= to.n_row) {
                continue;
            }
            const unscale factors =
                unscale_by(__ldcg(left_exponent + row) + __ldcg(right_exponent + row) + weight);
            float *const line = to.row(where.result, row);
#pragma unroll
            for (int j = 0; j < n / 4; j++) {
                const float *pair = &sum[4 * j + 2 * second];
                to.store(line, column + 8 * j, pair[0] * factors, pair[1] * factors);
            }
        }
    }
};

// Gradients of the pairs, as f16 with the scale of their row of gradients and that of the weights.
struct store_pairs {
    __half *to;
    int64_t stride_result;
    int64_t pitch;
    int32_t n_row;
    int32_t sum_exponent;

    // Neighbouring lanes change one pair of columns each, so that a lane has four in a row and four
    // lanes fill the 32 bytes that memory moves at a time.
    template <int n>
    __device__ __forceinline__ void operator()(const clifford_matrix::place &where, int group,
                                               const float (&sum)[n]) const
    {
        const float factor = power_of_two(-sum_exponent);
        const bool is_odd = (threadIdx.x & 1) != 0;
        const int column = where.column + int(threadIdx.x) % 4 / 2 * 4 + (is_odd ? 8 : 0);
#pragma unroll
        for (int second = 0; second < 2; second++) {
            const int row = own_row(where, group) + 8 * second;
            __half *const line = to + where.result * stride_result + row * pitch;
#pragma unroll
            for (int j = 0; j < n / 4; j += 2) {
                const float *lower = &sum[4 * j + 2 * second];
                const float *upper = lower + 4;
                const uint32_t low = pack_half(lower[0] * factor, lower[1] * factor);
                const uint32_t high = pack_half(upper[0] * factor, upper[1] * factor);
                const uint32_t got = __shfl_xor_sync(0xffffffffu, is_odd ? low : high, 1);
                if (row < n_row && column + 8 * j < pitch) {
                    *reinterpret_cast<uint2 *>(line + column + 8 * j) =
                        is_odd ? make_uint2(got, high) : make_uint2(low, got);
                }
            }
        }
    }
};

// Gradients of the weights, to which chunks after the first are added. One scale for all.
struct store_weights {
    f32_results to;
    const int *common_exponent;
    int32_t adds;

    template <int n>
    __device__ __forceinline__ void operator()(const clifford_matrix::place &where, int group,
                                               const float (&sum)[n]) const
    {
        constexpr int batch = 4; // pairs on their way at a time
        const unscale factors = unscale_by(__ldcg(common_exponent));
        const int column = own_column(where);
#pragma unroll
        for (int second = 0; second < 2; second++) {
            const int row = own_row(where, group) + 8 * second;
            if (row >= to.n_row) {
                continue;
            }
            float *const line = to.row(where.result, row);
#pragma unroll
            for (int j = 0; j < n / 4; j += batch) {
                float2 old[batch] = {};
                if (adds) {
#pragma unroll
                    for (int i = 0; i < batch; i++) {
                        old[i] = to.load(line, column + 8 * (j + i));
                    }
                }
#pragma unroll
                for (int i = 0; i < batch; i++) {
                    const float *pair = &sum[4 * (j + i) + 2 * second];
                    to.store(line, column + 8 * (j + i), old[i].x + pair[0] * factors,
                             old[i].y + pair[1] * factors);
                }
            }
        }
    }
};

} // namespace clifford_fcgp

#endif
