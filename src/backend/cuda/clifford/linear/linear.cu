// Stage clifford.linear on CUDA: which path computes it, and what it needs.

#include "backend/cuda/clifford/linear/linear.h"
#include "backend/cuda/clifford/stages.h"

#include <algorithm>

namespace
{

const tess_stage_clifford_linear &linear_of(const void *args)
{
    return *static_cast<const tess_stage_clifford_linear *>(args);
}

size_t aligned(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

// Sums of the bias lie in front of what the paths need.
size_t linear_scratch_bytes(const tess_backend_device *, const void *args)
{
    const tess_stage_clifford_linear &a = linear_of(args);
    size_t bytes = clifford_linear_general_scratch(a);
    if (clifford_linear_tensor_takes(a.problem)) {
        bytes = std::max(bytes, clifford_linear_tensor_scratch(a));
    }
    return aligned(clifford_linear_bias_scratch(a)) + bytes;
}

bool is_real(int32_t dtype)
{
    return dtype == TESS_F16 || dtype == TESS_BF16 || dtype == TESS_F32 || dtype == TESS_F64;
}

tess_status linear_supports(const tess_backend_device *device, const void *args)
{
    const tess_cl_problem &p = linear_of(args).problem;
    const tess_host *host = device->host;
    const bool mixed = p.weight_dtype == TESS_F32 && p.dtype != TESS_F64;
    if (!is_real(p.dtype) || (p.weight_dtype != p.dtype && !mixed)) {
        return host->fail(
            host->user, TESS_E_UNSUPPORTED,
            "stage clifford.linear on cuda:%d: activations of dtype %d with weights of "
            "dtype %d; supported are f16, bf16, f32 and f64, weights of the same type "
            "or of f32 beside 16-bit activations: convert them",
            device->ordinal, int(p.dtype), int(p.weight_dtype));
    }
    if (p.pass != TESS_CLIFFORD_FORWARD && p.pass != TESS_CLIFFORD_BACKWARD) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage clifford.linear on cuda:%d: pass %d is neither forward (%d) nor "
                          "backward (%d)",
                          device->ordinal, int(p.pass), int(TESS_CLIFFORD_FORWARD),
                          int(TESS_CLIFFORD_BACKWARD));
    }
    return TESS_OK;
}

cudaError_t linear_launch(cudaStream_t stream, const void *args)
{
    tess_stage_clifford_linear a = linear_of(args);
    const clifford_bias_sums bias = clifford_linear_bias_sums(a, a.problem.scratch);
    a.problem.scratch =
        static_cast<char *>(a.problem.scratch) + aligned(clifford_linear_bias_scratch(a));
    if (clifford_linear_tensor_takes(a.problem) && clifford_linear_tensor_aligned(a)) {
        return clifford_linear_tensor(stream, a, bias);
    }
    const cudaError_t error =
        bias.from == nullptr ? cudaSuccess : clifford_linear_grad_bias(stream, a.problem, bias);
    return error == cudaSuccess ? clifford_linear_general(stream, a) : error;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_clifford_linear = {
    TESS_STAGE_CLIFFORD_LINEAR,
    "clifford.linear",
    sizeof(tess_stage_clifford_linear),
    linear_supports,
    linear_scratch_bytes,
    linear_launch,
};
