// Sums over rows that have scales of their own: x^T grad_out of stage clifford.linear.
//
// Every row of either operand is scaled. The smaller rows of one are brought down to the largest
// product of scales in the chunk: a factor of at most 1 per row, a power of two, put on the
// fragments of a. A row too small for f16 then is too small to matter beside the largest.
#ifndef TESS_CLIFFORD_LINEAR_SCALES_CUH
#define TESS_CLIFFORD_LINEAR_SCALES_CUH

#include "backend/cuda/clifford/common/mma.cuh"
#include "backend/cuda/clifford/linear/linear_tensor.h"
#include "backend/cuda/warp_sum.h"

namespace clifford_mma
{

__device__ __forceinline__ uint32_t times(uint32_t pair, __half2 factors)
{
    __half2 items;
    memcpy(&items, &pair, sizeof(pair));
    items = __hmul2(items, factors);
    memcpy(&pair, &items, sizeof(pair));
    return pair;
}

// Scales of 16 rows from `step` 16s on, put on the fragments of these rows.
__device__ __forceinline__ void scale_fragments(uint32_t (&a)[4], const __half *scales, int step)
{
    const __half2 *pairs = reinterpret_cast<const __half2 *>(scales) + threadIdx.x % 4;
    const __half2 low = pairs[step * 8];
    const __half2 high = pairs[step * 8 + 4];
    a[0] = times(a[0], low);
    a[1] = times(a[1], low);
    a[2] = times(a[2], high);
    a[3] = times(a[3], high);
}

// A warp's fragments of a, 16 columns of it by the tile's 16 `steps` rows.
template <int steps = 4>
struct turned_fragments {
    uint32_t a[steps][4];

    // half: the 64 columns among which the warp's 16 are.
    __device__ __forceinline__ void load(uint32_t half)
    {
        const int lane = int(threadIdx.x) % 32;
        const int chunk = int(threadIdx.x) / 32 % 4 * 2 + lane / 8 % 2;
#pragma unroll
        for (int step = 0; step < steps; step++) {
            load_matrix_x4_trans(a[step],
                                 half + swizzle_128(step * 16 + lane % 8 + lane / 16 * 8, chunk));
        }
    }

    // scales: those of the tile's rows.
    __device__ __forceinline__ void scale(const __half *scales)
    {
#pragma unroll
        for (int step = 0; step < steps; step++) {
            scale_fragments(a[step], scales, step);
        }
    }
};

// The largest product of the two scales among a chunk's rows, for all of the first n_thread
// threads; sync is their barrier.
template <int n_thread, typename Sync>
__device__ int largest_exponent(const int32_t *a, const int32_t *b, int64_t n_row, Sync sync)
{
    __shared__ int warps[n_thread / 32];
    int largest = INT32_MIN;
    for (int64_t row = threadIdx.x; row < n_row; row += n_thread) {
        largest = max(largest, a[row] + b[row]);
    }
    largest = warp_max(largest);
    if (threadIdx.x % 32 == 0) {
        warps[threadIdx.x / 32] = largest;
    }
    sync();
    for (int warp : warps) {
        largest = max(largest, warp);
    }
    return largest;
}

// Scales of n rows, zero behind n_row.
template <int n_thread>
__device__ void fill_scales(__half *scales, int n, const int32_t *a, const int32_t *b,
                            int64_t n_row, int largest)
{
    for (int row = int(threadIdx.x); row < n; row += n_thread) {
        const int below = row < n_row ? a[row] + b[row] - largest : -126;
        scales[row] = __float2half_rn(power_of_two(max(below, -126)));
    }
}

// A warp's sums of 16 rows from m on and `columns` columns from n on, as mma has them.
template <int columns>
__device__ __forceinline__ void store_partial(const clifford_sums_args &p, float *to,
                                              const float *sum, int64_t m, int64_t n,
                                              unscale factors)
{
    const int lane = int(threadIdx.x) % 32;
    const bool pairs = p.n_n % 2 == 0;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int64_t row = m + half * 8 + lane / 4;
        if (row >= p.n_m) {
            continue;
        }
#pragma unroll
        for (int j = 0; j < columns / 8; j++) {
            const int64_t column = n + j * 8 + lane % 4 * 2;
            const float first = sum[4 * j + 2 * half] * factors;
            const float second = sum[4 * j + 2 * half + 1] * factors;
            float *place = to + row * p.n_n + column;
            if (pairs && column < p.n_n) {
                *reinterpret_cast<float2 *>(place) = make_float2(first, second);
            } else if (column < p.n_n) {
                place[0] = first;
                if (column + 1 < p.n_n) {
                    place[1] = second;
                }
            }
        }
    }
}

} // namespace clifford_mma

#endif
