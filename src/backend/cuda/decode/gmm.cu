// Mixtures of Gaussians over marks and places: log intensities of marks at every bin.
//
// A block has one mark: its threads condition the components on it, then each takes bins, once for
// the largest term and once for the sum, in the order of the components as on the CPU. 64
// components at 200 bins are 12,800 exponentials in f64 a mark, some 45 operations each: 500,000
// marks of a day are 2.9e11 of them, 9 ms of an H200's 3.4e13 a second.

#include "backend/cuda/decode/stages.h"
#include "backend/cuda/level.h"
#include "backend/cuda/warp_sum.h"
#include "stage/decode_gmm.h"

namespace
{

constexpr int threads = 128;
constexpr int64_t max_blocks = 1 << 20;
constexpr int max_features = 32;
constexpr size_t declared_shared = size_t(27) << 10; // beside what is shared on demand: ample

// What is left of a component at a mark: exponent, mean, reciprocals of the factor's diagonal, what
// is below it.
template <int n_dim>
constexpr int items = 1 + 2 * n_dim + n_dim * (n_dim - 1) / 2;

template <int n_dim>
__device__ void condition(const tess_gmm_bins &m, const double *mark, int64_t c, double *out)
{
    const int d = int(m.n_feature);
    const int width = d + n_dim;
    const double *factor = m.factor + c * width * width;
    const double *mean = m.mean + c * width;
    double a[max_features];
    double square = 0;
    for (int k = 0; k < d; k++) {
        double sum = mark[k] - mean[k];
        for (int i = 0; i < k; i++) {
            sum -= factor[k * width + i] * a[i];
        }
        a[k] = sum / factor[k * width + k];
        square += a[k] * a[k];
    }
    out[0] = m.log_norm[c] - 0.5 * square;
    int at = 1 + 2 * n_dim;
    for (int k = 0; k < n_dim; k++) {
        const double *row = factor + (d + k) * width;
        double sum = mean[d + k];
        for (int i = 0; i < d; i++) {
            sum += row[i] * a[i];
        }
        out[1 + k] = sum;
        out[1 + n_dim + k] = 1 / row[d + k];
        for (int i = 0; i < k; i++) {
            out[at++] = row[d + i];
        }
    }
}

template <int n_dim>
__device__ double term(const double *component, const double (&place)[n_dim])
{
    double z[n_dim];
    double square = 0;
    int at = 1 + 2 * n_dim;
#pragma unroll
    for (int k = 0; k < n_dim; k++) {
        double sum = place[k] - component[1 + k];
#pragma unroll
        for (int i = 0; i < k; i++) {
            sum -= component[at++] * z[i];
        }
        z[k] = sum * component[1 + n_dim + k];
        square += z[k] * z[k];
    }
    return component[0] - 0.5 * square;
}

template <int n_dim>
__device__ double log_at(const double *components, int n_component, const double (&place)[n_dim])
{
    double most = -INFINITY;
    for (int c = 0; c < n_component; c++) {
        most = fmax(most, term<n_dim>(components + c * items<n_dim>, place));
    }
    if (!(most > -INFINITY)) {
        return most;
    }
    double sum = 0;
    for (int c = 0; c < n_component; c++) {
        const double t = term<n_dim>(components + c * items<n_dim>, place);
        if (t > most - TESS_GMM_NEGLIGIBLE) {
            sum += exp(t - most);
        }
    }
    return most + log(sum);
}

__device__ double block_max(double value, double *parts)
{
    for (int apart = 16; apart > 0; apart /= 2) {
        value = fmax(value, __shfl_xor_sync(0xffffffffu, value, apart));
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        parts[threadIdx.x / 32] = value;
    }
    __syncthreads();
    for (int w = 0; w < threads / 32; w++) {
        value = fmax(value, parts[w]);
    }
    return value;
}

template <int n_dim>
__global__ void __launch_bounds__(threads)
    gmm_kernel(const __grid_constant__ tess_stage_decode_gmm a)
{
    extern __shared__ double components[];
    __shared__ double parts[threads / 32];
    __shared__ int counted[threads / 32];
    const tess_gmm_bins &m = a.bins;
    const int n_component = int(m.n_component);
    for (int64_t s = blockIdx.x; s < a.n_spike; s += gridDim.x) {
        double *values = a.values + s * m.n_bin;
        __syncthreads();
        for (int c = int(threadIdx.x); c < n_component; c += threads) {
            condition<n_dim>(m, a.marks + s * m.n_feature, c, components + c * items<n_dim>);
        }
        __syncthreads();
        double most = -INFINITY;
        for (int64_t p = threadIdx.x; p < m.n_bin; p += threads) {
            double place[n_dim];
#pragma unroll
            for (int k = 0; k < n_dim; k++) {
                place[k] = m.centre[p * n_dim + k];
            }
            const double value =
                m.log_rate + log_at<n_dim>(components, n_component, place) - m.log_occupancy[p];
            values[p] = value;
            most = fmax(most, value);
        }
        most = block_max(most, parts);
        const double floor = isinf(m.below) ? m.floor : fmax(most - m.below, m.floor);
        int n_floored = 0;
        for (int64_t p = threadIdx.x; p < m.n_bin; p += threads) {
            const bool is_above = values[p] > floor;
            values[p] = is_above ? values[p] : floor;
            n_floored += is_above ? 0 : 1;
        }
        n_floored = warp_sum(n_floored);
        if (threadIdx.x % 32 == 0) {
            counted[threadIdx.x / 32] = n_floored;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int64_t all = 0;
            for (int w = 0; w < threads / 32; w++) {
                all += counted[w];
            }
            a.n_floored[s] = all;
        }
    }
}

size_t shared_bytes(const tess_gmm_bins &m)
{
    const int64_t n = m.n_dim == 1 ? items<1> : m.n_dim == 2 ? items<2> : items<3>;
    return size_t(m.n_component * n) * sizeof(double);
}

cudaError_t gmm_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_decode_gmm *>(args);
    if (a.n_spike == 0) {
        return cudaSuccess;
    }
    const auto kernel = a.bins.n_dim == 1   ? gmm_kernel<1>
                        : a.bins.n_dim == 2 ? gmm_kernel<2>
                                            : gmm_kernel<3>;
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             int(tess_cuda_shared_bytes() - declared_shared));
    if (error != cudaSuccess) {
        return error;
    }
    const unsigned blocks = unsigned(a.n_spike < max_blocks ? a.n_spike : max_blocks);
    kernel<<<blocks, threads, shared_bytes(a.bins), stream>>>(a);
    return cudaGetLastError();
}

tess_status gmm_supports(const tess_backend_device *device, const void *args)
{
    const auto *a = static_cast<const tess_stage_decode_gmm *>(args);
    const device_scope scope(device->ordinal);
    if (a->bins.n_feature > max_features || a->bins.n_dim > 3 ||
        shared_bytes(a->bins) > tess_cuda_shared_bytes() - declared_shared) {
        const tess_host *host = device->host;
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "stage decode.gmm on cuda:%d: %lld components of %lld features are more "
                          "than a block holds; use --device cpu",
                          device->ordinal, static_cast<long long>(a->bins.n_component),
                          static_cast<long long>(a->bins.n_feature));
    }
    return TESS_OK;
}

size_t gmm_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_decode_gmm = {
    TESS_STAGE_DECODE_GMM, "decode.gmm",      sizeof(tess_stage_decode_gmm),
    gmm_supports,          gmm_scratch_bytes, gmm_launch,
};
