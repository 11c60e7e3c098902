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
__device__ __forceinline__ void begin_backward(const sgp_args &a, const stream_group<S, 3> &stream,
                                               const stream_weights<S> &weights, int i, int row,
                                               const ring_place<S::depth> &place,
                                               int gradient_place, stream_row<S> &begun)
{
    constexpr int V = S::V;
    constexpr int D = S::D;
    const typename S::A algebra;
    begun.r =
        __uint_as_float(load_once(reinterpret_cast<const uint32_t *>(stream.kept_of(a, row))));
    pack<typename S::T, V> items[3 * D];
    stream.ring.wait(place.at, place.parity);
    stream.ring.load_pair(place.at, stream.group.lane, items);
    stream.ring.load_gradient(gradient_place, stream.group.lane, items + 2 * D);
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
        product_by_path(algebra, x, y, w, feature.s);
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

// Takes h, the gradient of the gated product, to that of the product, and what the gates leave for
// the gradients of x_0 and y_0: these take the place of s, left and right.
template <int D>
__device__ __forceinline__ void pass_gates(const float (&h)[D], row_feature<D> &feature)
{
    float tau = 0.0f;
#pragma unroll
    for (int k = 0; k < D; k++) {
        tau = fma(h[k], feature.s[k], tau);
        feature.s[k] = h[k] * feature.scale;
    }
    feature.left *= tau;
    feature.right *= tau;
}

// gz through norm and gates, all features of a thread: what was begun becomes the gradient of the
// product.
template <typename S>
__device__ __forceinline__ void pass_norm(const stream_group<S, 3> &stream, int i,
                                          int gradient_place, stream_row<S> &begun)
{
    const typename S::A algebra;
    pack<typename S::T, S::V> items[S::D];
    stream.ring.load_gradient(gradient_place, stream.group.lane, items);
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
    gradients_by_path(typename S::A(), x, y, w, feature.s, gx, gy, totals);
    gx[0] += feature.left;
    gy[0] += feature.right;
#pragma unroll
    for (int k = 0; k < D; k++) {
        results[k] = gx[k];
        results[D + k] = gy[k];
    }
}

// Features [from, to) of a thread, component by component as they lie: gx, then gy.
template <typename S, int from, int to>
__device__ __forceinline__ void
finish_features(const stream_group<S, 3> &stream, const stream_weights<S> &weights, int place,
                const stream_row<S> &begun, register_sums<S::P, float> (&totals)[S::V],
                float (&results)[to - from][2 * S::D])
{
    pack<typename S::T, S::V> items[2 * S::D];
    stream.ring.load_pair(place, stream.group.lane, items);
#pragma unroll
    for (int v = from; v < to; v++) {
        finish_feature<S>(weights, stream.group.lane, v, items, begun.features[v], totals[v],
                          results[v - from]);
    }
}

// The gradients of a thread's first features, which wait for the others rounded: those of two
// features for every component, or of one feature for every two components.
template <typename S>
struct waiting_gradients {
    using T = typename S::T;
    static constexpr int n = 2 * S::D;
    static constexpr int n_pair = n * S::n_first / 2;
    pack<T, 2> pairs[n_pair > 0 ? n_pair : 1];

    static __device__ __forceinline__ void round(const float (&results)[S::n_first][n],
                                                 pack<T, 2> *pairs)
    {
#pragma unroll
        for (int m = 0; m < n_pair; m++) {
            const float pair[2] = {S::n_first == 2 ? results[0][m] : results[0][2 * m],
                                   S::n_first == 2 ? results[S::n_first - 1][m]
                                                   : results[0][2 * m + 1]};
            pairs[m] = narrow_pack<T, 2>(pair);
        }
    }
    // With those of as many other features, to where x and y were.
    __device__ __forceinline__ void put_with(const float (&results)[S::n_first][n],
                                             pack<T, S::V> *to) const
    {
        pack<T, 2> others[n_pair];
        round(results, others);
#pragma unroll
        for (int k = 0; k < n; k++) {
            if constexpr (S::n_first == 2) {
                to[k * S::lanes] = {
                    {pairs[k].at[0], pairs[k].at[1], others[k].at[0], others[k].at[1]}};
            } else {
                to[k * S::lanes] = {{pairs[k / 2].at[k % 2], others[k / 2].at[k % 2]}};
            }
        }
    }
};

// Finishes a thread's first features of a row, while the others wait.
template <typename S>
__device__ __forceinline__ void
finish_first(const stream_group<S, 3> &stream, const stream_weights<S> &weights, int place,
             const stream_row<S> &begun, register_sums<S::P, float> (&totals)[S::V],
             waiting_gradients<S> &waiting)
{
    float results[S::n_first][2 * S::D];
    finish_features<S, 0, S::n_first>(stream, weights, place, begun, totals, results);
    waiting.round(results, waiting.pairs);
}

// Finishes the others, and leaves the gradients where x and y were.
template <typename S>
__device__ __forceinline__ void
finish_last(const stream_group<S, 3> &stream, const stream_weights<S> &weights, int place,
            const stream_row<S> &begun, register_sums<S::P, float> (&totals)[S::V],
            const waiting_gradients<S> &waiting)
{
    constexpr int n = 2 * S::D;
    float results[S::V - S::n_first][n];
    finish_features<S, S::n_first, S::V>(stream, weights, place, begun, totals, results);
    pack<typename S::T, S::V> *to = stream.ring.pair_items(place, stream.group.lane);
    if constexpr (S::n_first > 0) {
        waiting.put_with(results, to);
    } else {
        pack<typename S::T, S::V> items[n];
        narrow_components<typename S::T, S::V>(results, items);
#pragma unroll
        for (int k = 0; k < n; k++) {
            to[k * S::lanes] = items[k];
        }
    }
    clifford_mma::fence_async_proxy();
}

// Sends the rows that are still in the ring, the last of them in the place before `behind`.
template <typename S>
__device__ __forceinline__ void send_last(const sgp_args &a, const stream_group<S, 3> &stream,
                                          const ring_place<S::depth> &behind, int n_begun)
{
    stream.group.sync();
    if (stream.exchange.warp == 0 && n_begun > 0) {
        const int last = stream.first + (n_begun - 1) * stream.step;
        if (n_begun > 1) {
            stream.ring.send(a, last - stream.step, behind.before().before().at);
        }
        stream.ring.send(a, last, behind.before().at);
    }
}

// Adds the groups of a block, and leaves the block's weight gradients. The last group, which has
// the fewest rows, begins, and leaves its sums in its ring.
template <typename S>
__device__ __forceinline__ void leave_partials(const sgp_args &a, const stream_group<S, 3> &stream,
                                               const register_sums<S::P, float> (&sums)[S::V],
                                               unsigned char *bytes)
{
    using memory = stream_memory<S, 3>;
    constexpr int last = S::n_group - 1;
    const int lane = stream.group.lane;
    float *totals =
        reinterpret_cast<float *>(bytes + last * memory::group_bytes + memory::head_bytes) + lane;
    float *partials = static_cast<float *>(a.partials) + int64_t(blockIdx.x) * (S::N * S::P) + lane;
#pragma unroll
    for (int owner = last; owner >= 0; owner--) {
        if (stream.index == owner) {
            if (owner == last && last > 0) {
                clifford_mma::wait_bulk_out_read();
                stream.group.sync();
            }
#pragma unroll
            for (int i = 0; i < S::V * S::P; i++) {
                const float own = sums[i / S::P].at[i % S::P];
                const float sum = owner == last ? own : totals[i * S::lanes] + own;
                (owner == 0 ? partials : totals)[i * S::lanes] = sum;
            }
        }
        if (owner > 0) {
            __syncthreads();
        }
    }
}

template <typename S>
__global__ void __launch_bounds__(S::threads, 1)
    sgp_stream_backward(const __grid_constant__ sgp_args a)
{
    extern __shared__ uint4 shared[];
    using memory = stream_memory<S, 3>;
    unsigned char *bytes = reinterpret_cast<unsigned char *>(shared);
    const stream_group<S, 3> stream(a, bytes);
    stream_weights<S> weights;
    stream.start(a, weights, bytes);
    register_sums<S::P, float> totals[S::V] = {};
    stream_row<S> begun = {};
    waiting_gradients<S> waiting;
    ring_place<S::depth> beginning;
    ring_place<S::depth> finishing;
    ring_place<memory::gradient_depth> gradient;
    if (stream.first < stream.n_row) {
        begin_backward<S>(a, stream, weights, 0, stream.first, beginning, 0, begun);
    }
    int i = 0;
    for (int row = stream.first; row < stream.n_row; row += stream.step) {
        const int next_row = row + stream.step;
        const bool has_turn = stream.has_turn(i);
        // Then all warps have begun row i: they have done with row i - 2, and with gz of row i - 1.
        stream.exchange.wait(i);
        if (has_turn && i > 1) {
            stream.ring.send(a, row - 2 * stream.step, finishing.before().before().at);
        }
        pass_norm<S>(stream, i, gradient.at, begun);
        if constexpr (S::n_first > 0) {
            finish_first<S>(stream, weights, finishing.at, begun, totals, waiting);
        }
        const int later = row + (S::depth - 2) * stream.step;
        if (has_turn && i > 0 && later < stream.n_row) {
            clifford_mma::wait_bulk_out_read();
            stream.ring.bring(a, later, finishing.before().before().at, gradient.before().at);
        }
        beginning.next();
        gradient.next();
        stream_row<S> next;
        if (next_row < stream.n_row) {
            begin_backward<S>(a, stream, weights, i + 1, next_row, beginning, gradient.at, next);
        }
        finish_last<S>(stream, weights, finishing.at, begun, totals, waiting);
        finishing.next();
        i++;
        begun = next;
    }
    send_last(a, stream, finishing, i);
    if (a.grad_weight.data != nullptr) {
        leave_partials(a, stream, totals, bytes);
    }
    clifford_mma::wait_bulk_out_read();
}

} // namespace clifford

#endif
