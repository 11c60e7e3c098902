// Measures a device's ceilings: memory, host transfers and multiply-adds.
//
// Every probe warms up, is timed by events and reported as the median of its repeats. Data are a
// pattern that looks random (constant data can run faster than real data will), and each probe's
// result is checked once, so that a number is never reported for work that was not done.

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/warp_sum.h"

#include <algorithm>
#include <cmath>

namespace
{

constexpr int n_warm_up = 10;
constexpr int n_repeat = 21;
constexpr int threads = 256;
constexpr int read_unroll = 8;
constexpr int n_sum = 4096;
constexpr int n_chain = 8;
constexpr int n_round = 4096;
constexpr int unrolled_rounds = 16; // keeps the loop's own instructions out of the count
constexpr int fma_blocks_per_sm = 8;
constexpr size_t largest_buffer = size_t(2) << 30;
constexpr size_t smallest_buffer = size_t(1) << 20;
constexpr size_t largest_transfer = size_t(128) << 20;
constexpr uint32_t pattern_step = 2654435761u; // Knuth's multiplicative hash

// Word i of a probe's buffer is i * pattern_step modulo 2^32.
__global__ void fill_kernel(uint32_t *words, int64_t n_word)
{
    const int64_t step = int64_t(gridDim.x) * blockDim.x;
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n_word; i += step) {
        words[i] = uint32_t(i) * pattern_step;
    }
}

// Adds up a buffer of gridDim.x * threads * read_unroll vectors. Integer sums do not depend on the
// order of the atomics; they are spread over n_sum words to keep out of the loads' way.
__global__ void __launch_bounds__(threads) read_kernel(const uint4 *vectors, uint32_t *sums)
{
    const uint4 *mine = vectors + int64_t(blockIdx.x) * (threads * read_unroll) + threadIdx.x;
    uint4 loaded[read_unroll];
#pragma unroll
    for (int k = 0; k < read_unroll; k++) {
        loaded[k] = __ldcs(mine + k * threads);
    }
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k < read_unroll; k++) {
        sum += loaded[k].x + loaded[k].y + loaded[k].z + loaded[k].w;
    }
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(&sums[blockIdx.x % n_sum], sum);
    }
}

uint32_t pattern_sum(size_t bytes)
{
    const uint64_t n_word = bytes / sizeof(uint32_t);
    return uint32_t(n_word * (n_word - 1) / 2) * pattern_step;
}

// The chains are independent, so that the units are never kept waiting; the factor makes values
// swing without settling within n_round steps.
template <typename T>
__host__ __device__ T fma_chains(int64_t thread, int rounds, T factor, T term)
{
    T x[n_chain];
    for (int k = 0; k < n_chain; k++) {
        x[k] = T(thread % 1024) + T(k);
    }
    for (int i = 0; i < rounds; i += unrolled_rounds) {
        for (int j = 0; j < unrolled_rounds * n_chain; j++) {
            x[j % n_chain] = fma(x[j % n_chain], factor, term);
        }
    }
    T sum = 0;
    for (int k = 0; k < n_chain; k++) {
        sum += x[k];
    }
    return sum;
}

template <typename T>
__global__ void __launch_bounds__(threads) fma_kernel(T *out, int rounds, T factor, T term)
{
    const int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x;
    out[i] = fma_chains(i, rounds, factor, term);
}

// What all probes of one benchmark share. The first error stops the rest.
struct probe {
    const tess_backend_device *device;
    cudaStream_t stream;
    cudaEvent_t start;
    cudaEvent_t stop;
    void *d_source;
    void *d_target;
    uint32_t *d_sums;
    void *pinned;
    size_t buffer_bytes;   // of source and target, a power of two
    size_t transfer_bytes; // of pinned
    int n_sm;
};

tess_status wrong_result(const probe &p, const char *what)
{
    return p.device->host->fail(p.device->host->user, TESS_E_DEVICE,
                                "cuda:%d: benchmark: the %s probe gave a wrong result: the GPU or "
                                "its memory is not reliable",
                                p.device->ordinal, what);
}

// Median seconds of what launch() puts into the stream.
template <typename Launch>
cudaError_t median_seconds(const probe &p, Launch launch, double *seconds)
{
    float milliseconds[n_repeat];
    for (int i = 0; i < n_warm_up + n_repeat; i++) {
        cudaError_t error = cudaEventRecord(p.start, p.stream);
        if (error == cudaSuccess) {
            error = launch();
        }
        if (error == cudaSuccess) {
            error = cudaEventRecord(p.stop, p.stream);
        }
        if (error == cudaSuccess) {
            error = cudaEventSynchronize(p.stop);
        }
        float elapsed = 0;
        if (error == cudaSuccess) {
            error = cudaEventElapsedTime(&elapsed, p.start, p.stop);
        }
        if (error != cudaSuccess) {
            return error;
        }
        if (i >= n_warm_up) {
            milliseconds[i - n_warm_up] = elapsed;
        }
    }
    std::sort(milliseconds, milliseconds + n_repeat);
    *seconds = double(milliseconds[n_repeat / 2]) * 1e-3;
    return cudaSuccess;
}

cudaError_t launch_read(const probe &p, const void *d_source, size_t bytes)
{
    const size_t blocks = bytes / (sizeof(uint4) * threads * read_unroll);
    read_kernel<<<unsigned(blocks), threads, 0, p.stream>>>(static_cast<const uint4 *>(d_source),
                                                            p.d_sums);
    return cudaGetLastError();
}

// TESS_OK if the first bytes of a device buffer are the pattern.
tess_status check_pattern(const probe &p, const void *d_buffer, size_t bytes, const char *what)
{
    uint32_t sums[n_sum / 8];
    cudaError_t error = cudaMemsetAsync(p.d_sums, 0, n_sum * sizeof(uint32_t), p.stream);
    if (error == cudaSuccess) {
        error = launch_read(p, d_buffer, bytes);
    }
    uint32_t total = 0;
    for (int part = 0; part < 8 && error == cudaSuccess; part++) {
        error = cudaMemcpyAsync(sums, p.d_sums + part * (n_sum / 8), sizeof(sums),
                                cudaMemcpyDeviceToHost, p.stream);
        if (error == cudaSuccess) {
            error = cudaStreamSynchronize(p.stream);
        }
        for (int i = 0; i < n_sum / 8; i++) {
            total += sums[i];
        }
    }
    if (error != cudaSuccess) {
        return tess_cuda_fail(p.device, error, what);
    }
    return total == pattern_sum(bytes) ? TESS_OK : wrong_result(p, what);
}

tess_status measure_read(const probe &p, double *bytes_per_s)
{
    double seconds = 0;
    const cudaError_t error = median_seconds(
        p, [&] { return launch_read(p, p.d_source, p.buffer_bytes); }, &seconds);
    if (error != cudaSuccess) {
        return tess_cuda_fail(p.device, error, "benchmark: reading");
    }
    *bytes_per_s = double(p.buffer_bytes) / seconds;
    return check_pattern(p, p.d_source, p.buffer_bytes, "read");
}

tess_status measure_copy(const probe &p, double *bytes_per_s)
{
    double seconds = 0;
    cudaError_t error = cudaMemsetAsync(p.d_target, 0xff, p.buffer_bytes, p.stream);
    if (error == cudaSuccess) {
        error = median_seconds(
            p,
            [&] {
                return cudaMemcpyAsync(p.d_target, p.d_source, p.buffer_bytes,
                                       cudaMemcpyDeviceToDevice, p.stream);
            },
            &seconds);
    }
    if (error != cudaSuccess) {
        return tess_cuda_fail(p.device, error, "benchmark: copying");
    }
    *bytes_per_s = 2.0 * double(p.buffer_bytes) / seconds;
    return check_pattern(p, p.d_target, p.buffer_bytes, "copy");
}

// Down first: it fills the pinned buffer with the pattern that then goes up.
tess_status measure_transfers(const probe &p, double *down_bytes_per_s, double *up_bytes_per_s)
{
    double down = 0;
    double up = 0;
    cudaError_t error = median_seconds(
        p,
        [&] {
            return cudaMemcpyAsync(p.pinned, p.d_source, p.transfer_bytes, cudaMemcpyDeviceToHost,
                                   p.stream);
        },
        &down);
    if (error == cudaSuccess) {
        error = cudaMemsetAsync(p.d_target, 0xff, p.transfer_bytes, p.stream);
    }
    if (error == cudaSuccess) {
        error = median_seconds(
            p,
            [&] {
                return cudaMemcpyAsync(p.d_target, p.pinned, p.transfer_bytes,
                                       cudaMemcpyHostToDevice, p.stream);
            },
            &up);
    }
    if (error != cudaSuccess) {
        return tess_cuda_fail(p.device, error, "benchmark: transfers");
    }
    const uint32_t *words = static_cast<const uint32_t *>(p.pinned);
    uint32_t total = 0;
    for (size_t i = 0; i < p.transfer_bytes / sizeof(uint32_t); i++) {
        total += words[i];
    }
    if (total != pattern_sum(p.transfer_bytes)) {
        return wrong_result(p, "download");
    }
    *down_bytes_per_s = double(p.transfer_bytes) / down;
    *up_bytes_per_s = double(p.transfer_bytes) / up;
    return check_pattern(p, p.d_target, p.transfer_bytes, "upload");
}

template <typename T>
tess_status measure_fma(const probe &p, const char *what, double *flop_per_s)
{
    const T factor = T(-0.9999);
    const T term = T(0.5);
    const int blocks = p.n_sm * fma_blocks_per_sm;
    const int64_t n_thread = int64_t(blocks) * threads;
    T *d_out = static_cast<T *>(p.d_target);
    T first = 0;
    T last = 0;
    double seconds = 0;
    if (size_t(n_thread) * sizeof(T) > p.buffer_bytes) {
        return p.device->host->fail(p.device->host->user, TESS_E_MEMORY,
                                    "cuda:%d: benchmark: too little free device memory",
                                    p.device->ordinal);
    }
    cudaError_t error = median_seconds(
        p,
        [&] {
            fma_kernel<T><<<unsigned(blocks), threads, 0, p.stream>>>(d_out, n_round, factor, term);
            return cudaGetLastError();
        },
        &seconds);
    if (error == cudaSuccess) {
        error = cudaMemcpyAsync(&first, d_out, sizeof(T), cudaMemcpyDeviceToHost, p.stream);
    }
    if (error == cudaSuccess) {
        error = cudaMemcpyAsync(&last, d_out + n_thread - 1, sizeof(T), cudaMemcpyDeviceToHost,
                                p.stream);
    }
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(p.stream);
    }
    if (error != cudaSuccess) {
        return tess_cuda_fail(p.device, error, what);
    }
    if (first != fma_chains<T>(0, n_round, factor, term) ||
        last != fma_chains<T>(n_thread - 1, n_round, factor, term)) {
        return wrong_result(p, what);
    }
    *flop_per_s = 2.0 * n_chain * n_round * double(n_thread) / seconds;
    return TESS_OK;
}

// An eighth of what is free for each of the two buffers, at most largest_buffer.
cudaError_t probe_allocate(probe *p)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    cudaError_t error = cudaMemGetInfo(&free_bytes, &total_bytes);
    if (error == cudaSuccess) {
        error =
            cudaDeviceGetAttribute(&p->n_sm, cudaDevAttrMultiProcessorCount, p->device->ordinal);
    }
    p->buffer_bytes = largest_buffer;
    while (p->buffer_bytes > smallest_buffer && p->buffer_bytes > free_bytes / 8) {
        p->buffer_bytes /= 2;
    }
    p->transfer_bytes = std::min(p->buffer_bytes, largest_transfer);
    if (error == cudaSuccess) {
        error = cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking);
    }
    if (error == cudaSuccess) {
        error = cudaEventCreate(&p->start);
    }
    if (error == cudaSuccess) {
        error = cudaEventCreate(&p->stop);
    }
    if (error == cudaSuccess) {
        error = cudaMalloc(&p->d_source, p->buffer_bytes);
    }
    if (error == cudaSuccess) {
        error = cudaMalloc(&p->d_target, p->buffer_bytes);
    }
    if (error == cudaSuccess) {
        error = cudaMalloc(&p->d_sums, n_sum * sizeof(uint32_t));
    }
    if (error == cudaSuccess) {
        error = cudaHostAlloc(&p->pinned, p->transfer_bytes, cudaHostAllocDefault);
    }
    return error;
}

void probe_release(probe *p)
{
    (void)cudaFreeHost(p->pinned);
    (void)cudaFree(p->d_sums);
    (void)cudaFree(p->d_target);
    (void)cudaFree(p->d_source);
    if (p->stop != nullptr) {
        (void)cudaEventDestroy(p->stop);
    }
    if (p->start != nullptr) {
        (void)cudaEventDestroy(p->start);
    }
    if (p->stream != nullptr) {
        (void)cudaStreamDestroy(p->stream);
    }
    (void)cudaGetLastError();
}

tess_status measure_all(const probe &p, tess_device_ceilings *ceilings)
{
    fill_kernel<<<unsigned(p.n_sm * 8), threads, 0, p.stream>>>(
        static_cast<uint32_t *>(p.d_source), int64_t(p.buffer_bytes / sizeof(uint32_t)));
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
        return tess_cuda_fail(p.device, error, "benchmark: filling memory");
    }
    tess_status status = measure_read(p, &ceilings->read_bytes_per_s);
    if (status == TESS_OK) {
        status = measure_copy(p, &ceilings->copy_bytes_per_s);
    }
    if (status == TESS_OK) {
        status =
            measure_transfers(p, &ceilings->download_bytes_per_s, &ceilings->upload_bytes_per_s);
    }
    if (status == TESS_OK) {
        status = measure_fma<float>(p, "f32 multiply-add", &ceilings->flop_f32_per_s);
    }
    if (status == TESS_OK) {
        status = measure_fma<double>(p, "f64 multiply-add", &ceilings->flop_f64_per_s);
    }
    return status;
}

} // namespace

tess_status tess_cuda_benchmark(tess_backend_device *device, tess_device_ceilings *ceilings)
{
    *ceilings = {};
    ceilings->struct_size = sizeof(*ceilings);
    const device_scope scope(device->ordinal);
    if (scope.error() != cudaSuccess) {
        return tess_cuda_fail(device, scope.error(), "benchmark");
    }
    probe p = {};
    p.device = device;
    const cudaError_t error = probe_allocate(&p);
    const tess_status status = error == cudaSuccess
                                   ? measure_all(p, ceilings)
                                   : tess_cuda_fail(device, error, "benchmark: memory");
    probe_release(&p);
    return status;
}
