// The weighted product in one pass over memory: a group of threads owns whole rows, each thread V
// neighbouring features of every row it meets. Weights lie in shared memory, weight gradients in
// registers until the end.
#ifndef TESS_CLIFFORD_SGP_ROWS_CUH
#define TESS_CLIFFORD_SGP_ROWS_CUH

#include "backend/cuda/clifford_sgp_source.cuh"

namespace clifford
{

// All weights into shared memory, [feature][path], as f32.
template <typename A>
__device__ __forceinline__ void share_weights(const sgp_args &a, float *weights)
{
    const int n_weight = int(a.n) * A::n_path;
    for (int i = int(threadIdx.x); i < n_weight; i += int(blockDim.x)) {
        const int n = i / A::n_path;
        const int p = i - n * A::n_path;
        weights[i] = a.weight.data == nullptr
                         ? 1.0f
                         : load_item<float>(a.weight.data, a.weight_dtype,
                                            n * a.weight.stride[0] + p * a.weight.stride[1]);
    }
}

// A feature's weights, as wide as their alignment allows.
template <int P>
__device__ __forceinline__ void read_weights(const float *weights, int n, float (&w)[P])
{
    constexpr int width = P % 4 == 0 ? 4 : P % 2 == 0 ? 2 : 1;
    const pack<float, width> *from = reinterpret_cast<const pack<float, width> *>(weights + n * P);
#pragma unroll
    for (int p = 0; p < P; p += width) {
        const pack<float, width> some = from[p / width];
#pragma unroll
        for (int i = 0; i < width; i++) {
            w[p + i] = some.at[i];
        }
    }
}

// Shared memory of a block: weights, sums of groups, the ring.
template <typename A, int n_sum>
struct row_memory {
    __host__ __device__ static size_t sums_at(int64_t n)
    {
        return (size_t(n) * A::n_path * sizeof(float) + 127) / 128 * 128;
    }
    __host__ __device__ static size_t ring_at(int64_t n, int threads)
    {
        return sums_at(n) + sizeof(float) * partials_per_block(n_sum, threads);
    }
};

template <int V, int D, typename T>
__device__ __forceinline__ void unpack(const pack<T, V> *items, int v, float (&values)[D])
{
#pragma unroll
    for (int k = 0; k < D; k++) {
        values[k] = widen(items[k].at[v]);
    }
}

// One feature's product, and what it adds to the statistic of its row.
template <typename A, int V, typename T>
__device__ __forceinline__ void
forward_feature(const sgp_args &a, const pack<T, V> *items, int v, const float *weights, int n,
                float (&o)[A::n_component], float (&sums)[A::n_grade])
{
    constexpr int D = A::n_component;
    const A algebra;
    float x[D];
    float y[D];
    float w[A::n_path];
    unpack<V, D>(items, v, x);
    unpack<V, D>(items + D, v, y);
    read_weights<A::n_path>(weights, n, w);
    algebra.product(x, y, w, o, all_paths());
    const float scale = gate_of(a.activation, x[0]).factor * gate_of(a.activation, y[0]).factor;
#pragma unroll
    for (int k = 0; k < D; k++) {
        o[k] *= scale;
    }
    add_statistic(algebra, a.metric, o, sums);
}

// Sums of a row to 1/r; r to the statistics.
template <int G>
__device__ __forceinline__ void finish_forward_sums(const sgp_args &a, const row_group &group,
                                                    int64_t row, float per_feature,
                                                    float (&sums)[G])
{
    root_of_sums<G>(a.metric, per_feature, float(a.eps), sums);
    if (a.statistics != nullptr && group.lane == 0 && row < a.n_row) {
#pragma unroll
        for (int g = 0; g < G; g++) {
            static_cast<float *>(a.statistics)[g * a.n_row + row] = sums[g];
        }
    }
#pragma unroll
    for (int g = 0; g < G; g++) {
        sums[g] = 1.0f / sums[g];
    }
}

template <typename A, typename Source, int threads, int n_resident>
__global__ void __launch_bounds__(threads, n_resident)
    sgp_rows_forward(const __grid_constant__ sgp_args a)
{
    extern __shared__ uint4 shared[];
    constexpr int D = A::n_component;
    constexpr int G = A::n_grade;
    constexpr int V = Source::V;
    using T = typename Source::T;
    using memory = row_memory<A, G>;
    unsigned char *bytes = reinterpret_cast<unsigned char *>(shared);
    float *weights = reinterpret_cast<float *>(bytes);
    const A algebra;
    const row_group group(a.lanes);
    const int n_partial = power_of_two_from(G) * (group.lanes / 32);
    float *partials =
        reinterpret_cast<float *>(bytes + memory::sums_at(a.n)) + group.index * 2 * n_partial;
    Source source(a, group, bytes + memory::ring_at(a.n, threads));
    const int64_t step = int64_t(gridDim.x) * group.count;
    const int64_t start = int64_t(blockIdx.x) * group.count;
    const float per_feature = 1.0f / float(a.n);
    pack<T, V> items[2 * D];
    source.start(start + group.index, step, items);
    share_weights<A>(a, weights);
    __syncthreads();
    int half = 0;
    for (int64_t first = start; first < a.n_row; first += step) {
        const int64_t row = first + group.index;
        source.take(row, items);
        float o[V][D] = {};
        float sums[G] = {};
        if (source.is_active) {
#pragma unroll
            for (int v = 0; v < V; v++) {
                forward_feature<A, V>(a, items, v, weights, source.n + v, o[v], sums);
            }
        }
        source.refill(row + step, items);
        if (a.normalize) {
            sum_over_group(sums, group, partials + half);
            half ^= n_partial;
            finish_forward_sums<G>(a, group, row, per_feature, sums);
        } else {
            group.sync();
        }
        source.release();
        if (source.is_active && row < a.n_row) {
            pack<T, V> results[D];
#pragma unroll
            for (int k = 0; k < D * V; k++) {
                const float factor = a.normalize ? sums[algebra.grade(k / V)] : 1.0f;
                narrow(o[k % V][k / V] * factor, results[k / V].at[k % V]);
            }
            Source::layout::template store<T, V, D>(a.out, row, source.n, results);
        }
    }
}

// Adds the groups of a block in order and writes the block's weight gradients. Overwrites the
// shared weights.
template <int P, int V>
__device__ __forceinline__ void
leave_row_partials(const sgp_args &a, const row_group &group, int n0, bool is_active,
                   const register_sums<P, float> (&sums)[V], float *totals)
{
    for (int owner = 0; owner < group.count; owner++) {
        __syncthreads();
        if (group.index == owner && is_active) {
#pragma unroll
            for (int v = 0; v < V; v++) {
                float *total = totals + (n0 + v) * P;
#pragma unroll
                for (int p = 0; p < P; p++) {
                    total[p] = owner == 0 ? sums[v].at[p] : total[p] + sums[v].at[p];
                }
            }
        }
    }
    __syncthreads();
    const int n_weight = int(a.n) * P;
    float *partials = static_cast<float *>(a.partials) + int64_t(blockIdx.x) * n_weight;
    for (int i = int(threadIdx.x); i < n_weight; i += int(blockDim.x)) {
        if (a.n_partial > 1) {
            partials[i] = totals[i];
        } else {
            const int n = i / P;
            store_item<float>(a.grad_weight.data, a.weight_dtype,
                              n * a.grad_weight.stride[0] + (i - n * P) * a.grad_weight.stride[1],
                              totals[i]);
        }
    }
}

// What the first half of the backward pass leaves for the second, per feature.
template <int D>
struct row_feature {
    float s[D]; // product of the raw inputs
    float scale;
    float left; // factors of tau in the gradients of x_0 and y_0
    float right;
};

// The product, and what it adds to the sums of the row: statistic, then gz o.
template <typename A, int V, typename T>
__device__ __forceinline__ void begin_feature(const sgp_args &a, const pack<T, V> *items, int v,
                                              const float *weights, int n,
                                              row_feature<A::n_component> &feature, float *sums)
{
    constexpr int D = A::n_component;
    const A algebra;
    float x[D];
    float y[D];
    float gz[D];
    float w[A::n_path];
    unpack<V, D>(items, v, x);
    unpack<V, D>(items + D, v, y);
    unpack<V, D>(items + 2 * D, v, gz);
    read_weights<A::n_path>(weights, n, w);
    algebra.product(x, y, w, feature.s, all_paths());
    const gate<float> left = gate_of(a.activation, x[0]);
    const gate<float> right = gate_of(a.activation, y[0]);
    feature.scale = left.factor * right.factor;
    feature.left = left.slope * right.factor;
    feature.right = right.slope * left.factor;
    float o[D];
#pragma unroll
    for (int k = 0; k < D; k++) {
        o[k] = feature.s[k] * feature.scale;
    }
    if (a.statistics == nullptr) {
        add_statistic(algebra, a.metric, o, sums);
    }
    add_products(algebra, gz, o, sums + A::n_grade);
}

// Sums of the row to its norm; statistics that were kept replace the sums.
template <typename A>
__device__ __forceinline__ row_norm<A::n_grade, float>
finish_sums(const sgp_args &a, const row_group &group, int64_t row, float (&sums)[2 * A::n_grade],
            float *partials)
{
    constexpr int G = A::n_grade;
    const float per_feature = 1.0f / float(a.n);
    float dots[G];
#pragma unroll
    for (int g = 0; g < G; g++) {
        dots[g] = sums[G + g];
    }
    if (a.statistics == nullptr) {
        sum_over_group(sums, group, partials);
#pragma unroll
        for (int g = 0; g < G; g++) {
            dots[g] = sums[G + g];
        }
        root_of_sums<G>(a.metric, per_feature, float(a.eps), sums);
    } else {
        const int64_t kept = row < a.n_row ? row : a.n_row - 1;
#pragma unroll
        for (int g = 0; g < G; g++) {
            sums[g] = static_cast<const float *>(a.statistics)[g * a.n_row + kept];
        }
        sum_over_group(dots, group, partials);
    }
    return norm_of_row<G>(a.metric, per_feature, float(a.eps), sums, dots);
}

// The gradients of one feature, once the norm of its row is known.
template <typename A, int V, typename T>
__device__ __forceinline__ void
finish_feature(const sgp_args &a, const pack<T, V> *items, int v, const float *weights, int n,
               const row_feature<A::n_component> &feature, const row_norm<A::n_grade, float> &norm,
               register_sums<A::n_path, float> &totals, pack<T, V> *left, pack<T, V> *right)
{
    constexpr int D = A::n_component;
    const A algebra;
    float x[D];
    float y[D];
    float h[D];
    float w[A::n_path];
    float gx[D];
    float gy[D];
    unpack<V, D>(items, v, x);
    unpack<V, D>(items + D, v, y);
    unpack<V, D>(items + 2 * D, v, h);
    read_weights<A::n_path>(weights, n, w);
    if (a.normalize) {
        norm_gradient(algebra, a.metric, norm, feature.scale, feature.s, h, h);
    }
    float tau = 0.0f;
#pragma unroll
    for (int k = 0; k < D; k++) {
        tau = fma(h[k], feature.s[k], tau);
        h[k] *= feature.scale;
    }
    algebra.gradients(x, y, w, h, gx, gy, totals, all_paths());
    gx[0] = fma(feature.left, tau, gx[0]);
    gy[0] = fma(feature.right, tau, gy[0]);
#pragma unroll
    for (int k = 0; k < D; k++) {
        narrow(gx[k], left[k].at[v]);
        narrow(gy[k], right[k].at[v]);
    }
}

// The gradients of a thread's features, to memory.
template <typename A, typename Source, int V, typename T>
__device__ __forceinline__ void
finish_row(const sgp_args &a, const Source &source, int64_t row, const pack<T, V> *items,
           const float *weights, const row_feature<A::n_component> (&features)[V],
           const row_norm<A::n_grade, float> &norm, register_sums<A::n_path, float> (&totals)[V])
{
    constexpr int D = A::n_component;
    pack<T, V> left[D];
    pack<T, V> right[D];
#pragma unroll
    for (int v = 0; v < V; v++) {
        finish_feature<A, V>(a, items, v, weights, source.n + v, features[v], norm, totals[v], left,
                             right);
    }
    if (a.gx.data != nullptr) {
        Source::layout::template store<T, V, D>(a.gx, row, source.n, left);
    }
    if (a.gy.data != nullptr) {
        Source::layout::template store<T, V, D>(a.gy, row, source.n, right);
    }
}

template <typename A, typename Source, int threads, int n_resident>
__global__ void __launch_bounds__(threads, n_resident)
    sgp_rows_backward(const __grid_constant__ sgp_args a)
{
    extern __shared__ uint4 shared[];
    constexpr int D = A::n_component;
    constexpr int G = A::n_grade;
    constexpr int P = A::n_path;
    constexpr int V = Source::V;
    using T = typename Source::T;
    using memory = row_memory<A, 2 * G>;
    unsigned char *bytes = reinterpret_cast<unsigned char *>(shared);
    float *weights = reinterpret_cast<float *>(bytes);
    const row_group group(a.lanes);
    const int n_partial = power_of_two_from(2 * G) * (group.lanes / 32);
    float *partials =
        reinterpret_cast<float *>(bytes + memory::sums_at(a.n)) + group.index * 2 * n_partial;
    Source source(a, group, bytes + memory::ring_at(a.n, threads));
    const int64_t step = int64_t(gridDim.x) * group.count;
    const int64_t start = int64_t(blockIdx.x) * group.count;
    register_sums<P, float> totals[V];
#pragma unroll
    for (int v = 0; v < V; v++) {
        totals[v].clear();
    }
    pack<T, V> items[3 * D];
    source.start(start + group.index, step, items);
    share_weights<A>(a, weights);
    __syncthreads();
    int half = 0;
    for (int64_t first = start; first < a.n_row; first += step) {
        const int64_t row = first + group.index;
        const bool is_present = source.is_active && row < a.n_row;
        source.take(row, items);
        row_feature<D> features[V];
        float sums[2 * G] = {};
#pragma unroll
        for (int v = 0; v < V; v++) {
            if (is_present) {
                begin_feature<A, V>(a, items, v, weights, source.n + v, features[v], sums);
            }
        }
        row_norm<G, float> norm;
        if (a.normalize) {
            norm = finish_sums<A>(a, group, row, sums, partials + half);
            half ^= n_partial;
        } else {
            group.sync();
        }
        source.release();
        if (!is_present) {
            continue;
        }
        finish_row<A, Source>(a, source, row, items, weights, features, norm, totals);
    }
    if (a.grad_weight.data != nullptr) {
        leave_row_partials<P, V>(a, group, source.n, source.is_active, totals, weights);
    }
}

} // namespace clifford

#endif
