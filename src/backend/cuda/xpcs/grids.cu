// Grids of the model at some times, with the bits of the CPU: the same powers, and sums in order.
//
// A block has one rate of one point of the parameters. Its threads find the trapezoids of a stretch
// of times; four of them, one for the rate and each derivative, add these one after the other.
//
// Built without contraction of products and sums (CMakeLists.txt).

#include "backend/cuda/xpcs/stages.h"
#include "stage/xpcs.h"
#include "stage/xpcs_rate.h"

namespace
{

constexpr int threads = 128, stretch = 512;

__global__ void __launch_bounds__(threads) grids_kernel(tess_stage_xpcs_grids a)
{
    __shared__ double terms[4][stretch + 1]; // the first is the last of the stretch before
    __shared__ double sums[4][stretch];
    const int n_rate = int(gridDim.y);
    const double *theta = a.theta + int64_t(blockIdx.x) * a.n_param + 3 * int(blockIdx.y);
    double *out = a.grids + (int64_t(blockIdx.x) * n_rate + blockIdx.y) * 4 * a.n_frame;
    double sum = 0;
    for (int64_t first = 0; first < a.n_time; first += stretch) {
        const int n = int(min(int64_t(stretch), a.n_time - first));
        for (int i = threadIdx.x; i < n; i += threads) {
            const tess_parts log_t = {a.log_t[2 * (first + i)], a.log_t[2 * (first + i) + 1]};
            double now[4];
            tess_xp_rate_terms(log_t, theta, now);
            for (int k = 0; k < 4; k++) {
                terms[k][i + 1] = now[k];
            }
        }
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += threads) {
            for (int k = 0; k < 4; k++) {
                sums[k][i] = first + i > 0 ? 0.5 * (terms[k][i] + terms[k][i + 1]) : 0;
            }
        }
        __syncthreads();
        if (threadIdx.x < 4) {
            double *own = sums[threadIdx.x];
#pragma unroll 8
            for (int i = 0; i < n; i++) {
                sum += own[i];
                own[i] = sum;
            }
            terms[threadIdx.x][0] = terms[threadIdx.x][n];
        }
        __syncthreads();
        for (int64_t f = threadIdx.x; f < a.n_frame; f += threads) {
            const int64_t at = a.frames[f] - first;
            for (int k = 0; k < 4 && at >= 0 && at < n; k++) {
                out[k * a.n_frame + f] = sums[k][at];
            }
        }
        __syncthreads();
    }
}

cudaError_t grids_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_xpcs_grids *>(args);
    if (a.n_set == 0 || a.n_frame == 0) {
        return cudaSuccess;
    }
    const dim3 blocks(unsigned(a.n_set), a.n_param == 3 ? 1 : 2);
    grids_kernel<<<blocks, threads, 0, stream>>>(a);
    return cudaGetLastError();
}

tess_status grids_supports(const tess_backend_device *, const void *)
{
    return TESS_OK;
}

size_t grids_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_xpcs_grids = {
    TESS_STAGE_XPCS_GRIDS, "xpcs.grids",        sizeof(tess_stage_xpcs_grids),
    grids_supports,        grids_scratch_bytes, grids_launch,
};
