// Stage clifford.maps on CUDA: what it takes, and which kernels compute it.

#include "backend/cuda/clifford/maps/maps.cuh"
#include "backend/cuda/clifford/stages.h"
#include "tessera/clifford/maps.h"

#include <algorithm>

namespace
{

const tess_stage_clifford_maps &maps_of(const void *args)
{
    return *static_cast<const tess_stage_clifford_maps *>(args);
}

// Words of 16 bytes all along.
bool is_aligned(const tess_cl_maps_side &side)
{
    return reinterpret_cast<uintptr_t>(side.data) % 16 == 0 && side.stride % 4 == 0 &&
           side.n_channel % 4 == 0 && side.n_scalar / side.n_group % 4 == 0;
}

tess_status maps_supports(const tess_backend_device *device, const void *args)
{
    const tess_stage_clifford_maps &a = maps_of(args);
    const tess_host *host = device->host;
    const device_scope scope(device->ordinal);
    if (tess_cuda_level_here() < TESS_CUDA_MATRIX) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage clifford.maps on cuda:%d: needs compute capability 8.0 or later",
                          device->ordinal);
    }
    // Of all passes, so that no map is made forward whose gradients cannot be.
    const size_t needed =
        std::max(clifford_maps::rows_shared_bytes(), clifford_maps::sums_shared_bytes());
    if (needed > tess_cuda_shared_bytes()) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage clifford.maps on cuda:%d: needs %zu bytes of shared memory per "
                          "block, the GPU has %zu",
                          device->ordinal, needed, tess_cuda_shared_bytes());
    }
    if (a.dtype != TESS_F32 || !is_aligned(a.x) || !is_aligned(a.z) ||
        reinterpret_cast<uintptr_t>(a.items) % 16 != 0) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage clifford.maps on cuda:%d: takes f32, channels and scalars of a "
                          "group in multiples of four, arrays and rows aligned to 16 bytes",
                          device->ordinal);
    }
    return TESS_OK;
}

size_t maps_scratch_bytes(const tess_backend_device *, const void *args)
{
    const tess_stage_clifford_maps &a = maps_of(args);
    return a.pass == TESS_CL_MAPS_ITEMS ? clifford_maps::sums_scratch_bytes(a) : 0;
}

cudaError_t maps_launch(cudaStream_t stream, const void *args)
{
    const tess_stage_clifford_maps &a = maps_of(args);
    const bool is_null = a.pairs == TESS_CLIFFORD_PAIRS_NULL;
    return a.pass == TESS_CL_MAPS_ITEMS ? clifford_maps::launch_sums(stream, a, is_null)
                                        : clifford_maps::launch_rows(stream, a, is_null);
}

} // namespace

const tess_cuda_stage tess_cuda_stage_clifford_maps = {
    TESS_STAGE_CLIFFORD_MAPS, "clifford.maps", sizeof(tess_stage_clifford_maps), maps_supports,
    maps_scratch_bytes,       maps_launch,
};
