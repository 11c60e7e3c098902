// The forward pass of the stream kernels (sgp_stream.cuh).
#ifndef TESS_CLIFFORD_SGP_STREAM_FORWARD_CUH
#define TESS_CLIFFORD_SGP_STREAM_FORWARD_CUH

#include "backend/cuda/clifford/sgp/sgp_stream.cuh"

namespace clifford
{

// The product of a row's features, gated; sums of squares to the exchange.
template <typename S>
__device__ __forceinline__ void begin_forward(const stream_group<S, 2> &stream,
                                              const stream_weights<S> &weights, int i,
                                              float (&o)[S::V][S::D])
{
    constexpr int V = S::V;
    constexpr int D = S::D;
    const typename S::A algebra;
    pack<typename S::T, V> items[2 * D];
    stream.ring.wait(i);
    stream.ring.load_pair(i, stream.group.lane, items);
    float sums[S::G] = {};
#pragma unroll
    for (int v = 0; v < V; v++) {
        float x[D];
        float y[D];
        float w[S::P];
        unpack<V, D>(items, v, x);
        unpack<V, D>(items + D, v, y);
        weights.read(stream.group.lane, v, w);
        product_by_path(algebra, x, y, w, o[v]);
        const float scale =
            stream_gate<typename S::T>(x[0]).factor * stream_gate<typename S::T>(y[0]).factor;
#pragma unroll
        for (int k = 0; k < D; k++) {
            o[v][k] *= scale;
        }
        add_products(algebra, o[v], o[v], sums);
    }
    stream.exchange.publish(i, sums);
}

// 1/r of a row, times what was begun, to memory.
template <typename S>
__device__ __forceinline__ void finish_forward(const sgp_args &a, const stream_group<S, 2> &stream,
                                               const stream_results<S> &out, int i, int row,
                                               float eps, const float (&o)[S::V][S::D])
{
    using T = typename S::T;
    const typename S::A algebra;
    const float square = fmaf(stream.exchange.collect(i), 1.0f / S::N, eps);
    const float inverse = inverse_root_of(square);
    const int grade = int(stream.exchange.lane / stream.exchange.spread);
    if (a.statistics != nullptr && stream.exchange.warp == 0 && grade < S::G &&
        stream.exchange.lane % stream.exchange.spread == 0) {
        static_cast<float *>(a.statistics)[grade * a.n_row + row] = square * inverse;
    }
    float inverses[S::G];
    stream.exchange.broadcast(inverse, inverses);
    pack<T, S::V> results[S::D];
#pragma unroll
    for (int k = 0; k < S::D; k++) {
        float z[S::V];
#pragma unroll
        for (int v = 0; v < S::V; v++) {
            z[v] = o[v][k] * inverses[algebra.grade(k)];
        }
        results[k] = narrow_pack<T, S::V>(z);
    }
    out.store(row, results);
}

template <typename S>
__global__ void __launch_bounds__(S::threads, 1)
    sgp_stream_forward(const __grid_constant__ stream_args<2> args)
{
#if TESS_CUDA_HAS_GROUPS
    const sgp_args &a = args.a;
    extern __shared__ uint4 shared[];
    unsigned char *bytes = reinterpret_cast<unsigned char *>(shared);
    const stream_group<S, 2> stream(a, bytes);
    stream_weights<S> weights;
    (void)stream.start(args, weights, bytes);
    const stream_results<S> out(a.out, stream.group.lane);
    const float eps = kept(float(a.eps));
    float o[S::V][S::D];
    if (stream.has(stream.first)) {
        begin_forward<S>(stream, weights, 0, o);
    }
    int i = 0;
    for (int row = stream.first; stream.has(row); row += stream.step) {
        const int next_row = row + stream.step;
        float next[S::V][S::D];
        if (stream.has(next_row)) {
            begin_forward<S>(stream, weights, i + 1, next);
        }
        // Then all warps have taken their items of row i.
        stream.exchange.wait(i);
        if (stream.has_turn(i) && stream.has(row + S::depth * stream.step)) {
            stream.ring.bring(args, row + S::depth * stream.step, i + S::depth);
        }
        finish_forward<S>(a, stream, out, i, row, eps, o);
        i++;
#pragma unroll
        for (int v = 0; v < S::V; v++) {
#pragma unroll
            for (int k = 0; k < S::D; k++) {
                o[v][k] = next[v][k];
            }
        }
    }
#endif
}

} // namespace clifford

#endif
