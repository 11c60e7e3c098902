// The backward pass of the stream kernels (sgp_stream.cuh), with r of every row given.
#ifndef TESS_CLIFFORD_SGP_STREAM_BACKWARD_CUH
#define TESS_CLIFFORD_SGP_STREAM_BACKWARD_CUH

#include "backend/cuda/clifford/sgp/sgp_stream.cuh"

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
__device__ __forceinline__ void begin_backward(const stream_group<S, 3> &stream,
                                               const stream_weights<S> &weights, int i,
                                               stream_row<S> &begun)
{
    constexpr int V = S::V;
    constexpr int D = S::D;
    const typename S::A algebra;
    pack<typename S::T, V> items[3 * D];
    stream.ring.wait(i);
    stream.ring.load_pair(i, stream.group.lane, items);
    stream.ring.load_gradient(i, stream.group.lane, items + 2 * D);
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
                                          stream_row<S> &begun)
{
    const typename S::A algebra;
    pack<typename S::T, S::V> items[S::D];
    stream.ring.load_gradient(i, stream.group.lane, items);
    const row_norm<S::G, float> norm = collect_norm<S>(stream, i, begun.r);
#pragma unroll
    for (int v = 0; v < S::V; v++) {
        row_feature<S::D> &feature = begun.features[v];
        float h[S::D];
        unpack<S::V, S::D>(items, v, h);
        norm_gradient(algebra, TESS_CLIFFORD_NORM_EUCLID, norm, feature.scale, feature.s, h, h);
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
finish_features(const stream_group<S, 3> &stream, const stream_weights<S> &weights, int i,
                const stream_row<S> &begun, register_sums<S::P, float> (&totals)[S::V],
                float (&results)[to - from][2 * S::D])
{
    pack<typename S::T, S::V> items[2 * S::D];
    stream.ring.load_pair(i, stream.group.lane, items);
#pragma unroll
    for (int v = from; v < to; v++) {
        finish_feature<S>(weights, stream.group.lane, v, items, begun.features[v], totals[v],
                          results[v - from]);
    }
}

// The gradients of a thread's first features of a row, which wait for the others.
template <typename S>
struct waiting_gradients {
    float results[S::n_first > 0 ? S::n_first : 1][2 * S::D];
};

// Finishes the other features, and leaves the gradients of all where x and y were.
template <typename S>
__device__ __forceinline__ void
finish_last(const stream_group<S, 3> &stream, const stream_weights<S> &weights, int i,
            const stream_row<S> &begun, register_sums<S::P, float> (&totals)[S::V],
            const waiting_gradients<S> &waiting)
{
    constexpr int n = 2 * S::D;
    float results[S::V - S::n_first][n];
    finish_features<S, S::n_first, S::V>(stream, weights, i, begun, totals, results);
    pack<typename S::T, S::V> *to = stream.ring.pair_items(i, stream.group.lane);
#pragma unroll
    for (int k = 0; k < n; k++) {
        float values[S::V];
#pragma unroll
        for (int v = 0; v < S::V; v++) {
            values[v] = v < S::n_first ? waiting.results[v][k] : results[v - S::n_first][k];
        }
        to[k * S::lanes] = narrow_pack<typename S::T, S::V>(values);
    }
    clifford_mma::fence_async_proxy();
}

// Sends the rows that are still in the ring.
template <typename S>
__device__ __forceinline__ void send_last(const stream_args<3> &args,
                                          const stream_group<S, 3> &stream, int n_begun)
{
    stream.meet(0);
    if (stream.exchange.warp == 0 && n_begun > 0) {
        const int last = stream.first + (n_begun - 1) * stream.step;
        if (n_begun > 1) {
            stream.ring.send(args, last - stream.step, n_begun - 2);
        }
        stream.ring.send(args, last, n_begun - 1);
    }
}

// Adds the groups of a block, and leaves the block's weight gradients. The last group, which has
// the fewest rows, begins, and every group hands its sums on in the ring of the last.
template <typename S>
__device__ __forceinline__ void leave_partials(const sgp_args &a, const stream_group<S, 3> &stream,
                                               register_sums<S::P, float> (&sums)[S::V],
                                               unsigned char *bytes)
{
    using memory = stream_memory<S, 3>;
    constexpr int last = S::n_group - 1;
    const int lane = stream.group.lane;
    float *totals =
        reinterpret_cast<float *>(bytes + last * memory::group_bytes + memory::head_bytes) + lane;
    float *partials = static_cast<float *>(a.partials) + int64_t(blockIdx.x) * (S::N * S::P) + lane;
    if (stream.index < last) {
        clifford_mma::barrier_wait(stream.handed(stream.index + 1), 0);
#pragma unroll
        for (int i = 0; i < S::V * S::P; i++) {
            sums[i / S::P].at[i % S::P] += totals[i * S::lanes];
        }
    } else if (last > 0) {
        clifford_mma::wait_bulk_out_read();
        stream.meet(1);
    }
    if (stream.index == 0) {
#pragma unroll
        for (int i = 0; i < S::V * S::P; i++) {
            partials[i * S::lanes] = sums[i / S::P].at[i % S::P];
        }
    } else {
#pragma unroll
        for (int i = 0; i < S::V * S::P; i++) {
            totals[i * S::lanes] = sums[i / S::P].at[i % S::P];
        }
        clifford_mma::barrier_arrive(stream.handed(stream.index));
    }
}

template <typename S>
__global__ void __launch_bounds__(S::threads, 1)
    sgp_stream_backward(const __grid_constant__ stream_args<3> args)
{
#if TESS_CUDA_HAS_GROUPS
    const sgp_args &a = args.a;
    extern __shared__ uint4 shared[];
    unsigned char *bytes = reinterpret_cast<unsigned char *>(shared);
    const stream_group<S, 3> stream(a, bytes);
    stream_weights<S> weights;
    const float first_r = stream.start(args, weights, bytes);
    register_sums<S::P, float> totals[S::V] = {};
    stream_row<S> begun = {};
    waiting_gradients<S> waiting;
    if (stream.has(stream.first)) {
        begun.r = first_r;
        begin_backward<S>(stream, weights, 0, begun);
    }
    int i = 0;
    for (int row = stream.first; stream.has(row); row += stream.step) {
        const int next_row = row + stream.step;
        const bool has_turn = stream.has_turn(i);
        // Then all warps have begun row i: they have done with row i - 2, and with gz of row i - 1.
        stream.exchange.wait(i);
        if (has_turn && i > 1) {
            stream.ring.send(args, row - 2 * stream.step, i - 2);
        }
        pass_norm<S>(stream, i, begun);
        if constexpr (S::n_first > 0) {
            finish_features<S, 0, S::n_first>(stream, weights, i, begun, totals, waiting.results);
        }
        const int later = row + (S::depth - 2) * stream.step;
        if (has_turn && i > 0 && stream.has(later)) {
            clifford_mma::wait_bulk_out_read();
            stream.ring.bring(args, later, i + S::depth - 2);
        }
        stream_row<S> next;
        if (stream.has(next_row)) {
            next.r = stream.kept(a, next_row);
            begin_backward<S>(stream, weights, i + 1, next);
        }
        finish_last<S>(stream, weights, i, begun, totals, waiting);
        i++;
        begun = next;
    }
    send_last(args, stream, i);
    if (a.grad_weight.data != nullptr) {
        leave_partials(a, stream, totals, bytes);
    }
    clifford_mma::wait_bulk_out_read();
#endif
}

} // namespace clifford

#endif
