// grad_bias of stage clifford.linear: sums of grad_out over rows, and over components where the
// bias went to all of them. See linear_bias.cuh.

#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/linear/linear_bias.cuh"

namespace
{

using clifford::with_types;

constexpr int64_t least_rows = 128;
constexpr int64_t most_chunks = 64;

template <typename T>
__global__ void __launch_bounds__(clifford_bias::threads)
    sum_rows_kernel(const __grid_constant__ clifford_bias_sums p)
{
    clifford_bias::sum_rows<T>(p, blockIdx.x);
}

template <typename W>
__global__ void __launch_bounds__(clifford_bias::lanes)
    sum_chunks_kernel(const __grid_constant__ clifford_bias_sums p)
{
    clifford::wait_for_previous();
    clifford_bias::sum_chunks<W>(p, int64_t(blockIdx.x) * clifford_bias::lanes + threadIdx.x);
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

clifford_bias_sums clifford_linear_bias_sums(const tess_stage_clifford_linear &a, void *scratch)
{
    clifford_bias_sums p = {};
    if (a.problem.pass != TESS_CLIFFORD_BACKWARD || a.grad_bias.data == nullptr) {
        return p;
    }
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
    p.n_chunk = (p.n_row - 1) / p.chunk + 1;
    p.n_part = p.n_chunk * biased_components(a.problem);
    p.n_block = (p.n_n - 1) / clifford_bias::lanes + 1;
    return p;
}

cudaError_t clifford_linear_bias_finish(cudaStream_t stream, const tess_cl_problem &problem,
                                        const clifford_bias_sums &p)
{
    return with_types(problem.dtype, problem.weight_dtype, [&](auto, auto w) {
        return clifford::launch_early(sum_chunks_kernel<decltype(w)>, dim3(unsigned(p.n_block)),
                                      clifford_bias::lanes, 0, stream, p);
    });
}

cudaError_t clifford_linear_grad_bias(cudaStream_t stream, const tess_cl_problem &problem,
                                      const clifford_bias_sums &p)
{
    const cudaError_t error = with_types(problem.dtype, problem.weight_dtype, [&](auto t, auto) {
        return clifford::launch(sum_rows_kernel<decltype(t)>, dim3(unsigned(p.n_block * p.n_part)),
                                clifford_bias::threads, 0, stream, p);
    });
    return error == cudaSuccess ? clifford_linear_bias_finish(stream, problem, p) : error;
}
