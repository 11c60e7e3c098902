// Squared errors of autoreject's local search on CUDA.
//
// Medians: a block per tile, fold, channel and 4 samples (median.h). Bins: a block per tile, 8
// channels, column and bin, a thread per channel and sample; it adds the epochs of the bin in their
// order, repaired rows in place of their own, which a table by repair and channel finds. Errors: a
// block per tile, 8 channels and column adds bins of rising levels for every fold, and squares,
// channels and samples in the order of the CPU.

#include "backend/cuda/autoreject/median.h"
#include "backend/cuda/autoreject/stages.h"
#include "stage/autoreject_local.h"

namespace
{

enum { CHANNELS = TESS_STAGE_AUTOREJECT_LOCAL_CHANNELS, ROWS = CHANNELS * TILE, LEVELS = 16 };

constexpr int table_threads = 256;

// Which of the repaired rows stands for a channel; -1: none.
__global__ void __launch_bounds__(table_threads) table_kernel(tess_stage_autoreject_local a)
{
    const int64_t j = blockIdx.x;
    for (int64_t c = threadIdx.x; c < a.n_chan; c += table_threads) {
        a.table[j * a.n_chan + c] = -1;
    }
    __syncthreads();
    for (int64_t k = a.first[j] + threadIdx.x; k < a.first[j + 1]; k += table_threads) {
        a.table[j * a.n_chan + a.bad[k]] = int32_t(k);
    }
}

template <int THREADS, int V>
__global__ void __launch_bounds__(THREADS) median_kernel(tess_stage_autoreject_local a)
{
    __shared__ median_shared<THREADS> shared;
    int64_t at = blockIdx.x;
    const int part = int(at % MEDIAN_PARTS);
    at /= MEDIAN_PARTS;
    const int64_t c = at % a.n_chan;
    at /= a.n_chan;
    const int64_t f = at % a.n_fold, tile = at / a.n_fold;
    const tile_rows rows = {a.x + tile * a.tile_stride + c * TILE, nullptr, a.n_chan * TILE, 0,
                            int(a.n_epoch)};
    const int n = int(a.test_first[f + 1] - a.test_first[f]);
    median_block<THREADS, V>(shared, rows, a.test_rows + a.test_first[f], n, part,
                             a.medians + ((tile * a.n_fold + f) * a.n_chan + c) * TILE +
                                 part * MEDIAN_SAMPLES);
}

__global__ void __launch_bounds__(ROWS) bins_kernel(tess_stage_autoreject_local a)
{
    const int64_t n_block = (a.n_chan + CHANNELS - 1) / CHANNELS;
    int64_t at = blockIdx.x;
    const int64_t bin = at % a.n_bin;
    at /= a.n_bin;
    const int64_t column = at % a.n_column, block = at / a.n_column;
    const int64_t tile = block / n_block;
    const int64_t c = block % n_block * CHANNELS + threadIdx.x / TILE, t = threadIdx.x % TILE;
    const int64_t n_repaired = a.n_repaired;
    double sum = 0;
    if (c < a.n_chan) {
        const double *x = a.x + tile * a.tile_stride + c * TILE + t;
        const double *repaired = a.repaired + tile * n_repaired * TILE + t;
        const int64_t *repair = a.repair + column * a.n_epoch;
#pragma unroll 4
        for (int64_t i = a.bin_begin[bin]; i < a.bin_begin[bin + 1]; i++) {
            const int64_t e = a.bin_epochs[i];
            const int64_t own = repair[e];
            if (own == -2) {
                continue;
            }
            const int32_t row = own >= 0 ? a.table[own * a.n_chan + c] : -1;
            sum += row >= 0 ? repaired[int64_t(row) * TILE] : x[e * a.n_chan * TILE];
        }
    }
    a.bins[int64_t(blockIdx.x) * ROWS + threadIdx.x] = sum;
}

__global__ void __launch_bounds__(ROWS) errors_kernel(tess_stage_autoreject_local a)
{
    __shared__ double off[LEVELS][ROWS];
    __shared__ double lanes[LEVELS][TILE];
    const int64_t n_block = (a.n_chan + CHANNELS - 1) / CHANNELS;
    const int64_t column = blockIdx.x % a.n_column, block = blockIdx.x / a.n_column;
    const int64_t tile = block / n_block, first = block % n_block * CHANNELS;
    const int64_t n_row = a.n_chan - first < CHANNELS ? a.n_chan - first : int64_t(CHANNELS);
    const int64_t r = threadIdx.x / TILE, t = threadIdx.x % TILE;
    const double *bins = a.bins + int64_t(blockIdx.x) * a.n_bin * ROWS + threadIdx.x;
    for (int64_t f = 0; f < a.n_fold; f++) {
        const uint8_t *train = a.train + f * a.n_bin;
        const int64_t cells = (column * a.n_fold + f) * a.n_level;
        const double median =
            r < n_row ? a.medians[((tile * a.n_fold + f) * a.n_chan + first + r) * TILE + t] : 0;
        double sum = 0;
        for (int64_t begin = 0; begin < a.n_level; begin += LEVELS) {
            const int64_t n = a.n_level - begin < LEVELS ? a.n_level - begin : int64_t(LEVELS);
            for (int64_t l = 0; l < n; l++) {
                for (int64_t i = a.bin_first[begin + l]; i < a.bin_first[begin + l + 1]; i++) {
                    if (train[i]) {
                        sum += bins[i * ROWS];
                    }
                }
                const int64_t n_kept = a.n_kept[cells + begin + l];
                off[l][threadIdx.x] = n_kept > 0 ? sum / double(n_kept) - median : 0;
            }
            __syncthreads();
            for (int64_t i = threadIdx.x; i < n * TILE; i += ROWS) {
                double squares = 0;
                for (int64_t k = 0; k < n_row; k++) {
                    const double error = off[i / TILE][k * TILE + i % TILE];
                    squares = __fma_rn(error, error, squares);
                }
                lanes[i / TILE][i % TILE] = squares;
            }
            __syncthreads();
            if (threadIdx.x < n) {
                double sse = 0;
                for (int i = 0; i < TILE; i++) {
                    sse += lanes[threadIdx.x][i];
                }
                a.sse[(block * a.n_column * a.n_fold) * a.n_level + cells + begin + threadIdx.x] =
                    sse;
            }
            __syncthreads();
        }
    }
}

cudaError_t local_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_local *>(args);
    const int64_t n_block = a.n_tile * ((a.n_chan + CHANNELS - 1) / CHANNELS) * a.n_column;
    if (n_block == 0) {
        return cudaSuccess;
    }
    if (a.n_repair > 0) {
        table_kernel<<<unsigned(a.n_repair), table_threads, 0, stream>>>(a);
    }
    const int64_t n_median = a.n_tile * a.n_fold * a.n_chan * MEDIAN_PARTS;
    median_choose(a.most_test, [&](auto threads, auto values) {
        median_kernel<threads, values><<<unsigned(n_median), unsigned(threads), 0, stream>>>(a);
    });
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess && a.n_bin > 0) {
        bins_kernel<<<unsigned(n_block * a.n_bin), ROWS, 0, stream>>>(a);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess) {
        errors_kernel<<<unsigned(n_block), ROWS, 0, stream>>>(a);
        error = cudaGetLastError();
    }
    return error;
}

tess_status local_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_local *>(args);
    const tess_host *host = device->host;
    if (a.medians == nullptr || a.test_rows == nullptr || a.bin_epochs == nullptr ||
        a.n_epoch > INT32_MAX) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage autoreject.local on cuda:%d: lists of rows and room for medians "
                          "and bins must be given",
                          device->ordinal);
    }
    return TESS_OK;
}

size_t local_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_autoreject_local = {
    TESS_STAGE_AUTOREJECT_LOCAL,
    "autoreject.local",
    sizeof(tess_stage_autoreject_local),
    local_supports,
    local_scratch_bytes,
    local_launch,
};
