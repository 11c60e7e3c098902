// Votes of peak-to-peaks against their thresholds on CUDA.
//
// An epoch belongs to a warp, whose lanes go over its channels; the count of an epoch is a sum of
// whole numbers, which the order of its parts does not show in. There are thousands of times fewer
// peak-to-peaks than samples, so nothing here is worth tuning.

#include "backend/cuda/autoreject/stages.h"
#include "stage/autoreject.h"

namespace
{

constexpr int warp_lanes = 32;
constexpr int threads = 256;
constexpr int64_t max_blocks = 1 << 20; // larger problems loop over the grid
constexpr unsigned all_lanes = 0xffffffffu;

__global__ void __launch_bounds__(threads) votes_kernel(tess_stage_autoreject_votes a)
{
    const int lane = int(threadIdx.x) % warp_lanes;
    const int64_t n_warp = int64_t(gridDim.x) * (threads / warp_lanes);
    const int64_t first = (int64_t(blockIdx.x) * threads + threadIdx.x) / warp_lanes;
    for (int64_t e = first; e < a.n_epoch; e += n_warp) {
        const double *delta = a.delta + e * a.stride_epoch;
        int8_t *votes = a.votes + e * a.stride_epoch;
        long long count = 0;
        for (int64_t c = lane; c < a.n_chan; c += warp_lanes) {
            const bool is_bad = delta[c] > a.thresholds[c];
            votes[c] = int8_t(is_bad);
            count += is_bad;
        }
        for (int step = warp_lanes / 2; step > 0; step /= 2) {
            count += __shfl_xor_sync(all_lanes, count, step);
        }
        if (lane == 0) {
            a.counts[e] = count;
        }
    }
}

cudaError_t votes_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_votes *>(args);
    if (a.n_epoch == 0) {
        return cudaSuccess;
    }
    const int64_t needed = (a.n_epoch - 1) / (threads / warp_lanes) + 1;
    votes_kernel<<<unsigned(needed < max_blocks ? needed : max_blocks), threads, 0, stream>>>(a);
    return cudaGetLastError();
}

tess_status votes_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_votes *>(args);
    const tess_host *host = device->host;
    if (a.n_epoch < 0 || a.n_chan < 0 || a.stride_epoch < a.n_chan) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage autoreject.votes on cuda:%d: %lld epochs of %lld channels, %lld "
                          "items apart, make no sense",
                          device->ordinal, static_cast<long long>(a.n_epoch),
                          static_cast<long long>(a.n_chan), static_cast<long long>(a.stride_epoch));
    }
    return TESS_OK;
}

size_t votes_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_autoreject_votes = {
    TESS_STAGE_AUTOREJECT_VOTES,
    "autoreject.votes",
    sizeof(tess_stage_autoreject_votes),
    votes_supports,
    votes_scratch_bytes,
    votes_launch,
};
