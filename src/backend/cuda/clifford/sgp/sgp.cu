// Stage SGP of clifford on CUDA: which kernels take a call, and the sum of partial weight
// gradients.

#include "backend/cuda/clifford/common/table.cuh"
#include "backend/cuda/clifford/sgp/sgp.cuh"
#include "backend/cuda/clifford/sgp/sgp_split.cuh"
#include "backend/cuda/clifford/stages.h"

namespace clifford
{

namespace
{

constexpr int reduce_threads = 512;
constexpr int reduce_width = 32; // weights per block; the other threads share their partial sums
constexpr int reduce_parts = reduce_threads / reduce_width;
constexpr int reduce_batch = (n_multiprocessor - 1) / reduce_parts + 1;

struct reduce_args {
    const void *partials;
    tess_cl_view grad_weight;
    int64_t n_weight; // features times paths
    int32_t n_path;
    int32_t n_partial;
    int32_t partial_width;
    int32_t dtype;
};

// The weight that partial sum i is of.
struct place {
    int64_t n;
    int64_t path;

    __device__ __forceinline__ place(const reduce_args &a, int64_t i)
    {
        if (a.partial_width == 0) {
            n = i / a.n_path;
            path = i - n * a.n_path;
        } else {
            const int lanes = int(a.n_weight) / a.n_path / a.partial_width;
            const int line = int(i) / lanes;
            n = (int(i) - line * lanes) * a.partial_width + line / a.n_path;
            path = line % a.n_path;
        }
    }
};

// Adds the partial sums of every weight: 16 threads every 16th each, then those 16. A thread asks
// for all it adds at once, as most calls leave one partial sum per multiprocessor.
template <typename C>
__global__ void __launch_bounds__(reduce_threads) sgp_reduce(const __grid_constant__ reduce_args a)
{
    extern __shared__ uint4 shared[];
    let_next_start();
    wait_for_previous();
    C *sums = reinterpret_cast<C *>(shared);
    const int column = int(threadIdx.x) % reduce_width;
    const int part = int(threadIdx.x) / reduce_width;
    const int64_t i = int64_t(blockIdx.x) * reduce_width + column;
    C sum = C(0);
    if (i < a.n_weight) {
        const C *from = static_cast<const C *>(a.partials) + i;
        for (int first = part; first < a.n_partial; first += reduce_parts * reduce_batch) {
            C some[reduce_batch];
#pragma unroll
            for (int m = 0; m < reduce_batch; m++) {
                const int j = first + m * reduce_parts;
                some[m] = j < a.n_partial ? from[j * a.n_weight] : C(0);
            }
#pragma unroll
            for (int m = 0; m < reduce_batch; m++) {
                sum += some[m];
            }
        }
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (part != 0 || i >= a.n_weight) {
        return;
    }
#pragma unroll
    for (int other = 1; other < reduce_parts; other++) {
        sum += sums[other * reduce_width + column];
    }
    const place at(a, i);
    store_item<C>(a.grad_weight.data, a.dtype,
                  at.n * a.grad_weight.stride[0] + at.path * a.grad_weight.stride[1], sum);
}

cudaError_t launch_reduce(cudaStream_t stream, const sgp_args &a, int32_t n_path)
{
    const reduce_args args = {a.partials,  a.grad_weight,   a.n * n_path,  n_path,
                              a.n_partial, a.partial_width, a.weight_dtype};
    const dim3 grid(unsigned((args.n_weight - 1) / reduce_width + 1));
    const bool in_f64 = is_wide(a.dtype, true, a.normalize, a.n);
    return launch_early(in_f64 ? sgp_reduce<double> : sgp_reduce<float>, grid, reduce_threads,
                        (in_f64 ? sizeof(double) : sizeof(float)) * reduce_threads, stream, args,
                        cudaSharedmemCarveoutDefault);
}

const sgp_kernels *const generated[] = {&sgp_cl20, &sgp_cl30, &sgp_cl301, &sgp_cl13, &sgp_cl41};

const sgp_kernels *find_kernels(const tess_clifford_algebra &algebra)
{
    for (const sgp_kernels *kernels : generated) {
        if (kernels->n_symbol == algebra.metric.n_symbol &&
            memcmp(kernels->metric, algebra.metric.square, size_t(kernels->n_symbol)) == 0) {
            return kernels;
        }
    }
    return nullptr;
}

cudaError_t table_forward(cudaStream_t stream, const tess_cl_problem &problem, sgp_args &a)
{
    const table_algebra table = table_of(*problem.algebra, problem.path_mask);
    return a.dtype == TESS_F64 ? launch_split_forward<table_algebra, double>(stream, table, a)
                               : launch_split_forward<table_algebra, float>(stream, table, a);
}

cudaError_t table_backward(cudaStream_t stream, const tess_cl_problem &problem, sgp_args &a)
{
    const table_algebra table = table_of(*problem.algebra, problem.path_mask);
    return is_wide(a.dtype, true, a.normalize, a.n)
               ? launch_split_backward<table_algebra, double>(stream, table, a)
               : launch_split_backward<table_algebra, float>(stream, table, a);
}

// Scratch: 1/r and dot of every row for the split passes, then partial weight gradients. Whatever
// the kernel chosen later, because strides and addresses may not be known yet.
struct sgp_scratch {
    size_t rows_bytes;
    size_t partials_bytes;

    explicit sgp_scratch(const tess_cl_problem &problem)
    {
        const bool is_backward = problem.pass == TESS_CLIFFORD_BACKWARD;
        const bool in_f64 = is_wide(problem.dtype, is_backward, problem.normalize, problem.n_in);
        const size_t item = in_f64 ? sizeof(double) : sizeof(float);
        const size_t n_grade = size_t(problem.algebra->n_grade);
        const size_t rows = n_grade * size_t(problem.n_row) * (is_backward ? 2 : 1);
        rows_bytes = problem.normalize ? (rows * item + 255) / 256 * 256 : 0;
        const split_shape shape(problem.n_row, problem.n_in, split_backward_blocks);
        const size_t weight_bytes = size_t(problem.n_in) * size_t(problem.algebra->n_path) * item;
        size_t n_partial = shape.n_slice > 1 ? size_t(shape.n_slice) : 0;
        if (weight_bytes < tess_cuda_shared_bytes() && n_partial < n_multiprocessor) {
            n_partial = n_multiprocessor;
        }
        partials_bytes = is_backward ? weight_bytes * n_partial : 0;
    }
};

cudaError_t sgp_launch(cudaStream_t stream, const void *args)
{
    const tess_stage_clifford_sgp &s = *static_cast<const tess_stage_clifford_sgp *>(args);
    const tess_cl_problem &problem = s.problem;
    const sgp_scratch scratch(problem);
    unsigned char *base = static_cast<unsigned char *>(problem.scratch);
    sgp_args a = {};
    a.x = s.x;
    a.y = s.y;
    a.weight = s.weight;
    a.statistics = s.statistics;
    a.rows = base;
    a.partials = base == nullptr ? nullptr : base + scratch.rows_bytes;
    a.n_row = problem.n_row;
    a.n = problem.n_in;
    a.path_mask = problem.path_mask;
    a.eps = problem.eps;
    a.dtype = problem.dtype;
    a.weight_dtype = problem.weight_dtype;
    a.activation = problem.activation;
    a.normalize = problem.normalize;
    a.metric = problem.norm_metric;
    const sgp_kernels *kernels = find_kernels(*problem.algebra);
    if (problem.pass == TESS_CLIFFORD_FORWARD) {
        a.out = s.out;
        const cudaError_t error =
            kernels != nullptr ? kernels->forward(stream, a) : cudaErrorNotSupported;
        return error == cudaErrorNotSupported ? table_forward(stream, problem, a) : error;
    }
    if (a.dtype == TESS_F32 && is_wide(a.dtype, true, a.normalize, a.n)) {
        a.statistics = nullptr; // of f32: made again
    }
    a.gz = s.grad_out;
    a.gx = s.grad_x;
    a.gy = s.grad_y;
    if (s.weight.data != nullptr) {
        a.grad_weight = s.grad_weight;
    }
    cudaError_t error = kernels != nullptr ? kernels->backward(stream, a) : cudaErrorNotSupported;
    if (error == cudaErrorNotSupported) {
        error = table_backward(stream, problem, a);
    }
    if (error != cudaSuccess || a.grad_weight.data == nullptr ||
        (a.n_partial == 1 && a.partial_width == 0)) {
        return error;
    }
    return launch_reduce(stream, a, problem.algebra->n_path);
}

tess_status sgp_supports(const tess_backend_device *device, const void *args)
{
    const tess_stage_clifford_sgp &s = *static_cast<const tess_stage_clifford_sgp *>(args);
    const tess_host *host = device->host;
    if (s.problem.pass != TESS_CLIFFORD_FORWARD && s.problem.pass != TESS_CLIFFORD_BACKWARD) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage clifford.sgp on cuda:%d: pass %d, expected forward (%d) or "
                          "backward (%d)",
                          device->ordinal, int(s.problem.pass), int(TESS_CLIFFORD_FORWARD),
                          int(TESS_CLIFFORD_BACKWARD));
    }
    return TESS_OK;
}

size_t sgp_scratch_bytes(const tess_backend_device *, const void *args)
{
    const sgp_scratch scratch(static_cast<const tess_stage_clifford_sgp *>(args)->problem);
    return scratch.rows_bytes + scratch.partials_bytes;
}

} // namespace

} // namespace clifford

const tess_cuda_stage tess_cuda_stage_clifford_sgp = {
    TESS_STAGE_CLIFFORD_SGP,         "clifford.sgp",
    sizeof(tess_stage_clifford_sgp), clifford::sgp_supports,
    clifford::sgp_scratch_bytes,     clifford::sgp_launch,
};
