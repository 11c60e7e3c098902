// Products of sender and receiver along every edge on CUDA. A few lanes take an edge; what belongs
// to a feature is one chain over the components, the bits of the CPU.

#include "backend/cuda/clifford/graph/graph.cuh"
#include "backend/cuda/clifford/stages.h"

namespace
{

using namespace clifford_graph;

struct dot_args {
    tess_stage_clifford_graph a;
    int64_t n_pack; // of a row of one component
    int lanes;      // a power of two: threads of an edge
};

// The receiver of an edge between two that are known, by a thread.
__device__ __forceinline__ int64_t receiver_between(const tess_stage_clifford_graph &a,
                                                    int64_t first, int64_t last, int64_t i)
{
    while (first < last) {
        const int64_t middle = last - (last - first) / 2;
        if (__ldg(a.offsets + middle) <= i) {
            first = middle;
        } else {
            last = middle - 1;
        }
    }
    return first;
}

template <typename T, int V, typename C>
__device__ __forceinline__ void dot_features(const tess_stage_clifford_graph &a, int64_t x_at,
                                             int64_t y_at, C (&dot)[V])
{
#pragma unroll 8
    for (int64_t k = 0; k < a.n_component; k++) {
        C x[V], y[V];
        load_pack<T, V>(a.x.data, x_at + k * a.x.stride[0], x);
        load_pack<T, V>(a.z.data, y_at + k * a.z.stride[0], y);
#pragma unroll
        for (int v = 0; v < V; v++) {
            dot[v] = fma(x[v], y[v], dot[v]);
        }
    }
}

template <typename T, int V>
__global__ void __launch_bounds__(threads) dot_kernel(const dot_args d)
{
    using C = typename clifford::compute_of<T>::type;
    const tess_stage_clifford_graph &a = d.a;
    __shared__ int64_t ends[2]; // receivers of the first and last edge of the block
    const int n_beside = threads / d.lanes;
    const int64_t begin = int64_t(blockIdx.x) * n_beside;
    if (threadIdx.x < 64) {
        const int64_t last = begin + n_beside < a.n_edge ? begin + n_beside : a.n_edge;
        const int64_t receiver = receiver_of(a, threadIdx.x < 32 ? begin : last - 1);
        if (threadIdx.x % 32 == 0) {
            ends[threadIdx.x / 32] = receiver;
        }
    }
    __syncthreads();
    const int lane = int(threadIdx.x) & (d.lanes - 1);
    const int64_t i = begin + int(threadIdx.x) / d.lanes;
    const int64_t edge = i >= a.n_edge ? -1 : a.edges ? __ldg(a.edges + i) : i;
    const bool is_there = is_below(edge, a.n_edge);
    const int64_t sender = is_there ? __ldg(a.senders + i) : -1;
    const bool is_right = is_below(sender, a.n_sender);
    const int64_t receiver = receiver_between(a, ends[0], ends[1], i);
    const int64_t to = edge * a.scale.stride[1];
    double whole = 0; // in f64, as on the CPU
    for (int64_t p = lane; is_there && p < d.n_pack; p += d.lanes) {
        const int64_t feature = p * V;
        C dot[V] = {};
        if (is_right) {
            dot_features<T, V>(a, sender * a.x.stride[1] + feature * a.x.stride[2],
                               receiver * a.z.stride[1] + feature * a.z.stride[2], dot);
        } else {
#pragma unroll
            for (int v = 0; v < V; v++) {
                dot[v] = not_a_number<C>();
            }
        }
        if (a.n_scale > 1) {
            store_features<T, V>(a.scale, to + feature * a.scale.stride[2], dot);
        }
#pragma unroll
        for (int v = 0; v < V; v++) {
            whole += double(dot[v]);
        }
    }
    if (a.n_scale > 1) {
        return;
    }
    for (int step = d.lanes / 2; step > 0; step /= 2) {
        whole += __shfl_xor_sync(all_lanes, whole, step);
    }
    if (is_there && lane == 0) {
        const C sum[1] = {C(whole)};
        store_features<T, 1>(a.scale, to, sum);
    }
}

template <typename T, int V>
cudaError_t dot_with(cudaStream_t stream, const tess_stage_clifford_graph &a)
{
    dot_args d = {a, a.n_feature / V, 32};
    while (d.lanes > 1 && d.lanes / 2 >= d.n_pack) {
        d.lanes /= 2;
    }
    const int64_t n_beside = threads / d.lanes;
    dot_kernel<T, V><<<unsigned((a.n_edge + n_beside - 1) / n_beside), threads, 0, stream>>>(d);
    return cudaGetLastError();
}

cudaError_t dot_launch(cudaStream_t stream, const void *args)
{
    const tess_stage_clifford_graph &a = *static_cast<const tess_stage_clifford_graph *>(args);
    if (a.n_edge == 0 || a.n_receiver == 0) {
        return cudaSuccess;
    }
    return with_type(a.x.dtype, [&](auto item) {
        using T = decltype(item);
        constexpr int V = pack_size<T>;
        if (a.n_feature % V == 0 && is_packed(a.x, a.n_component, a.n_sender, V) &&
            is_packed(a.z, a.n_component, a.n_receiver, V) &&
            (a.n_scale == 1 || is_packed(a.scale, 1, a.n_edge, V))) {
            return dot_with<T, V>(stream, a);
        }
        return dot_with<T, 1>(stream, a);
    });
}

} // namespace

const tess_cuda_stage tess_cuda_stage_clifford_graph_dot = {
    TESS_STAGE_CLIFFORD_GRAPH_DOT,
    "clifford.graph_dot",
    sizeof(tess_stage_clifford_graph),
    supports,
    scratch_bytes,
    dot_launch,
};
