// The weighted product in one pass over memory: a group of threads owns whole rows, each thread V
// neighbouring features of every row it meets. Weights lie in shared memory, weight gradients in
// registers until the end.
#ifndef TESS_CLIFFORD_SGP_ROWS_CUH
#define TESS_CLIFFORD_SGP_ROWS_CUH

#include "backend/cuda/clifford/sgp/sgp_source.cuh"

namespace clifford
{

// Feature v of a thread's items.
template <int V, int D, typename T>
__device__ __forceinline__ void unpack(const pack<T, V> *items, int v, float (&values)[D])
{
#pragma unroll
    for (int k = 0; k < D; k++) {
        values[k] = widen_item(items[k], v);
    }
}

// Weights in shared memory, as f32: V features times P paths per thread. A thread reads `width` of
// them at once, and blocks lie an odd number of widths apart, so that banks do not collide.
template <int P, int V>
struct shared_weights {
    static constexpr int width = P % 4 == 0 ? 4 : P % 2 == 0 ? 2 : 1;
    static constexpr int stride = V * P / width % 2 == 1 ? V * P : V * P + width;

    __host__ __device__ static size_t bytes(int64_t n)
    {
        return size_t((n + V - 1) / V) * stride * sizeof(float);
    }
    // Many loads before the first use, as the block waits for this once: of a type known to the
    // compiler, because a branch behind every load would wait for it.
    template <int wide, typename W, typename Load>
    __device__ __forceinline__ static void fill_with(int n_weight, float *weights, Load &&load)
    {
        constexpr int batch = 8;
        const int step = int(blockDim.x) * wide;
        for (int start = int(threadIdx.x) * wide; start < n_weight; start += batch * step) {
            pack<W, wide> loaded[batch];
#pragma unroll
            for (int j = 0; j < batch; j++) {
                if (start + j * step < n_weight) {
                    loaded[j] = load(start + j * step);
                }
            }
#pragma unroll
            for (int j = 0; j < batch; j++) {
                const int i = start + j * step;
                if (i < n_weight) {
                    pack<float, wide> values;
#pragma unroll
                    for (int k = 0; k < wide; k++) {
                        values.at[k] = widen(loaded[j].at[k]);
                    }
                    const int block = i / (V * P);
                    float *to = weights + (block * (stride - V * P) + i);
                    *reinterpret_cast<pack<float, wide> *>(to) = values;
                }
            }
        }
    }
    // Neighbouring weights at once, where they lie like that.
    template <typename W>
    __device__ __forceinline__ static void fill_from(const sgp_args &a, float *weights)
    {
        constexpr int wide = V * P % 4 == 0 && stride % 4 == 0   ? 4
                             : V * P % 2 == 0 && stride % 2 == 0 ? 2
                                                                 : 1;
        const tess_cl_view &view = a.weight;
        const int n_weight = int(a.n) * P;
        const W *from = static_cast<const W *>(view.data);
        if (view.stride[1] == 1 && view.stride[0] == P && a.n % V == 0 &&
            reinterpret_cast<uintptr_t>(from) % (wide * sizeof(W)) == 0) {
            fill_with<wide, W>(n_weight, weights, [&](int i) {
                return *reinterpret_cast<const pack<W, wide> *>(from + i);
            });
        } else {
            fill_with<1, W>(n_weight, weights, [&](int i) {
                const int n = i / P;
                return pack<W, 1>{{from[n * view.stride[0] + (i - n * P) * view.stride[1]]}};
            });
        }
    }
    __device__ __forceinline__ static void fill(const sgp_args &a, float *weights)
    {
        if (a.weight.data == nullptr) {
            fill_with<1, float>(int(a.n) * P, weights, [](int) { return pack<float, 1>{{1.0f}}; });
        } else if (a.weight_dtype == TESS_BF16) {
            fill_from<__nv_bfloat16>(a, weights);
        } else if (a.weight_dtype == TESS_F16) {
            fill_from<__half>(a, weights);
        } else {
            fill_from<float>(a, weights);
        }
    }
    __device__ __forceinline__ static void read(const float *weights, int lane, int v,
                                                float (&w)[P])
    {
        const pack<float, width> *from =
            reinterpret_cast<const pack<float, width> *>(weights + lane * stride + v * P);
#pragma unroll
        for (int p = 0; p < P; p += width) {
            const pack<float, width> some = from[p / width];
#pragma unroll
            for (int i = 0; i < width; i++) {
                w[p + i] = some.at[i];
            }
        }
    }
};

// Shared memory of a block: weights, sums of groups, rows on their way.
template <typename A, int V, int n_sum>
struct row_memory {
    __host__ __device__ static size_t sums_at(int64_t n)
    {
        return (shared_weights<A::n_path, V>::bytes(n) + 127) / 128 * 128;
    }
    __host__ __device__ static size_t rows_at(int64_t n, int threads)
    {
        return sums_at(n) + sizeof(float) * partials_per_block(n_sum, threads);
    }
};

// The products of a thread's features, and what they add to the statistic of the row.
template <typename A, int V, typename T>
__device__ __forceinline__ void
forward_features(const sgp_args &a, const pack<T, V> *items, const float *weights, int lane,
                 float (&o)[V][A::n_component], float (&sums)[A::n_grade])
{
    constexpr int D = A::n_component;
    const A algebra;
    float scalars[2 * V];
    gate<float> gates[2 * V];
#pragma unroll
    for (int v = 0; v < V; v++) {
        scalars[v] = widen(items[0].at[v]);
        scalars[V + v] = widen(items[D].at[v]);
    }
    gates_of(a.activation, scalars, gates);
#pragma unroll
    for (int v = 0; v < V; v++) {
        float x[D];
        float y[D];
        float w[A::n_path];
        unpack<V, D>(items, v, x);
        unpack<V, D>(items + D, v, y);
        const float scale = gates[v].factor * gates[V + v].factor;
        shared_weights<A::n_path, V>::read(weights, lane, v, w);
        algebra.product(x, y, w, o[v], all_paths());
#pragma unroll
        for (int k = 0; k < D; k++) {
            o[v][k] *= scale;
        }
        add_statistic(algebra, a.metric, o[v], sums);
    }
}

// Sums of a row to 1/r; r to the statistics.
template <int G>
__device__ __forceinline__ void finish_forward_sums(const sgp_args &a, const row_group &group,
                                                    int64_t row, float per_feature,
                                                    float (&sums)[G])
{
    squares_of_sums<G>(a.metric, per_feature, float(a.eps), sums);
    if (a.statistics != nullptr && group.lane == 0 && row < a.n_row) {
#pragma unroll
        for (int g = 0; g < G; g++) {
            static_cast<float *>(a.statistics)[g * a.n_row + row] = sqrt(sums[g]);
        }
    }
#pragma unroll
    for (int g = 0; g < G; g++) {
        sums[g] = inverse_root_of(sums[g]);
    }
}

template <typename A, typename Source>
__device__ __forceinline__ void take_rows_forward(const sgp_args &a)
{
    extern __shared__ uint4 shared[];
    constexpr int D = A::n_component;
    constexpr int G = A::n_grade;
    constexpr int V = Source::V;
    using T = typename Source::T;
    using memory = row_memory<A, V, G>;
    unsigned char *bytes = reinterpret_cast<unsigned char *>(shared);
    float *weights = reinterpret_cast<float *>(bytes);
    const A algebra;
    const row_group group(a.lanes);
    const int n_partial = power_of_two_from(G) * (group.lanes / 32);
    float *partials =
        reinterpret_cast<float *>(bytes + memory::sums_at(a.n)) + group.index * 2 * n_partial;
    Source source(a, group, bytes + memory::rows_at(a.n, int(blockDim.x)));
    const int64_t step = int64_t(gridDim.x) * group.count;
    const int64_t start = int64_t(blockIdx.x) * group.count;
    const float per_feature = 1.0f / float(a.n);
    pack<T, V> items[2 * D];
    __syncthreads();
    source.start(start + group.index, step, items);
    shared_weights<A::n_path, V>::fill(a, weights);
    __syncthreads();
    int half = 0;
    for (int64_t first = start; first < a.n_row; first += step) {
        const int64_t row = first + group.index;
        source.take(row, items);
        float o[V][D] = {};
        float sums[G] = {};
        if (source.is_active) {
            forward_features<A, V>(a, items, weights, group.lane, o, sums);
        }
        source.refill(row + step, items);
        if (a.normalize) {
            sum_over_group(sums, group, partials + half);
            half ^= n_partial;
            source.ask(row, step);
            finish_forward_sums<G>(a, group, row, per_feature, sums);
        } else {
            group.sync();
            source.ask(row, step);
        }
        source.release();
        if (source.is_active && row < a.n_row) {
            pack<T, V> results[D];
#pragma unroll
            for (int k = 0; k < D; k++) {
                const float factor = a.normalize ? sums[algebra.grade(k)] : 1.0f;
                float z[V];
#pragma unroll
                for (int v = 0; v < V; v++) {
                    z[v] = o[v][k] * factor;
                }
                results[k] = narrow_pack<T, V>(z);
            }
            Source::layout::template store<T, V, D>(a.out, row, source.n, results);
        }
    }
}

template <typename A, typename Source, int threads, int n_resident>
__global__ void __launch_bounds__(threads, n_resident)
    sgp_rows_forward(const __grid_constant__ sgp_args a)
{
    if constexpr (Source::is_there) {
        take_rows_forward<A, Source>(a);
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

template <int D, typename Source, typename Items>
__device__ __forceinline__ void values_of(const Source &source, const Items &items, int first,
                                          int v, float (&values)[D])
{
#pragma unroll
    for (int k = 0; k < D; k++) {
        values[k] = source.value(items, first + k, v);
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
template <typename A, typename Source, typename Items>
__device__ __forceinline__ void
begin_feature(const sgp_args &a, const Source &source, const Items &items, int v,
              const float *weights, int lane, row_feature<A::n_component> &feature, float *sums)
{
    constexpr int D = A::n_component;
    const A algebra;
    float x[D];
    float y[D];
    float o[D];
    float w[A::n_path];
    values_of<D>(source, items, 0, v, x);
    values_of<D>(source, items, D, v, y);
    shared_weights<A::n_path, Source::V>::read(weights, lane, v, w);
    algebra.product(x, y, w, feature.s, all_paths());
    const float scalars[2] = {x[0], y[0]};
    gate<float> gates[2];
    gates_of(a.activation, scalars, gates);
    feature.scale = gates[0].factor * gates[1].factor;
    feature.left = gates[0].slope * gates[1].factor;
    feature.right = gates[1].slope * gates[0].factor;
#pragma unroll
    for (int k = 0; k < D; k++) {
        o[k] = feature.s[k] * feature.scale;
    }
    if (a.statistics == nullptr) {
        add_statistic(algebra, a.metric, o, sums);
    }
    values_of<D>(source, items, 2 * D, v, x);
    add_products(algebra, x, o, sums + A::n_grade);
}

// r of a row, if it was kept; asked for early, because it comes from memory.
template <int G>
__device__ __forceinline__ void read_statistics(const sgp_args &a, int64_t row, float (&r)[G])
{
    const int64_t kept = row < a.n_row ? row : a.n_row - 1;
#pragma unroll
    for (int g = 0; g < G; g++) {
        r[g] = a.statistics != nullptr && a.normalize
                   ? static_cast<const float *>(a.statistics)[g * a.n_row + kept]
                   : 1.0f;
    }
}

// Sums of the row to its norm; r that was kept replaces one half of the sums.
template <typename A>
__device__ __forceinline__ row_norm<A::n_grade, float>
finish_sums(const sgp_args &a, const row_group &group, float (&sums)[2 * A::n_grade],
            const float (&r)[A::n_grade], float *partials)
{
    constexpr int G = A::n_grade;
    const float per_feature = 1.0f / float(a.n);
    const float eps = float(a.eps);
    float dots[G];
    float inverses[G];
    bool is_free = true;
    if (a.statistics == nullptr) {
        sum_over_group(sums, group, partials);
        squares_of_sums<G>(a.metric, per_feature, eps, sums);
        is_free = !shares_root(a.metric) || !(sums[0] <= eps);
#pragma unroll
        for (int g = 0; g < G; g++) {
            inverses[g] = inverse_root_of(sums[g]);
            dots[g] = sums[G + g];
        }
    } else {
#pragma unroll
        for (int g = 0; g < G; g++) {
            inverses[g] = inverse_of(r[g]);
            dots[g] = sums[G + g];
        }
        is_free = is_free_root(a.metric, eps, r[0]);
        sum_over_group(dots, group, partials);
    }
    return norm_of_row<G>(a.metric, per_feature, is_free, inverses, dots);
}

// The gradients of one feature, once the norm of its row is known. h is gz, or already its gradient
// where there is no norm.
template <typename A>
__device__ __forceinline__ void
finish_gradients(const A &algebra, const row_feature<A::n_component> &feature,
                 const float (&x)[A::n_component], const float (&y)[A::n_component],
                 const float (&w)[A::n_path], float (&h)[A::n_component],
                 register_sums<A::n_path, float> &totals, float (&gx)[A::n_component],
                 float (&gy)[A::n_component])
{
    float tau = 0.0f;
#pragma unroll
    for (int k = 0; k < A::n_component; k++) {
        tau = fma(h[k], feature.s[k], tau);
        h[k] *= feature.scale;
    }
    algebra.gradients(x, y, w, h, gx, gy, totals, all_paths());
    gx[0] = fma(feature.left, tau, gx[0]);
    gy[0] = fma(feature.right, tau, gy[0]);
}

template <typename A, typename Source, typename Items>
__device__ __forceinline__ void
finish_feature(const sgp_args &a, const Source &source, const Items &items, int v,
               const float *weights, int lane, const row_feature<A::n_component> &feature,
               const row_norm<A::n_grade, float> &norm, register_sums<A::n_path, float> &totals,
               float (&gx)[A::n_component], float (&gy)[A::n_component])
{
    constexpr int D = A::n_component;
    const A algebra;
    float x[D];
    float y[D];
    float h[D];
    float w[A::n_path];
    values_of<D>(source, items, 0, v, x);
    values_of<D>(source, items, D, v, y);
    values_of<D>(source, items, 2 * D, v, h);
    shared_weights<A::n_path, Source::V>::read(weights, lane, v, w);
    if (a.normalize) {
        norm_gradient(algebra, a.metric, norm, feature.scale, feature.s, h, h);
    }
    finish_gradients(algebra, feature, x, y, w, h, totals, gx, gy);
}

// Features by components, as they were computed, to components by features, as they lie.
template <typename T, int V, int D>
__device__ __forceinline__ void narrow_components(const float (&values)[V][D], pack<T, V> *items)
{
#pragma unroll
    for (int k = 0; k < D; k++) {
        float some[V];
#pragma unroll
        for (int v = 0; v < V; v++) {
            some[v] = values[v][k];
        }
        items[k] = narrow_pack<T, V>(some);
    }
}

// The gradients of a thread's features, to memory.
template <typename A, typename Source, int V, typename T>
__device__ __forceinline__ void
finish_row(const sgp_args &a, const Source &source, int64_t row, const pack<T, V> *items,
           const float *weights, int lane, const row_feature<A::n_component> (&features)[V],
           const row_norm<A::n_grade, float> &norm, register_sums<A::n_path, float> (&totals)[V])
{
    constexpr int D = A::n_component;
    float gx[V][D];
    float gy[V][D];
    pack<T, V> left[D];
    pack<T, V> right[D];
#pragma unroll
    for (int v = 0; v < V; v++) {
        finish_feature<A>(a, source, items, v, weights, lane, features[v], norm, totals[v], gx[v],
                          gy[v]);
    }
    narrow_components<T, V>(gx, left);
    narrow_components<T, V>(gy, right);
    if (a.gx.data != nullptr) {
        Source::layout::template store<T, V, D>(a.gx, row, source.n, left);
    }
    if (a.gy.data != nullptr) {
        Source::layout::template store<T, V, D>(a.gy, row, source.n, right);
    }
}

template <typename A, typename Source>
__device__ __forceinline__ void take_rows_backward(const sgp_args &a)
{
    extern __shared__ uint4 shared[];
    let_next_start();
    constexpr int D = A::n_component;
    constexpr int G = A::n_grade;
    constexpr int P = A::n_path;
    constexpr int V = Source::V;
    using T = typename Source::T;
    using memory = row_memory<A, V, 2 * G>;
    unsigned char *bytes = reinterpret_cast<unsigned char *>(shared);
    float *weights = reinterpret_cast<float *>(shared);
    const row_group group(a.lanes);
    const int n_partial = power_of_two_from(2 * G) * (group.lanes / 32);
    float *partials =
        reinterpret_cast<float *>(bytes + memory::sums_at(a.n)) + group.index * 2 * n_partial;
    Source source(a, group, bytes + memory::rows_at(a.n, int(blockDim.x)));
    const int64_t step = int64_t(gridDim.x) * group.count;
    const int64_t start = int64_t(blockIdx.x) * group.count;
    register_sums<P, float> totals[V] = {};
    pack<T, V> items[3 * D];
    __syncthreads();
    source.start(start + group.index, step, items);
    shared_weights<A::n_path, V>::fill(a, weights);
    __syncthreads();
    int half = 0;
    for (int64_t first = start; first < a.n_row; first += step) {
        const int64_t row = first + group.index;
        const bool is_present = source.is_active && row < a.n_row;
        float r[G];
        read_statistics(a, row, r);
        source.take(row, items);
        row_feature<D> features[V];
        float sums[2 * G] = {};
#pragma unroll
        for (int v = 0; v < V; v++) {
            if (is_present) {
                begin_feature<A>(a, source, items, v, weights, group.lane, features[v], sums);
            }
        }
        row_norm<G, float> norm;
        if (a.normalize) {
            norm = finish_sums<A>(a, group, sums, r, partials + half);
            half ^= n_partial;
        } else {
            group.sync();
        }
        source.ask(row, step);
        if (is_present) {
            finish_row<A, Source>(a, source, row, items, weights, group.lane, features, norm,
                                  totals);
        }
        source.release();
    }
    if (a.grad_weight.data != nullptr) {
        leave_row_partials<P, V>(a, group, source.n, source.is_active, totals, weights);
    }
}

template <typename A, typename Source, int threads, int n_resident>
__global__ void __launch_bounds__(threads, n_resident)
    sgp_rows_backward(const __grid_constant__ sgp_args a)
{
    if constexpr (Source::is_there) {
        take_rows_backward<A, Source>(a);
    }
}

} // namespace clifford

#endif
