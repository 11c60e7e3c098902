// grad_bias of stage clifford.linear: sums of grad_out over rows, and over components where the
// bias went to all of them. Sums of fixed chunks of rows first, then those in order, all in f64:
// the pass is bound by memory.

#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/common/types.cuh"
#include "backend/cuda/clifford/linear/linear.h"

namespace
{

using clifford::compute_of;
using clifford::narrow;
using clifford::widen;
using clifford::with_types;

constexpr int lanes = 32;
constexpr int rows_at_once = 8;
constexpr int64_t least_rows = 128;
constexpr int64_t most_chunks = 64;

struct bias_args {
    const void *from;
    void *to;
    double *partial; // [component][chunk][n]
    int64_t stride[3];
    int64_t stride_to;
    int64_t n_row, n_n, chunk;
    int32_t n_part; // chunks of all components
};

template <typename T>
__global__ void __launch_bounds__(lanes *rows_at_once) sum_rows_kernel(const bias_args p)
{
    __shared__ double sums[rows_at_once][lanes];
    const int64_t n = int64_t(blockIdx.x) * lanes + threadIdx.x;
    const int64_t begin = int64_t(blockIdx.y) * p.chunk;
    const int64_t end = min(begin + p.chunk, p.n_row);
    double sum = 0;
    if (n < p.n_n) {
        const T *column =
            static_cast<const T *>(p.from) + blockIdx.z * p.stride[0] + n * p.stride[2];
#pragma unroll 8
        for (int64_t b = begin + threadIdx.y; b < end; b += rows_at_once) {
            sum += double(widen(column[b * p.stride[1]]));
        }
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && n < p.n_n) {
        for (int m = 1; m < rows_at_once; m++) {
            sum += sums[m][threadIdx.x];
        }
        p.partial[(int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * p.n_n + n] = sum;
    }
}

template <typename W>
__global__ void __launch_bounds__(lanes) sum_chunks_kernel(const bias_args p)
{
    const int64_t n = int64_t(blockIdx.x) * lanes + threadIdx.x;
    clifford::wait_for_previous();
    if (n >= p.n_n) {
        return;
    }
    double sum = 0;
#pragma unroll 8
    for (int m = 0; m < p.n_part; m++) {
        sum += p.partial[m * p.n_n + n];
    }
    static_cast<W *>(p.to)[n * p.stride_to] = narrow<W>(typename compute_of<W>::type(sum));
}

int64_t chunk_rows(const tess_cl_problem &p)
{
    const int64_t rows = (p.n_row - 1) / most_chunks + 1;
    return rows > least_rows ? rows : least_rows;
}

int biased_components(const tess_cl_problem &p)
{
    return p.bias_mode == TESS_CLIFFORD_BIAS_ALL ? p.algebra->n_component : 1;
}

} // namespace

size_t clifford_linear_bias_scratch(const tess_stage_clifford_linear &a)
{
    if (a.problem.pass == TESS_CLIFFORD_FORWARD) {
        return 0;
    }
    const int64_t n_chunk = (a.problem.n_row - 1) / chunk_rows(a.problem) + 1;
    return size_t(n_chunk * biased_components(a.problem)) * size_t(a.problem.n_out) *
           sizeof(double);
}

cudaError_t clifford_linear_grad_bias(cudaStream_t stream, const tess_stage_clifford_linear &a,
                                      void *scratch)
{
    bias_args p = {};
    p.from = a.grad_out.data;
    p.to = a.grad_bias.data;
    p.partial = static_cast<double *>(scratch);
    for (int n = 0; n < 3; n++) {
        p.stride[n] = a.grad_out.stride[n];
    }
    p.stride_to = a.grad_bias.stride[0];
    p.n_row = a.problem.n_row;
    p.n_n = a.problem.n_out;
    p.chunk = chunk_rows(a.problem);
    const unsigned n_chunk = unsigned((p.n_row - 1) / p.chunk + 1);
    const unsigned n_component = unsigned(biased_components(a.problem));
    p.n_part = int32_t(n_chunk * n_component);
    const unsigned n_block = unsigned((p.n_n - 1) / lanes + 1);
    return with_types(a.problem.dtype, a.problem.weight_dtype, [&](auto t, auto w) {
        using T = decltype(t);
        using W = decltype(w);
        sum_rows_kernel<T>
            <<<dim3(n_block, n_chunk, n_component), dim3(lanes, rows_at_once), 0, stream>>>(p);
        const cudaError_t error = cudaGetLastError();
        if (error != cudaSuccess) {
            return error;
        }
        return clifford::launch_early(sum_chunks_kernel<W>, dim3(n_block), lanes, 0, stream, p);
    });
}
