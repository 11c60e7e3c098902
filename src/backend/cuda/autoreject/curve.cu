// Autoreject's threshold search on CUDA: medians and errors of every tile (curve_kernels.h), then
// what each tile adds, tile after tile.

#include "backend/cuda/autoreject/curve_kernels.h"
#include "backend/cuda/autoreject/stages.h"

namespace
{

constexpr int total_threads = 256;

__global__ void __launch_bounds__(total_threads) total_kernel(tess_stage_autoreject_curve a)
{
    const int64_t n_item = a.n_split * a.n_train, n = a.n_chan * n_item;
    const int64_t i = int64_t(blockIdx.x) * total_threads + threadIdx.x;
    if (i >= n) {
        return;
    }
    double *sse = a.sse + i / n_item * a.stride_curves * a.n_train + i % n_item;
    double sum = a.is_fresh ? 0 : *sse;
    for (int64_t tile = 0; tile < a.n_tile; tile++) {
        sum += a.errors[tile * n + i];
    }
    *sse = sum;
}

cudaError_t curve_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_curve *>(args);
    if (a.n_tile == 0 || a.n_chan == 0 || a.n_split == 0) {
        return cudaSuccess;
    }
    const int64_t n_word = (a.n_row + ROWS - 1) / ROWS;
    const cudaError_t error = launch_curves(
        stream, {a, a.member_first, a.n_row, a.stride_curves * n_word, a.n_row - a.n_train});
    if (error != cudaSuccess) {
        return error;
    }
    const int64_t n = a.n_chan * a.n_split * a.n_train;
    total_kernel<<<unsigned((n + total_threads - 1) / total_threads), total_threads, 0, stream>>>(
        a);
    return cudaGetLastError();
}

tess_status curve_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_curve *>(args);
    const tess_host *host = device->host;
    const uintptr_t places =
        reinterpret_cast<uintptr_t>(a.x) | reinterpret_cast<uintptr_t>(a.augmented);
    const int64_t strides = a.stride_tile | a.stride_epoch | a.stride_chan |
                            a.augmented_stride_tile | a.augmented_stride_epoch |
                            a.augmented_stride_chan;
    if (places % 16 != 0 || strides % 2 != 0 || a.members == nullptr || a.member_first == nullptr ||
        a.medians == nullptr || a.errors == nullptr || a.n_chan > 65535 || a.n_row > INT32_MAX) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage autoreject.curve on cuda:%d: rows of %lld channels must lie at "
                          "multiples of 16 bytes, and room for medians and errors be given",
                          device->ordinal, static_cast<long long>(a.n_chan));
    }
    return TESS_OK;
}

size_t curve_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_autoreject_curve = {
    TESS_STAGE_AUTOREJECT_CURVE,
    "autoreject.curve",
    sizeof(tess_stage_autoreject_curve),
    curve_supports,
    curve_scratch_bytes,
    curve_launch,
};
