// Where a row kernel's items come from: straight from memory, the next row's while this one is
// finished (row_loads), or through shared memory, several rows ahead (row_copies).
#ifndef TESS_CLIFFORD_SGP_SOURCE_CUH
#define TESS_CLIFFORD_SGP_SOURCE_CUH

#include "backend/cuda/clifford_sgp.cuh"

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
    __host__ __device__ static constexpr size_t shared_bytes(int)
    {
        return 0;
    }
};

// Rows through shared memory, `depth` of them on their way: every thread copies its own items and
// waits for its own copies, so no barrier is needed.
template <typename T_, int V_, int D, int n_tensor, int depth>
struct row_copies {
    using T = T_;
    static constexpr int V = V_;
    static constexpr int n_item = n_tensor * D;
    using layout = feature_packs;
    const sgp_args &a;
    int n;
    bool is_active;
    pack<T, V> *place; // of this thread's first item, in the row that is taken next
    pack<T, V> *first;
    pack<T, V> *end;
    int64_t ahead = 0;
    int64_t step = 0;

    __device__ __forceinline__ row_copies(const sgp_args &args, const row_group &group,
                                          void *memory)
        : a(args), n(group.lane * V), is_active(group.lane * V < args.n),
          place(static_cast<pack<T, V> *>(memory) + threadIdx.x), first(place),
          end(place + depth * n_item * int(blockDim.x))
    {
    }
    __host__ __device__ static constexpr size_t shared_bytes(int threads)
    {
        return sizeof(pack<T, V>) * size_t(depth) * n_item * size_t(threads);
    }
    __device__ __forceinline__ void copy(const tess_cl_view &view, pack<T, V> *to) const
    {
        const T *from = static_cast<const T *>(view.data) + (ahead * view.stride[1] + n);
#pragma unroll
        for (int k = 0; k < D; k++) {
            copy_ahead<int(sizeof(T)) * V>(to + k * int(blockDim.x), from + k * view.stride[0]);
        }
    }
    // Starts the copies of the next row into the place that was taken last.
    __device__ __forceinline__ void copy_row(pack<T, V> *to)
    {
        if (is_active && ahead < a.n_row) {
            copy(a.x, to);
            copy(a.y, to + D * int(blockDim.x));
            if constexpr (n_tensor == 3) {
                copy(a.gz, to + 2 * D * int(blockDim.x));
            }
        }
        commit_copies();
        ahead += step;
    }
    __device__ __forceinline__ void start(int64_t row, int64_t row_step, pack<T, V> *items)
    {
        ahead = row;
        step = row_step;
        for (pack<T, V> *to = first; to < end; to += n_item * int(blockDim.x)) {
            copy_row(to);
        }
#pragma unroll
        for (int k = 0; k < n_item; k++) {
            items[k] = zero_pack<T, V>();
        }
    }
    __device__ __forceinline__ void take(int64_t row, pack<T, V> *items)
    {
        wait_copies<depth - 1>();
        if (is_active && row < a.n_row) {
#pragma unroll
            for (int k = 0; k < n_item; k++) {
                items[k] = place[k * int(blockDim.x)];
            }
        }
        copy_row(place);
        place += n_item * int(blockDim.x);
        if (place == end) {
            place = first;
        }
    }
    __device__ __forceinline__ void refill(int64_t, pack<T, V> *) const
    {
    }
};

} // namespace clifford

#endif
