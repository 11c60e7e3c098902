// The shared memory of the stream kernels (sgp_stream.cuh): rows on their way, and the
// sums that warps exchange.
#ifndef TESS_CLIFFORD_SGP_STREAM_RING_CUH
#define TESS_CLIFFORD_SGP_STREAM_RING_CUH

#include "backend/cuda/clifford/common/box_copies.cuh"
#include "backend/cuda/clifford/sgp/sgp_rows.cuh"

namespace clifford
{

// A kernel's constants. V: neighbouring features of a thread; N: features of a row; depth: places
// of a group's ring; n_first: features that are finished before the next row begins, none or half
// of them; keeps_weights: in registers, not in shared memory; by_maps: the copy engine has a map of
// every tensor, and is told a row instead of where its components are.
template <typename A_, typename T_, int V_, int N_, int threads_, int depth_, int n_first_,
          bool keeps_weights_, bool by_maps_>
struct stream_shape {
    using A = A_;
    using T = T_;
    static constexpr int V = V_;
    static constexpr int N = N_;
    static constexpr int threads = threads_;
    static constexpr int depth = depth_;
    static constexpr int n_first = n_first_;
    static constexpr bool keeps_weights = keeps_weights_;
    static constexpr bool by_maps = by_maps_;
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

// A kernel's arguments; maps of x, y, and in the backward pass of gz, gx and gy.
template <int n_tensor>
struct stream_args {
    sgp_args a;
    CUtensorMap maps[n_tensor == 3 ? 5 : 2];
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
    // Barriers: that a place's items have come; that all have met at the end; that weight gradients
    // were handed on.
    static constexpr uint32_t met_at = S::depth * 8;
    static constexpr uint32_t handed_at = met_at + 8;
    static constexpr uint32_t exchange_at = (handed_at + 8 + 15) / 16 * 16;
    static constexpr uint32_t sums_bytes = F * S::n_warp * 4;
    static constexpr uint32_t exchange_place_bytes = sums_bytes + 16;
    static constexpr uint32_t head_bytes =
        (exchange_at + n_exchange * exchange_place_bytes + 127) / 128 * 128;
    static constexpr uint32_t group_bytes = head_bytes + ring_bytes;
    static_assert(n_tensor == 2 || ring_bytes >= S::N * S::P * sizeof(float),
                  "weight gradients lie where rows were");

    static size_t bytes()
    {
        const size_t weights = S::keeps_weights ? 0 : shared_weights<S::P, S::V>::bytes(S::N);
        return S::n_group * size_t(group_bytes) + weights;
    }
};

// Sums of a row over the warps of a group. Four rows' sums have their own place, with a barrier
// behind them: a warp that writes those of row i knows that all have read those of row i - 4.
// Every thread arrives, for what it has read and written before.
template <typename S, int n_tensor>
struct row_exchange {
    using memory = stream_memory<S, n_tensor>;
    static constexpr unsigned F = memory::F;
    static constexpr unsigned spread = 32 / F; // lanes that have the same value of a warp's totals
    static constexpr int n_own = S::n_warp > int(spread) ? S::n_warp / int(spread) : 1;
    static constexpr unsigned n_lane = S::n_warp / n_own; // lanes that read a value's sums
    uint32_t places;
    int warp;
    unsigned lane;

    __device__ __forceinline__ row_exchange(unsigned char *at, const row_group &group)
        : places(clifford_mma::shared_address(at) + memory::exchange_at),
          warp(__shfl_sync(all_lanes, group.lane / 32, 0)), lane(unsigned(group.lane) % 32)
    {
    }
    __device__ __forceinline__ uint32_t place(int i) const
    {
        return places + uint32_t(i) % memory::n_exchange * memory::exchange_place_bytes;
    }
    __device__ __forceinline__ static uint32_t barrier(uint32_t place)
    {
        return place + memory::sums_bytes;
    }
    __device__ __forceinline__ void init() const
    {
        for (int i = 0; i < memory::n_exchange; i++) {
            clifford_mma::barrier_init(barrier(place(i)), S::lanes);
        }
    }
    __device__ __forceinline__ void publish(int i, const float (&values)[S::G]) const
    {
        const uint32_t at = place(i);
        float folded[F] = {};
#pragma unroll
        for (int m = 0; m < S::G; m++) {
            folded[m] = values[m];
        }
        fold_pairs<int(F) / 2, 16>(folded, int(lane));
        if (lane % spread == 0) {
            store_shared(at + uint32_t(warp) * 4 + lane / spread * (S::n_warp * 4), folded[0]);
        }
        clifford_mma::barrier_arrive(barrier(at));
    }
    __device__ __forceinline__ void wait(int i) const
    {
        clifford_mma::barrier_wait(barrier(place(i)), uint32_t(i) / memory::n_exchange & 1);
    }
    // The total of grade(), in every lane that has this grade.
    __device__ __forceinline__ float collect(int i) const
    {
        float own[n_own];
        load_shared(place(i) + (lane / spread * S::n_warp + lane % n_lane * n_own) * 4, own);
        float total = own[0];
#pragma unroll
        for (int j = 1; j < n_own; j++) {
            total += own[j];
        }
#pragma unroll
        for (int step = int(n_lane) / 2; step > 0; step /= 2) {
            total += __shfl_xor_sync(all_lanes, total, step);
        }
        return total;
    }
    __device__ __forceinline__ int grade() const
    {
        return int(min(lane / spread, unsigned(S::G) - 1));
    }
    __device__ __forceinline__ void broadcast(float mine, float (&values)[S::G]) const
    {
#pragma unroll
        for (int g = 0; g < S::G; g++) {
            values[g] = __shfl_sync(all_lanes, mine, g * int(spread));
        }
    }
};

// The ring of a group, whose rows have numbers i from 0. Copies of a row are started by one warp,
// another one every row.
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
    __device__ __forceinline__ uint32_t barrier_of(int i) const
    {
        return barriers + uint32_t(i) % S::depth * 8;
    }
    __device__ __forceinline__ static uint32_t pair_at(int i)
    {
        return uint32_t(i) % S::depth * memory::pair_bytes;
    }
    __device__ __forceinline__ static uint32_t gradient_at(int i)
    {
        return memory::gradients_at + uint32_t(i) % memory::gradient_depth * memory::tensor_bytes;
    }
    // A row of tensor m, all components, to where it is wanted.
    __device__ __forceinline__ void copy(const stream_args<n_tensor> &args, int m, int row,
                                         uint32_t to, uint32_t barrier) const
    {
        if constexpr (S::by_maps) {
            clifford_mma::copy_box(to, &args.maps[m], 0, row, 0, barrier);
        } else {
            const tess_cl_view &view = m == 0 ? args.a.x : m == 1 ? args.a.y : args.a.gz;
            const T *from = static_cast<const T *>(view.data) + int64_t(row) * view.stride[1];
#pragma unroll
            for (int k = 0; k < S::D; k++) {
                clifford_mma::copy_bulk(to + uint32_t(k) * S::component_bytes,
                                        from + k * view.stride[0], S::component_bytes, barrier);
            }
        }
    }
    // By a whole warp, of which one thread is enough. The shuffles tell the compiler that addresses
    // are the same for all lanes; it would otherwise make a loop of every copy.
    __device__ __forceinline__ void bring(const stream_args<n_tensor> &args, int any_row,
                                          int any_i) const
    {
        const int row = __shfl_sync(all_lanes, any_row, 0);
        const int i = __shfl_sync(all_lanes, any_i, 0);
        if (!is_elected()) {
            return;
        }
        const uint32_t barrier = barrier_of(i);
        const uint32_t to = clifford_mma::shared_address(rows);
        clifford_mma::barrier_expect(barrier, n_tensor * memory::tensor_bytes);
        copy(args, 0, row, to + pair_at(i), barrier);
        copy(args, 1, row, to + pair_at(i) + memory::tensor_bytes, barrier);
        if constexpr (n_tensor == 3) {
            copy(args, 2, row, to + gradient_at(i), barrier);
        }
    }
    // A row of gx (m = 3) or gy (4), all components, from where it lies.
    __device__ __forceinline__ void copy_out(const stream_args<n_tensor> &args, int m, int row,
                                             uint32_t from) const
    {
        const tess_cl_view &view = m == 3 ? args.a.gx : args.a.gy;
        if (view.data == nullptr) {
            return;
        }
        if constexpr (S::by_maps) {
            clifford_mma::store_box(&args.maps[m], 0, row, 0, from);
        } else {
            T *to = static_cast<T *>(view.data) + int64_t(row) * view.stride[1];
#pragma unroll
            for (int k = 0; k < S::D; k++) {
                clifford_mma::copy_bulk_out(to + k * view.stride[0],
                                            from + uint32_t(k) * S::component_bytes,
                                            S::component_bytes);
            }
        }
    }
    // Gradients that lie where x and y were, to memory. By a whole warp, as bring().
    __device__ __forceinline__ void send(const stream_args<n_tensor> &args, int any_row,
                                         int any_i) const
    {
        const int row = __shfl_sync(all_lanes, any_row, 0);
        const int i = __shfl_sync(all_lanes, any_i, 0);
        if (!is_elected()) {
            return;
        }
        const uint32_t from = clifford_mma::shared_address(rows) + pair_at(i);
        copy_out(args, 3, row, from);
        copy_out(args, 4, row, from + memory::tensor_bytes);
        clifford_mma::commit_bulk_out();
    }
    __device__ __forceinline__ void wait(int i) const
    {
        clifford_mma::barrier_wait(barrier_of(i), uint32_t(i) / S::depth & 1);
    }
    // A thread's items of x, component by component; y follows.
    __device__ __forceinline__ pack<T, S::V> *pair_items(int i, int lane) const
    {
        return reinterpret_cast<pack<T, S::V> *>(rows + pair_at(i)) + lane;
    }
    __device__ __forceinline__ void load_pair(int i, int lane, pack<T, S::V> *to) const
    {
        const pack<T, S::V> *from = pair_items(i, lane);
#pragma unroll
        for (int k = 0; k < 2 * S::D; k++) {
            to[k] = from[k * S::lanes];
        }
    }
    __device__ __forceinline__ void load_gradient(int i, int lane, pack<T, S::V> *to) const
    {
        const pack<T, S::V> *from =
            reinterpret_cast<const pack<T, S::V> *>(rows + gradient_at(i)) + lane;
#pragma unroll
        for (int k = 0; k < S::D; k++) {
            to[k] = from[k * S::lanes];
        }
    }
};

} // namespace clifford

#endif
