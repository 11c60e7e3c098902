// Where a row kernel's items come from: straight from memory, the next row's while this one is
// finished (row_loads), or through a ring in shared memory (row_ring).
#ifndef TESS_CLIFFORD_SGP_SOURCE_CUH
#define TESS_CLIFFORD_SGP_SOURCE_CUH

#include "backend/cuda/clifford/common/mma.cuh"
#include "backend/cuda/clifford/sgp/sgp.cuh"

namespace clifford
{

// Component-major rows: V neighbouring features of a component at once.
struct feature_packs {
    template <typename T, int V, int D>
    __device__ __forceinline__ static void load(const tess_cl_view &view, int64_t row, int n,
                                                pack<T, V> *items)
    {
        const T *at = static_cast<const T *>(view.data) + (row * view.stride[1] + n);
#pragma unroll
        for (int k = 0; k < D; k++) {
            items[k] = load_pack<T, V>(at + k * view.stride[0]);
        }
    }
    template <typename T, int V, int D>
    __device__ __forceinline__ static void store(const tess_cl_view &view, int64_t row, int n,
                                                 const pack<T, V> *items)
    {
        T *at = static_cast<T *>(view.data) + (row * view.stride[1] + n);
#pragma unroll
        for (int k = 0; k < D; k++) {
            store_pack<T, V>(at + k * view.stride[0], items[k]);
        }
    }
};

// Channel-last rows: all components of a feature, which are neighbours, at once. V is 1.
struct component_packs {
    template <typename T, int V, int D>
    __device__ __forceinline__ static void load(const tess_cl_view &view, int64_t row, int n,
                                                pack<T, V> *items)
    {
        constexpr int width = D * int(sizeof(T)) < 16 ? D : 16 / int(sizeof(T));
        const T *at =
            static_cast<const T *>(view.data) + (row * view.stride[1] + n * view.stride[2]);
#pragma unroll
        for (int k = 0; k < D; k += width) {
            const pack<T, width> some = load_pack<T, width>(at + k);
#pragma unroll
            for (int i = 0; i < width; i++) {
                items[k + i].at[0] = some.at[i];
            }
        }
    }
    template <typename T, int V, int D>
    __device__ __forceinline__ static void store(const tess_cl_view &view, int64_t row, int n,
                                                 const pack<T, V> *items)
    {
        constexpr int width = D * int(sizeof(T)) < 16 ? D : 16 / int(sizeof(T));
        T *at = static_cast<T *>(view.data) + (row * view.stride[1] + n * view.stride[2]);
#pragma unroll
        for (int k = 0; k < D; k += width) {
            pack<T, width> some;
#pragma unroll
            for (int i = 0; i < width; i++) {
                some.at[i] = items[k + i].at[0];
            }
            store_pack<T, width>(at + k, some);
        }
    }
};

// Rows straight from memory. With is_ahead, refill() asks for the next row as soon as this one has
// been used.
template <typename Layout, typename T_, int V_, int D, int n_tensor, bool is_ahead>
struct row_loads {
    using T = T_;
    static constexpr int V = V_;
    static constexpr bool is_there = true;
    using layout = Layout;
    const sgp_args &a;
    int n;
    bool is_active;

    __device__ __forceinline__ row_loads(const sgp_args &args, const row_group &group, void *)
        : a(args), n(group.lane * V), is_active(group.lane * V < args.n)
    {
    }
    __device__ __forceinline__ void load(int64_t row, pack<T, V> *items) const
    {
        if (is_active && row < a.n_row) {
            Layout::template load<T, V, D>(a.x, row, n, items);
            Layout::template load<T, V, D>(a.y, row, n, items + D);
            if constexpr (n_tensor == 3) {
                Layout::template load<T, V, D>(a.gz, row, n, items + 2 * D);
            }
        }
    }
    __device__ __forceinline__ void start(int64_t row, int64_t, pack<T, V> *items) const
    {
#pragma unroll
        for (int k = 0; k < n_tensor * D; k++) {
            items[k] = zero_pack<T, V>();
        }
        if constexpr (is_ahead) {
            load(row, items);
        }
    }
    __device__ __forceinline__ void take(int64_t row, pack<T, V> *items) const
    {
        if constexpr (!is_ahead) {
            load(row, items);
        }
    }
    __device__ __forceinline__ void refill(int64_t next_row, pack<T, V> *items) const
    {
        if constexpr (is_ahead) {
            load(next_row, items);
        }
    }
    __device__ __forceinline__ float value(const pack<T, V> *items, int k, int v) const
    {
        return widen(items[k].at[v]);
    }
    __device__ __forceinline__ void ask(int64_t, int64_t) const
    {
    }
    __device__ __forceinline__ void release() const
    {
    }
    __host__ __device__ static constexpr size_t shared_bytes(int64_t, int)
    {
        return 0;
    }
};

// Rows through a ring in shared memory, `depth` places per group, that the copy engine fills: the
// warps of a group start the copies of a few components each, right behind a barrier of the group
// that tells that nobody reads the place any more. Where there is none, every thread starts copies
// of 16 bytes. The forward pass moves a row to registers; the
// backward pass reads it in place, twice, and so gives the place back one row later.
template <typename T_, int V_, int D, int n_tensor, int depth>
struct row_ring {
    using T = T_;
    static constexpr int V = V_;
    static constexpr bool is_there = TESS_CUDA_HAS_MATRIX;
    static constexpr int n_item = n_tensor * D;
    static constexpr bool is_in_place = n_tensor == 3;
    static constexpr int n_ahead = is_in_place ? depth - 1 : depth; // rows asked for at the start
    static_assert(n_ahead > 0, "a row must be on its way");
    using layout = feature_packs;
    const sgp_args &a;
    int n;
    bool is_active;
    int lane;
    int lanes;
    int place = 0;
    uint32_t parity = 0;
    uint32_t barriers;
    const unsigned char *rows;

    __device__ __forceinline__ row_ring(const sgp_args &args, const row_group &group, void *memory)
        : a(args), n(group.lane * V), is_active(group.lane * V < args.n), lane(group.lane),
          lanes(group.lanes),
          barriers(clifford_mma::shared_address(memory) + uint32_t(group.index * depth) * 8),
          rows(static_cast<unsigned char *>(memory) + head_bytes(group.count) +
               size_t(group.index) * depth * row_bytes())
    {
        if (group.lane == 0) {
            for (int i = 0; i < depth; i++) {
                clifford_mma::barrier_init(barriers + uint32_t(i) * 8,
                                           TESS_CUDA_HAS_GROUPS ? 1 : lanes);
            }
            clifford_mma::barrier_init_fence();
        }
    }
    __host__ __device__ static constexpr size_t head_bytes(int n_group)
    {
        return (size_t(n_group) * depth * 8 + 127) / 128 * 128;
    }
    __host__ __device__ static constexpr size_t shared_bytes(int64_t size, int n_group)
    {
        return head_bytes(n_group) + size_t(n_group) * depth * n_item * size_t(size) * sizeof(T);
    }
    __device__ __forceinline__ uint32_t row_bytes() const
    {
        return uint32_t(n_item * int(a.n) * int(sizeof(T)));
    }
    // Component i of all tensors', of a row.
    __device__ __forceinline__ const T *component(int64_t row, int i) const
    {
        const int tensor = i / D;
        const tess_cl_view &view = tensor == 0 ? a.x : tensor == 1 ? a.y : a.gz;
        return static_cast<const T *>(view.data) + row * view.stride[1] +
               int64_t(i - tensor * D) * view.stride[0];
    }
    // This thread's share of the copies of a row.
    __device__ __forceinline__ void issue(int64_t row, int at) const
    {
        if (row >= a.n_row) {
            return;
        }
        const uint32_t bytes = uint32_t(a.n) * uint32_t(sizeof(T));
        const uint32_t barrier = barriers + uint32_t(at) * 8;
        const uint32_t to = clifford_mma::shared_address(rows) + uint32_t(at) * row_bytes();
#if TESS_CUDA_HAS_GROUPS
        if (threadIdx.x % 32 != 0) {
            return;
        }
        if (lane == 0) {
            clifford_mma::barrier_expect(barrier, row_bytes());
        }
        for (int i = lane / 32; i < n_item; i += (lanes + 31) / 32) {
            clifford_mma::copy_bulk(to + uint32_t(i) * bytes, component(row, i), bytes, barrier);
        }
#else
#pragma unroll 4
        for (int i = 0; i < n_item; i++) {
            const T *const from = component(row, i);
            for (uint32_t byte = uint32_t(lane) * 16; byte < bytes; byte += uint32_t(lanes) * 16) {
                clifford_mma::copy_async_16(to + uint32_t(i) * bytes + byte,
                                            from + byte / uint32_t(sizeof(T)));
            }
        }
        clifford_mma::barrier_arrive_behind_copies(barrier);
#endif
    }
    __device__ __forceinline__ void start(int64_t row, int64_t step, pack<T, V> *items) const
    {
        for (int i = 0; i < n_ahead; i++) {
            issue(row + i * step, i);
        }
#pragma unroll
        for (int k = 0; k < n_item && !is_in_place; k++) {
            items[k] = zero_pack<T, V>();
        }
    }
    __device__ __forceinline__ const T *here() const
    {
        return reinterpret_cast<const T *>(rows + size_t(place) * row_bytes()) + n;
    }
    __device__ __forceinline__ void take(int64_t row, pack<T, V> *items) const
    {
        if (row >= a.n_row) {
            return;
        }
        clifford_mma::barrier_wait(barriers + uint32_t(place) * 8, parity);
        if (!is_in_place && is_active) {
#pragma unroll
            for (int k = 0; k < n_item; k++) {
                items[k] = *reinterpret_cast<const pack<T, V> *>(here() + k * int(a.n));
            }
        }
    }
    __device__ __forceinline__ float value(const pack<T, V> *, int k, int v) const
    {
        return widen(here()[k * int(a.n) + v]);
    }
    __device__ __forceinline__ void refill(int64_t, pack<T, V> *) const
    {
    }
    // Behind a barrier of the group that follows take().
    __device__ __forceinline__ void ask(int64_t row, int64_t step) const
    {
        const int at = place + (is_in_place ? depth - 1 : 0);
        issue(row + n_ahead * step, at >= depth ? at - depth : at);
    }
    __device__ __forceinline__ void release()
    {
        place++;
        if (place == depth) {
            place = 0;
            parity ^= 1;
        }
    }
};

} // namespace clifford

#endif
