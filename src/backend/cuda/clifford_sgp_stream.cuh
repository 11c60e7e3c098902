// The weighted product of rows whose width is known to the compiler, for what layers ask for: gelu,
// all paths, the euclidean norm. Rows come through a ring in shared memory, and a group of threads
// has two of them under way: it begins a row before it finishes the one before, so that nobody
// waits for the sums over a row. With everything constant the loop has next to no branches.
//
// A group's row i:
//   begin   items from place i % depth, product, sums over the warp to the exchange
//   finish  sums of all warps from the exchange, norm, results
#ifndef TESS_CLIFFORD_SGP_STREAM_CUH
#define TESS_CLIFFORD_SGP_STREAM_CUH

#include "backend/cuda/clifford_sgp_rows.cuh"

namespace clifford
{

// A kernel's constants. V: neighbouring features of a thread; N: features of a row; depth: places
// of a group's ring; is_ahead: whether a row begins before the last one is finished;
// keeps_weights: in registers, not in shared memory.
template <typename A_, typename T_, int V_, int N_, int threads_, int depth_, bool is_ahead_,
          bool keeps_weights_>
struct stream_shape {
    using A = A_;
    using T = T_;
    static constexpr int V = V_;
    static constexpr int N = N_;
    static constexpr int threads = threads_;
    static constexpr int depth = depth_;
    static constexpr bool is_ahead = is_ahead_;
    static constexpr bool keeps_weights = keeps_weights_;
    static constexpr int D = A::n_component;
    static constexpr int G = A::n_grade;
    static constexpr int P = A::n_path;
    static constexpr int lanes = N / V;
    static constexpr int n_warp = lanes / 32;
    static constexpr int n_group = threads / lanes;
    static constexpr uint32_t component_bytes = uint32_t(N * sizeof(T));
    static_assert(lanes % 32 == 0 && threads % lanes == 0 && n_group >= 1, "whole groups");
};

// Where a group finds its memory: barriers, sums of its warps, ring.
template <typename S, int n_tensor>
struct stream_memory {
    static constexpr int F = power_of_two_from(S::G);
    static constexpr int n_exchange = 4; // rows whose sums can be on their way at once
    static constexpr uint32_t row_bytes = n_tensor * S::D * S::component_bytes;
    static constexpr uint32_t barriers_bytes = (2 * S::depth + n_exchange) * 8;
    static constexpr uint32_t exchange_bytes = n_exchange * F * S::n_warp * 4;
    static constexpr uint32_t head_bytes = (barriers_bytes + exchange_bytes + 127) / 128 * 128;
    static constexpr uint32_t group_bytes = head_bytes + S::depth * row_bytes;
    static_assert(S::depth * row_bytes >= S::N * S::P * sizeof(float), "weight gradients, later");

    static size_t bytes()
    {
        const size_t weights = S::keeps_weights ? 0 : shared_weights<S::P, S::V>::bytes(S::N);
        return S::n_group * size_t(group_bytes) + weights;
    }
};

// Sums of a row over the warps of a group. Four rows' sums have their own place: a warp that writes
// those of row i knows that all have read those of row i - 4.
template <typename S, int n_tensor>
struct row_exchange {
    using memory = stream_memory<S, n_tensor>;
    static constexpr int F = memory::F;
    static constexpr int spread = 32 / F; // lanes that have the same value of a warp's totals
    static constexpr int n_own = S::n_warp > spread ? S::n_warp / spread : 1;
    static constexpr int n_lane = S::n_warp / n_own; // lanes that read a value's sums
    static constexpr uint32_t place_bytes = F * S::n_warp * 4;
    uint32_t barriers;
    int warp;
    int lane;
    uint32_t written; // what this lane writes and reads at place 0
    uint32_t read;

    __device__ __forceinline__ row_exchange(unsigned char *at, const row_group &group)
        : barriers(clifford_mma::shared_address(at) + 2 * S::depth * 8),
          warp(__shfl_sync(all_lanes, group.lane / 32, 0)), lane(group.lane % 32)
    {
        const uint32_t sums = clifford_mma::shared_address(at) + memory::barriers_bytes;
        const int value = lane / spread * S::n_warp;
        written = kept(sums + uint32_t(value + warp) * 4);
        read = kept(sums + uint32_t(value + lane % n_lane * n_own) * 4);
    }
    __device__ __forceinline__ void init() const
    {
        for (int i = 0; i < memory::n_exchange; i++) {
            clifford_mma::barrier_init(barriers + uint32_t(i) * 8, S::n_warp);
        }
    }
    __device__ __forceinline__ void publish(int i, const float (&values)[S::G]) const
    {
        const uint32_t place = uint32_t(i) % memory::n_exchange;
        float folded[F] = {};
#pragma unroll
        for (int m = 0; m < S::G; m++) {
            folded[m] = values[m];
        }
        fold_pairs<F / 2, 16>(folded, lane);
        if (lane % spread == 0) {
            store_shared(written + place * place_bytes, folded[0]);
        }
        __syncwarp();
        if (lane == 0) {
            clifford_mma::barrier_arrive(barriers + place * 8);
        }
    }
    __device__ __forceinline__ void wait(int i) const
    {
        const uint32_t place = uint32_t(i) % memory::n_exchange;
        clifford_mma::barrier_wait(barriers + place * 8, uint32_t(i) / memory::n_exchange & 1);
    }
    // The total of grade(), in every lane that has this grade.
    __device__ __forceinline__ float collect(int i) const
    {
        float own[n_own];
        load_shared(read + uint32_t(i) % memory::n_exchange * place_bytes, own);
        float total = own[0];
#pragma unroll
        for (int j = 1; j < n_own; j++) {
            total += own[j];
        }
#pragma unroll
        for (int step = n_lane / 2; step > 0; step /= 2) {
            total += __shfl_xor_sync(all_lanes, total, step);
        }
        return total;
    }
    __device__ __forceinline__ int grade() const
    {
        return lane / spread < S::G ? lane / spread : S::G - 1;
    }
    __device__ __forceinline__ void broadcast(float mine, float (&values)[S::G]) const
    {
#pragma unroll
        for (int g = 0; g < S::G; g++) {
            values[g] = __shfl_sync(all_lanes, mine, g * spread);
        }
    }
};

// The ring of a group. Copies of a row are started by one warp, another one every row.
template <typename S, int n_tensor>
struct stream_ring {
    using memory = stream_memory<S, n_tensor>;
    using T = typename S::T;
    uint32_t barriers; // full, then empty
    const unsigned char *rows;

    __device__ __forceinline__ explicit stream_ring(unsigned char *at)
        : barriers(clifford_mma::shared_address(at)), rows(at + memory::head_bytes)
    {
    }
    __device__ __forceinline__ void init() const
    {
        for (int i = 0; i < S::depth; i++) {
            clifford_mma::barrier_init(barriers + uint32_t(i) * 8, 1);
            clifford_mma::barrier_init(barriers + uint32_t(S::depth + i) * 8, S::n_warp);
        }
    }
    __device__ __forceinline__ void copy(const tess_cl_view &view, int row, uint32_t to,
                                         uint32_t barrier) const
    {
        const T *from = static_cast<const T *>(view.data) + int64_t(row) * view.stride[1];
#pragma unroll
        for (int k = 0; k < S::D; k++) {
            clifford_mma::copy_bulk(to + uint32_t(k) * S::component_bytes,
                                    from + k * view.stride[0], S::component_bytes, barrier);
        }
    }
    // By a whole warp, of which one thread is enough. The shuffles tell the compiler that addresses
    // are the same for all lanes; it would otherwise make a loop of every copy.
    __device__ __forceinline__ void issue(const sgp_args &a, int any_row, int any_place) const
    {
        const int row = __shfl_sync(all_lanes, any_row, 0);
        const int place = __shfl_sync(all_lanes, any_place, 0);
        if (!is_elected()) {
            return;
        }
        const uint32_t barrier = barriers + uint32_t(place) * 8;
        const uint32_t to =
            clifford_mma::shared_address(rows) + uint32_t(place) * memory::row_bytes;
        clifford_mma::barrier_expect(barrier, memory::row_bytes);
        copy(a.x, row, to, barrier);
        copy(a.y, row, to + S::D * S::component_bytes, barrier);
        if constexpr (n_tensor == 3) {
            copy(a.gz, row, to + 2 * S::D * S::component_bytes, barrier);
        }
    }
    __device__ __forceinline__ void wait_full(int place, uint32_t parity) const
    {
        clifford_mma::barrier_wait(barriers + uint32_t(place) * 8, parity);
    }
    __device__ __forceinline__ void leave(int place) const
    {
        clifford_mma::barrier_arrive(barriers + uint32_t(S::depth + place) * 8);
    }
    __device__ __forceinline__ void wait_empty(int place, uint32_t parity) const
    {
        clifford_mma::barrier_wait(barriers + uint32_t(S::depth + place) * 8, parity);
    }
    __device__ __forceinline__ void load(int place, int lane, pack<T, S::V> *items) const
    {
        const pack<T, S::V> *from =
            reinterpret_cast<const pack<T, S::V> *>(rows + place * memory::row_bytes) + lane;
#pragma unroll
        for (int k = 0; k < n_tensor * S::D; k++) {
            items[k] = from[k * S::lanes];
        }
    }
};

// A place of the ring and how often it has been used.
template <int depth>
struct ring_place {
    int at = 0;
    uint32_t parity = 0;

    __device__ __forceinline__ void next()
    {
        at++;
        if (at == depth) {
            at = 0;
            parity ^= 1;
        }
    }
};

// The weights of a thread's features.
template <typename S>
struct stream_weights {
    float kept[S::keeps_weights ? S::V : 1][S::P];
    const float *shared_at;

    __device__ __forceinline__ void init(const sgp_args &a, float *weights, int lane)
    {
        shared_at = weights;
        if constexpr (S::keeps_weights) {
#pragma unroll
            for (int v = 0; v < S::V; v++) {
#pragma unroll
                for (int p = 0; p < S::P; p++) {
                    const int64_t at = (lane * S::V + v) * a.weight.stride[0];
                    kept[v][p] = a.weight.data == nullptr
                                     ? 1.0f
                                     : load_item<float>(a.weight.data, a.weight_dtype,
                                                        at + p * a.weight.stride[1]);
                }
            }
        } else {
            shared_weights<S::P, S::V>::fill(a, weights);
        }
    }
    __device__ __forceinline__ void read(int lane, int v, float (&w)[S::P]) const
    {
        if constexpr (S::keeps_weights) {
#pragma unroll
            for (int p = 0; p < S::P; p++) {
                w[p] = kept[v][p];
            }
        } else {
            shared_weights<S::P, S::V>::read(shared_at, lane, v, w);
        }
    }
};

template <typename T>
__device__ __forceinline__ gate<float> stream_gate(float s)
{
    if constexpr (sizeof(T) == 2) {
        return brief_normal_gate(s);
    } else {
        return normal_gate(s);
    }
}

// A thread's items of a tensor of results. Strides in bytes fit 32 bits.
template <typename S>
struct stream_results {
    unsigned char *base;
    uint32_t row_stride;
    uint32_t component_stride;

    __device__ __forceinline__ stream_results(const tess_cl_view &view, int lane)
        : base(static_cast<unsigned char *>(view.data) + lane * S::V * sizeof(typename S::T)),
          row_stride(uint32_t(view.stride[1]) * uint32_t(sizeof(typename S::T))),
          component_stride(uint32_t(view.stride[0]) * uint32_t(sizeof(typename S::T)))
    {
    }
    __device__ __forceinline__ void store(int row, const pack<typename S::T, S::V> *items) const
    {
        using T = typename S::T;
        unsigned char *at = offset_by(base, uint32_t(row), row_stride);
#pragma unroll
        for (int k = 0; k < S::D; k++) {
            store_pack<T, S::V>(reinterpret_cast<T *>(at), items[k]);
            at = kept(at + component_stride);
        }
    }
};

// What a kernel's threads have in common: the group's memory, its rows, its turns.
template <typename S, int n_tensor>
struct stream_group {
    using memory = stream_memory<S, n_tensor>;
    row_group group;
    int index;
    unsigned char *own;
    stream_ring<S, n_tensor> ring;
    row_exchange<S, n_tensor> exchange;
    int step;
    int first;
    int n_row;

    // The shuffle tells the compiler that the group is the same for all lanes of a warp, and rows
    // and addresses with it.
    __device__ __forceinline__ stream_group(const sgp_args &a, unsigned char *bytes)
        : group(S::lanes), index(__shfl_sync(all_lanes, group.index, 0)),
          own(bytes + index * memory::group_bytes), ring(own), exchange(own, group),
          step(int(gridDim.x) * S::n_group), first(index * int(gridDim.x) + int(blockIdx.x)),
          n_row(int(a.n_row))
    {
    }
    // Barriers, the first rows, weights. Neighbouring groups take rows far apart: blocks then
    // differ by one row at most.
    __device__ __forceinline__ void start(const sgp_args &a, stream_weights<S> &weights,
                                          unsigned char *bytes) const
    {
        if (group.lane == 0) {
            ring.init();
            exchange.init();
            clifford_mma::barrier_init_fence();
        }
        __syncthreads();
        for (int i = exchange.warp; i < S::depth; i += S::n_warp) {
            if (first + i * step < n_row) {
                ring.issue(a, first + i * step, i);
            }
        }
        weights.init(a, reinterpret_cast<float *>(bytes + S::n_group * memory::group_bytes),
                     group.lane);
        __syncthreads();
    }
    __device__ __forceinline__ bool has_turn(int i) const
    {
        return exchange.warp == i % S::n_warp;
    }
};

// The product of a row's features, gated; sums of squares to the exchange.
template <typename S>
__device__ __forceinline__ void begin_forward(const stream_group<S, 2> &stream,
                                              const stream_weights<S> &weights, int i, int place,
                                              uint32_t parity, float (&o)[S::V][S::D])
{
    constexpr int V = S::V;
    constexpr int D = S::D;
    const typename S::A algebra;
    pack<typename S::T, V> items[2 * D];
    stream.ring.wait_full(place, parity);
    stream.ring.load(place, stream.group.lane, items);
    float sums[S::G] = {};
#pragma unroll
    for (int v = 0; v < V; v++) {
        float x[D];
        float y[D];
        float w[S::P];
        unpack<V, D>(items, v, x);
        unpack<V, D>(items + D, v, y);
        weights.read(stream.group.lane, v, w);
        algebra.product(x, y, w, o[v], all_paths());
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
    const int grade = stream.exchange.lane / stream.exchange.spread;
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
    sgp_stream_forward(const __grid_constant__ sgp_args a)
{
    extern __shared__ uint4 shared[];
    unsigned char *bytes = reinterpret_cast<unsigned char *>(shared);
    const stream_group<S, 2> stream(a, bytes);
    stream_weights<S> weights;
    stream.start(a, weights, bytes);
    ring_place<S::depth> begun;
    const stream_results<S> out(a.out, stream.group.lane);
    const float eps = float(a.eps);
    int freed = 0; // place of the row that is finished
    float o[S::V][S::D];
    if (stream.first < stream.n_row) {
        begin_forward<S>(stream, weights, 0, 0, 0, o);
    }
    int i = 0;
    for (int row = stream.first; row < stream.n_row; row += stream.step) {
        float next[S::V][S::D];
        begun.next();
        if (S::is_ahead && row + stream.step < stream.n_row) {
            begin_forward<S>(stream, weights, i + 1, begun.at, begun.parity, next);
        }
        // All warps have taken their items of row i.
        stream.exchange.wait(i);
        const int later = row + S::depth * stream.step;
        if (stream.has_turn(i) && later < stream.n_row) {
            stream.ring.issue(a, later, freed);
        }
        freed = freed + 1 == S::depth ? 0 : freed + 1;
        finish_forward<S>(a, stream, out, i, row, eps, o);
        i++;
        if (!S::is_ahead && row + stream.step < stream.n_row) {
            begin_forward<S>(stream, weights, i, begun.at, begun.parity, next);
        }
#pragma unroll
        for (int v = 0; v < S::V; v++) {
#pragma unroll
            for (int k = 0; k < S::D; k++) {
                o[v][k] = next[v][k];
            }
        }
    }
}

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
    pack<T, V> items[3 * D];
    stream.ring.load(place, stream.group.lane, items);
    const row_norm<S::G, float> norm = collect_norm<S>(stream, i, begun.r);
    __syncwarp();
    if (stream.exchange.lane == 0) {
        stream.ring.leave(place);
    }
    float gx[V][D];
    float gy[V][D];
#pragma unroll
    for (int v = 0; v < V; v++) {
        const row_feature<D> &feature = begun.features[v];
        float x[D];
        float y[D];
        float h[D];
        float w[S::P];
        unpack<V, D>(items, v, x);
        unpack<V, D>(items + D, v, y);
        unpack<V, D>(items + 2 * D, v, h);
        weights.read(stream.group.lane, v, w);
        norm_gradient(algebra, TESS_CL_NORM_EUCLID, norm, feature.scale, feature.s, h, h);
        finish_gradients(algebra, feature, x, y, w, h, totals[v], gx[v], gy[v]);
    }
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
        kept(static_cast<const float *>(a.statistics) + stream.exchange.grade() * a.n_row);
    const stream_results<S> left(a.gx, stream.group.lane);
    const stream_results<S> right(a.gy, stream.group.lane);
    stream_row<S> begun = {};
    ring_place<S::depth> beginning;
    ring_place<S::depth> finishing;
    ring_place<S::depth> emptying;
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
        if (i > 0) {
            const int later = next_row + (S::depth - 2) * stream.step;
            if (stream.has_turn(i) && later < stream.n_row) {
                stream.ring.wait_empty(emptying.at, emptying.parity);
                stream.ring.issue(a, later, emptying.at);
            }
            emptying.next();
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
    if (a.grad_weight.data != nullptr) {
        float *sums = reinterpret_cast<float *>(bytes + stream_memory<S, 3>::head_bytes);
        leave_row_partials<S::P, S::V>(a, stream.group, stream.group.lane * S::V, true, totals,
                                       sums);
    }
}

} // namespace clifford

#endif
