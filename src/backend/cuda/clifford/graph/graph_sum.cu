// Sums over the edges of every receiver on CUDA. A thread adds a few features of one component,
// edge after edge: the bits of the CPU. Rows of more than TESS_CL_GRAPH_PART edges are cut into
// parts of as many, which threads of their own add; the parts then join in an order that the length
// of the row alone decides.

#include "backend/cuda/clifford/graph/graph.cuh"
#include "backend/cuda/clifford/stages.h"

namespace
{

using namespace clifford_graph;

constexpr int64_t part = TESS_CL_GRAPH_PART;
constexpr int n_strand = 8; // of threads that join the parts of a row
constexpr int batch = 4;    // edges under way at a time

enum class scales { none, one, each };

struct sum_args {
    tess_stage_clifford_graph a;
    int64_t unit_packs; // packs of a row of one component
    int64_t n_unit;     // those of all components: each a thread's
    int width;          // threads of a block beside each other in one row
    int64_t n_slot;     // of partial sums: two for every `part` edges, 0: no row is that long
};

// Where a thread's features are.
template <int V>
struct place {
    int64_t x, z, scale;
    __device__ __forceinline__ place(const sum_args &s, int64_t unit)
    {
        const int64_t component = unit / s.unit_packs;
        const int64_t feature = (unit - component * s.unit_packs) * V;
        x = component * s.a.x.stride[0] + feature * s.a.x.stride[2];
        z = component * s.a.z.stride[0] + feature * s.a.z.stride[2];
        scale = s.a.n_scale == 1 ? 0 : feature * s.a.scale.stride[2];
    }
};

// One edge's features and what multiplies them: NaN where a list is wrong, 0 behind the last.
template <typename T, int V, scales kind, typename C>
__device__ __forceinline__ void load_edge(const tess_stage_clifford_graph &a, int64_t i,
                                          const place<V> &at, C (&x)[V], C (&by)[V])
{
    const int64_t sender = __ldg(a.senders + i);
    const int64_t edge = kind == scales::none || !a.edges ? i : __ldg(a.edges + i);
    if (!is_below(sender, a.n_sender) || !is_below(edge, a.n_edge)) {
        x[0] = not_a_number<C>();
#pragma unroll
        for (int v = 0; v < V; v++) {
            x[v] = x[0];
            by[v] = C(1);
        }
        return;
    }
    load_features<T, V>(a.x, at.x + sender * a.x.stride[1], x);
    if constexpr (kind == scales::each) {
        load_features<T, V>(a.scale, at.scale + edge * a.scale.stride[1], by);
    } else {
        C one[1] = {C(1)};
        if constexpr (kind == scales::one) {
            load_features<T, 1>(a.scale, edge * a.scale.stride[1], one);
        }
#pragma unroll
        for (int v = 0; v < V; v++) {
            by[v] = one[0];
        }
    }
}

template <typename T, int V, scales kind, typename C>
__device__ __forceinline__ void add_edges(const tess_stage_clifford_graph &a, int64_t first,
                                          int64_t last, const place<V> &at, C (&sum)[V])
{
    for (int64_t i = first; i < last; i += batch) {
        C x[batch][V] = {}, by[batch][V] = {};
#pragma unroll
        for (int b = 0; b < batch; b++) {
            if (i + b < last) {
                load_edge<T, V, kind>(a, i + b, at, x[b], by[b]);
            }
        }
#pragma unroll
        for (int b = 0; b < batch; b++) {
#pragma unroll
            for (int v = 0; v < V; v++) {
                sum[v] = fma(by[b][v], x[b][v], sum[v]);
            }
        }
    }
}

// Edges [first, last) of a long row: those from a multiple of `part` edges behind its first on.
struct row_part {
    int64_t first, last, row_first, row_last, receiver;
};

// The part that has this slot: of the edges from n * part to before (n + 1) * part the row that
// begins among them has the odd slot, the one that goes on from before them the even one. Two such
// rows cannot begin there, and two cannot go on. By all lanes of a warp; false: there is none.
__device__ __forceinline__ bool find_part(const tess_stage_clifford_graph &a, int64_t slot,
                                          row_part &found)
{
    const int64_t start = slot / 2 * part;
    const bool is_first = slot % 2 == 1;
    const int64_t edge = is_first ? (start + part < a.n_edge ? start + part : a.n_edge) - 1 : start;
    found.receiver = receiver_of(a, edge);
    found.row_first = a.offsets[found.receiver];
    found.row_last = a.offsets[found.receiver + 1];
    if (found.row_first < 0 || found.row_last > a.n_edge || found.row_last <= edge ||
        found.row_last - found.row_first <= part || (found.row_first >= start) != is_first) {
        return false;
    }
    const int64_t behind = start - found.row_first;
    found.first = is_first ? found.row_first : found.row_first + (behind + part - 1) / part * part;
    found.last = found.first + part < found.row_last ? found.first + part : found.row_last;
    return found.first < found.row_last;
}

template <typename T, int V, scales kind>
__device__ __forceinline__ void sum_part(const sum_args &s, int64_t slot, int64_t unit)
{
    using C = typename clifford::compute_of<T>::type;
    row_part here;
    if (!find_part(s.a, slot, here) || unit < 0) {
        return;
    }
    C sum[V] = {};
    add_edges<T, V, kind>(s.a, here.first, here.last, place<V>(s, unit), sum);
    store_pack<C, V>(s.a.workspace, (slot * s.n_unit + unit) * V, sum);
}

template <typename T, int V, scales kind>
__device__ __forceinline__ void sum_row(const sum_args &s, int64_t receiver, int64_t unit)
{
    using C = typename clifford::compute_of<T>::type;
    const place<V> at(s, unit);
    const int64_t first = s.a.offsets[receiver], last = s.a.offsets[receiver + 1];
    C sum[V] = {};
    if (first < 0 || last > s.a.n_edge || last < first || last - first > part) {
        // Rows in parts are written again when these join, unless the lists are wrong.
#pragma unroll
        for (int v = 0; v < V; v++) {
            sum[v] = not_a_number<C>();
        }
    } else {
        add_edges<T, V, kind>(s.a, first, last, at, sum);
    }
    store_features<T, V>(s.a.z, at.z + receiver * s.a.z.stride[1], sum);
}

// Parts of long rows first, since they take longest.
template <typename T, int V, scales kind>
__global__ void __launch_bounds__(threads) sum_kernel(const sum_args s)
{
    const int beside = int(threadIdx.x) / s.width;
    const int64_t unit = int64_t(blockIdx.y) * threads + (int(threadIdx.x) - beside * s.width);
    const bool is_there = beside < threads / s.width && unit < s.n_unit;
    if (blockIdx.x < s.n_slot) {
        sum_part<T, V, kind>(s, blockIdx.x, is_there && beside == 0 ? unit : -1);
        return;
    }
    const int64_t receiver = (blockIdx.x - s.n_slot) * (threads / s.width) + beside;
    if (is_there && receiver < s.a.n_receiver) {
        sum_row<T, V, kind>(s, receiver, unit);
    }
}

// Adds the parts of a row: each strand an equal share of them in order, then the strands in order.
template <typename T, int V>
__global__ void __launch_bounds__(32 * n_strand) join_kernel(const sum_args s)
{
    using C = typename clifford::compute_of<T>::type;
    __shared__ C sums[n_strand][32][V];
    const int64_t slot = 2 * int64_t(blockIdx.x) + 1;
    const int lane = int(threadIdx.x) & 31, strand = int(threadIdx.x) / 32;
    const int64_t unit = int64_t(blockIdx.y) * 32 + lane;
    row_part row;
    if (!find_part(s.a, slot, row)) { // alike in all threads
        return;
    }
    const int64_t n_part = (row.row_last - row.row_first + part - 1) / part;
    const int64_t share = (n_part + n_strand - 1) / n_strand;
    const int64_t end = (strand + 1) * share < n_part ? (strand + 1) * share : n_part;
    C sum[V] = {};
    if (unit < s.n_unit) {
#pragma unroll 4
        for (int64_t i = strand * share; i < end; i++) {
            const int64_t from = i == 0 ? slot : slot - 1 + 2 * i;
            C more[V];
            load_pack<C, V>(s.a.workspace, (from * s.n_unit + unit) * V, more);
#pragma unroll
            for (int v = 0; v < V; v++) {
                sum[v] += more[v];
            }
        }
    }
#pragma unroll
    for (int v = 0; v < V; v++) {
        sums[strand][lane][v] = sum[v];
    }
    __syncthreads();
    if (strand != 0 || unit >= s.n_unit) {
        return;
    }
    for (int t = 1; t < n_strand; t++) {
#pragma unroll
        for (int v = 0; v < V; v++) {
            sum[v] += sums[t][lane][v];
        }
    }
    store_features<T, V>(s.a.z, place<V>(s, unit).z + row.receiver * s.a.z.stride[1], sum);
}

template <typename T, int V>
cudaError_t sum_with(cudaStream_t stream, const tess_stage_clifford_graph &a)
{
    sum_args s = {a, a.n_feature / V, a.n_component * (a.n_feature / V), threads, 0};
    s.width = s.n_unit < threads ? int(s.n_unit) : threads;
    s.n_slot = a.n_edge > part ? 2 * ((a.n_edge + part - 1) / part) : 0;
    const int64_t beside = threads / s.width;
    const dim3 grid(unsigned(s.n_slot + (a.n_receiver + beside - 1) / beside),
                    unsigned((s.n_unit + threads - 1) / threads));
    if (!a.scale.data) {
        sum_kernel<T, V, scales::none><<<grid, threads, 0, stream>>>(s);
    } else if (a.n_scale == 1) {
        sum_kernel<T, V, scales::one><<<grid, threads, 0, stream>>>(s);
    } else {
        sum_kernel<T, V, scales::each><<<grid, threads, 0, stream>>>(s);
    }
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess || s.n_slot == 0) {
        return error;
    }
    const dim3 joins(unsigned(s.n_slot / 2), unsigned((s.n_unit + 31) / 32));
    join_kernel<T, V><<<joins, 32 * n_strand, 0, stream>>>(s);
    return cudaGetLastError();
}

cudaError_t sum_launch(cudaStream_t stream, const void *args)
{
    const tess_stage_clifford_graph &a = *static_cast<const tess_stage_clifford_graph *>(args);
    if (a.n_receiver == 0) {
        return cudaSuccess;
    }
    return with_type(a.x.dtype, [&](auto item) {
        using T = decltype(item);
        constexpr int V = pack_size<T>;
        const bool is_wide = a.scale.data && a.n_scale > 1;
        if (a.n_feature % V == 0 && is_packed(a.x, a.n_component, a.n_sender, V) &&
            is_packed(a.z, a.n_component, a.n_receiver, V) &&
            (!is_wide || is_packed(a.scale, 1, a.n_edge, V))) {
            return sum_with<T, V>(stream, a);
        }
        return sum_with<T, 1>(stream, a);
    });
}

} // namespace

const tess_cuda_stage tess_cuda_stage_clifford_graph_sum = {
    TESS_STAGE_CLIFFORD_GRAPH_SUM,
    "clifford.graph_sum",
    sizeof(tess_stage_clifford_graph),
    supports,
    scratch_bytes,
    sum_launch,
};
