// Stages of autoreject on CUDA.
//
// Peak-to-peak reads every sample once and computes almost nothing, so the kernel is a way to keep
// many 16-byte loads in flight. A row belongs to a group of lanes: 4 to 32 lanes of a warp for
// short rows, a whole block for long ones. Minimum and maximum never round, so neither the order of
// the reduction nor the group's size shows in the result.

#include "backend/cuda/autoreject/extremes.h"
#include "backend/cuda/autoreject/stages.h"
#include "stage/autoreject.h"

#include <cstring>

namespace
{

// Four loads of 16 bytes per thread at three quarters of a Hopper multiprocessor's threads are
// about 96 KB in flight; latency times bandwidth asks for about a third of that.
struct ptp_shape {
    static constexpr int threads = 256;
    static constexpr int unroll = 4;
    static constexpr int vector_bytes = 16;
    // The edge loads of scan_row need one lane per item that lies outside the vectors.
    static constexpr int min_lanes_log2 = 2;
    static constexpr int max_lanes_log2 = 5;
    // Larger problems loop over the grid.
    static constexpr int64_t max_blocks = 1 << 20;
    // Rows that give each thread of a block a full set of loads get a block of their own.
    static constexpr int64_t block_row_bytes = int64_t(threads) * unroll * vector_bytes;
};

// Where row r = e * n_chan + c lies.
struct row_layout {
    int64_t n_row;
    int64_t n_chan;
    int64_t n_time;
    int64_t stride_epoch;
    int64_t stride_chan;
};

template <typename T>
__device__ __forceinline__ void include_vector(extremes<T> &seen, const uint4 &vector)
{
    constexpr int n_item = ptp_shape::vector_bytes / int(sizeof(T));
    T items[n_item];
    memcpy(items, &vector, sizeof(vector));
#pragma unroll
    for (int i = 0; i < n_item; i++) {
        include(seen, items[i]);
    }
}

// One lane's share of a row. Indices past the end are bent back to an item of the same row, which
// moves neither extreme: no branches, and nothing outside the row is read.
template <typename T>
__device__ __forceinline__ extremes<T> scan_row(const T *__restrict__ row, int64_t n, int lane,
                                                int lanes)
{
    constexpr int n_item = ptp_shape::vector_bytes / int(sizeof(T));
    const int past_boundary = int(reinterpret_cast<uintptr_t>(row) / sizeof(T)) & (n_item - 1);
    const int64_t head = min(n, int64_t((n_item - past_boundary) & (n_item - 1)));
    const int64_t n_vector = (n - head) / n_item;
    const int64_t tail = n - head - n_vector * n_item;

    // The items before the first and after the last whole vector; other lanes repeat item 0. Used
    // after the loop, so that the vector loads do not wait for them.
    const T head_item = __ldcs(row + (lane < head ? lane : 0));
    const T tail_item = __ldcs(row + (lane < tail ? n - 1 - lane : 0));

    extremes<T> seen = no_extremes<T>();
    const uint4 *vectors = reinterpret_cast<const uint4 *>(row + head);
    for (int64_t base = 0; base < n_vector; base += int64_t(ptp_shape::unroll) * lanes) {
        uint4 loaded[ptp_shape::unroll];
#pragma unroll
        for (int k = 0; k < ptp_shape::unroll; k++) {
            loaded[k] = __ldcs(vectors + min(base + k * lanes + lane, n_vector - 1));
        }
#pragma unroll
        for (int k = 0; k < ptp_shape::unroll; k++) {
            include_vector(seen, loaded[k]);
        }
    }
    include(seen, head_item);
    include(seen, tail_item);
    return seen;
}

template <typename T>
__device__ __forceinline__ const T *row_start(const T *x, const row_layout &rows, int64_t r)
{
    const int64_t e = r / rows.n_chan;
    const int64_t c = r - e * rows.n_chan;
    return x + (e * rows.stride_epoch + c * rows.stride_chan);
}

// Kernel for short rows: a part of a warp per row, several rows per block.
template <typename T>
__global__ void __launch_bounds__(ptp_shape::threads)
    ptp_warp_kernel(const T *__restrict__ x, T *__restrict__ out, row_layout rows, int lanes_log2)
{
    const int lanes = 1 << lanes_log2;
    const int lane = int(threadIdx.x) & (lanes - 1);
    const int64_t rows_per_block = ptp_shape::threads >> lanes_log2;
    const int64_t step = rows_per_block * gridDim.x;

    for (int64_t first = rows_per_block * blockIdx.x; first < rows.n_row; first += step) {
        const int64_t wanted = first + (threadIdx.x >> lanes_log2);
        // Groups past the end stay for the shuffles and repeat the last row.
        const int64_t r = min(wanted, rows.n_row - 1);
        extremes<T> seen = scan_row(row_start(x, rows, r), rows.n_time, lane, lanes);
        reduce_lanes(seen, lanes_log2);
        if (lane == 0 && wanted == r) {
            out[r] = peak_to_peak(seen);
        }
    }
}

// Kernel for long rows: a block per row.
template <typename T>
__global__ void __launch_bounds__(ptp_shape::threads)
    ptp_block_kernel(const T *__restrict__ x, T *__restrict__ out, row_layout rows)
{
    constexpr int warp_log2 = ptp_shape::max_lanes_log2;
    constexpr int n_warp = ptp_shape::threads >> warp_log2;
    constexpr int n_warp_log2 = 3;
    static_assert(n_warp == 1 << n_warp_log2, "one lane per warp in the last step");
    __shared__ T low[n_warp];
    __shared__ T high[n_warp];
    __shared__ int has_nan[n_warp];
    const int warp = int(threadIdx.x) >> warp_log2;
    const int lane = int(threadIdx.x) & ((1 << warp_log2) - 1);

    for (int64_t r = blockIdx.x; r < rows.n_row; r += gridDim.x) {
        extremes<T> seen =
            scan_row(row_start(x, rows, r), rows.n_time, int(threadIdx.x), ptp_shape::threads);
        reduce_lanes(seen, warp_log2);
        if (lane == 0) {
            low[warp] = seen.low;
            high[warp] = seen.high;
            has_nan[warp] = seen.has_nan;
        }
        __syncthreads();
        if (warp == 0) {
            seen = {low[lane & (n_warp - 1)], high[lane & (n_warp - 1)],
                    has_nan[lane & (n_warp - 1)] != 0};
            reduce_lanes(seen, n_warp_log2);
            if (lane == 0) {
                out[r] = peak_to_peak(seen);
            }
        }
        __syncthreads();
    }
}

// Fewest lanes, up to a warp, that cover a row with one set of loads.
int lanes_log2_for(int64_t row_bytes)
{
    constexpr int64_t lane_bytes = int64_t(ptp_shape::unroll) * ptp_shape::vector_bytes;
    int lanes_log2 = ptp_shape::min_lanes_log2;
    while (lanes_log2 < ptp_shape::max_lanes_log2 && (lane_bytes << lanes_log2) < row_bytes) {
        lanes_log2++;
    }
    return lanes_log2;
}

// Launcher.
template <typename T>
cudaError_t launch_ptp(cudaStream_t stream, const T *d_x, T *d_out, const row_layout &rows)
{
    const bool block_per_row = rows.n_time >= ptp_shape::block_row_bytes / int64_t(sizeof(T));
    if (block_per_row) {
        const int64_t blocks =
            rows.n_row < ptp_shape::max_blocks ? rows.n_row : ptp_shape::max_blocks;
        ptp_block_kernel<T><<<unsigned(blocks), ptp_shape::threads, 0, stream>>>(d_x, d_out, rows);
        return cudaGetLastError();
    }
    const int lanes_log2 = lanes_log2_for(rows.n_time * int64_t(sizeof(T)));
    const int64_t rows_per_block = ptp_shape::threads >> lanes_log2;
    const int64_t needed = (rows.n_row - 1) / rows_per_block + 1;
    const int64_t blocks = needed < ptp_shape::max_blocks ? needed : ptp_shape::max_blocks;
    ptp_warp_kernel<T>
        <<<unsigned(blocks), ptp_shape::threads, 0, stream>>>(d_x, d_out, rows, lanes_log2);
    return cudaGetLastError();
}

// Adapter.
cudaError_t ptp_launch(cudaStream_t stream, const void *args)
{
    const tess_stage_autoreject_ptp &a = *static_cast<const tess_stage_autoreject_ptp *>(args);
    const row_layout rows = {a.n_epoch * a.n_chan, a.n_chan, a.n_time, a.stride_epoch,
                             a.stride_chan};
    if (rows.n_row == 0) {
        return cudaSuccess;
    }
    if (a.dtype == TESS_F32) {
        return launch_ptp(stream, static_cast<const float *>(a.x), static_cast<float *>(a.out),
                          rows);
    }
    return launch_ptp(stream, static_cast<const double *>(a.x), static_cast<double *>(a.out), rows);
}

tess_status ptp_supports(const tess_backend_device *device, const void *args)
{
    const tess_stage_autoreject_ptp &a = *static_cast<const tess_stage_autoreject_ptp *>(args);
    const tess_host *host = device->host;
    if (a.dtype != TESS_F32 && a.dtype != TESS_F64) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage autoreject.ptp on cuda:%d: x has dtype %d, supported are f32 (%d) "
                          "and f64 (%d): convert x or use --device cpu",
                          device->ordinal, int(a.dtype), int(TESS_F32), int(TESS_F64));
    }
    int64_t n_row = 0;
    if (a.n_epoch < 0 || a.n_chan < 0 || a.n_time < 1 ||
        __builtin_mul_overflow(a.n_epoch, a.n_chan, &n_row)) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage autoreject.ptp on cuda:%d: x has shape [%lld][%lld][%lld], "
                          "expected at least one sample per row",
                          device->ordinal, static_cast<long long>(a.n_epoch),
                          static_cast<long long>(a.n_chan), static_cast<long long>(a.n_time));
    }
    const uintptr_t item_bytes = a.dtype == TESS_F32 ? sizeof(float) : sizeof(double);
    if (reinterpret_cast<uintptr_t>(a.x) % item_bytes != 0 ||
        reinterpret_cast<uintptr_t>(a.out) % item_bytes != 0) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage autoreject.ptp on cuda:%d: x (%p) and out (%p) must be aligned to "
                          "their items of %d bytes: copy to an aligned array",
                          device->ordinal, a.x, a.out, int(item_bytes));
    }
    return TESS_OK;
}

size_t ptp_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_autoreject_ptp = {
    TESS_STAGE_AUTOREJECT_PTP, "autoreject.ptp", sizeof(tess_stage_autoreject_ptp), ptp_supports,
    ptp_scratch_bytes,         ptp_launch,
};
