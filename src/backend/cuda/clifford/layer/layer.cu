// Stage clifford.layer on CUDA: layers of few features, whose weights fit into the shared memory of
// a multiprocessor or two. What it does not support is composed of other stages.

#include "backend/cuda/clifford/layer/layer.h"
#include "backend/cuda/clifford/linear/linear_tensor.h"
#include "backend/cuda/clifford/stages.h"

namespace clifford
{

namespace
{

constexpr int64_t least_features = 32; // as of the tensor path of linear maps
constexpr int64_t block_features = 64;
constexpr int64_t most_features = 128;
constexpr int64_t tile_rows = 16;

const layer_kernels *const generated[] = {&layer_cl20, &layer_cl30};

const layer_kernels *find_kernels(const tess_clifford_algebra &algebra)
{
    for (const layer_kernels *kernels : generated) {
        if (kernels->n_symbol == algebra.metric.n_symbol &&
            memcmp(kernels->metric, algebra.metric.square, size_t(kernels->n_symbol)) == 0) {
            return kernels;
        }
    }
    return nullptr;
}

// Of the shape and the types alone: a row's result must not depend on how many rows there are.
bool takes(const tess_cl_problem &p, const layer_kernels *kernels)
{
    return kernels != nullptr && p.pass == TESS_CLIFFORD_FORWARD && p.dtype == TESS_F32 &&
           p.weight_dtype == TESS_F32 && p.precision == TESS_CLIFFORD_HIGH &&
           p.path_mask == (uint64_t(1) << kernels->n_path) - 1 && p.n_in == p.n_out &&
           p.n_in % 8 == 0 && p.n_in >= least_features && p.n_in <= most_features &&
           p.n_row < int64_t(1) << 34 &&
           tess_cuda_level_here() >=
               (p.n_in > block_features ? TESS_CUDA_GROUPS : TESS_CUDA_MATRIX) &&
           kernels->shared_bytes(p.n_in) <= tess_cuda_shared_bytes();
}

// Whether all can be read and written in words.
bool are_dense(const tess_stage_clifford_layer &a)
{
    return clifford_is_f32_dense(a.x) && clifford_is_f32_dense(a.linear_weight) &&
           clifford_is_f32_dense(a.out) &&
           (a.linear_out.data == nullptr || clifford_is_f32_dense(a.linear_out));
}

tess_status layer_supports(const tess_backend_device *device, const void *args)
{
    const tess_stage_clifford_layer &a = *static_cast<const tess_stage_clifford_layer *>(args);
    const device_scope scope(device->ordinal);
    if (takes(a.problem, find_kernels(*a.problem.algebra)) && are_dense(a)) {
        return TESS_OK;
    }
    return device->host->fail(device->host->user, TESS_E_UNSUPPORTED,
                              "stage clifford.layer on cuda:%d: only dense f32 of 32 to 128 "
                              "features of '++' and '+++' with matrix units: use linear and sgp",
                              device->ordinal);
}

size_t layer_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

cudaError_t layer_launch(cudaStream_t stream, const void *args)
{
    const tess_stage_clifford_layer &s = *static_cast<const tess_stage_clifford_layer *>(args);
    const tess_cl_problem &problem = s.problem;
    layer_args a = {};
    a.product.x = s.x;
    a.product.y = s.linear_out;
    a.product.weight = s.weight;
    a.product.out = s.out;
    a.product.statistics = s.statistics;
    a.product.n_row = problem.n_row;
    a.product.n = problem.n_in;
    a.product.path_mask = problem.path_mask;
    a.product.eps = problem.eps;
    a.product.dtype = problem.dtype;
    a.product.weight_dtype = problem.weight_dtype;
    a.product.activation = problem.activation;
    a.product.normalize = problem.normalize;
    a.product.metric = problem.norm_metric;
    a.linear_weight = s.linear_weight;
    a.bias = static_cast<const float *>(s.bias.data);
    a.stride_bias = s.bias.stride[0];
    a.bias_all = problem.bias_mode == TESS_CLIFFORD_BIAS_ALL;
    a.n_tile = int32_t((problem.n_row - 1) / tile_rows + 1);
    return find_kernels(*problem.algebra)->forward(stream, a);
}

} // namespace

} // namespace clifford

const tess_cuda_stage tess_cuda_stage_clifford_layer = {
    TESS_STAGE_CLIFFORD_LAYER,         "clifford.layer",
    sizeof(tess_stage_clifford_layer), clifford::layer_supports,
    clifford::layer_scratch_bytes,     clifford::layer_launch,
};
