// C[k] = A[k] W[grade of k] of f32 by the matrix instructions of Hopper's warpgroups, as f16 with
// exact scales. See clifford_linear_tensor.h.
//
// A cluster of two blocks has 128 rows of a component, each block 64 of them and half of every tile
// of weights, which the copy engine delivers to both. Within a block everything goes on at once:
//   - three warps read rows once, make them f16 and put them into one of two buffers for all of
//     the inner axis; they start before the weights are there,
//   - one warp starts copies of weights some tiles ahead,
//   - two warpgroups take turns at 256 columns: one multiplies, the other stores.
// Blocks stay and take one set of rows after another.

#include "backend/cuda/clifford_boxes.h"
#include "backend/cuda/clifford_linear_convert.cuh"
#include "backend/cuda/clifford_linear_tensor.h"
#include "backend/cuda/clifford_rounds.cuh"
#include "backend/cuda/clifford_wgmma.cuh"

namespace
{

using namespace clifford_mma;

struct f32_shape {
    static constexpr int rows = 64; // of a block
    static constexpr int columns = 256;
    static constexpr int cluster = 2;
    static constexpr int inner = 64; // items of a tile's row: one span of the swizzle
    static constexpr int row_bytes = 128;
    static constexpr int slabs = clifford_convert::most_items / inner;
    static constexpr int slab_bytes = rows * row_bytes;
    static constexpr int buffers = 2;
    static constexpr int buffer_bytes = slabs * slab_bytes;
    static constexpr int stages = 3;
    static constexpr int stage_bytes = columns * row_bytes;
    static constexpr int groups = 2; // that multiply
    static constexpr int threads = (groups + 1) * 128;
    static constexpr int multiply_registers = 192;
    static constexpr int other_registers = 120;
    static constexpr int column_bytes = groups * columns * 4;
    static constexpr int factor_bytes = buffers * rows * 4;
    static constexpr int n_barrier = 2 * (stages + buffers) + groups;
    static constexpr int shared_bytes =
        buffers * buffer_bytes + stages * stage_bytes + column_bytes + factor_bytes + n_barrier * 8;
    static_assert(shared_bytes <= clifford::max_shared_bytes);
};

struct f32_args {
    CUtensorMap w;
    clifford_convert::arrays rows;
    float *c;
    int64_t stride_component, stride_row;
    const float *factor; // [grade][outer]
    const float *bias;
    int64_t stride_bias;
    int32_t n_outer;
    int32_t first_inner; // of the weights
    int32_t n_step;      // tiles of the inner axis
    int32_t n_pair;      // of row tiles of a component
    int32_t n_across;    // tiles of columns
    int32_t n_set;       // pairs of all components
    int32_t bias_all, add;
    uint8_t grade[TESS_CL_MAX_COMPONENTS];
};

// Which sets of rows a block has, and which block of its cluster it is.
struct f32_walk {
    int rank, first, step;
};

struct f32_place {
    int component;
    int64_t row;
};

__device__ __forceinline__ f32_place place_of(const f32_args &p, int set, int rank)
{
    using S = f32_shape;
    return {set / p.n_pair, int64_t(set % p.n_pair * S::cluster + rank) * S::rows};
}

// Places in shared memory: rows of buffer b, weights of stage s, factors of a warpgroup's columns
// and of a buffer's rows, barriers of what is full and what is empty, and of whose turn it is.
struct f32_map {
    using S = f32_shape;
    uint32_t base; // a multiple of 1024, from which the swizzle counts

    __device__ __forceinline__ uint32_t rows(int b) const
    {
        return base + uint32_t(b * S::buffer_bytes);
    }
    __device__ __forceinline__ uint32_t w(int s) const
    {
        return rows(S::buffers) + uint32_t(s * S::stage_bytes);
    }
    __device__ __forceinline__ uint32_t column_factor(int group, int column) const
    {
        return w(S::stages) + uint32_t(group * S::columns + column) * 4;
    }
    __device__ __forceinline__ uint32_t row_factor(int b, int row) const
    {
        return column_factor(S::groups, 0) + uint32_t(b * S::rows + row) * 4;
    }
    __device__ __forceinline__ uint32_t w_full(int s) const
    {
        return row_factor(S::buffers, 0) + uint32_t(s) * 8;
    }
    __device__ __forceinline__ uint32_t w_empty(int s) const
    {
        return w_full(S::stages + s);
    }
    __device__ __forceinline__ uint32_t rows_full(int b) const
    {
        return w_full(2 * S::stages + b);
    }
    __device__ __forceinline__ uint32_t rows_empty(int b) const
    {
        return rows_full(S::buffers + b);
    }
    __device__ __forceinline__ uint32_t turn_of(int group) const
    {
        return rows_full(2 * S::buffers + group);
    }
};

// The part of one of the warps that convert, numbered from 0.
__device__ __forceinline__ void convert_sets(const f32_args &p, const f32_map &map,
                                             const f32_walk &walk, int warp)
{
    using S = f32_shape;
    round_count<S::buffers> at;
    for (int set = walk.first; set < p.n_set; set += walk.step, at.next()) {
        const f32_place where = place_of(p, set, walk.rank);
        clifford_convert::convert_set(
            p.rows, clifford_convert::row_set(p.rows, where.component, where.row, S::rows),
            {map.rows(at.stage), S::slab_bytes, map.row_factor(at.stage, 0)}, warp,
            [&] { barrier_wait(map.rows_empty(at.stage), at.parity ^ 1); });
        fence_async_proxy();
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            barrier_arrive(map.rows_full(at.stage));
        }
    }
}

// By one thread.
__device__ __forceinline__ void copy_weights(const f32_args &p, const f32_map &map,
                                             const f32_walk &walk)
{
    using S = f32_shape;
    constexpr int own = S::columns / S::cluster;
    round_count<S::stages> at;
    for (int set = walk.first; set < p.n_set; set += walk.step) {
        const int grade = p.grade[place_of(p, set, walk.rank).component];
        for (int across = 0; across < p.n_across; across++) {
            const int column = across * S::columns + walk.rank * own;
            for (int step = 0; step < p.n_step; step++, at.next()) {
                barrier_wait(map.w_empty(at.stage), at.parity ^ 1);
                barrier_expect(map.w_full(at.stage), S::stage_bytes);
                clifford_wgmma::copy_box_cluster(
                    map.w(at.stage) + uint32_t(walk.rank * own * S::row_bytes), &p.w,
                    p.first_inner + step * S::inner, column, grade, map.w_full(at.stage),
                    uint16_t((1 << S::cluster) - 1));
            }
        }
    }
}

using group_sums = float[clifford_wgmma::sums_per_thread];

// A stage is free for both blocks' copies when a warpgroup of both is through with it.
__device__ __forceinline__ void release(const f32_map &map, int s)
{
    if (threadIdx.x % 128 < f32_shape::cluster) {
        barrier_arrive_at(map.w_empty(s), threadIdx.x % 128);
    }
}

// 64 rows by 256 columns. The next warpgroup may wait for its first stage when this one has its
// last: earlier it would take an older round for it.
__device__ __forceinline__ void multiply_columns(group_sums &sum, const f32_map &map, uint32_t rows,
                                                 int n_step, round_count<f32_shape::stages> &at,
                                                 uint32_t next_turn)
{
    using S = f32_shape;
    int before = -1; // stage whose products may still run
#pragma unroll 1
    for (int step = 0; step < n_step; step++, at.next()) {
        barrier_wait(map.w_full(at.stage), at.parity);
        const uint64_t a = clifford_wgmma::tile_descriptor(rows + uint32_t(step * S::slab_bytes));
        const uint64_t b = clifford_wgmma::tile_descriptor(map.w(at.stage));
        group_fence();
#pragma unroll
        for (int k = 0; k < S::row_bytes / 32; k++) {
            clifford_wgmma::multiply<__half>(sum, a + 2 * k, b + 2 * k, step + k > 0);
        }
        group_commit();
        if (step == n_step - 1 && threadIdx.x % 128 == 0) {
            barrier_arrive(next_turn);
        }
        group_wait<1>();
        if (before >= 0) {
            release(map, before);
        }
        before = at.stage;
    }
    group_wait<0>();
    release(map, before);
}

__device__ __forceinline__ void group_barrier(int group)
{
    asm volatile("bar.sync %0, 128;\n" ::"r"(group + 1) : "memory");
}

__device__ __forceinline__ float load_one(uint32_t at)
{
    float v[1];
    clifford::load_shared(at, v);
    return v[0];
}

__device__ __forceinline__ float4 load_four(uint32_t at)
{
    float4 v;
    asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];\n"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "r"(at)
                 : "memory");
    return v;
}

// Every item gets one addition, so that the order of threads does not matter.
__device__ __forceinline__ void put_four(float *to, float4 v, bool add)
{
    if (add) {
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1,%2,%3,%4};\n" ::"l"(to), "f"(v.x),
                     "f"(v.y), "f"(v.z), "f"(v.w)
                     : "memory");
    } else {
        *reinterpret_cast<float4 *>(to) = v;
    }
}

// Neighbouring lanes change one pair of columns each, so that a lane has four in a row.
__device__ __forceinline__ float4 four_columns(const float *lower, const float *upper)
{
    const bool is_odd = (threadIdx.x & 1) != 0;
    const float first = __shfl_xor_sync(clifford::all_lanes, is_odd ? lower[0] : upper[0], 1);
    const float second = __shfl_xor_sync(clifford::all_lanes, is_odd ? lower[1] : upper[1], 1);
    return is_odd ? make_float4(first, second, upper[0], upper[1])
                  : make_float4(lower[0], lower[1], first, second);
}

// The sums of a warpgroup; its threads' rows have these factors, its columns' are in the map.
__device__ __forceinline__ void store_columns(const f32_args &p, const f32_map &map,
                                              const f32_place &where, int first_column, int group,
                                              const float (&row_factor)[2], const group_sums &sum)
{
    using S = f32_shape;
    const int lane = int(threadIdx.x) % 32;
    const int64_t row = where.row + int(threadIdx.x) % 128 / 32 * 16 + lane / 4;
    const int own = lane % 4 / 2 * 4 + lane % 2 * 8; // column
    const float *bias = p.bias_all || where.component == 0 ? p.bias : nullptr;
    float *to = p.c + where.component * p.stride_component + row * p.stride_row + first_column;
#pragma unroll
    for (int j = 0; j < S::columns / 8; j += 2) {
        const int column = own + 8 * j;
        const float4 factor = load_four(map.column_factor(group, column));
        const bool inside = first_column + column < p.n_outer;
        float4 plus = {};
        if (bias != nullptr && inside) {
            const float *from = bias + (first_column + column) * p.stride_bias;
            plus = make_float4(from[0], from[p.stride_bias], from[2 * p.stride_bias],
                               from[3 * p.stride_bias]);
        }
#pragma unroll
        for (int second = 0; second < 2; second++) {
            const float scale = row_factor[second];
            float4 v = four_columns(&sum[4 * j + 2 * second], &sum[4 * j + 4 + 2 * second]);
            v = make_float4(v.x * factor.x * scale + plus.x, v.y * factor.y * scale + plus.y,
                            v.z * factor.z * scale + plus.z, v.w * factor.w * scale + plus.w);
            if (inside && row + 8 * second < p.rows.n_row) {
                put_four(to + second * 8 * p.stride_row + column, v, p.add != 0);
            }
        }
    }
}

// Columns of a set of rows are one warpgroup's turn after the other's.
__device__ __forceinline__ void multiply_sets(const f32_args &p, const f32_map &map,
                                              const f32_walk &walk)
{
    using S = f32_shape;
    // The compiler is to know that a warp goes one way.
    const int group = __shfl_sync(clifford::all_lanes, int(threadIdx.x) / 128, 0);
    const int thread = int(threadIdx.x) % 128;
    const int row = thread / 32 * 16 + thread % 32 / 4;
    const int n_own = walk.first < p.n_set ? (p.n_set - 1 - walk.first) / walk.step + 1 : 0;
    group_sums sum;
    round_count<S::stages> at;
    at.skip(group * p.n_step);
#pragma unroll 1
    for (int turn = group; turn < n_own * p.n_across; turn += S::groups, at.skip(p.n_step)) {
        const int set = turn / p.n_across;
        const int buffer = set % S::buffers;
        const f32_place where = place_of(p, walk.first + set * walk.step, walk.rank);
        const int column = turn % p.n_across * S::columns;
        const float *factor = p.factor + p.grade[where.component] * int64_t(p.n_outer);
        const float own[2] = {__ldcg(factor + min(column + thread, p.n_outer - 1)),
                              __ldcg(factor + min(column + thread + 128, p.n_outer - 1))};
        barrier_wait(map.rows_full(buffer), uint32_t(set / S::buffers) & 1);
        const float of_row[2] = {load_one(map.row_factor(buffer, row)),
                                 load_one(map.row_factor(buffer, row + 8))};
        // The first warpgroup begins without being told.
        barrier_wait(map.turn_of(group), uint32_t(turn / S::groups + 1 - group) & 1);
        multiply_columns(sum, map, map.rows(buffer), p.n_step, at,
                         map.turn_of(S::groups - 1 - group));
        group_barrier(group); // the factors of the columns before are not read any more
        if (thread == 0) {
            barrier_arrive(map.rows_empty(buffer));
        }
        clifford::store_shared(map.column_factor(group, thread), own[0]);
        clifford::store_shared(map.column_factor(group, thread + 128), own[1]);
        group_barrier(group);
        store_columns(p, map, where, column, group, of_row, sum);
    }
}

__device__ __forceinline__ void init_barriers(const f32_args &p, const f32_map &map)
{
    using S = f32_shape;
    clifford_wgmma::prefetch_map(&p.w);
    for (int s = 0; s < S::stages; s++) {
        barrier_init(map.w_full(s), 1);
        barrier_init(map.w_empty(s), S::cluster);
    }
    for (int b = 0; b < S::buffers; b++) {
        barrier_init(map.rows_full(b), clifford_convert::warps);
        barrier_init(map.rows_empty(b), p.n_across);
    }
    for (int group = 0; group < S::groups; group++) {
        barrier_init(map.turn_of(group), 1);
    }
    barrier_init_fence();
}

__global__ void __cluster_dims__(f32_shape::cluster, 1, 1) __launch_bounds__(f32_shape::threads, 1)
    f32_kernel(const __grid_constant__ f32_args p)
{
    using S = f32_shape;
    extern __shared__ __align__(1024) uint8_t shared[];
    const f32_map map = {shared_address(shared)};
    const f32_walk walk = {int(cluster_rank()), int(blockIdx.x) / S::cluster,
                           int(gridDim.x) / S::cluster};
    if (threadIdx.x == 0) {
        init_barriers(p, map);
    }
    cluster_sync();
    const int warp = int(threadIdx.x) / 32 - S::groups * 4;
    if (warp < 0) {
        clifford_wgmma::take_registers<S::multiply_registers>();
        clifford::wait_for_previous();
        multiply_sets(p, map, walk);
    } else {
        clifford_wgmma::give_registers<S::other_registers>();
        if (threadIdx.x == S::groups * 128) {
            clifford::wait_for_previous();
            copy_weights(p, map, walk);
        } else if (warp > 0) {
            convert_sets(p, map, walk, warp - 1);
        }
    }
    // No block leaves while the other may still write to it.
    __syncwarp();
    cluster_sync();
}

// ---- Launch -------------------------------------------------------------------------------------

f32_args args_of(const clifford_rows_args &p, int64_t first, int64_t n_inner)
{
    using S = f32_shape;
    f32_args args = {};
    args.rows.from = static_cast<const float *>(p.from.data) + first;
    args.rows.stride_component = p.from.stride[0];
    args.rows.stride_row = p.from.stride[1];
    if (p.a.data != nullptr) {
        args.rows.copy = static_cast<__half *>(p.a.data);
        args.rows.exponent = p.a.exponent;
        args.rows.copy_component = p.a.stride;
        args.rows.pitch = p.a.pitch;
    }
    args.rows.n_row = p.n_i;
    args.rows.n = int32_t(n_inner);
    args.c = static_cast<float *>(p.c.data);
    args.stride_component = p.c.stride[0];
    args.stride_row = p.c.stride[1];
    args.factor = p.w.factor;
    args.bias = first == 0 ? static_cast<const float *>(p.bias) : nullptr;
    args.stride_bias = p.stride_bias;
    args.n_outer = int32_t(p.n_j);
    args.first_inner = int32_t(first);
    args.n_step = int32_t((n_inner - 1) / S::inner + 1);
    args.n_pair = int32_t((p.n_i - 1) / (S::rows * S::cluster) + 1);
    args.n_across = int32_t((p.n_j - 1) / S::columns + 1);
    args.n_set = args.n_pair * p.n_component;
    args.bias_all = p.bias_all;
    args.add = p.add != 0 || first > 0;
    for (int k = 0; k < p.n_component; k++) {
        args.grade[k] = p.grade[k];
    }
    return args;
}

bool is_f32_dense(const tess_cl_view &view)
{
    return view.stride[2] == 1 && view.stride[0] % 4 == 0 && view.stride[1] % 4 == 0 &&
           reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
}

} // namespace

bool clifford_linear_f32_takes(const clifford_rows_args &p)
{
    constexpr int64_t least_outer = 192; // fewer columns waste most of a tile
    constexpr int64_t least_inner = 32;
    constexpr int64_t most = int64_t(1) << 28;
    return p.a.low == nullptr && p.n_l >= least_inner && p.n_j >= least_outer && p.n_l % 4 == 0 &&
           p.n_j % 4 == 0 && is_f32_dense(p.from) && is_f32_dense(p.c) && p.n_l < most &&
           p.n_j < most && p.n_i / f32_shape::rows * p.n_component < most &&
           clifford_has_warpgroups();
}

bool clifford_linear_f32_copies(const clifford_rows_args &p)
{
    return p.n_l <= clifford_convert::most_items;
}

// Longer rows come in parts, each with scales of its own, whose products are added.
cudaError_t clifford_linear_f32(cudaStream_t stream, const clifford_rows_args &p)
{
    using S = f32_shape;
    const clifford_box_array w = {TESS_F16,  p.w.data,         p.n_l, p.n_j, p.n_grade,
                                  p.w.pitch, p.n_j * p.w.pitch};
    CUtensorMap map;
    if (!clifford_encode_boxes(map, w, S::columns / S::cluster)) {
        return cudaErrorInvalidValue;
    }
    int device = 0, n_multiprocessor = 0;
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&n_multiprocessor, cudaDevAttrMultiProcessorCount, device);
    const int n_cluster = n_multiprocessor / S::cluster;
    cudaError_t error = cudaFuncSetAttribute(
        f32_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    for (int64_t first = 0; first < p.n_l && error == cudaSuccess;
         first += clifford_convert::most_items) {
        f32_args args =
            args_of(p, first,
                    p.n_l - first < clifford_convert::most_items ? p.n_l - first
                                                                 : clifford_convert::most_items);
        args.w = map;
        const dim3 grid(unsigned(S::cluster * (args.n_set < n_cluster ? args.n_set : n_cluster)));
        error = clifford::launch_early(f32_kernel, grid, S::threads, S::shared_bytes, stream, args);
    }
    return error;
}
