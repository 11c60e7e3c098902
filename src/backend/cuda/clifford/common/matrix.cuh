// Sums of matrix products with the matrix instructions of Hopper's warpgroups, f16 with f32 sums:
//
//   result[r] (row, column) = sum over the steps (a, b) of r and inner of A[a] (row, inner) B[b]
//   (column, inner)
//
// An operand lies with its inner axis dense, or turned: with the other axis dense. Nothing is
// copied or transposed for that.
//
// A block stays and takes one tile of 128 rows and columns after another. Its two warpgroups take
// turns: one multiplies while the other stores its sums, through shared memory of their own. A
// further warp starts copies of tiles some stages ahead. The L2 cache is what such kernels wait
// for: blocks of a cluster have neighbouring rows and columns, bring a part of the shared tile
// each, and the copy engine delivers it to all.
#ifndef TESS_CLIFFORD_MATRIX_CUH
#define TESS_CLIFFORD_MATRIX_CUH

#include "backend/cuda/clifford/common/boxes.h"
#include "backend/cuda/clifford/common/cluster.cuh"
#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/common/matrix_store.cuh"
#include "backend/cuda/clifford/common/rounds.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_plan.h"

#include <atomic>

namespace clifford_matrix
{

using namespace clifford_mma;

// Blocks of a cluster: that many along rows, which share tiles of b, and along columns, which share
// tiles of a.
template <int cluster_rows_, int cluster_columns_, int stages_>
struct shape {
    static constexpr int rows = 128;
    static constexpr int columns = 128;
    static constexpr int inner = 64; // items of a tile's row: one span of the swizzle
    static constexpr int row_bytes = 128;
    static constexpr int cluster_rows = cluster_rows_;
    static constexpr int cluster_columns = cluster_columns_;
    static constexpr int cluster = cluster_rows * cluster_columns;
    static constexpr int stages = stages_;
    static constexpr int consumers = 2; // warpgroups
    // One more warp copies: 168 registers for each thread.
    static constexpr int threads = consumers * 128 + 32;
    static constexpr int a_bytes = rows * row_bytes;
    static constexpr int b_bytes = columns * row_bytes;
    static constexpr int stage_bytes = a_bytes + b_bytes;
    static constexpr int shared_bytes =
        stages * stage_bytes + consumers * room_bytes + 1024 + 2 * stages * 8;
    // Blocks that send to one: those of its row and of its column.
    static constexpr int senders = cluster_rows + cluster_columns - 1;
    static_assert(shared_bytes <= 227 * 1024);
};

// Sizes in tiles of the inner axis, and in clusters.
struct extents {
    int32_t n_inner;
    int32_t n_down, n_across;
    int32_t n_tile;
};

// Store: trivially copyable; store(place, sum, room) takes a warpgroup's sums of 64 rows, as
// wgmma.cuh says where they lie; room: the warpgroup's shared memory for them.
template <typename Store>
struct arguments {
    CUtensorMap a, b;
    extents e;
    cl_fc_table table;
    Store store;
};

// The tile of a cluster in a round. Tiles are ordered by length: every other round is dealt out
// backwards, so that who had the longest gets the shortest.
__device__ __forceinline__ int tile_of(int round, int cluster, int n_cluster)
{
    return round * n_cluster + (round % 2 == 0 ? cluster : n_cluster - 1 - cluster);
}

template <typename S>
__device__ __forceinline__ place place_of(const extents &e, const cl_fc_table &table, int tile,
                                          int rank)
{
    const int per_result = e.n_down * e.n_across;
    const int rest = tile % per_result;
    return {table.order[tile / per_result],
            (rest / e.n_across * S::cluster_rows + rank / S::cluster_columns) * S::rows,
            (rest % e.n_across * S::cluster_columns + rank % S::cluster_columns) * S::columns};
}

// Places of stage s: tiles, and the barriers of full and of empty ones.
template <typename S>
struct stage_map {
    uint32_t base;

    __device__ __forceinline__ uint32_t a(int s) const
    {
        return base + uint32_t(s * S::stage_bytes);
    }
    __device__ __forceinline__ uint32_t b(int s) const
    {
        return a(s) + S::a_bytes;
    }
    __device__ __forceinline__ uint32_t room(int group) const
    {
        return a(S::stages) + uint32_t(group * room_bytes);
    }
    __device__ __forceinline__ uint32_t full(int s) const
    {
        return room(S::consumers) + uint32_t(s) * 8;
    }
    __device__ __forceinline__ uint32_t empty(int s) const
    {
        return full(S::stages + s);
    }
};

constexpr int turned_bytes = 64 * 128; // of a box of 64 turned rows

// A block's part of a tile of n rows, to all blocks of the mask: part `part` of `parts`.
template <bool turned, int n, int parts>
__device__ __forceinline__ void copy_part(uint32_t to, const CUtensorMap *map, int layer, int outer,
                                          int inner, int part, uint32_t barrier, uint32_t mask)
{
    constexpr int own = n / parts;
    constexpr int n_box = turned ? own / 64 : 1;
#pragma unroll
    for (int i = 0; i < n_box; i++) {
        const int first = part * own + i * 64; // row of the tile
        const uint32_t at = to + uint32_t(turned ? first / 64 * turned_bytes : first * 128);
        const int x = turned ? outer + first : inner;
        const int y = turned ? inner : outer + first;
        if constexpr (parts == 1) {
            copy_box(at, map, x, y, layer, barrier);
        } else {
            copy_box_cluster(at, map, x, y, layer, barrier, uint16_t(mask));
        }
    }
}

// Blocks of the same rows, and of the same columns, as bits.
template <typename S>
__device__ __forceinline__ uint32_t row_mates(int rank)
{
    return ((1u << S::cluster_columns) - 1) << (rank / S::cluster_columns * S::cluster_columns);
}

template <typename S>
__device__ __forceinline__ uint32_t column_mates(int rank)
{
    uint32_t first = 0;
#pragma unroll
    for (int i = 0; i < S::cluster_rows; i++) {
        first |= 1u << (i * S::cluster_columns);
    }
    return first << rank % S::cluster_columns;
}

// By one thread.
template <typename S, bool turned_a, bool turned_b, typename Store>
__device__ __forceinline__ void copy_tiles(const arguments<Store> &p, const stage_map<S> &map,
                                           int rank, int cluster, int n_cluster)
{
    round_count<S::stages> at;
    for (int round = 0; tile_of(round, cluster, n_cluster) < p.e.n_tile; round++) {
        const place where = place_of<S>(p.e, p.table, tile_of(round, cluster, n_cluster), rank);
        const int last = p.table.first[where.result + 1];
        for (int step = p.table.first[where.result]; step < last; step++) {
            const cl_fc_step layers = p.table.steps[step];
            for (int i = 0; i < p.e.n_inner; i++, at.next()) {
                const uint32_t full = map.full(at.stage);
                barrier_wait(map.empty(at.stage), at.parity ^ 1);
                barrier_expect(full, S::stage_bytes);
                copy_part<turned_a, S::rows, S::cluster_columns>(
                    map.a(at.stage), &p.a, layers.a, where.row, i * S::inner,
                    rank % S::cluster_columns, full, row_mates<S>(rank));
                copy_part<turned_b, S::columns, S::cluster_rows>(
                    map.b(at.stage), &p.b, layers.b, where.column, i * S::inner,
                    rank / S::cluster_columns, full, column_mates<S>(rank));
            }
        }
    }
}

// A stage is free for everybody who sends to it when its warpgroup is through with it.
template <typename S>
__device__ __forceinline__ void release(const stage_map<S> &map, int s, uint32_t senders)
{
    const uint32_t thread = threadIdx.x % 128;
    if (thread < S::cluster && (senders >> thread & 1) != 0) {
        barrier_arrive_at(map.empty(s), thread);
    }
}

constexpr int slabs = 2; // of 64 rows: what a warpgroup multiplies at a time

template <typename S, bool turned_a, bool turned_b>
__device__ __forceinline__ void multiply_stage(float (&sum)[slabs][S::columns / 2],
                                               const stage_map<S> &map, int s)
{
    constexpr uint64_t a_step = turned_a ? 128 : 2; // 16 of the inner axis
    constexpr uint64_t b_step = turned_b ? 128 : 2;
    constexpr uint64_t slab_step = slice_rows * S::row_bytes / 16;
    const uint64_t a =
        turned_a ? turned_descriptor(map.a(s), turned_bytes) : tile_descriptor(map.a(s));
    const uint64_t b =
        turned_b ? turned_descriptor(map.b(s), turned_bytes) : tile_descriptor(map.b(s));
    group_fence();
#pragma unroll
    for (int k = 0; k < S::inner / 16; k++) {
#pragma unroll
        for (int slab = 0; slab < slabs; slab++) {
            group_multiply_half<turned_a, turned_b>(sum[slab], a + slab * slab_step + k * a_step,
                                                    b + k * b_step);
        }
    }
    group_commit();
}

// A warpgroup multiplies only when the other has seen all its stages arrive: a barrier tells one
// round of the stages from the next, not from the one after that. By a whole warpgroup: waits for
// its turn, or gives it to that one.
__device__ __forceinline__ void wait_for_turn(int group)
{
    asm volatile("bar.sync %0, 256;\n" ::"r"(group + 3) : "memory");
}

__device__ __forceinline__ void give_turn(int group)
{
    asm volatile("bar.arrive %0, 256;\n" ::"r"(group + 3) : "memory");
}

template <typename S, bool turned_a, bool turned_b, typename Store>
__device__ __forceinline__ void multiply_tiles(const arguments<Store> &p, const stage_map<S> &map,
                                               int rank, int cluster, int n_cluster)
{
    const int group = int(threadIdx.x) / 128;
    const uint32_t senders = row_mates<S>(rank) | column_mates<S>(rank);
    round_count<S::stages> at;
    for (int round = 0; tile_of(round, cluster, n_cluster) < p.e.n_tile; round++) {
        place where = place_of<S>(p.e, p.table, tile_of(round, cluster, n_cluster), rank);
        const int n_step =
            (p.table.first[where.result + 1] - p.table.first[where.result]) * p.e.n_inner;
        if (round % 2 != group) {
            at.skip(n_step);
            continue;
        }
        if (round > 0) {
            wait_for_turn(group);
        }
        float sum[slabs][S::columns / 2] = {};
        int held = -1; // stage whose products may still run
        for (int step = 0; step < n_step; step++, at.next()) {
            barrier_wait(map.full(at.stage), at.parity);
            multiply_stage<S, turned_a, turned_b>(sum, map, at.stage);
            group_wait<1>();
            if (held >= 0) {
                release<S>(map, held, senders);
            }
            held = at.stage;
        }
        if (tile_of(round + 1, cluster, n_cluster) < p.e.n_tile) {
            give_turn(1 - group);
        }
        group_wait<0>();
        if (held >= 0) {
            release<S>(map, held, senders);
        }
#pragma unroll
        for (int slab = 0; slab < slabs; slab++, where.row += slice_rows) {
            p.store(where, sum[slab], map.room(group));
        }
    }
    if (threadIdx.x % 128 == 0) {
        wait_bulk_out_read();
    }
}

template <typename S, bool turned_a, bool turned_b, typename Store>
__global__ void __launch_bounds__(S::threads, 1)
    matrix_kernel(const __grid_constant__ arguments<Store> p)
{
#if TESS_CUDA_HAS_GROUPS
    extern __shared__ uint8_t shared[];
    // The swizzle counts from multiples of 1024 bytes.
    const stage_map<S> map = {(shared_address(shared) + 1023) / 1024 * 1024};
    const int rank = int(cluster_rank());
    const int cluster = int(blockIdx.x) / S::cluster;
    const int n_cluster = int(gridDim.x) / S::cluster;
    if (threadIdx.x == 0) {
        prefetch_map(&p.a);
        prefetch_map(&p.b);
        for (int s = 0; s < S::stages; s++) {
            barrier_init(map.full(s), 1);
            barrier_init(map.empty(s), S::senders);
        }
        barrier_init_fence();
    }
    cluster_sync();
    clifford::wait_for_previous();
    clifford::let_next_start();
    if (threadIdx.x / 128 < S::consumers) {
        multiply_tiles<S, turned_a, turned_b>(p, map, rank, cluster, n_cluster);
    } else if (threadIdx.x % 128 == 0) {
        copy_tiles<S, turned_a, turned_b>(p, map, rank, cluster, n_cluster);
    }
    __syncwarp();
    // No block leaves while another may still write to it.
    cluster_sync();
#endif
}

// Arrays (layer, row or column, inner); turned: (layer, inner, row or column).
struct operands {
    clifford_box_array a, b;
    int64_t n_row, n_column, n_inner;
};

template <typename S>
extents extents_of(const operands &o, int n_result)
{
    const int64_t down = cl_fc_whole(o.n_row, S::rows * S::cluster_rows);
    const int64_t across = cl_fc_whole(o.n_column, S::columns * S::cluster_columns);
    return {int32_t(cl_fc_whole(o.n_inner, S::inner)), int32_t(down), int32_t(across),
            int32_t(down * across * n_result)};
}

// A launch of one cluster; attributes: of the cluster's size, and of an early start.
template <typename S>
cudaLaunchConfig_t launch_config(cudaLaunchAttribute (&attributes)[2])
{
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = S::cluster;
    attributes[0].val.clusterDim.y = 1;
    attributes[0].val.clusterDim.z = 1;
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(S::cluster);
    config.blockDim = dim3(S::threads);
    config.dynamicSmemBytes = S::shared_bytes;
    config.attrs = attributes;
    config.numAttrs = 1;
    return config;
}

// Clusters that the device holds at a time: blocks that had to wait would double the time. Asked
// for once per kernel and device.
template <typename S, bool turned_a, bool turned_b, typename Store>
cudaError_t resident_clusters(int &n)
{
    constexpr int max_devices = 64;
    static std::atomic<int> known[max_devices];
    int device = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error != cudaSuccess) {
        return error;
    }
    n = device < max_devices ? known[device].load(std::memory_order_relaxed) : 0;
    if (n > 0) {
        return cudaSuccess;
    }
    auto kernel = matrix_kernel<S, turned_a, turned_b, Store>;
    error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    if (error != cudaSuccess) {
        return error;
    }
    cudaLaunchAttribute attributes[2] = {};
    const cudaLaunchConfig_t config = launch_config<S>(attributes);
    error = cudaOccupancyMaxActiveClusters(&n, kernel, &config);
    if (error == cudaSuccess && n < 1) {
        return cudaErrorInvalidConfiguration;
    }
    if (error == cudaSuccess && device < max_devices) {
        known[device].store(n, std::memory_order_relaxed);
    }
    return error;
}

template <typename S, bool turned_a, bool turned_b, typename Store>
cudaError_t launch_matrix(cudaStream_t stream, const operands &o, const cl_fc_table &table,
                          const Store &store)
{
    int n_cluster = 0;
    const cudaError_t error = resident_clusters<S, turned_a, turned_b, Store>(n_cluster);
    if (error != cudaSuccess) {
        return error;
    }
    arguments<Store> args = {};
    constexpr int a_rows = turned_a ? 64 : S::rows / S::cluster_columns;
    constexpr int b_rows = turned_b ? 64 : S::columns / S::cluster_rows;
    if (!clifford_encode_boxes(args.a, o.a, a_rows) ||
        !clifford_encode_boxes(args.b, o.b, b_rows)) {
        return cudaErrorInvalidValue;
    }
    args.e = extents_of<S>(o, table.n_result);
    args.table = table;
    args.store = store;
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = launch_config<S>(attributes);
    config.gridDim =
        dim3(unsigned(S::cluster * (args.e.n_tile < n_cluster ? args.e.n_tile : n_cluster)));
    config.stream = stream;
    config.numAttrs = 2;
    return cudaLaunchKernelEx(&config, matrix_kernel<S, turned_a, turned_b, Store>, args);
}

} // namespace clifford_matrix

#endif
