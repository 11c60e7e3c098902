// Sums of grad_out over rows that give grad_bias: of fixed chunks of rows first, then those in
// order, all in f64. Kernels that do other things have blocks for them, so that they cost no
// launch.
#ifndef TESS_CLIFFORD_LINEAR_BIAS_CUH
#define TESS_CLIFFORD_LINEAR_BIAS_CUH

#include "backend/cuda/clifford/common/types.cuh"
#include "backend/cuda/clifford/linear/linear.h"

namespace clifford_bias
{

constexpr int lanes = 32;
constexpr int rows_at_once = 8;
constexpr int threads = lanes * rows_at_once;

// By a block of that many threads, or more: 32 columns of a chunk of a component.
template <typename T>
__device__ __forceinline__ void sum_rows(const clifford_bias_sums &p, int64_t block)
{
    __shared__ double sums[rows_at_once][lanes];
    const int lane = int(threadIdx.x) % lanes;
    const int first = int(threadIdx.x) / lanes;
    const int64_t part = block / p.n_block; // chunk by chunk, component by component
    const int64_t n = block % p.n_block * lanes + lane;
    const int64_t begin = part % p.n_chunk * p.chunk;
    const int64_t end = min(begin + p.chunk, p.n_row);
    double sum = 0;
    if (n < p.n_n) {
        const T *column =
            static_cast<const T *>(p.from) + part / p.n_chunk * p.stride[0] + n * p.stride[2];
#pragma unroll 8
        for (int64_t b = begin + first; b < end; b += rows_at_once) {
            sum += double(clifford::widen(column[b * p.stride[1]]));
        }
    }
    sums[first][lane] = sum;
    __syncthreads();
    if (first == 0 && n < p.n_n) {
        for (int m = 1; m < rows_at_once; m++) {
            sum += sums[m][lane];
        }
        p.partial[part * p.n_n + n] = sum;
    }
}

// By a thread: column n.
template <typename W>
__device__ __forceinline__ void sum_chunks(const clifford_bias_sums &p, int64_t n)
{
    if (n >= p.n_n) {
        return;
    }
    double sum = 0;
#pragma unroll 8
    for (int64_t m = 0; m < p.n_part; m++) {
        sum += p.partial[m * p.n_n + n];
    }
    static_cast<W *>(p.to)[n * p.stride_to] =
        clifford::narrow<W>(typename clifford::compute_of<W>::type(sum));
}

} // namespace clifford_bias

#endif
