// Stage clifford.fcgp on CUDA: which way a problem goes.

#include "backend/cuda/clifford/fcgp/fcgp.cuh"
#include "backend/cuda/clifford/stages.h"

namespace
{

using namespace clifford_fcgp;

tess_status fcgp_supports(const tess_backend_device *device, const void *args)
{
    const tess_stage_clifford_fcgp &a = *static_cast<const tess_stage_clifford_fcgp *>(args);
    const tess_cl_problem &p = a.problem;
    const tess_host *host = device->host;
    const bool known =
        p.dtype == TESS_F32 || p.dtype == TESS_F64 || p.dtype == TESS_F16 || p.dtype == TESS_BF16;
    if (!known ||
        (p.weight_dtype != p.dtype && (p.weight_dtype != TESS_F32 || p.dtype == TESS_F64))) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage clifford.fcgp on cuda:%d: activations of dtype %d with weights of "
                          "dtype %d, supported are f16, bf16, f32, f64 with weights alike or f32: "
                          "convert them or use --device cpu",
                          device->ordinal, int(p.dtype), int(p.weight_dtype));
    }
    if (p.pass != TESS_CLIFFORD_FORWARD && p.pass != TESS_CLIFFORD_BACKWARD) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage clifford.fcgp on cuda:%d: pass %d, supported are forward (%d) and "
                          "backward (%d)",
                          device->ordinal, int(p.pass), int(TESS_CLIFFORD_FORWARD),
                          int(TESS_CLIFFORD_BACKWARD));
    }
    return TESS_OK;
}

size_t fcgp_scratch_bytes(const tess_backend_device *, const void *args)
{
    const tess_stage_clifford_fcgp &a = *static_cast<const tess_stage_clifford_fcgp *>(args);
    return tensor_takes(a) ? tensor_scratch_bytes(a) : simt_scratch_bytes(a);
}

cudaError_t fcgp_launch(cudaStream_t stream, const void *args)
{
    const tess_stage_clifford_fcgp &a = *static_cast<const tess_stage_clifford_fcgp *>(args);
    return tensor_takes(a) ? tensor_launch(stream, a) : simt_launch(stream, a);
}

} // namespace

const tess_cuda_stage tess_cuda_stage_clifford_fcgp = {
    TESS_STAGE_CLIFFORD_FCGP, "clifford.fcgp", sizeof(tess_stage_clifford_fcgp), fcgp_supports,
    fcgp_scratch_bytes,       fcgp_launch,
};
