// The backward pass of the stream kernels (clifford_sgp_stream.cuh), with r of every row given.
#ifndef TESS_CLIFFORD_SGP_STREAM_BACKWARD_CUH
#define TESS_CLIFFORD_SGP_STREAM_BACKWARD_CUH

#include "backend/cuda/clifford_sgp_stream.cuh"

namespace clifford
{

// What the first half of the backward pass leaves for the second.
template <typename S>
struct stream_row {
    row_feature<S::D> features[S::V];
    float r; // of exchange.grade()
};

// The product of the raw inputs, and gz o to the exchange.
template <typename S>
__device__ __forceinline__ void begin_backward(const float *statistics,
                                               const stream_group<S, 3> &stream,
                                               const stream_weights<S> &weights, int i, int row,
                                               int place, uint32_t parity, stream_row<S> &begun)
{
    constexpr int V = S::V;
    constexpr int D = S::D;
    const typename S::A algebra;
    begun.r = __uint_as_float(load_once(reinterpret_cast<const uint32_t *>(statistics + row)));
    pack<typename S::T, V> items[3 * D];
    stream.ring.wait_full(place, parity);
    stream.ring.template load<0, 3>(place, stream.group.lane, items);
    float sums[S::G] = {};
#pragma unroll
    for (int v = 0; v < V; v++) {
        row_feature<D> &feature = begun.features[v];
        float x[D];
        float y[D];
        float w[S::P];
        unpack<V, D>(items, v, x);
        unpack<V, D>(items + D, v, y);
        weights.read(stream.group.lane, v, w);
        algebra.product(x, y, w, feature.s, all_paths());
        const gate<float> left = stream_gate<typename S::T>(x[0]);
        const gate<float> right = stream_gate<typename S::T>(y[0]);
        feature.scale = left.factor * right.factor;
        feature.left = left.slope * right.factor;
        feature.right = right.slope * left.factor;
        unpack<V, D>(items + 2 * D, v, x);
        float dots[S::G] = {};
        add_products(algebra, x, feature.s, dots);
#pragma unroll
        for (int g = 0; g < S::G; g++) {
            sums[g] = fmaf(dots[g], feature.scale, sums[g]);
        }
    }
    stream.exchange.publish(i, sums);
}

// 1/r and the mean of gz z of a row.
template <typename S>
__device__ __forceinline__ row_norm<S::G, float> collect_norm(const stream_group<S, 3> &stream,
                                                              int i, float r)
{
    const float near = plain_reciprocal_approximate(r);
    const float inverse = fmaf(near, fmaf(-r, near, 1.0f), near);
    const float dot = stream.exchange.collect(i) * inverse * (1.0f / S::N) * inverse;
    row_norm<S::G, float> norm;
    stream.exchange.broadcast(inverse, norm.inverse);
    stream.exchange.broadcast(dot, norm.dot);
    return norm;
}

// gz through norm and gates, all features of a thread: what was begun becomes the gradient of the
// product.
template <typename S>
__device__ __forceinline__ void pass_norm(const stream_group<S, 3> &stream, int i, int place,
                                          stream_row<S> &begun)
{
    const typename S::A algebra;
    pack<typename S::T, S::V> items[S::D];
    stream.ring.template load<2, 1>(place, stream.group.lane, items);
    const row_norm<S::G, float> norm = collect_norm<S>(stream, i, begun.r);
#pragma unroll
    for (int v = 0; v < S::V; v++) {
        row_feature<S::D> &feature = begun.features[v];
        float h[S::D];
        unpack<S::V, S::D>(items, v, h);
        norm_gradient(algebra, TESS_CL_NORM_EUCLID, norm, feature.scale, feature.s, h, h);
        pass_gates(h, feature);
    }
}

// A feature's gradients: gx in results[0 to D), then gy.
template <typename S>
__device__ __forceinline__ void
finish_feature(const stream_weights<S> &weights, int lane, int v,
               const pack<typename S::T, S::V> *items, const row_feature<S::D> &feature,
               register_sums<S::P, float> &totals, float (&results)[2 * S::D])
{
    constexpr int D = S::D;
    float x[D];
    float y[D];
    float w[S::P];
    float gx[D];
    float gy[D];
    unpack<S::V, D>(items, v, x);
    unpack<S::V, D>(items + D, v, y);
    weights.read(lane, v, w);
    finish_gradients(typename S::A(), feature, x, y, w, totals, gx, gy);
#pragma unroll
    for (int k = 0; k < D; k++) {
        results[k] = gx[k];
        results[D + k] = gy[k];
    }
}

// Gradients of a thread's features on their way to their row's place, where x and y were. Where
// features are finished one at a time, the first one waits rounded, in half the registers.
template <typename S>
struct stream_gradients {
    using T = typename S::T;
    static constexpr int n = 2 * S::D;
    pack<T, 2> first[S::n_first > 0 ? S::D : 1];

    __device__ __forceinline__ static void round(const float (&results)[n], pack<T, 2> *pairs)
    {
#pragma unroll
        for (int m = 0; m < S::D; m++) {
            const float pair[2] = {results[2 * m], results[2 * m + 1]};
            pairs[m] = narrow_pack<T, 2>(pair);
        }
    }
    __device__ __forceinline__ void keep(const float (&results)[n])
    {
        round(results, first);
    }
    __device__ __forceinline__ void put_with(const float (&results)[n], pack<T, S::V> *to) const
    {
        pack<T, 2> second[S::D];
        round(results, second);
#pragma unroll
        for (int k = 0; k < n; k++) {
            to[k * S::lanes] = {{first[k / 2].at[k % 2], second[k / 2].at[k % 2]}};
        }
    }
    __device__ __forceinline__ static void put(const float (&results)[S::V][n],
                                               pack<T, S::V> *to)
    {
        pack<T, S::V> items[n];
        narrow_components<T, S::V>(results, items);
#pragma unroll
        for (int k = 0; k < n; k++) {
            to[k * S::lanes] = items[k];
        }
    }
};

// Finishes a thread's first feature of a row, while the other one waits.
template <typename S>
__device__ __forceinline__ void
finish_first(const stream_group<S, 3> &stream, const stream_weights<S> &weights, int place,
             const stream_row<S> &begun, register_sums<S::P, float> (&totals)[S::V],
             stream_gradients<S> &gradients)
{
    pack<typename S::T, S::V> items[2 * S::D];
    float results[2 * S::D];
    stream.ring.template load<0, 2>(place, stream.group.lane, items);
    finish_feature<S>(weights, stream.group.lane, 0, items, begun.features[0], totals[0], results);
    gradients.keep(results);
}

// Finishes the others, and leaves the row's place with its gradients.
template <typename S>
__device__ __forceinline__ void
finish_last(const stream_group<S, 3> &stream, const stream_weights<S> &weights, int place,
            const stream_row<S> &begun, register_sums<S::P, float> (&totals)[S::V],
            const stream_gradients<S> &gradients)
{
    constexpr int V = S::V;
    pack<typename S::T, V> items[2 * S::D];
    float results[V][2 * S::D];
    stream.ring.template load<0, 2>(place, stream.group.lane, items);
#pragma unroll
    for (int v = S::n_first; v < V; v++) {
        finish_feature<S>(weights, stream.group.lane, v, items, begun.features[v], totals[v],
                          results[v]);
    }
    pack<typename S::T, V> *to = stream.ring.items(place, stream.group.lane);
    if constexpr (S::n_first > 0) {
        gradients.put_with(results[V - 1], to);
    } else {
        stream_gradients<S>::put(results, to);
    }
    stream.leave(place);
}

template <typename S>
__global__ void __launch_bounds__(S::threads, 1)
    sgp_stream_backward(const __grid_constant__ sgp_args a)
{
    extern __shared__ uint4 shared[];
    unsigned char *bytes = reinterpret_cast<unsigned char *>(shared);
    const stream_group<S, 3> stream(a, bytes);
    stream_weights<S> weights;
    stream.start(a, weights, bytes);
    register_sums<S::P, float> totals[S::V] = {};
    const float *statistics =
        static_cast<const float *>(a.statistics) + stream.exchange.grade() * a.n_row;
    stream_row<S> begun = {};
    stream_gradients<S> gradients;
    ring_place<S::depth> beginning;
    ring_place<S::depth> finishing;
    if (stream.first < stream.n_row) {
        begin_backward<S>(statistics, stream, weights, 0, stream.first, 0, 0, begun);
    }
    int i = 0;
    for (int row = stream.first; row < stream.n_row; row += stream.step) {
        const int next_row = row + stream.step;
        const bool has_turn = i > 0 && stream.has_turn(i);
        stream_row<S> next;
        beginning.next();
        if constexpr (S::n_first > 0) {
            stream.exchange.wait(i);
            pass_norm<S>(stream, i, finishing.at, begun);
            finish_first<S>(stream, weights, finishing.at, begun, totals, gradients);
            if (has_turn) {
                send_row(a, stream, finishing.before(), row - stream.step);
            }
        }
        if (next_row < stream.n_row) {
            begin_backward<S>(statistics, stream, weights, i + 1, next_row, beginning.at,
                              beginning.parity, next);
        }
        if constexpr (S::n_first == 0) {
            stream.exchange.wait(i);
            if (has_turn) {
                send_row(a, stream, finishing.before(), row - stream.step);
            }
        }
        // The place of the row before, which all warps have all but left.
        if (has_turn) {
            bring_row(a, stream, finishing.before(), row - stream.step);
        }
        if constexpr (S::n_first == 0) {
            pass_norm<S>(stream, i, finishing.at, begun);
        }
        finish_last<S>(stream, weights, finishing.at, begun, totals, gradients);
        finishing.next();
        i++;
        begun = next;
    }
    send_last(a, stream, finishing.before(), i);
    if (a.grad_weight.data != nullptr) {
        float *sums = reinterpret_cast<float *>(bytes + stream_memory<S, 3>::head_bytes);
        leave_row_partials<S::P, S::V>(a, stream.group, stream.group.lane * S::V, true, totals,
                                       sums);
    }
}

} // namespace clifford

#endif
