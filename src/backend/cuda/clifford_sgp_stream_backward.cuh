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
    stream.ring.load(place, stream.group.lane, items);
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

// Gradients to their row's place, where x and y were: 16-bit ones feature by feature, so that none
// waits in registers for its neighbour.
template <typename S>
__device__ __forceinline__ void leave_in_ring(unsigned char *place, int lane, int v,
                                              const float (&gx)[S::D], const float (&gy)[S::D])
{
    using T = typename S::T;
    T *to = reinterpret_cast<T *>(place) + lane * S::V + v;
#pragma unroll
    for (int k = 0; k < S::D; k++) {
        narrow(gx[k], to[k * S::N]);
    }
#pragma unroll
    for (int k = 0; k < S::D; k++) {
        narrow(gy[k], to[(S::D + k) * S::N]);
    }
}

template <typename S>
__device__ __forceinline__ void
finish_backward(const sgp_args &a, const stream_group<S, 3> &stream,
                const stream_weights<S> &weights, int i, int row, int place,
                const stream_row<S> &begun, const stream_results<S> &left_results,
                const stream_results<S> &right_results, register_sums<S::P, float> (&totals)[S::V])
{
    using T = typename S::T;
    constexpr int V = S::V;
    constexpr int D = S::D;
    const typename S::A algebra;
    // A feature's items may have been overwritten when the next one's are loaded, but not its own.
    constexpr bool loads_again = S::leaves_in_ring && sizeof(T) == 2;
    const int lane = stream.group.lane;
    unsigned char *here = stream.ring.rows + place * stream_memory<S, 3>::row_bytes;
    pack<T, V> items[3 * D];
    if constexpr (!loads_again) {
        stream.ring.load(place, lane, items);
    }
    const row_norm<S::G, float> norm = collect_norm<S>(stream, i, begun.r);
    float gx[V][D];
    float gy[V][D];
#pragma unroll
    for (int v = 0; v < V; v++) {
        const row_feature<D> &feature = begun.features[v];
        float x[D];
        float y[D];
        float h[D];
        float w[S::P];
        if constexpr (loads_again) {
            stream.ring.load(place, lane, items);
        }
        unpack<V, D>(items, v, x);
        unpack<V, D>(items + D, v, y);
        unpack<V, D>(items + 2 * D, v, h);
        weights.read(lane, v, w);
        norm_gradient(algebra, TESS_CL_NORM_EUCLID, norm, feature.scale, feature.s, h, h);
        finish_gradients(algebra, feature, x, y, w, h, totals[v], gx[v], gy[v]);
        if constexpr (S::leaves_in_ring) {
            leave_in_ring<S>(here, lane, v, gx[v], gy[v]);
        }
    }
    stream.leave(place);
    if constexpr (!S::leaves_in_ring) {
        pack<T, V> left[D];
        pack<T, V> right[D];
        narrow_components<T, V>(gx, left);
        narrow_components<T, V>(gy, right);
        if (a.gx.data != nullptr) {
            left_results.store(row, left);
        }
        if (a.gy.data != nullptr) {
            right_results.store(row, right);
        }
    }
}

template <typename S>
__global__ void __launch_bounds__(S::threads, 1)
    sgp_stream_backward(const __grid_constant__ sgp_args a)
{
    extern __shared__ uint4 shared[];
    let_next_start();
    unsigned char *bytes = reinterpret_cast<unsigned char *>(shared);
    const stream_group<S, 3> stream(a, bytes);
    stream_weights<S> weights;
    stream.start(a, weights, bytes);
    register_sums<S::P, float> totals[S::V] = {};
    const float *statistics =
        static_cast<const float *>(a.statistics) + stream.exchange.grade() * a.n_row;
    const stream_results<S> left(a.gx, stream.group.lane);
    const stream_results<S> right(a.gy, stream.group.lane);
    stream_row<S> begun = {};
    ring_place<S::depth> beginning;
    ring_place<S::depth> finishing;
    if (stream.first < stream.n_row) {
        begin_backward<S>(statistics, stream, weights, 0, stream.first, 0, 0, begun);
    }
    int i = 0;
    for (int row = stream.first; row < stream.n_row; row += stream.step) {
        const int next_row = row + stream.step;
        stream_row<S> next;
        beginning.next();
        if (S::is_ahead && next_row < stream.n_row) {
            begin_backward<S>(statistics, stream, weights, i + 1, next_row, beginning.at,
                              beginning.parity, next);
        }
        stream.exchange.wait(i);
        // The place of the row before, which all warps have all but left.
        if (i > 0 && stream.has_turn(i)) {
            turn_over(a, stream, finishing.before(), row - stream.step);
        }
        finish_backward<S>(a, stream, weights, i, row, finishing.at, begun, left, right, totals);
        finishing.next();
        i++;
        if (!S::is_ahead && next_row < stream.n_row) {
            begin_backward<S>(statistics, stream, weights, i, next_row, beginning.at,
                              beginning.parity, next);
        }
        begun = next;
    }
    if constexpr (S::leaves_in_ring) {
        send_last(a, stream, finishing.before(), i);
    }
    if (a.grad_weight.data != nullptr) {
        float *sums = reinterpret_cast<float *>(bytes + stream_memory<S, 3>::head_bytes);
        leave_row_partials<S::P, S::V>(a, stream.group, stream.group.lane * S::V, true, totals,
                                       sums);
    }
}

} // namespace clifford

#endif
