// Where a row kernel's items come from: straight from memory, the next row's while this one is
// finished (row_loads), or through a ring in shared memory that the copy engine fills several rows
// ahead (row_ring).
#ifndef TESS_CLIFFORD_SGP_SOURCE_CUH
#define TESS_CLIFFORD_SGP_SOURCE_CUH

#include "backend/cuda/clifford_mma.cuh"
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
    __device__ __forceinline__ void release() const
    {
    }
};

// Rows through a ring of a.depth rows per group, [tensor][component][feature] each.
template <typename T_, int V_, int D, int n_tensor>
struct row_ring {
    using T = T_;
    static constexpr int V = V_;
    using layout = feature_packs;
    const sgp_args &a;
    int n;
    bool is_active;
    bool is_issuer; // the first warp of the group starts the copies
    uint32_t component_bytes;
    uint32_t stage_bytes;
    const unsigned char *stages;
    uint32_t barriers;
    int stage = 0;
    uint32_t parity = 0;
    int64_t step = 0;
    int64_t ahead = 0; // row that goes into the place that is released next

    __device__ __forceinline__ row_ring(const sgp_args &args, const row_group &group, void *ring)
        : a(args), n(group.lane * V), is_active(group.lane * V < args.n),
          is_issuer(group.lane < 32), component_bytes(uint32_t(args.n) * uint32_t(sizeof(T))),
          stage_bytes(n_tensor * D * component_bytes)
    {
        unsigned char *base = static_cast<unsigned char *>(ring);
        barriers = clifford_mma::shared_address(base) + uint32_t(group.index * a.depth) * 8;
        stages = base + ring_head(group.count * a.depth) +
                 size_t(group.index) * size_t(a.depth) * stage_bytes;
        if (group.lane == 0) {
            for (int i = 0; i < a.depth; i++) {
                clifford_mma::barrier_init(barriers + uint32_t(i) * 8, 1);
            }
            clifford_mma::barrier_init_fence();
        }
        group.sync();
    }
    // Bytes of barriers before the stages, which are aligned for the copy engine.
    __host__ __device__ static constexpr size_t ring_head(int n_barrier)
    {
        return (size_t(n_barrier) * 8 + 127) / 128 * 128;
    }
    __device__ __forceinline__ void issue(int64_t row, int place) const
    {
        if (!is_issuer || row >= a.n_row) {
            return;
        }
        const int lane = int(threadIdx.x) & 31;
        const uint32_t barrier = barriers + uint32_t(place) * 8;
        if (lane == 0) {
            clifford_mma::barrier_expect(barrier, stage_bytes);
        }
        __syncwarp();
        const uint32_t to = clifford_mma::shared_address(stages) + uint32_t(place) * stage_bytes;
        for (int i = lane; i < n_tensor * D; i += 32) {
            const int tensor = i / D;
            const tess_cl_view &view = tensor == 0 ? a.x : tensor == 1 ? a.y : a.gz;
            const T *from = static_cast<const T *>(view.data) + row * view.stride[1] +
                            int64_t(i - tensor * D) * view.stride[0];
            clifford_mma::copy_bulk(to + uint32_t(i) * component_bytes, from, component_bytes,
                                    barrier);
        }
    }
    __device__ __forceinline__ void start(int64_t row, int64_t row_step, pack<T, V> *items)
    {
        step = row_step;
        ahead = row;
        for (int i = 0; i < a.depth; i++, ahead += step) {
            issue(ahead, i);
        }
#pragma unroll
        for (int k = 0; k < n_tensor * D; k++) {
            items[k] = zero_pack<T, V>();
        }
    }
    __device__ __forceinline__ void take(int64_t row, pack<T, V> *items) const
    {
        if (row >= a.n_row) {
            return;
        }
        clifford_mma::barrier_wait(barriers + uint32_t(stage) * 8, parity);
        if (is_active) {
            const unsigned char *from =
                stages + size_t(stage) * stage_bytes + size_t(n) * sizeof(T);
#pragma unroll
            for (int k = 0; k < n_tensor * D; k++) {
                items[k] = *reinterpret_cast<const pack<T, V> *>(from + k * component_bytes);
            }
        }
    }
    __device__ __forceinline__ void refill(int64_t, pack<T, V> *) const
    {
    }
    // After a barrier of the group behind take().
    __device__ __forceinline__ void release()
    {
        issue(ahead, stage);
        ahead += step;
        stage++;
        if (stage == a.depth) {
            stage = 0;
            parity ^= 1;
        }
    }
};

} // namespace clifford

#endif
