// C[k] = A[k] W[grade of k] with the matrix instructions of Hopper's warpgroups, 16-bit items and
// f32 sums. See linear_tensor.h.
//
// A cluster of two blocks owns 256 rows of a component: each block 128 of them, half of the
// weights' tile each, which the copy engine delivers to both. Columns come 256 at a time. One warp
// of a block starts copies four tiles ahead, two warpgroups multiply 64 rows each. Blocks stay and
// take one set of rows after another, so that copies of the next go on while sums are stored.

#include "backend/cuda/clifford/common/box_copies.cuh"
#include "backend/cuda/clifford/common/boxes.h"
#include "backend/cuda/clifford/common/cluster.cuh"
#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/common/rounds.cuh"
#include "backend/cuda/clifford/common/types.cuh"
#include "backend/cuda/clifford/common/wgmma.cuh"
#include "backend/cuda/clifford/linear/linear_tensor.h"

namespace
{

using namespace clifford_mma;
using clifford::widen;

struct wgmma_shape {
    static constexpr int rows = 128; // of a block
    static constexpr int columns = 256;
    static constexpr int cluster = 2;
    static constexpr int row_bytes = 128; // of a tile: one span of the swizzle
    static constexpr int inner = row_bytes / 2;
    static constexpr int stages = 4;
    static constexpr int consumers = 2; // warpgroups
    static constexpr int a_bytes = rows * row_bytes;
    static constexpr int w_bytes = columns * row_bytes;
    static constexpr int stage_bytes = a_bytes + w_bytes;
    static constexpr int slice_bytes = 64 * row_bytes; // of a warpgroup's sums, on their way out
    static constexpr int slices = 2;
    static constexpr int sums_bytes = consumers * slices * slice_bytes;
    static constexpr int factor_bytes = consumers * columns * 4;
    static constexpr int shared_bytes =
        stages * stage_bytes + sums_bytes + factor_bytes + 2 * stages * 8;
    static_assert(shared_bytes <= clifford_mma::most_shared_bytes);
};
using S = wgmma_shape;

constexpr int groups_threads = (S::consumers + 1) * 128;
constexpr int64_t least_outer = 192; // fewer columns waste most of a tile
constexpr int64_t least_inner = 32;

struct rows_args {
    CUtensorMap a, w, c;
    const float *factor; // [grade][outer]
    const void *bias;
    int64_t stride_bias;
    int64_t n_row, n_outer;
    int32_t n_step;   // tiles of the inner axis
    int32_t n_pair;   // of row tiles of a component
    int32_t n_across; // tiles of columns
    int32_t n_set;    // pairs of all components
    int32_t bias_all, bias_is_f32, add;
    uint8_t grade[TESS_CLIFFORD_MAX_COMPONENTS];
};

// Which sets of rows a block has, and which block of its cluster it is.
struct walk {
    int rank, first, step;
};

struct place {
    int component;
    int64_t row;
};

__device__ __forceinline__ place place_of(const rows_args &p, int set, int rank)
{
    return {set / p.n_pair, int64_t(set % p.n_pair * S::cluster + rank) * S::rows};
}

// Places of stage s: tiles, and the barriers of full and of empty ones; a warpgroup's sums on their
// way out and the factors of its columns.
struct stage_map {
    uint32_t base; // a multiple of 1024, from which the swizzle counts

    __device__ __forceinline__ uint32_t a(int s) const
    {
        return base + uint32_t(s * S::stage_bytes);
    }
    __device__ __forceinline__ uint32_t w(int s) const
    {
        return a(s) + S::a_bytes;
    }
    __device__ __forceinline__ uint32_t sums(int group, int slice) const
    {
        return a(S::stages) + uint32_t((group * S::slices + slice) * S::slice_bytes);
    }
    __device__ __forceinline__ uint32_t factor(int group, int column) const
    {
        return sums(S::consumers, 0) + uint32_t(group * S::columns + column) * 4;
    }
    __device__ __forceinline__ uint32_t full(int s) const
    {
        return factor(S::consumers, 0) + uint32_t(s) * 8;
    }
    __device__ __forceinline__ uint32_t empty(int s) const
    {
        return full(S::stages + s);
    }
};

// By one thread.
__device__ __forceinline__ void copy_tiles(const rows_args &p, const stage_map &map, walk w)
{
    constexpr int half = S::columns / S::cluster;
    clifford::wait_for_previous();
    round_count<S::stages> at;
    for (int set = w.first; set < p.n_set; set += w.step) {
        const place where = place_of(p, set, w.rank);
        for (int across = 0; across < p.n_across; across++) {
            const int column = across * S::columns + w.rank * half;
            for (int step = 0; step < p.n_step; step++, at.next()) {
                barrier_wait(map.empty(at.stage), at.parity ^ 1);
                barrier_expect(map.full(at.stage), S::stage_bytes);
                copy_box(map.a(at.stage), &p.a, step * S::inner, int(where.row), where.component,
                         map.full(at.stage));
                copy_box_cluster(map.w(at.stage) + uint32_t(w.rank * half * S::row_bytes), &p.w,
                                 step * S::inner, column, p.grade[where.component],
                                 map.full(at.stage), uint16_t((1 << S::cluster) - 1));
            }
        }
    }
}

// The bias of a thread's columns in a slice, asked for long before it is used.
template <typename T>
struct slice_bias {
    static constexpr int columns = S::row_bytes / int(sizeof(T)); // of a slice
    float at[columns / 8][2] = {};

    __device__ __forceinline__ void load(const rows_args &p, const place &where, int first_column)
    {
        if (p.bias == nullptr || (!p.bias_all && where.component != 0)) {
            return;
        }
#pragma unroll
        for (int i = 0; i < columns / 4; i++) {
            const int column = first_column + i / 2 * 8 + int(threadIdx.x) % 4 * 2 + i % 2;
            const int64_t j = min(column, int(p.n_outer) - 1) * p.stride_bias;
            at[i / 2][i % 2] = p.bias_is_f32 ? static_cast<const float *>(p.bias)[j]
                                             : widen(static_cast<const T *>(p.bias)[j]);
        }
    }
};

// Factors of two columns, which a thread brings for all of its warpgroup.
struct column_factors {
    float at[S::columns / 128];

    __device__ __forceinline__ column_factors(const rows_args &p, int component, int first_column)
    {
#pragma unroll
        for (int i = 0; i < S::columns / 128; i++) {
            const int64_t column = first_column + int(threadIdx.x) % 128 + i * 128;
            at[i] = __ldcg(p.factor + p.grade[component] * p.n_outer + min(column, p.n_outer - 1));
        }
    }
};

// The copy engine takes a warpgroup's sums out, 128 bytes of columns after 128 bytes, while the
// next are written to shared memory, and then the next tile is multiplied.
template <typename T>
__device__ __forceinline__ void store_sums(const rows_args &p, const stage_map &map,
                                           const place &where, int first_column, int group,
                                           const column_factors &factors, slice_bias<T> &bias,
                                           const float (&sum)[S::columns / 2])
{
    constexpr int columns = slice_bias<T>::columns;
    const int lane = int(threadIdx.x) % 32;
    const int row = int(threadIdx.x) % 128 / 32 * 16 + lane / 4;
    const bool leads = threadIdx.x % 128 == 0;
#pragma unroll
    for (int i = 0; i < S::columns / 128; i++) {
        clifford::store_shared(map.factor(group, int(threadIdx.x) % 128 + i * 128), factors.at[i]);
    }
#pragma unroll
    for (int slice = 0; slice < S::columns / columns; slice++) {
        const uint32_t to = map.sums(group, slice % S::slices);
        if (leads) {
            wait_bulk_out_read<S::slices - 1>();
        }
        group_sync(group);
#pragma unroll
        for (int j = 0; j < columns / 8; j++) {
            const int column = j * 8 + lane % 4 * 2;
            float of_column[2];
            clifford::load_shared(map.factor(group, slice * columns + column), of_column);
            const float *pair = &sum[4 * (slice * columns / 8 + j)];
            const int byte = column * int(sizeof(T));
#pragma unroll
            for (int second = 0; second < 2; second++) {
                put_pair(to + swizzle_128(row + 8 * second, byte / 16) + uint32_t(byte % 16),
                         pair[2 * second] * of_column[0] + bias.at[j][0],
                         pair[2 * second + 1] * of_column[1] + bias.at[j][1], T());
            }
        }
        if (slice + 1 < S::columns / columns) {
            bias.load(p, where, first_column + (slice + 1) * columns);
        }
        fence_async_proxy();
        group_sync(group);
        if (leads) {
            const int x = first_column + slice * columns;
            const int y = int(where.row) + group * 64;
            if (p.add) {
                add_box(&p.c, x, y, where.component, to);
            } else {
                store_box(&p.c, x, y, where.component, to);
            }
            commit_bulk_out();
        }
    }
}

// A stage is free for both blocks' copies when all warpgroups of both are through with it.
__device__ __forceinline__ void release(const stage_map &map, int s)
{
    if (threadIdx.x % 128 < S::cluster) {
        barrier_arrive_at(map.empty(s), threadIdx.x % 128);
    }
}

template <typename T>
__device__ __forceinline__ void multiply_tiles(const rows_args &p, const stage_map &map, walk w)
{
    const int group = int(threadIdx.x) / 128;
    float sum[S::columns / 2];
    round_count<S::stages> at;
    const int n_tile = p.n_across * (w.first < p.n_set ? (p.n_set - 1 - w.first) / w.step + 1 : 0);
    clifford::wait_for_previous();
    for (int tile = 0; tile < n_tile; tile++) {
        const place where = place_of(p, w.first + tile / p.n_across * w.step, w.rank);
        const int column = tile % p.n_across * S::columns;
        int held = -1; // stage whose products may still run
        const column_factors factors(p, where.component, column);
        slice_bias<T> bias;
        bias.load(p, where, column);
        for (int step = 0; step < p.n_step; step++, at.next()) {
            barrier_wait(map.full(at.stage), at.parity);
            const uint64_t a = tile_descriptor(map.a(at.stage) + uint32_t(group) * 64 * 128);
            const uint64_t b = tile_descriptor(map.w(at.stage));
            group_fence();
#pragma unroll
            for (int k = 0; k < S::row_bytes / 32; k++) {
                group_multiply<T>(sum, a + 2 * k, b + 2 * k, step + k > 0);
            }
            group_commit();
            group_wait<1>();
            if (held >= 0) {
                release(map, held);
            }
            held = at.stage;
        }
        group_wait<0>();
        release(map, held);
        store_sums<T>(p, map, where, column, group, factors, bias, sum);
    }
    if (threadIdx.x % 128 == 0) {
        wait_bulk_out_read();
    }
}

__device__ __forceinline__ void init_barriers(const rows_args &p, const stage_map &map)
{
    prefetch_map(&p.a);
    prefetch_map(&p.w);
    prefetch_map(&p.c);
    for (int s = 0; s < S::stages; s++) {
        barrier_init(map.full(s), 1);
        barrier_init(map.empty(s), S::consumers * S::cluster);
    }
    barrier_init_fence();
}

template <typename T>
__global__ void TESS_CUDA_CLUSTER(S::cluster) __launch_bounds__(groups_threads, 1)
    rows_kernel(const __grid_constant__ rows_args p)
{
#if TESS_CUDA_HAS_GROUPS
    extern __shared__ __align__(1024) uint8_t shared[];
    const stage_map map = {shared_address(shared)};
    const walk w = {int(cluster_rank()), int(blockIdx.x) / S::cluster, int(gridDim.x) / S::cluster};
    if (threadIdx.x == 0) {
        init_barriers(p, map);
    }
    cluster_sync();
    if (threadIdx.x < S::consumers * 128) {
        take_registers<232>();
        multiply_tiles<T>(p, map, w);
    } else {
        give_registers<40>();
        if (threadIdx.x % 128 == 0) {
            copy_tiles(p, map, w);
        }
    }
    // No block leaves while the other may still write to it.
    __syncwarp();
    cluster_sync();
#endif
}

// ---- Launch -------------------------------------------------------------------------------------

bool encode_maps(rows_args &args, int32_t dtype, const clifford_rows_args &p)
{
    const clifford_box_array a = {dtype,         p.a.data,  p.n_l,     p.n_i,
                                  p.n_component, p.a.pitch, p.a.stride};
    const clifford_box_array w = {dtype,     p.w.data,         p.n_l, p.n_j, p.n_grade,
                                  p.w.pitch, p.n_j * p.w.pitch};
    const clifford_box_array c = {dtype,         p.c.data,      p.n_j,        p.n_i,
                                  p.n_component, p.c.stride[1], p.c.stride[0]};
    return clifford_encode_boxes(args.a, a, S::rows) &&
           clifford_encode_boxes(args.w, w, S::columns / S::cluster) &&
           clifford_encode_boxes(args.c, c, 64);
}

rows_args rows_of_problem(const clifford_rows_args &p)
{
    rows_args args = {};
    args.factor = p.w.factor;
    args.bias = p.bias;
    args.stride_bias = p.stride_bias;
    args.n_row = p.n_i;
    args.n_outer = p.n_j;
    args.n_step = int32_t((p.n_l - 1) / S::inner + 1);
    args.n_pair = int32_t((p.n_i - 1) / (S::rows * S::cluster) + 1);
    args.n_across = int32_t((p.n_j - 1) / S::columns + 1);
    args.n_set = args.n_pair * p.n_component;
    args.bias_all = p.bias_all;
    args.bias_is_f32 = p.bias_is_f32;
    args.add = p.add;
    for (int k = 0; k < p.n_component; k++) {
        args.grade[k] = p.grade[k];
    }
    return args;
}

// Starts while the kernel before it, which makes the weights' copy, ends.
template <typename T>
cudaError_t launch_groups(cudaStream_t stream, int32_t dtype, const clifford_rows_args &p)
{
    rows_args args = rows_of_problem(p);
    if (!encode_maps(args, dtype, p)) {
        return cudaErrorInvalidValue;
    }
    int device = 0, n_multiprocessor = 0;
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&n_multiprocessor, cudaDevAttrMultiProcessorCount, device);
    const int n_cluster = n_multiprocessor / S::cluster;
    const dim3 grid(unsigned(S::cluster * (args.n_set < n_cluster ? args.n_set : n_cluster)));
    return clifford::launch_early(rows_kernel<T>, grid, groups_threads, S::shared_bytes, stream,
                                  args);
}

bool is_dense(const tess_cl_view &view)
{
    return view.stride[2] == 1 && view.stride[0] > 0 && view.stride[1] > 0 &&
           view.stride[0] % 8 == 0 && view.stride[1] % 8 == 0 &&
           reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
}

} // namespace

bool clifford_linear_groups_take(int32_t dtype, const clifford_rows_args &p)
{
    // Coordinates of boxes and numbers of sets are int.
    constexpr int64_t most = int64_t(1) << 28;
    return (dtype == TESS_F16 || dtype == TESS_BF16) && p.n_l >= least_inner &&
           p.n_j >= least_outer && p.a.stride > 0 && p.a.pitch > 0 && is_dense(p.c) &&
           p.n_l < most && p.n_i / S::rows * p.n_component < most &&
           tess_cuda_level_here() == TESS_CUDA_GROUPS;
}

cudaError_t clifford_linear_groups(cudaStream_t stream, int32_t dtype, const clifford_rows_args &p)
{
    return dtype == TESS_F16 ? launch_groups<__half>(stream, dtype, p)
                             : launch_groups<__nv_bfloat16>(stream, dtype, p);
}
