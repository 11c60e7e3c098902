// Rows of multivectors along the edges of a graph: packs of features, and whose an edge is. Lists
// on a device may hold anything, so every number of them is looked at before it is an address.
#ifndef TESS_CLIFFORD_GRAPH_CUH
#define TESS_CLIFFORD_GRAPH_CUH

#include "backend/cuda/clifford/common/clifford.cuh"
#include "backend/cuda/cuda_backend.h"
#include "stage/clifford_graph.h"

namespace clifford_graph
{

using clifford::all_lanes;

constexpr int threads = 256;

// Features that a thread takes at once: 16 bytes of them.
template <typename T>
constexpr int pack_size = 16 / int(sizeof(T));

template <typename C>
__device__ __forceinline__ C not_a_number()
{
    return C(__int_as_float(0x7fffffff));
}

__device__ __forceinline__ bool is_below(int64_t number, int64_t end)
{
    return uint64_t(number) < uint64_t(end);
}

template <typename T, int V, typename C>
__device__ __forceinline__ void load_pack(const void *data, int64_t at, C (&values)[V])
{
    constexpr int W = V < pack_size<T> ? V : pack_size<T>; // f32 beside 16 bits: twice
#pragma unroll
    for (int w = 0; w < V; w += W) {
        const clifford::pack<T, W> items = clifford::load_pack_by<T, W>(
            static_cast<const T *>(data) + at + w, [](const auto *word) { return __ldg(word); });
#pragma unroll
        for (int v = 0; v < W; v++) {
            values[w + v] = clifford::widen_item(items, v);
        }
    }
}

template <typename T, int V, typename C>
__device__ __forceinline__ void store_pack(void *data, int64_t at, const C (&values)[V])
{
    constexpr int W = V < pack_size<T> ? V : pack_size<T>;
#pragma unroll
    for (int w = 0; w < V; w += W) {
        C some[W];
#pragma unroll
        for (int v = 0; v < W; v++) {
            some[v] = values[w + v];
        }
        clifford::store_pack<T, W>(static_cast<T *>(data) + at + w,
                                   clifford::narrow_pack<T, W>(some));
    }
}

// Of a view that is T, or f32 beside 16 bits.
template <typename T, int V, typename C>
__device__ __forceinline__ void load_features(const tess_cl_graph_view &view, int64_t at,
                                              C (&values)[V])
{
    if constexpr (sizeof(T) == 2) {
        if (view.dtype == TESS_F32) {
            load_pack<float, V>(view.data, at, values);
            return;
        }
    }
    load_pack<T, V>(view.data, at, values);
}

template <typename T, int V, typename C>
__device__ __forceinline__ void store_features(const tess_cl_graph_view &view, int64_t at,
                                               const C (&values)[V])
{
    if constexpr (sizeof(T) == 2) {
        if (view.dtype == TESS_F32) {
            store_pack<float, V>(view.data, at, values);
            return;
        }
    }
    store_pack<T, V>(view.data, at, values);
}

// The receiver that has an edge: the last whose offset is not above it. By all lanes of a warp, 32
// offsets at a time.
__device__ __forceinline__ int64_t receiver_of(const tess_stage_clifford_graph &a, int64_t edge)
{
    const int lane = int(threadIdx.x) & 31;
    int64_t first = 0, n = a.n_receiver;
    while (n > 1) {
        const int64_t step = (n + 31) / 32;
        const int64_t at = lane * step;
        const bool is_before = at < n && a.offsets[first + at] <= edge;
        const unsigned before = __ballot_sync(all_lanes, is_before);
        const int64_t last = before ? (31 - __clz(int(before))) * step : 0;
        first += last;
        n = n - last < step ? n - last : step;
    }
    return first;
}

// Whether V features at a time can be had of a view whose first two axes have these sizes.
inline bool is_packed(const tess_cl_graph_view &view, int64_t n_first, int64_t n_second, int V)
{
    return view.stride[2] == 1 && (n_first == 1 || view.stride[0] % V == 0) &&
           (n_second == 1 || view.stride[1] % V == 0) &&
           uintptr_t(view.data) % uintptr_t(V * clifford::item_bytes(view.dtype)) == 0;
}

// What grids can count.
inline tess_status supports(const tess_backend_device *device, const void *args)
{
    const tess_stage_clifford_graph &a = *static_cast<const tess_stage_clifford_graph *>(args);
    constexpr int64_t most_numbers = 32 * 65535, most_rows = INT64_C(1) << 30;
    if (a.n_component * a.n_feature > most_numbers || a.n_receiver > most_rows ||
        a.n_edge > most_rows) {
        const tess_host *host = device->host;
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "clifford.graph: %lld receivers and %lld edges of %lld numbers a node "
                          "are more than a launch on a GPU counts; cut the graph or the features",
                          (long long)a.n_receiver, (long long)a.n_edge,
                          (long long)(a.n_component * a.n_feature));
    }
    return TESS_OK;
}

inline size_t scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

// Calls visit(T{}) with the type of x.
template <typename Visit>
cudaError_t with_type(int32_t dtype, Visit visit)
{
    return clifford::with_types(dtype, TESS_F32, [&](auto item, auto) { return visit(item); });
}

} // namespace clifford_graph

#endif
