// Weights of its own for every repair on CUDA.
//
// A block has one repair and some columns of its epoch. A thread has a column and four rows of
// weights at a time: a sample is read once for them. The sums run over the good channels in order,
// as on the CPU; bad ones are not read.

#include "backend/cuda/autoreject/stages.h"
#include "stage/autoreject_interpolation.h"

namespace
{

enum { THREADS = 256, AT_ONCE = 4 };

template <int COLUMNS>
__global__ void __launch_bounds__(THREADS) repair_kernel(tess_stage_autoreject_repair a)
{
    constexpr int lanes = THREADS / COLUMNS; // rows side by side
    extern __shared__ int32_t good[];
    __shared__ int n_good;
    const int64_t j = blockIdx.x;
    const int64_t t = int64_t(blockIdx.y) * COLUMNS + threadIdx.x % COLUMNS;
    const int64_t first = a.first[j] - a.first[0], n_bad = a.first[j + 1] - a.first[j];
    if (threadIdx.x == 0) {
        int64_t k = 0;
        int n = 0;
        for (int32_t c = 0; c < a.n_chan; c++) {
            if (k < n_bad && a.bad[first + k] == c) {
                k++;
            } else {
                good[n++] = c;
            }
        }
        n_good = n;
    }
    __syncthreads();
    if (t >= a.width) {
        return;
    }
    double *x = a.x + (a.epoch ? a.epoch[j] : j) * a.stride_epoch + t;
    for (int64_t r = threadIdx.x / COLUMNS; r < n_bad; r += int64_t(lanes) * AT_ONCE) {
        const double *w[AT_ONCE];
        double sum[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const int64_t row = r + i * lanes;
            w[i] = a.w + (first + (row < n_bad ? row : r)) * a.n_chan;
            sum[i] = 0;
        }
        for (int g = 0; g < n_good; g++) {
            const int32_t c = good[g];
            const double value = x[(a.rows ? a.rows[c] : c) * a.stride_chan];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                sum[i] = __fma_rn(w[i][c], value, sum[i]);
            }
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const int64_t row = r + i * lanes;
            if (row < n_bad) {
                const int32_t c = a.bad[first + row];
                double *to = a.out ? a.out + (first + row) * a.width + t
                                   : x + (a.rows ? a.rows[c] : c) * a.stride_chan;
                *to = sum[i];
            }
        }
    }
}

template <int COLUMNS>
cudaError_t launch(cudaStream_t stream, const tess_stage_autoreject_repair &a)
{
    const dim3 grid(unsigned(a.n_repair), unsigned((a.width + COLUMNS - 1) / COLUMNS));
    repair_kernel<COLUMNS><<<grid, THREADS, size_t(a.n_chan) * sizeof(int32_t), stream>>>(a);
    return cudaGetLastError();
}

cudaError_t repair_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_repair *>(args);
    if (a.n_repair == 0 || a.width == 0) {
        return cudaSuccess;
    }
    return a.width <= 16 ? launch<16>(stream, a) : launch<64>(stream, a);
}

tess_status repair_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_repair *>(args);
    const tess_host *host = device->host;
    constexpr int64_t most_channels = 8192;
    if (a.n_chan > most_channels || a.width > int64_t(64) * 65535) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage autoreject.repair on cuda:%d: %lld channels of %lld samples are "
                          "more than it takes",
                          device->ordinal, static_cast<long long>(a.n_chan),
                          static_cast<long long>(a.width));
    }
    return TESS_OK;
}

size_t repair_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_autoreject_repair = {
    TESS_STAGE_AUTOREJECT_REPAIR,
    "autoreject.repair",
    sizeof(tess_stage_autoreject_repair),
    repair_supports,
    repair_scratch_bytes,
    repair_launch,
};
