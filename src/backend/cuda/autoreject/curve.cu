// Squared errors of growing means against medians on CUDA: autoreject's threshold search.
//
// Three kernels. Medians: a block per channel, tile, split and 4 samples (median.h). Curves: a
// block per channel and 4 tiles has a warp per split; rows in order of their peak-to-peak come
// through shared memory 64 at a time, for all splits at once. A lane has samples t and t + 8 of a
// tile: its sums grow row by row as on the CPU, and the errors of 8 rows are added over the 8 lanes
// of a tile together, by exchanging halves. Totals: what each tile adds, tile after tile.

#include "backend/cuda/autoreject/copy.h"
#include "backend/cuda/autoreject/median.h"
#include "backend/cuda/autoreject/stages.h"
#include "stage/autoreject_threshold.h"

namespace
{

enum { HALF = TILE / 2, TILES = 4, ROWS = 64, MOST_WARPS = 10 };

__device__ __forceinline__ tile_rows rows_of(const tess_stage_autoreject_curve &a, int64_t tile,
                                             int64_t c)
{
    return {a.x + tile * a.stride_tile + c * a.stride_chan,
            a.augmented + tile * a.augmented_stride_tile + c * a.augmented_stride_chan,
            a.stride_epoch, a.augmented_stride_epoch, int(a.n_epoch)};
}

// Of a tile's medians.
__device__ __forceinline__ int64_t median_at(const tess_stage_autoreject_curve &a, int64_t tile,
                                             int64_t c, int64_t split)
{
    return ((tile * a.n_chan + c) * a.n_split + split) * TILE;
}

// Neighbouring blocks read the same rows: parts, then splits, then tiles, then channels.
template <int THREADS, int V>
__global__ void __launch_bounds__(THREADS) median_kernel(tess_stage_autoreject_curve a)
{
    __shared__ median_shared<THREADS> shared;
    int64_t at = blockIdx.x;
    const int part = int(at % MEDIAN_PARTS);
    at /= MEDIAN_PARTS;
    const int64_t split = at % a.n_split;
    at /= a.n_split;
    const int64_t tile = at % a.n_tile, c = at / a.n_tile;
    const int n = int(a.n_row - a.n_train);
    median_block<THREADS, V>(shared, rows_of(a, tile, c), a.members + split * n, n, part,
                             a.medians + median_at(a, tile, c, split) + part * MEDIAN_SAMPLES);
}

struct curve_shared {
    double rows[2][ROWS][TILES][TILE]; // halves of odd tiles exchanged: other banks
};

__device__ __forceinline__ void load_rows(curve_shared &shared, int slot,
                                          const tess_stage_autoreject_curve &a, int64_t c,
                                          int64_t first_tile, int64_t first_row)
{
    constexpr int pairs = TILE / 2;
    const int32_t *order = a.order + c * a.n_row;
    for (int at = int(threadIdx.x); at < ROWS * TILES * pairs; at += int(blockDim.x)) {
        const int pair = at % pairs, tile = at / pairs % TILES, row = at / (pairs * TILES);
        if (first_row + row < a.n_row && first_tile + tile < a.n_tile) {
            const tile_rows rows = rows_of(a, first_tile + tile, c);
            const int sample = 2 * pair ^ (tile & 1 ? HALF : 0);
            copy_start<16>(&shared.rows[slot][row][tile][sample],
                           row_of(rows, order[first_row + row]) + 2 * pair, true);
        }
    }
    copy_commit();
}

// errors[i] of the 8 lanes of a tile: lane i gets the sum of theirs, neighbours, pairs, halves.
__device__ __forceinline__ double sum_lanes(double (&errors)[HALF], int t)
{
    double four[4], two[2];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const double mine = t & 1 ? errors[2 * i + 1] : errors[2 * i];
        const double other = t & 1 ? errors[2 * i] : errors[2 * i + 1];
        four[i] = mine + __shfl_xor_sync(every_lane, other, 1);
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const double mine = t & 2 ? four[2 * i + 1] : four[2 * i];
        const double other = t & 2 ? four[2 * i] : four[2 * i + 1];
        two[i] = mine + __shfl_xor_sync(every_lane, other, 2);
    }
    const double mine = t & 4 ? two[1] : two[0];
    const double other = t & 4 ? two[0] : two[1];
    return mine + __shfl_xor_sync(every_lane, other, 4);
}

__global__ void __launch_bounds__(MOST_WARPS *WARP) curve_kernel(tess_stage_autoreject_curve a)
{
    extern __shared__ double raw[];
    curve_shared &shared = *reinterpret_cast<curve_shared *>(raw);
    const int lane = int(threadIdx.x) % WARP, tile = lane / HALF, t = lane % HALF;
    const int64_t first_tile = int64_t(blockIdx.x) * TILES, c = blockIdx.y;
    const int64_t split = int64_t(blockIdx.z) * (blockDim.x / WARP) + threadIdx.x / WARP;
    const bool has_split = split < a.n_split;
    const bool is_there = has_split && first_tile + tile < a.n_tile;
    const int64_t n_word = (a.n_row + ROWS - 1) / ROWS;
    const uint64_t *validation =
        a.validation + (c * a.stride_curves + (has_split ? split : 0)) * n_word;
    const double *median =
        a.medians + median_at(a, is_there ? first_tile + tile : 0, c, has_split ? split : 0);
    double *errors = a.errors + (((is_there ? first_tile + tile : 0) * a.n_chan + c) * a.n_split +
                                 (has_split ? split : 0)) *
                                    a.n_train;
    const double m0 = median[t], m1 = median[t + HALF];
    const int at0 = tile & 1 ? t + HALF : t, at1 = at0 ^ HALF;
    double s0 = 0, s1 = 0;
    int64_t k = 0;
    load_rows(shared, 0, a, c, first_tile, 0);
    for (int64_t word = 0; word < n_word; word++) {
        const int slot = int(word) & 1;
        if (word + 1 < n_word) {
            load_rows(shared, slot ^ 1, a, c, first_tile, (word + 1) * ROWS);
            copy_wait<1>();
        } else {
            copy_wait<0>();
        }
        __syncthreads();
        const int64_t left = a.n_row - word * ROWS;
        const uint64_t rows = left < ROWS ? (uint64_t(1) << left) - 1 : ~uint64_t(0);
        unsigned long long bits = has_split ? ~validation[word] & rows : 0;
        while (bits) { // the whole warp alike
            const int found = __popcll(bits);
            const int n = found < HALF ? found : int(HALF);
            double squares[HALF];
#pragma unroll
            for (int i = 0; i < HALF; i++) {
                squares[i] = 0;
                if (i < n) {
                    const double *row = shared.rows[slot][__ffsll((long long)(bits)) - 1][tile];
                    bits &= bits - 1;
                    const double by = __ldg(a.inverse + k + i);
                    s0 += row[at0];
                    s1 += row[at1];
                    const double r0 = __fma_rn(-s0, by, m0), r1 = __fma_rn(-s1, by, m1);
                    squares[i] = __fma_rn(r1, r1, r0 * r0);
                }
            }
            const double total = sum_lanes(squares, t);
            if (is_there && t < n) {
                errors[k + t] = total;
            }
            k += n;
        }
        __syncthreads();
    }
}

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

template <int THREADS, int V>
cudaError_t launch_medians(cudaStream_t stream, const tess_stage_autoreject_curve &a)
{
    const int64_t n_block = a.n_chan * a.n_tile * a.n_split * MEDIAN_PARTS;
    median_kernel<THREADS, V><<<unsigned(n_block), THREADS, 0, stream>>>(a);
    return cudaGetLastError();
}

cudaError_t choose_medians(cudaStream_t stream, const tess_stage_autoreject_curve &a)
{
    const int64_t n = a.n_row - a.n_train;
    if (n <= 64) {
        return launch_medians<32, 8>(stream, a);
    }
    if (n <= 128) {
        return launch_medians<32, 16>(stream, a);
    }
    if (n <= 512) {
        return launch_medians<128, 16>(stream, a);
    }
    if (n <= 2560) {
        return launch_medians<256, 40>(stream, a);
    }
    return n <= 5120 ? launch_medians<512, 40>(stream, a) : launch_medians<512, 0>(stream, a);
}

cudaError_t curve_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_curve *>(args);
    if (a.n_tile == 0 || a.n_chan == 0 || a.n_split == 0) {
        return cudaSuccess;
    }
    cudaError_t error = choose_medians(stream, a);
    if (error == cudaSuccess) {
        error = cudaFuncSetAttribute(curve_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     int(sizeof(curve_shared)));
    }
    if (error != cudaSuccess) {
        return error;
    }
    const int64_t warps = a.n_split < MOST_WARPS ? a.n_split : int64_t(MOST_WARPS);
    const dim3 grid(unsigned((a.n_tile + TILES - 1) / TILES), unsigned(a.n_chan),
                    unsigned((a.n_split + warps - 1) / warps));
    curve_kernel<<<grid, unsigned(warps * WARP), sizeof(curve_shared), stream>>>(a);
    error = cudaGetLastError();
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
    if (places % 16 != 0 || strides % 2 != 0 || a.members == nullptr || a.medians == nullptr ||
        a.errors == nullptr || a.n_chan > 65535 || a.n_row > INT32_MAX) {
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
