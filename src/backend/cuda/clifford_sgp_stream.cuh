// The weighted product of rows whose width is known to the compiler, for what layers ask for: gelu,
// all paths, the euclidean norm. Rows come through a ring in shared memory, and a group of threads
// has two of them under way: it begins a row before it finishes the one before, so that nobody
// waits for the sums over a row. With everything constant the loop has next to no branches.
//
// A group's row i:
//   begin   items from their places in the ring, product, sums over the warp to the exchange
//   finish  sums of all warps from the exchange, norm, results
#ifndef TESS_CLIFFORD_SGP_STREAM_CUH
#define TESS_CLIFFORD_SGP_STREAM_CUH

#include "backend/cuda/clifford_sgp_rows.cuh"

namespace clifford
{

// A kernel's constants. V: neighbouring features of a thread; N: features of a row; depth: places
// of a group's ring; n_first: features that are finished before the next row begins, none or half
// of them; keeps_weights: in registers, not in shared memory.
template <typename A_, typename T_, int V_, int N_, int threads_, int depth_, int n_first_,
          bool keeps_weights_>
struct stream_shape {
    using A = A_;
    using T = T_;
    static constexpr int V = V_;
    static constexpr int N = N_;
    static constexpr int threads = threads_;
    static constexpr int depth = depth_;
    static constexpr int n_first = n_first_;
    static constexpr bool keeps_weights = keeps_weights_;
    static constexpr int D = A::n_component;
    static constexpr int G = A::n_grade;
    static constexpr int P = A::n_path;
    static constexpr int lanes = N / V;
    static constexpr int n_warp = lanes / 32;
    static constexpr int n_group = threads / lanes;
    static constexpr uint32_t component_bytes = uint32_t(N * sizeof(T));
    static_assert(n_first == 0 || (2 * n_first == V && n_first <= 2), "none or half");
    static_assert(lanes % 32 == 0 && threads % lanes == 0 && n_group >= 1, "whole groups");
};

// Where a group finds its memory: barriers, sums of its warps, ring.
template <typename S, int n_tensor>
struct stream_memory {
    static constexpr int F = power_of_two_from(S::G);
    static constexpr int n_exchange = 4; // rows whose sums can be on their way at once
    static constexpr uint32_t tensor_bytes = S::D * S::component_bytes;
    static constexpr uint32_t pair_bytes = 2 * tensor_bytes; // x and y
    // gz is read for the last time before the next row begins: one place less.
    static constexpr int gradient_depth = S::depth - 1;
    static constexpr uint32_t gradients_at = S::depth * pair_bytes;
    static constexpr int n_at_start = n_tensor == 3 ? gradient_depth : S::depth; // rows
    static constexpr uint32_t ring_bytes =
        gradients_at + (n_tensor == 3 ? gradient_depth * tensor_bytes : 0);
    static constexpr uint32_t barriers_bytes = (S::depth + n_exchange) * 8;
    static constexpr uint32_t exchange_bytes = n_exchange * F * S::n_warp * 4;
    static constexpr uint32_t head_bytes = (barriers_bytes + exchange_bytes + 127) / 128 * 128;
    static constexpr uint32_t group_bytes = head_bytes + ring_bytes;
    static_assert(n_tensor == 2 || ring_bytes >= S::N * S::P * sizeof(float),
                  "weight gradients lie where rows were");

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
        : barriers(clifford_mma::shared_address(at) + S::depth * 8),
          warp(__shfl_sync(all_lanes, group.lane / 32, 0)), lane(group.lane % 32)
    {
        const uint32_t sums = clifford_mma::shared_address(at) + memory::barriers_bytes;
        const int value = lane / spread * S::n_warp;
        written = kept(sums + uint32_t(value + warp) * 4);
        read = sums + uint32_t(value + lane % n_lane * n_own) * 4;
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
    uint32_t barriers; // that a place's items have come
    unsigned char *rows;

    __device__ __forceinline__ explicit stream_ring(unsigned char *at)
        : barriers(clifford_mma::shared_address(at)), rows(at + memory::head_bytes)
    {
    }
    __device__ __forceinline__ void init() const
    {
        for (int i = 0; i < S::depth; i++) {
            clifford_mma::barrier_init(barriers + uint32_t(i) * 8, 1);
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
    __device__ __forceinline__ void bring(const sgp_args &a, int any_row, int any_place,
                                          int any_gradient_place) const
    {
        const int row = __shfl_sync(all_lanes, any_row, 0);
        const int place = __shfl_sync(all_lanes, any_place, 0);
        const int gradient_place = __shfl_sync(all_lanes, any_gradient_place, 0);
        if (!is_elected()) {
            return;
        }
        const uint32_t barrier = barriers + uint32_t(place) * 8;
        const uint32_t ring = clifford_mma::shared_address(rows);
        const uint32_t to = ring + uint32_t(place) * memory::pair_bytes;
        clifford_mma::barrier_expect(barrier, n_tensor * memory::tensor_bytes);
        copy(a.x, row, to, barrier);
        copy(a.y, row, to + memory::tensor_bytes, barrier);
        if constexpr (n_tensor == 3) {
            copy(a.gz, row,
                 ring + memory::gradients_at + uint32_t(gradient_place) * memory::tensor_bytes,
                 barrier);
        }
    }
    __device__ __forceinline__ void copy_out(const tess_cl_view &view, int row, uint32_t from) const
    {
        if (view.data == nullptr) {
            return;
        }
        T *to = static_cast<T *>(view.data) + int64_t(row) * view.stride[1];
#pragma unroll
        for (int k = 0; k < S::D; k++) {
            clifford_mma::copy_bulk_out(to + k * view.stride[0],
                                        from + uint32_t(k) * S::component_bytes,
                                        S::component_bytes);
        }
    }
    // Gradients that lie where x and y were, to memory. By a whole warp, as bring().
    __device__ __forceinline__ void send(const sgp_args &a, int any_row, int any_place) const
    {
        const int row = __shfl_sync(all_lanes, any_row, 0);
        const int place = __shfl_sync(all_lanes, any_place, 0);
        if (!is_elected()) {
            return;
        }
        const uint32_t from =
            clifford_mma::shared_address(rows) + uint32_t(place) * memory::pair_bytes;
        copy_out(a.gx, row, from);
        copy_out(a.gy, row, from + memory::tensor_bytes);
        clifford_mma::commit_bulk_out();
    }
    __device__ __forceinline__ void wait(int place, uint32_t parity) const
    {
        clifford_mma::barrier_wait(barriers + uint32_t(place) * 8, parity);
    }
    // A thread's items of x, component by component; y follows.
    __device__ __forceinline__ pack<T, S::V> *pair_items(int place, int lane) const
    {
        return reinterpret_cast<pack<T, S::V> *>(rows + place * memory::pair_bytes) + lane;
    }
    __device__ __forceinline__ void load_pair(int place, int lane, pack<T, S::V> *to) const
    {
        const pack<T, S::V> *from = pair_items(place, lane);
#pragma unroll
        for (int k = 0; k < 2 * S::D; k++) {
            to[k] = from[k * S::lanes];
        }
    }
    __device__ __forceinline__ void load_gradient(int place, int lane, pack<T, S::V> *to) const
    {
        const pack<T, S::V> *from =
            reinterpret_cast<const pack<T, S::V> *>(rows + memory::gradients_at +
                                                    place * memory::tensor_bytes) +
            lane;
#pragma unroll
        for (int k = 0; k < S::D; k++) {
            to[k] = from[k * S::lanes];
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
    __device__ __forceinline__ ring_place before() const
    {
        ring_place place;
        place.at = at == 0 ? depth - 1 : at - 1;
        place.parity = at == 0 ? parity ^ 1 : parity;
        return place;
    }
};

// The weights of a thread's features.
template <typename S>
struct stream_weights {
    float own[S::keeps_weights ? S::V * S::P : 1];
    const float *shared_at;

    // All loads before the first use: one after the other they would take longer than the rows.
    template <typename W>
    __device__ __forceinline__ void take(const tess_cl_view &view, int lane)
    {
        constexpr int n = S::V * S::P;
        constexpr int most = 16 / int(sizeof(W));
        constexpr int width = n % most == 0 ? most : most / 2;
        const W *from = static_cast<const W *>(view.data);
        alignas(16) W items[n];
        if (view.stride[1] == 1 && view.stride[0] == S::P &&
            reinterpret_cast<uintptr_t>(from) % 16 == 0) {
            const pack<W, width> *packs = reinterpret_cast<const pack<W, width> *>(from + lane * n);
#pragma unroll
            for (int i = 0; i < n / width; i++) {
                *reinterpret_cast<pack<W, width> *>(items + i * width) = packs[i];
            }
        } else {
#pragma unroll
            for (int i = 0; i < n; i++) {
                const int64_t at = (lane * S::V + i / S::P) * view.stride[0];
                items[i] = from[at + i % S::P * view.stride[1]];
            }
        }
#pragma unroll
        for (int i = 0; i < n; i++) {
            own[i] = widen(items[i]);
        }
    }
    // Asks for the weights of the block, where they lie together.
    __device__ __forceinline__ static void expect(const sgp_args &a)
    {
        const tess_cl_view &view = a.weight;
        if (view.data != nullptr && view.stride[1] == 1 && view.stride[0] == S::P) {
            const int n_byte = S::N * S::P * (a.weight_dtype == TESS_F32 ? 4 : 2);
            for (int i = int(threadIdx.x) * 128; i < n_byte; i += S::threads * 128) {
                prefetch(static_cast<const unsigned char *>(view.data) + i);
            }
        }
    }
    __device__ __forceinline__ void init(const sgp_args &a, float *weights, int lane)
    {
        shared_at = weights;
        if constexpr (!S::keeps_weights) {
            shared_weights<S::P, S::V>::fill(a, weights);
        } else if (a.weight.data == nullptr) {
#pragma unroll
            for (int i = 0; i < S::V * S::P; i++) {
                own[i] = 1.0f;
            }
        } else if (a.weight_dtype == TESS_F32) {
            take<float>(a.weight, lane);
        } else {
            take<typename S::T>(a.weight, lane);
        }
    }
    __device__ __forceinline__ void read(int lane, int v, float (&w)[S::P]) const
    {
        if constexpr (S::keeps_weights) {
#pragma unroll
            for (int p = 0; p < S::P; p++) {
                w[p] = own[v * S::P + p];
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

    // Groups take turns with sets of four warps, one per scheduler, as schedulers prefer early
    // warps.
    __device__ __forceinline__ static row_group spread_group()
    {
        row_group group(S::lanes);
        if constexpr (S::n_warp % 4 == 0) {
            const unsigned set = threadIdx.x / 128;
            group.index = int(set % S::n_group);
            group.lane = int(set / S::n_group * 128 + threadIdx.x % 128);
        }
        return group;
    }
    // Neighbouring groups take rows far apart: blocks then differ by one row at most. The shuffle
    // tells the compiler that the group is the same for all lanes of a warp, and rows and addresses
    // with it.
    __device__ __forceinline__ stream_group(const sgp_args &a, unsigned char *bytes)
        : group(spread_group()), index(__shfl_sync(all_lanes, group.index, 0)),
          own(bytes + index * memory::group_bytes), ring(own), exchange(own, group),
          step(int(gridDim.x) * S::n_group), first(index * int(gridDim.x) + int(blockIdx.x)),
          n_row(int(a.n_row))
    {
    }
    // Rows that there is room for, but the first.
    __device__ __forceinline__ void bring_more(const sgp_args &a) const
    {
        for (int i = 1 + exchange.warp; i < memory::n_at_start; i += S::n_warp) {
            if (first + i * step < n_row) {
                ring.bring(a, first + i * step, i, i);
            }
        }
    }
    // r of a row, of this lane's grade. The backward pass has the last row first, r not.
    __device__ __forceinline__ const float *kept_of(const sgp_args &a, int row) const
    {
        return static_cast<const float *>(a.statistics) + exchange.grade() * a.n_row +
               (n_row - 1 - row);
    }
    // Has the second-level cache fetch the group's first row and what was kept of it. That is no
    // access as the memory knows it: what a kernel before this one still writes, is seen.
    __device__ __forceinline__ void expect(const sgp_args &a) const
    {
        constexpr int n_line = int(S::component_bytes) / 128;
        for (int i = group.lane; i < n_tensor * S::D * n_line && first < n_row; i += S::lanes) {
            const int k = i / n_line;
            const tess_cl_view &view = k < S::D ? a.x : k < 2 * S::D ? a.y : a.gz;
            const typename S::T *from = static_cast<const typename S::T *>(view.data) +
                                        int64_t(first) * view.stride[1] + k % S::D * view.stride[0];
            prefetch(reinterpret_cast<const unsigned char *>(from) + i % n_line * 128);
        }
        if (n_tensor == 3 && exchange.warp == 0 && first < n_row) {
            prefetch(kept_of(a, first));
        }
    }
    // Barriers, weights, the first rows; weights are asked for before the memory is busy, and rows
    // but the first one behind them.
    __device__ __forceinline__ void start(const sgp_args &a, stream_weights<S> &weights,
                                          unsigned char *bytes) const
    {
        let_next_start();
        weights.expect(a);
        expect(a);
        if (group.lane == 0) {
            ring.init();
            exchange.init();
            clifford_mma::barrier_init_fence();
        }
        __syncthreads();
        wait_for_previous();
        if (exchange.warp == 0 && first < n_row) {
            ring.bring(a, first, 0, 0);
        }
        weights.init(a, reinterpret_cast<float *>(bytes + S::n_group * memory::group_bytes),
                     group.lane);
        bring_more(a);
        __syncthreads();
    }
    __device__ __forceinline__ bool has_turn(int i) const
    {
        return exchange.warp == i % S::n_warp;
    }
};

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
        unsigned char *at = base + uint64_t(uint32_t(row)) * row_stride;
#pragma unroll
        for (int k = 0; k < S::D; k++) {
            store_pack<T, S::V>(reinterpret_cast<T *>(at), items[k]);
            at = kept(at + component_stride);
        }
    }
};

} // namespace clifford

#endif
