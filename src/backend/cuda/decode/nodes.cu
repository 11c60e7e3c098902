// What the encoding spikes bring to the nodes of their windows, once per model: in steps of 16
// spikes, as shared memory and the matrix instructions want it (spread.cu).
//
// A weight is the sum of two bf16, which leaves 4e-6 of it at most. Of eight nodes there are 512
// bytes: [upper, lower part][spikes 0-7, 8-15 of the instruction][node][spike].

#include "backend/cuda/decode/kde.h"
#include "backend/cuda/level.h"

#include <cuda_bf16.h>

namespace
{

constexpr int step = TESS_KDE_STEP;
constexpr int window = TESS_KDE_WINDOW;
constexpr int threads = window * window;
constexpr int64_t most_blocks = 1 << 20;

// The spike that item k of the instruction is: a thread of it has four that lie side by side.
__device__ inline int spike_of_item(int k)
{
    return 4 * (k % 8 / 2) + 2 * (k / 8) + k % 2;
}

__device__ inline double part(const tess_kde_nodes &nodes, int axis, double place, int64_t cell,
                              int node)
{
    const double at = nodes.low[axis] + nodes.width * double(TESS_KDE_STRIDE * cell + node) - place;
    return exp(-nodes.narrow * at * at);
}

__device__ void fill_step(const tess_kde_nodes &nodes, const tess_kde_electrode &e, int64_t s)
{
    __shared__ double along[2][step][window];
    const int thread = int(threadIdx.x);
    const int64_t cell[2] = {e.step_cell[s] / nodes.n_cell[1], e.step_cell[s] % nodes.n_cell[1]};
    const int n = nodes.n_dim == 2 ? threads : window;
    __syncthreads();
    for (int k = thread; k < 2 * step * window; k += threads) {
        const int axis = k / (step * window);
        const int of_step = k / window % step;
        const int64_t i = e.step_spike[s * step + of_step];
        double v = 0;
        if (i >= 0) {
            const double weight = axis == 0 && e.log_weight != nullptr ? exp(e.log_weight[i]) : 1;
            v = axis < nodes.n_dim ? weight * part(nodes, axis, e.place[axis * e.stride + i],
                                                   cell[axis], k % window)
                                   : weight;
        }
        along[axis][of_step][k % window] = v;
    }
    __syncthreads();
    // Of column x and row y of the window: node 16 x + y.
    if (thread < n) {
        auto *to = static_cast<__nv_bfloat16 *>(e.step_basis) + s * (n * step * 2) +
                   thread / 8 * 256 + thread % 8 * 8;
        for (int k = 0; k < step; k++) {
            const int i = spike_of_item(k);
            const double v = along[0][i][thread % window] * along[1][i][thread / window];
            const __nv_bfloat16 upper = __double2bfloat16(v);
            to[k / 8 * 64 + k % 8] = upper;
            to[128 + k / 8 * 64 + k % 8] = __double2bfloat16(v - double(__bfloat162float(upper)));
        }
    }
    for (int64_t k = thread; k < step * e.n_feature; k += threads) {
        const int64_t i = e.step_spike[s * step + k % step];
        e.step_marks[s * step * e.n_feature + k] =
            i >= 0 ? e.marks_f32[k / step * e.stride + i] : 0;
    }
}

__global__ void __launch_bounds__(threads) nodes_kernel(tess_kde_model model)
{
    const tess_kde_electrode &e = model.electrodes_there[blockIdx.y];
    for (int64_t s = blockIdx.x; s < e.n_step; s += gridDim.x) {
        fill_step(model.nodes, e, s);
    }
}

cudaError_t nodes_launch(cudaStream_t stream, const void *args)
{
    const auto &m = *static_cast<const tess_stage_decode_kde_nodes *>(args)->model;
    int64_t n_step = 0;
    for (int64_t e = 0; e < m.n_electrode; e++) {
        n_step = m.electrodes[e].n_step > n_step ? m.electrodes[e].n_step : n_step;
    }
    if (n_step == 0) {
        return cudaSuccess;
    }
    for (int64_t first = 0; first < m.n_electrode; first += 65535) {
        tess_kde_model part = m;
        const int64_t left = m.n_electrode - first;
        part.electrodes_there += first;
        const dim3 grid(unsigned(n_step < most_blocks ? n_step : most_blocks),
                        unsigned(left < 65535 ? left : 65535));
        nodes_kernel<<<grid, threads, 0, stream>>>(part);
    }
    return cudaGetLastError();
}

tess_status nodes_supports(const tess_backend_device *device, const void *)
{
    const tess_host *host = device->host;
    const device_scope scope(device->ordinal);
    if (tess_cuda_level_here() < TESS_CUDA_GROUPS || !kde_has_spread()) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage decode.kde_nodes on cuda:%d: not a GPU of compute capability 9.0",
                          device->ordinal);
    }
    return TESS_OK;
}

size_t nodes_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_decode_kde_nodes = {
    TESS_STAGE_DECODE_KDE_NODES,
    "decode.kde_nodes",
    sizeof(tess_stage_decode_kde_nodes),
    nodes_supports,
    nodes_scratch_bytes,
    nodes_launch,
};
