// The clusterless likelihood in f64, every pair: exact models, and what f32 could not do.
//
// A thread is a bin and has the sums of a group of spikes, or of one; weights of a few encoding
// spikes at a time lie in shared memory. A spike is added up in the order of the encoding spikes.

#include "backend/cuda/decode/kde.h"

namespace
{

constexpr int threads = 128;
constexpr int chunk = 32;
constexpr int group_spikes = 16;
// As on the CPU: below this a sum may have lost terms to underflow.
constexpr double least_sum = 1e-280;

struct one_spike {
    const tess_kde_electrode *e;
    const double *mark; // as recorded
    void *values;       // [n_bin]
};

__device__ inline double value_at(const kde_work &w, const void *values, int64_t p)
{
    return w.model.is_exact ? static_cast<const double *>(values)[p]
                            : double(static_cast<const float *>(values)[p]);
}

__device__ inline void set_value(const kde_work &w, void *values, int64_t p, double v)
{
    if (w.model.is_exact) {
        static_cast<double *>(values)[p] = v;
    } else {
        static_cast<float *>(values)[p] = float(v);
    }
}

__device__ inline double square_distance(const tess_kde_electrode &e, const double *x, int64_t i)
{
    double q = 0;
    for (int64_t f = 0; f < e.n_feature; f++) {
        const double d = x[f] - e.marks[f * e.stride + i];
        q = fma(d, d, q);
    }
    return q;
}

__device__ inline double place_term(const kde_work &w, const tess_kde_electrode &e, int64_t p,
                                    int64_t i)
{
    double t = e.log_weight != nullptr ? e.log_weight[i] : 0;
    for (int64_t d = 0; d < w.model.n_dim; d++) {
        const double u = w.model.bin_place[d * w.model.n_bin + p] - e.place[d * e.stride + i];
        t = fma(-u, u, t);
    }
    return t;
}

// log of the sum at one bin with a maximum of its own.
__device__ double far_value(const kde_work &w, const tess_kde_electrode &e, const double *x,
                            int64_t p)
{
    double most = -INFINITY;
    for (int64_t i = 0; i < e.n_spike; i++) {
        most = fmax(most, place_term(w, e, p, i) - square_distance(e, x, i));
    }
    double sum = 0;
    for (int64_t i = 0; i < e.n_spike; i++) {
        sum += exp(place_term(w, e, p, i) - square_distance(e, x, i) - most);
    }
    return most + log(sum);
}

// What a block of threads shares of some spikes.
struct group_memory {
    double *x;       // [spikes][n_feature] scaled marks
    double *nearest; // [spikes] least squared distance
    double *weight;  // [chunk][spikes]
    double *least;   // [threads]
};

// Scaled marks, and the distance of each spike to its nearest encoding spike.
__device__ void load_group(const tess_kde_electrode &e, const one_spike *spike, int n,
                           const group_memory &m)
{
    const int thread = int(threadIdx.x);
    const int64_t nf = e.n_feature;
    __syncthreads();
    for (int64_t k = thread; k < n * nf; k += threads) {
        const int64_t f = k % nf;
        m.x[k] = (spike[k / nf].mark[f] - e.mark_centre[f]) * e.mark_scale[f];
    }
    __syncthreads();
    for (int s = 0; s < n; s++) {
        double q = INFINITY;
        for (int64_t i = thread; i < e.n_spike; i += threads) {
            q = fmin(q, square_distance(e, m.x + s * nf, i));
        }
        m.least[thread] = q;
        __syncthreads();
        for (int step = threads / 2; step > 0; step /= 2) {
            if (thread < step) {
                m.least[thread] = fmin(m.least[thread], m.least[thread + step]);
            }
            __syncthreads();
        }
        if (thread == 0) {
            m.nearest[s] = m.least[0];
        }
        __syncthreads();
    }
}

// sum[s] over the encoding spikes at bin p, each less its nearest distance.
template <int spikes>
__device__ inline void sum_pairs(const kde_work &w, const tess_kde_electrode &e, int n, int64_t p,
                                 bool wanted, const group_memory &m, double (&sum)[spikes])
{
    const int64_t nf = e.n_feature;
    for (int64_t first = 0; first < e.n_spike; first += chunk) {
        const int here = int(e.n_spike - first < chunk ? e.n_spike - first : chunk);
        for (int k = int(threadIdx.x); k < here * spikes; k += threads) {
            const int s = k % spikes;
            m.weight[k] =
                s < n ? exp(m.nearest[s] - square_distance(e, m.x + s * nf, first + k / spikes))
                      : 0;
        }
        __syncthreads();
        for (int i = 0; wanted && i < here; i++) {
            const double kernel = exp(place_term(w, e, p, first + i));
#pragma unroll
            for (int s = 0; s < spikes; s++) {
                sum[s] = fma(m.weight[i * spikes + s], kernel, sum[s]);
            }
        }
        __syncthreads();
    }
}

// Values of spikes of one electrode at the block's bins. Those that are not NaN are kept where
// only_nan.
template <int spikes>
__device__ void bins_of(const kde_work &w, const tess_kde_electrode &e, const one_spike *spike,
                        int n, int64_t first_bin, bool only_nan, double *shared)
{
    group_memory m;
    m.x = shared;
    m.nearest = m.x + spikes * w.model.max_feature;
    m.weight = m.nearest + spikes;
    m.least = m.weight + chunk * spikes;
    const int64_t p = first_bin + threadIdx.x;
    const bool wanted = p < w.model.n_bin && (!only_nan || isnan(value_at(w, spike[0].values, p)));
    if (only_nan && __syncthreads_or(wanted) == 0) {
        return;
    }
    load_group(e, spike, n, m);
    double sum[spikes];
#pragma unroll
    for (int s = 0; s < spikes; s++) {
        sum[s] = 0;
    }
    sum_pairs<spikes>(w, e, n, p, wanted, m, sum);
    if (!wanted) {
        return;
    }
    const double offset = e.offset[p];
#pragma unroll
    for (int s = 0; s < spikes; s++) {
        if (s < n) {
            double v = offset + log(sum[s]) - m.nearest[s];
            const double most = offset + log(least_sum) - m.nearest[s];
            const bool may_matter =
                w.model.floor_kind == TESS_KDE_FLOOR_RELATIVE || most > w.model.floor_value;
            if (!(sum[s] >= least_sum) && may_matter && offset > -INFINITY) {
                v = offset + far_value(w, e, m.x + s * e.n_feature, p);
            }
            set_value(w, spike[s].values, p, v);
        }
    }
}

__device__ inline one_spike spike_of(const kde_work &w, int64_t tile, int64_t k)
{
    const kde_tile t = w.tiles[tile];
    const tess_kde_range &range = w.ranges[t.range];
    const tess_kde_electrode &e = w.model.electrodes_there[range.electrode];
    const size_t item = w.model.is_exact ? sizeof(double) : sizeof(float);
    const int64_t spike = t.first + k;
    return {&e, range.marks + spike * e.n_feature,
            static_cast<char *>(range.values) + size_t(spike * w.model.n_bin) * item};
}

// Block x: a group of a tile's spikes; y: bins.
__global__ void __launch_bounds__(threads) group_kernel(kde_work w)
{
    extern __shared__ double shared[];
    constexpr int per_tile = kde_tile_spikes / group_spikes;
    const int64_t tile = blockIdx.x / per_tile;
    const int first = int(blockIdx.x % per_tile) * group_spikes;
    const int left = w.tiles[tile].n - first;
    if (left <= 0) {
        return;
    }
    __shared__ one_spike spike[group_spikes];
    const int n = left < group_spikes ? left : group_spikes;
    if (int(threadIdx.x) < n) {
        spike[threadIdx.x] = spike_of(w, tile, first + int(threadIdx.x));
    }
    __syncthreads();
    bins_of<group_spikes>(w, *spike[0].e, spike, n, int64_t(blockIdx.y) * threads, false, shared);
}

// Blocks x: listed spikes in turn; y: bins.
__global__ void __launch_bounds__(threads) listed_kernel(kde_work w)
{
    extern __shared__ double shared[];
    for (int64_t k = blockIdx.x; k < *w.n_anew; k += gridDim.x) {
        const one_spike spike =
            spike_of(w, w.anew[k] / kde_tile_spikes, w.anew[k] % kde_tile_spikes);
        for (int64_t first = int64_t(blockIdx.y) * threads; first < w.model.n_bin;
             first += int64_t(gridDim.y) * threads) {
            bins_of<1>(w, *spike.e, &spike, 1, first, true, shared);
        }
    }
}

// The floor of one spike's values. Bins that nothing is known of lie on it, whatever f32 left there
// when it had no value to count the floor from.
__device__ void floor_spike(const kde_work &w, const one_spike &spike)
{
    __shared__ double most[threads];
    __shared__ int n_floored[threads];
    const int thread = int(threadIdx.x);
    const int64_t n_bin = w.model.n_bin;
    const double *offset = spike.e->offset;
    double largest = -INFINITY;
    for (int64_t p = thread; p < n_bin; p += threads) {
        largest = fmax(largest, offset[p] > -INFINITY ? value_at(w, spike.values, p) : -INFINITY);
    }
    __syncthreads();
    most[thread] = largest;
    __syncthreads();
    for (int step = threads / 2; step > 0; step /= 2) {
        if (thread < step) {
            most[thread] = fmax(most[thread], most[thread + step]);
        }
        __syncthreads();
    }
    double floor = w.model.floor_value;
    if (w.model.floor_kind == TESS_KDE_FLOOR_RELATIVE && most[0] > -INFINITY) {
        floor = most[0] - w.model.floor_nats;
    }
    int n = 0;
    for (int64_t p = thread; p < n_bin; p += threads) {
        const double v = value_at(w, spike.values, p);
        if (!(v > floor) || !(offset[p] > -INFINITY)) {
            set_value(w, spike.values, p, floor);
            n++;
        }
    }
    n_floored[thread] = n;
    __syncthreads();
    if (thread == 0) {
        long long all = 0;
        for (int k = 0; k < threads; k++) {
            all += n_floored[k];
        }
        auto *counts = reinterpret_cast<unsigned long long *>(w.counts);
        atomicAdd(counts, static_cast<unsigned long long>(all));
        atomicAdd(counts + 1, static_cast<unsigned long long>(all == n_bin));
    }
    __syncthreads();
}

__global__ void __launch_bounds__(threads) floor_tiles_kernel(kde_work w)
{
    const int64_t tile = blockIdx.x / kde_tile_spikes;
    const int64_t k = blockIdx.x % kde_tile_spikes;
    if (k < w.tiles[tile].n) {
        floor_spike(w, spike_of(w, tile, k));
    }
}

__global__ void __launch_bounds__(threads) floor_listed_kernel(kde_work w)
{
    for (int64_t k = blockIdx.x; k < *w.n_anew; k += gridDim.x) {
        floor_spike(w, spike_of(w, w.anew[k] / kde_tile_spikes, w.anew[k] % kde_tile_spikes));
    }
}

size_t shared_bytes(const kde_work &w, int spikes)
{
    return sizeof(double) *
           size_t(spikes * w.model.max_feature + spikes + chunk * spikes + threads);
}

} // namespace

cudaError_t kde_launch_exact(cudaStream_t stream, const kde_work &w, int64_t n_tile, bool is_listed)
{
    const int64_t bins = (w.model.n_bin + threads - 1) / threads;
    const unsigned bin_blocks = unsigned(bins < 65535 ? bins : 65535);
    if (is_listed) {
        constexpr unsigned listed_blocks = 512;
        listed_kernel<<<dim3(listed_blocks, bin_blocks < 16 ? bin_blocks : 16), threads,
                        shared_bytes(w, 1), stream>>>(w);
        floor_listed_kernel<<<listed_blocks, threads, 0, stream>>>(w);
        return cudaGetLastError();
    }
    const unsigned groups = unsigned(n_tile * (kde_tile_spikes / group_spikes));
    group_kernel<<<dim3(groups, bin_blocks), threads, shared_bytes(w, group_spikes), stream>>>(w);
    floor_tiles_kernel<<<unsigned(n_tile * kde_tile_spikes), threads, 0, stream>>>(w);
    return cudaGetLastError();
}
