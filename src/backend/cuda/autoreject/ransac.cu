// RANSAC on CUDA: how well channels agree with what subsets of them predict.
//
// A block has an epoch and a few channels, and goes through the samples some at a time. Those of
// all channels lie in shared memory, and so do the predictions of all subsets: a warp makes those
// of one subset, a lane having one or two samples of all the block's channels. Then two threads
// sort the halves of what was predicted for a sample, by a network, and one takes the middle of
// both. Sums have the 16 lanes of the CPU's and its order.

#include "backend/cuda/autoreject/stages.h"
#include "backend/cuda/autoreject/tile.h"
#include "backend/cuda/level.h"
#include "stage/autoreject_ransac.h"

#include <cmath>

namespace
{

enum { THREADS = 512, WARPS = THREADS / WARP, HALF_MOST = 25 };

// ROWS channels and SAMPLES samples of a block.
template <int ROWS_, int EACH_>
struct ransac_shape {
    static constexpr int rows = ROWS_;
    static constexpr int each = EACH_; // samples of a lane
    static constexpr int samples = EACH_ * WARP;
    static constexpr int items = rows * samples;
};

// w as it is used: [group][subset][source][rows], zeros past the last channel.
template <typename S>
__global__ void __launch_bounds__(THREADS) pack_kernel(tess_stage_autoreject_ransac a)
{
    const int64_t n_group = (a.n_chan + S::rows - 1) / S::rows;
    const int64_t n = n_group * a.n_resample * a.n_from * S::rows;
    for (int64_t at = int64_t(blockIdx.x) * THREADS + threadIdx.x; at < n;
         at += int64_t(gridDim.x) * THREADS) {
        const int64_t k = at % S::rows, i = at / S::rows % a.n_from;
        const int64_t r = at / (S::rows * a.n_from) % a.n_resample;
        const int64_t c = at / (S::rows * a.n_from * a.n_resample) * S::rows + k;
        a.packed[at] = c < a.n_chan ? a.w[(r * a.n_chan + c) * a.n_from + i] : 0;
    }
}

template <typename S>
__device__ __forceinline__ void load_samples(const tess_stage_autoreject_ransac &a, int64_t first,
                                             double *x)
{
    for (int64_t at = threadIdx.x; at < a.n_chan * S::samples; at += THREADS) {
        const int64_t c = at / S::samples, t = first + at % S::samples;
        const int64_t row = a.channels ? a.channels[c] : c;
        x[at] = t < a.n_time ? a.x[blockIdx.x * a.stride_epoch + row * a.stride_chan + t] : 0;
    }
}

// p[subset][row][sample]
template <typename S>
__device__ __forceinline__ void predict(const tess_stage_autoreject_ransac &a, const double *x,
                                        double *p)
{
    const int lane = int(threadIdx.x) % WARP;
    for (int64_t r = threadIdx.x / WARP; r < a.n_resample; r += WARPS) {
        const int32_t *from = a.from + r * a.n_from;
        const double *w = a.packed + (int64_t(blockIdx.y) * a.n_resample + r) * a.n_from * S::rows;
        double sums[S::rows][S::each];
#pragma unroll
        for (int k = 0; k < S::rows; k++) {
#pragma unroll
            for (int j = 0; j < S::each; j++) {
                sums[k][j] = 0;
            }
        }
#pragma unroll 4
        for (int64_t i = 0; i < a.n_from; i++) {
            const double *row = x + int64_t(__ldg(from + i)) * S::samples + lane;
            double value[S::each];
#pragma unroll
            for (int j = 0; j < S::each; j++) {
                value[j] = row[j * WARP];
            }
#pragma unroll
            for (int k = 0; k < S::rows; k++) {
                const double weight = __ldg(w + i * S::rows + k);
#pragma unroll
                for (int j = 0; j < S::each; j++) {
                    sums[k][j] = __fma_rn(weight, value[j], sums[k][j]);
                }
            }
        }
#pragma unroll
        for (int k = 0; k < S::rows; k++) {
#pragma unroll
            for (int j = 0; j < S::each; j++) {
                p[(r * S::rows + k) * S::samples + j * WARP + lane] = sums[k][j];
            }
        }
    }
}

// Batcher's merge of runs of P values into runs of 2 P, in steps of K and less; all places are
// known when this is compiled, so that values stay in registers.
template <int P, int K>
__device__ __forceinline__ void merge(double (&x)[HALF_MOST])
{
#pragma unroll
    for (int i = K % P; i + K < HALF_MOST; i++) {
        if ((i - K % P) % (2 * K) < K && i / (2 * P) == (i + K) / (2 * P)) {
            const double low = x[i], high = x[i + K];
            const bool is_wrong = high < low;
            x[i] = is_wrong ? high : low;
            x[i + K] = is_wrong ? low : high;
        }
    }
    if constexpr (K > 1) {
        merge<P, K / 2>(x);
    } else if constexpr (2 * P < HALF_MOST) {
        merge<2 * P, 2 * P>(x);
    }
}

// n <= 25 values, stride items apart, ascending.
__device__ __forceinline__ void sort_half(double *p, int64_t stride, int n)
{
    double x[HALF_MOST];
#pragma unroll
    for (int i = 0; i < HALF_MOST; i++) {
        x[i] = i < n ? p[i * stride] : double(INFINITY);
    }
    merge<1, 1>(x);
#pragma unroll
    for (int i = 0; i < HALF_MOST; i++) {
        if (i < n) {
            p[i * stride] = x[i];
        }
    }
}

// The values of rank k - 1 and k (from 0) of two ascending lists together.
__device__ __forceinline__ void middle_two(const double *a, int n_a, const double *b, int n_b,
                                           int64_t stride, int k, double &before, double &at)
{
    int i = 0, j = 0;
    before = 0;
    at = 0;
    for (int rank = 0; rank <= k; rank++) {
        before = at;
        const bool is_a = j >= n_b || (i < n_a && a[i * stride] <= b[j * stride]);
        at = is_a ? a[i++ * stride] : b[j++ * stride];
    }
}

// The same of one list in any order: by counting.
__device__ __forceinline__ void count_middle_two(const double *p, int n, int64_t stride, int k,
                                                 double &before, double &at)
{
    for (int i = 0; i < n; i++) {
        const double value = p[i * stride];
        int rank = 0;
        for (int j = 0; j < n; j++) {
            const double other = p[j * stride];
            rank += other < value || (other == value && j < i);
        }
        if (rank == k - 1) {
            before = value;
        }
        if (rank == k) {
            at = value;
        }
    }
}

// medians[row][sample] of p, which is reordered.
template <typename S>
__device__ __forceinline__ void take_medians(int n, double *p, double *medians)
{
    const int n_a = n - n / 2, n_b = n / 2;
    const bool is_small = n_a <= HALF_MOST;
    for (int at = int(threadIdx.x); is_small && at < 2 * S::items; at += THREADS) {
        const int half = at / S::items;
        sort_half(p + at % S::items + int64_t(half) * n_a * S::items, S::items, half ? n_b : n_a);
    }
    __syncthreads();
    for (int at = int(threadIdx.x); at < S::items; at += THREADS) {
        double before = 0, middle = 0;
        if (is_small) {
            middle_two(p + at, n_a, p + at + int64_t(n_a) * S::items, n_b, S::items, n / 2, before,
                       middle);
        } else {
            count_middle_two(p + at, n, S::items, n / 2, before, middle);
        }
        medians[at] = n % 2 ? middle : (before + middle) * 0.5;
    }
}

template <typename S>
__global__ void __launch_bounds__(THREADS) ransac_kernel(tess_stage_autoreject_ransac a)
{
    extern __shared__ double raw[];
    __shared__ double medians[S::items];
    __shared__ double sums[3][S::rows][TILE];
    double *x = raw, *p = raw + a.n_chan * S::samples;
    const int k = int(threadIdx.x) / TILE, lane = int(threadIdx.x) % TILE;
    const int64_t c = int64_t(blockIdx.y) * S::rows + k;
    const bool is_there = k < S::rows && c < a.n_chan;
    double xp = 0, xx = 0, pp = 0;
    for (int64_t first = 0; first < a.n_time; first += S::samples) {
        load_samples<S>(a, first, x);
        __syncthreads();
        predict<S>(a, x, p);
        __syncthreads();
        take_medians<S>(int(a.n_resample), p, medians);
        __syncthreads();
        for (int t = lane; is_there && t < S::samples; t += TILE) {
            const double value = x[c * S::samples + t], median = medians[k * S::samples + t];
            xp = __fma_rn(value, median, xp);
            xx = __fma_rn(value, value, xx);
            pp = __fma_rn(median, median, pp);
        }
        __syncthreads();
    }
    if (is_there) {
        sums[0][k][lane] = xp;
        sums[1][k][lane] = xx;
        sums[2][k][lane] = pp;
    }
    __syncthreads();
    if (is_there && lane == 0) {
        double total[3] = {0, 0, 0};
        for (int t = 0; t < TILE; t++) {
            for (int i = 0; i < 3; i++) {
                total[i] += sums[i][k][t];
            }
        }
        const int64_t to = blockIdx.x * a.n_chan + c;
        a.out[to] = total[0] / (sqrt(total[1]) * sqrt(total[2]));
        a.power[to] = total[1];
    }
}

// Beside what kernels declare: 216 KiB of an H200.
size_t most_shared()
{
    return tess_cuda_shared_bytes() - (size_t(11) << 10);
}

template <typename S>
size_t shared_bytes(const tess_stage_autoreject_ransac &a)
{
    return size_t(a.n_chan * S::samples + a.n_resample * S::items) * sizeof(double);
}

template <typename S>
cudaError_t launch(cudaStream_t stream, const tess_stage_autoreject_ransac &a)
{
    const size_t bytes = shared_bytes<S>(a);
    const unsigned n_group = unsigned((a.n_chan + S::rows - 1) / S::rows);
    pack_kernel<S><<<256, THREADS, 0, stream>>>(a);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) {
        error = cudaFuncSetAttribute(ransac_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     int(bytes));
    }
    if (error == cudaSuccess) {
        ransac_kernel<S><<<dim3(unsigned(a.n_epoch), n_group), THREADS, bytes, stream>>>(a);
        error = cudaGetLastError();
    }
    return error;
}

using smallest_shape = ransac_shape<1, 1>;

cudaError_t ransac_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_ransac *>(args);
    if (a.n_epoch == 0 || a.n_chan == 0) {
        return cudaSuccess;
    }
    if (shared_bytes<ransac_shape<4, 2>>(a) <= most_shared()) {
        return launch<ransac_shape<4, 2>>(stream, a);
    }
    if (shared_bytes<ransac_shape<8, 1>>(a) <= most_shared()) {
        return launch<ransac_shape<8, 1>>(stream, a);
    }
    return launch<smallest_shape>(stream, a);
}

tess_status ransac_supports(const tess_backend_device *device, const void *args)
{
    const auto &a = *static_cast<const tess_stage_autoreject_ransac *>(args);
    const tess_host *host = device->host;
    const device_scope scope(device->ordinal);
    if (a.packed == nullptr || a.n_epoch > INT32_MAX ||
        shared_bytes<smallest_shape>(a) > most_shared()) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage autoreject.ransac on cuda:%d: n_resample %lld of %lld channels do "
                          "not fit in the shared memory of a GPU: their sum may be %zu; lower "
                          "n_resample, or use --device cpu",
                          device->ordinal, static_cast<long long>(a.n_resample),
                          static_cast<long long>(a.n_chan),
                          most_shared() / (smallest_shape::samples * sizeof(double)));
    }
    return TESS_OK;
}

size_t ransac_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_autoreject_ransac = {
    TESS_STAGE_AUTOREJECT_RANSAC,
    "autoreject.ransac",
    sizeof(tess_stage_autoreject_ransac),
    ransac_supports,
    ransac_scratch_bytes,
    ransac_launch,
};
