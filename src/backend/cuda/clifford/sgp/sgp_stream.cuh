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

#include "backend/cuda/clifford/sgp/sgp_stream_ring.cuh"

namespace clifford
{

template <typename T>
__device__ __forceinline__ gate<float> stream_gate(float s)
{
    if constexpr (sizeof(T) == 2) {
        return brief_normal_gate(s);
    } else {
        return normal_gate(s);
    }
}

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
#pragma unroll 1
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

// What a kernel's threads have in common: the group's memory, its rows, its turns.
template <typename S, int n_tensor>
struct stream_group {
    using memory = stream_memory<S, n_tensor>;
    // Rows that the cache is asked for while the kernel before ends: the forward pass is limited by
    // memory, the backward pass less.
    static constexpr int n_expected = n_tensor == 2 ? 2 : 1;
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
        // A shuffle to itself: the compiler would compute it again and again in every row.
        group.lane = __shfl_sync(all_lanes, group.lane, int(threadIdx.x % 32));
        return group;
    }
    // Neighbouring groups take rows far apart: blocks then differ by one row at most. The last rows
    // are taken first in the forward pass: they are what a cache still has of the kernel that wrote
    // x and y; and first rows first in the backward pass, as the forward pass ended with them. The
    // shuffle tells the compiler that the group is the same for all lanes of a warp, and rows and
    // addresses with it.
    __device__ __forceinline__ stream_group(const sgp_args &a, unsigned char *bytes)
        : group(spread_group()), index(__shfl_sync(all_lanes, group.index, 0)),
          own(bytes + index * memory::group_bytes), ring(own), exchange(own, group),
          step(int(gridDim.x) * S::n_group), first(index * int(gridDim.x) + int(blockIdx.x)),
          n_row(int(a.n_row))
    {
        if constexpr (n_tensor == 2) {
            step = -step;
            first = n_row - 1 - first;
        }
    }
    // Whether that is a row: behind a group's last one are numbers past the end, or below 0.
    __device__ __forceinline__ bool has(int row) const
    {
        return unsigned(row) < unsigned(n_row);
    }
    // All threads of the group, the first time and the second. Every thread arrives: what is
    // ordered here are words that others have written.
    __device__ __forceinline__ void meet(uint32_t time) const
    {
        const uint32_t barrier = clifford_mma::shared_address(own) + memory::met_at;
        clifford_mma::barrier_arrive(barrier);
        clifford_mma::barrier_wait(barrier, time);
    }
    // The barrier of a group that has handed its weight gradients on.
    __device__ __forceinline__ uint32_t handed(int of) const
    {
        return clifford_mma::shared_address(own) + uint32_t(of - index) * memory::group_bytes +
               memory::handed_at;
    }
    // Rows that there is room for, but the first.
    __device__ __forceinline__ void bring_more(const stream_args<n_tensor> &args) const
    {
#pragma unroll 1
        for (int i = 1 + exchange.warp; i < memory::n_at_start; i += S::n_warp) {
            if (has(first + i * step)) {
                ring.bring(args, first + i * step, i);
            }
        }
    }
    // r of a row, of this lane's grade.
    __device__ __forceinline__ const float *kept_of(const sgp_args &a, int row) const
    {
        return static_cast<const float *>(a.statistics) + uint32_t(exchange.grade() * n_row + row);
    }
    __device__ __forceinline__ float kept(const sgp_args &a, int row) const
    {
        return __ldcg(kept_of(a, row));
    }
    // Has the second-level cache fetch a row and what was kept of it. That is no access as the
    // memory knows it: what a kernel before this one still writes, is seen.
    __device__ __forceinline__ void expect(const sgp_args &a, int row) const
    {
        constexpr int n_line = int(S::component_bytes) / 128;
        if (!has(row)) {
            return;
        }
#pragma unroll 1
        for (int i = group.lane; i < n_tensor * S::D * n_line; i += S::lanes) {
            const int k = i / n_line;
            const tess_cl_view &view = k < S::D ? a.x : k < 2 * S::D ? a.y : a.gz;
            const typename S::T *from = static_cast<const typename S::T *>(view.data) +
                                        int64_t(row) * view.stride[1] + k % S::D * view.stride[0];
            prefetch(reinterpret_cast<const unsigned char *>(from) + i % n_line * 128);
        }
        if (n_tensor == 3 && exchange.warp == 0) {
            prefetch(kept_of(a, row));
        }
    }
    // Barriers, weights, the first rows; weights and r of the first row are asked for before the
    // memory is busy, and rows but the first one behind them. Answers that r in the backward pass.
    __device__ __forceinline__ float start(const stream_args<n_tensor> &args,
                                           stream_weights<S> &weights, unsigned char *bytes) const
    {
        const sgp_args &a = args.a;
        let_next_start();
        if (S::by_maps && threadIdx.x < sizeof(args.maps) / sizeof(args.maps[0])) {
            clifford_mma::prefetch_map(&args.maps[threadIdx.x]);
        }
        weights.expect(a);
#pragma unroll 1 // of what happens once, instructions have to be fetched
        for (int i = 0; i < n_expected; i++) {
            expect(a, first + i * step);
        }
        if (group.lane == 0) {
            ring.init();
            exchange.init();
            clifford_mma::barrier_init(clifford_mma::shared_address(own) + memory::met_at,
                                       S::lanes);
            clifford_mma::barrier_init(handed(index), S::lanes);
            clifford_mma::barrier_init_fence();
        }
        __syncthreads();
        wait_for_previous();
        if (exchange.warp == 0 && has(first)) {
            ring.bring(args, first, 0);
        }
        const float r = n_tensor == 3 && has(first) ? kept(a, first) : 0.0f;
        weights.init(a, reinterpret_cast<float *>(bytes + S::n_group * memory::group_bytes),
                     group.lane);
        bring_more(args);
        __syncthreads();
        return r;
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
