// Takes epochs in on CUDA: one kernel rearranges rows into tiles and takes their peak-to-peaks, one
// takes those of predictions, which are never stored.

#include "backend/cuda/autoreject/extremes.h"
#include "backend/cuda/autoreject/product.h"
#include "backend/cuda/autoreject/stages.h"
#include "stage/autoreject_local.h"

namespace
{

constexpr int threads = 256;

// A warp per row of an epoch.
template <typename T>
__global__ void __launch_bounds__(threads) scatter_kernel(tess_stage_autoreject_intake a)
{
    const int lane = int(threadIdx.x) % WARP;
    const int64_t row = (int64_t(blockIdx.x) * threads + threadIdx.x) / WARP;
    if (row >= a.n_epoch * a.n_chan) {
        return; // the whole warp
    }
    const int64_t e = row / a.n_chan, c = row % a.n_chan;
    const T *x = static_cast<const T *>(a.x_there) + e * a.stride_epoch +
                 (a.channels ? a.channels[c] : c) * a.stride_chan;
    const double scale = a.scales ? a.scales[c] : 1;
    const int64_t n_item = (a.n_time + TILE - 1) / TILE * TILE;
    extremes<double> seen = no_extremes<double>();
#pragma unroll 4
    for (int64_t t = lane; t < n_item; t += WARP) {
        double value = 0;
        if (t < a.n_time) {
            value = double(x[t]) * scale;
            include(seen, value);
        }
        a.tiles[t / TILE * a.tile_stride + row * TILE + t % TILE] = value;
    }
    reduce_lanes(seen, 5);
    if (lane == 0) {
        a.delta[row] = peak_to_peak(seen);
    }
}

// A block per epoch and 64 rows of predictions. Extremes so far lie in shared memory, a place for
// each thread and row: registers are full of sums.
__global__ void __launch_bounds__(product_shape::threads, 2)
    predicted_kernel(product_args a, int64_t n_time, double *delta)
{
    using shape = product_shape;
    __shared__ product_shared shared;
    __shared__ double low[shape::each][shape::threads];
    __shared__ double high[shape::each][shape::threads];
    const int64_t e = blockIdx.x;
    const int64_t row = int64_t(blockIdx.y) * shape::rows;
    unsigned nans = 0; // a bit for each row
    for (int64_t segment = 0; segment < a.n_segment; segment += shape::segments) {
        double sums[shape::each][shape::each];
        product_sums(shared, a, a.x + e * a.stride_set, row, segment, sums);
#pragma unroll
        for (int i = 0; i < shape::each; i++) {
            extremes<double> seen = no_extremes<double>();
            if (segment > 0) {
                seen.low = low[i][threadIdx.x];
                seen.high = high[i][threadIdx.x];
            }
#pragma unroll
            for (int j = 0; j < shape::each; j++) {
                if (segment * TILE + product_column(j) < n_time) {
                    include(seen, sums[i][j]);
                }
            }
            low[i][threadIdx.x] = seen.low;
            high[i][threadIdx.x] = seen.high;
            nans |= unsigned(seen.has_nan) << i;
        }
    }
#pragma unroll
    for (int i = 0; i < shape::each; i++) {
        extremes<double> seen = {low[i][threadIdx.x], high[i][threadIdx.x], (nans >> i & 1) != 0};
        reduce_lanes(seen, 4);
        const int64_t r = row + product_row(i);
        if (threadIdx.x % 16 == 0 && r < a.n_row) {
            delta[e * a.n_row + r] = peak_to_peak(seen);
        }
    }
}

template <typename T>
cudaError_t launch_scatter(cudaStream_t stream, const tess_stage_autoreject_intake &a)
{
    const int64_t n_row = a.n_epoch * a.n_chan;
    constexpr int rows = threads / WARP;
    scatter_kernel<T><<<unsigned((n_row + rows - 1) / rows), threads, 0, stream>>>(a);
    return cudaGetLastError();
}

cudaError_t intake_launch(cudaStream_t stream, const void *args)
{
    using shape = product_shape;
    const auto &a = *static_cast<const tess_stage_autoreject_intake *>(args);
    if (a.n_epoch == 0) {
        return cudaSuccess;
    }
    const cudaError_t error = a.dtype == TESS_F32   ? launch_scatter<float>(stream, a)
                              : a.dtype == TESS_I32 ? launch_scatter<int32_t>(stream, a)
                              : a.dtype == TESS_I16 ? launch_scatter<int16_t>(stream, a)
                                                    : launch_scatter<double>(stream, a);
    if (error != cudaSuccess || a.w == nullptr) {
        return error;
    }
    const product_args product = {
        a.w,           a.tiles,         a.n_chan, a.n_chan, (a.n_time + TILE - 1) / TILE,
        a.tile_stride, a.n_chan * TILE,
    };
    const dim3 grid(unsigned(a.n_epoch), unsigned((a.n_chan + shape::rows - 1) / shape::rows));
    predicted_kernel<<<grid, shape::threads, 0, stream>>>(product, a.n_time, a.delta_predicted);
    return cudaGetLastError();
}

tess_status intake_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_intake *>(args);
    const tess_host *host = device->host;
    if (a.x_there == nullptr || reinterpret_cast<uintptr_t>(a.tiles) % 16 != 0 ||
        a.tile_stride % 2 != 0) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage autoreject.intake on cuda:%d: epochs must lie in the memory of "
                          "the device, tiles at a multiple of 16 bytes",
                          device->ordinal);
    }
    return TESS_OK;
}

size_t intake_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_autoreject_intake = {
    TESS_STAGE_AUTOREJECT_INTAKE,
    "autoreject.intake",
    sizeof(tess_stage_autoreject_intake),
    intake_supports,
    intake_scratch_bytes,
    intake_launch,
};
