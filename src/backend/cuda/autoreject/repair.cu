// Weights of its own for every repair on CUDA.
//
// A block has one repair and 64 columns of its epoch: samples, those of one part after those of
// another. A thread has a column and four rows of weights at a time: a sample is read once for
// them. The sums run over the good channels in order, as on the CPU; bad ones are not read.

#include "backend/cuda/autoreject/stages.h"
#include "stage/autoreject_interpolation.h"

namespace
{

enum { THREADS = 256, COLUMNS = 64, LANES = THREADS / COLUMNS, AT_ONCE = 4 };

// The channels that are not bad, in order; bad ones ascend. All threads come here.
__device__ __forceinline__ void list_good(const int32_t *bad, int64_t n_bad, int64_t n_chan,
                                          int32_t *good)
{
    for (int64_t c = threadIdx.x; c < n_chan; c += THREADS) {
        int64_t below = 0;
        while (below < n_bad && bad[below] < c) {
            below++;
        }
        if (below == n_bad || bad[below] != c) {
            good[c - below] = int32_t(c);
        }
    }
    __syncthreads();
}

__global__ void __launch_bounds__(THREADS) repair_kernel(tess_stage_autoreject_repair a)
{
    extern __shared__ int32_t good[];
    const int64_t j = blockIdx.x;
    const int64_t column = int64_t(blockIdx.y) * COLUMNS + threadIdx.x % COLUMNS;
    const int64_t part = column / a.width, t = column % a.width;
    const int64_t first = a.first[j] - a.first[0], n_bad = a.first[j + 1] - a.first[j];
    list_good(a.bad + first, n_bad, a.n_chan, good);
    if (part >= a.n_part) {
        return;
    }
    const int n_good = int(a.n_chan - n_bad);
    double *x = a.x + part * a.stride_part + (a.epoch ? a.epoch[j] : j) * a.stride_epoch + t;
    double *out = a.out ? a.out + part * a.out_stride_part + first * a.width + t : nullptr;
    for (int64_t r = threadIdx.x / COLUMNS; r < n_bad; r += int64_t(LANES) * AT_ONCE) {
        const double *w[AT_ONCE];
        double sum[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const int64_t row = r + i * LANES;
            w[i] = a.w + (first + (row < n_bad ? row : r)) * a.n_chan;
            sum[i] = 0;
        }
#pragma unroll 4
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
            const int64_t row = r + i * LANES;
            if (row < n_bad) {
                const int32_t c = a.bad[first + row];
                double *to =
                    out ? out + row * a.width : x + (a.rows ? a.rows[c] : c) * a.stride_chan;
                *to = sum[i];
            }
        }
    }
}

cudaError_t repair_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_repair *>(args);
    const int64_t n_column = a.n_part * a.width;
    if (a.n_repair == 0 || n_column == 0) {
        return cudaSuccess;
    }
    // The compiler reads four numbers of the list at a time, beyond its end as well.
    const size_t list_bytes = (size_t(a.n_chan) + 4) / 4 * 4 * sizeof(int32_t);
    const dim3 grid(unsigned(a.n_repair), unsigned((n_column + COLUMNS - 1) / COLUMNS));
    repair_kernel<<<grid, THREADS, list_bytes, stream>>>(a);
    return cudaGetLastError();
}

tess_status repair_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_repair *>(args);
    const tess_host *host = device->host;
    constexpr int64_t most_channels = 8192;
    if (a.n_chan > most_channels || a.n_part * a.width > int64_t(COLUMNS) * 65535) {
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
