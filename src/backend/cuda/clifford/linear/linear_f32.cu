// C[k] = A[k] W[grade of k] of f32 by the matrix instructions of Hopper's warpgroups, as f16 with
// exact scales. See linear_tensor.h.
//
// A block has 128 rows of a component, which stay in the registers of two warpgroups, 64 each, as
// long as all weights pass by. It shares every tile of weights with the other block of its cluster:
// each asks for its part, and the copy engine delivers it to both. Within a block everything goes
// on at once:
//   - one warp starts copies of rows, as f32: half of the next rows come while the weights pass,
//     the others as soon as these are out of the way,
//   - one warp starts copies of weights some tiles ahead,
//   - the warpgroups make their rows f16, and multiply and store 64 columns after 64 columns;
//     one may be some tiles behind the other, so that one stores while the other multiplies.
// Blocks stay and take one set of rows after another.

#include "backend/cuda/clifford/common/box_copies.cuh"
#include "backend/cuda/clifford/common/boxes.h"
#include "backend/cuda/clifford/common/cluster.cuh"
#include "backend/cuda/clifford/common/rounds.cuh"
#include "backend/cuda/clifford/common/wgmma.cuh"
#include "backend/cuda/clifford/linear/linear_held.cuh"
#include "backend/cuda/clifford/linear/linear_tensor.h"

namespace
{

using namespace clifford_mma;

struct f32_shape {
    static constexpr int groups = 2; // that multiply
    static constexpr int warps = groups * 4;
    static constexpr int warp_rows = 2 * clifford_held::half_rows;
    static constexpr int rows = warps * warp_rows; // of a block
    static constexpr int columns = 64;
    static constexpr int cluster = 2;
    static constexpr int inner = 64; // items of a tile's row: one span of the swizzle
    static constexpr int k_steps = inner / clifford_held::step_items;
    static constexpr int row_bytes = 128;
    static constexpr int stages = 12;
    static constexpr int stage_bytes = columns * row_bytes;
    static constexpr int threads = (groups + 1) * 128;
    static constexpr int multiply_registers = 232;
    static constexpr int other_registers = 40;
    static constexpr int column_bytes = groups * columns * 4;
    static constexpr int n_barrier = 2 * (stages + warps);
    static constexpr int shared_bytes =
        stages * stage_bytes + warps * clifford_held::slot_bytes + column_bytes + n_barrier * 8;
    static_assert(shared_bytes <= clifford_mma::most_shared_bytes);
};

struct f32_args {
    CUtensorMap w;
    clifford_held::arrays rows;
    float *c;
    int64_t stride_component, stride_row;
    const float *factor; // [grade][outer]
    const float *bias;
    int64_t stride_bias;
    int32_t n_outer;
    int32_t first_inner; // of the weights
    int32_t n_across;    // tiles of columns
    int32_t n_component;
    int32_t n_set; // of rows, a cluster's, in all components
    int32_t bias_all, add;
    uint8_t grade[TESS_CLIFFORD_MAX_COMPONENTS];
};

// Which sets of rows a block has, and which block of its cluster it is.
struct f32_walk {
    int rank, first, step;
};

__device__ __forceinline__ f32_walk walk_of_block()
{
    using S = f32_shape;
    return {int(cluster_rank()), int(blockIdx.x) / S::cluster, int(gridDim.x) / S::cluster};
}

struct f32_place {
    int component;
    int64_t row;
};

// Rows by rows, so that the cache still has the last rows of all components when this is done.
__device__ __forceinline__ f32_place place_of(const f32_args &p, int set, int rank)
{
    using S = f32_shape;
    return {set % p.n_component, int64_t(set / p.n_component * S::cluster + rank) * S::rows};
}

__device__ __forceinline__ clifford_held::half_unit
half_of(const f32_args &p, const f32_place &where, int warp, int half)
{
    return {p.rows, where.component,
            where.row + warp * f32_shape::warp_rows + half * clifford_held::half_rows};
}

// Places in shared memory: weights of stage s, half of a warp's rows, factors and bias of a
// warpgroup's columns, and barriers of what is full and what is empty.
struct f32_map {
    using S = f32_shape;
    uint32_t base; // a multiple of 1024, from which the swizzle counts

    __device__ __forceinline__ uint32_t w(int s) const
    {
        return base + uint32_t(s * S::stage_bytes);
    }
    __device__ __forceinline__ uint32_t slot(int warp) const
    {
        return w(S::stages) + uint32_t(warp * clifford_held::slot_bytes);
    }
    __device__ __forceinline__ uint32_t column_factor(int group, int column) const
    {
        return slot(S::warps) + uint32_t(group * S::columns + column) * 4;
    }
    // Between rows: 16 columns beside the rows of each of the warpgroup's warps.
    __device__ __forceinline__ uint32_t column_bias(int group, int column) const
    {
        constexpr int items = clifford_held::gap_bytes / 4;
        return slot(group * 4 + column / 16) +
               uint32_t(clifford_held::gap(column % 16 / items) + column % items * 4);
    }
    __device__ __forceinline__ uint32_t w_full(int s) const
    {
        return column_factor(S::groups, 0) + uint32_t(s) * 8;
    }
    __device__ __forceinline__ uint32_t w_empty(int s) const
    {
        return w_full(S::stages + s);
    }
    __device__ __forceinline__ uint32_t rows_full(int warp) const
    {
        return w_full(2 * S::stages + warp);
    }
    __device__ __forceinline__ uint32_t rows_empty(int warp) const
    {
        return rows_full(S::warps + warp);
    }
};

// By one warp.
__device__ __forceinline__ void copy_rows(const f32_args &p, const f32_map &map,
                                          const f32_walk &walk)
{
    using S = f32_shape;
    uint32_t parity = 1;
    for (int set = walk.first; set < p.n_set; set += walk.step) {
        const f32_place where = place_of(p, set, walk.rank);
#pragma unroll 1
        for (int half = 0; half < 2; half++, parity ^= 1) {
#pragma unroll 1
            for (int warp = 0; warp < S::warps; warp++) {
                barrier_wait(map.rows_empty(warp), parity);
                clifford_held::fetch(p.rows, half_of(p, where, warp, half), map.slot(warp),
                                     map.rows_full(warp));
            }
        }
    }
}

// By one thread.
template <int steps>
__device__ __forceinline__ void copy_weights(const f32_args &p, const f32_map &map,
                                             const f32_walk &walk)
{
    using S = f32_shape;
    constexpr int own = S::columns / S::cluster;
    round_count<S::stages> at;
    for (int set = walk.first; set < p.n_set; set += walk.step) {
        const int grade = p.grade[place_of(p, set, walk.rank).component];
#pragma unroll 1
        for (int across = 0; across < p.n_across; across++) {
            const int column = across * S::columns + walk.rank * own;
#pragma unroll 1
            for (int step = 0; step < steps; step++, at.next()) {
                barrier_wait(map.w_empty(at.stage), at.parity ^ 1);
                barrier_expect(map.w_full(at.stage), S::stage_bytes);
                copy_box_cluster(map.w(at.stage) + uint32_t(walk.rank * own * S::row_bytes), &p.w,
                                 p.first_inner + step * S::inner, column, grade,
                                 map.w_full(at.stage), uint16_t((1 << S::cluster) - 1));
            }
        }
    }
}

using f32_group_sums = float[f32_shape::columns / 2];

// A stage is free for both blocks' copies when every warpgroup of the cluster is through with it.
__device__ __forceinline__ void release(const f32_map &map, int s)
{
    if (threadIdx.x % 128 < f32_shape::cluster) {
        barrier_arrive_at(map.w_empty(s), threadIdx.x % 128);
    }
}

// 64 rows by 64 columns.
template <int steps>
__device__ __forceinline__ void
multiply_columns(f32_group_sums &sum,
                 const clifford_held::fragments<steps * f32_shape::k_steps> &rows,
                 const f32_map &map, round_count<f32_shape::stages> &at)
{
    using S = f32_shape;
    int before = 0; // stage whose products may still run
#pragma unroll
    for (int step = 0; step < steps; step++, at.next()) {
        barrier_wait(map.w_full(at.stage), at.parity);
        const uint64_t b = tile_descriptor(map.w(at.stage));
        group_fence();
#pragma unroll
        for (int k = 0; k < S::k_steps; k++) {
            group_multiply_held_half(sum, rows[step * S::k_steps + k], b + 2 * k, step + k > 0);
        }
        group_commit();
        group_wait<1>();
        if (step > 0) {
            release(map, before);
        }
        before = at.stage;
    }
    group_wait<0>();
    release(map, before);
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
template <bool add>
__device__ __forceinline__ void put_four(float *to, float4 v, uint64_t policy)
{
    if (add) {
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1,%2,%3,%4};\n" ::"l"(to), "f"(v.x),
                     "f"(v.y), "f"(v.z), "f"(v.w)
                     : "memory");
    } else {
        asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1,%2,%3,%4}, %5;\n" ::"l"(to),
                     "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "l"(policy)
                     : "memory");
    }
}

__device__ __forceinline__ bool is_biased(const f32_args &p, const f32_place &where)
{
    return p.bias != nullptr && (p.bias_all || where.component == 0);
}

// What a thread brings of 64 columns: the first 64 threads of a warpgroup a factor, the others a
// bias.
struct column_source {
    const float *from;
    int64_t stride;
    int last;

    __device__ __forceinline__ column_source(const f32_args &p, const f32_place &where, int thread)
        : from(p.factor + p.grade[where.component] * int64_t(p.n_outer)), stride(1),
          last(p.n_outer - 1)
    {
        if (thread >= f32_shape::columns && is_biased(p, where)) {
            from = p.bias;
            stride = p.stride_bias;
        }
    }
    __device__ __forceinline__ float operator[](int column) const
    {
        return __ldcg(from + min(column, last) * stride);
    }
};

// A warpgroup's sums, on their way out.
struct f32_sums {
    float *to; // row and column of the thread's first
    int64_t stride_row;
    uint32_t factor; // of that column
    uint32_t bias;   // likewise, of the 16 columns from there on a slot further
    bool biased;
    float row_factor[2]; // of the thread's rows, which are 8 apart
    int n_row, n_column; // from there on
    uint64_t policy;     // of the second-level cache
};

// whole: all rows and columns are inside.
template <bool add, bool whole>
__device__ __forceinline__ void store_columns(const f32_sums &p, const f32_group_sums &sum)
{
#pragma unroll
    for (int j = 0; j < f32_shape::columns / 8; j += 2) {
        const int column = 8 * j;
        const float4 factor = load_four(p.factor + uint32_t(column) * 4);
        const float4 plus =
            p.biased ? load_four(p.bias + uint32_t(j / 2 * clifford_held::slot_bytes)) : float4{};
#pragma unroll
        for (int second = 0; second < 2; second++) {
            const float scale = p.row_factor[second];
            const float *lower = &sum[4 * j + 2 * second];
            const float *upper = lower + 4;
            float4 v = make_float4(lower[0] * factor.x * scale, lower[1] * factor.y * scale,
                                   upper[0] * factor.z * scale, upper[1] * factor.w * scale);
            if (p.biased) {
                v = make_float4(v.x + plus.x, v.y + plus.y, v.z + plus.z, v.w + plus.w);
            }
            if (whole || (column < p.n_column && 8 * second < p.n_row)) {
                put_four<add>(p.to + second * 8 * p.stride_row + column, v, p.policy);
            }
        }
    }
}

template <bool add>
__device__ __forceinline__ void store_columns(const f32_sums &p, bool whole,
                                              const f32_group_sums &sum)
{
    if (whole) {
        store_columns<add, true>(p, sum);
    } else {
        store_columns<add, false>(p, sum);
    }
}

// The sums of a warpgroup; its threads' rows have these factors, what columns have is in the map.
// Weights lie so that a thread's sums are of four columns in a row.
__device__ __forceinline__ void store_columns(const f32_args &p, const f32_map &map,
                                              const f32_place &where, int first_column, int group,
                                              const float (&row_factor)[2], uint64_t policy,
                                              const f32_group_sums &sum)
{
    using S = f32_shape;
    const int lane = int(threadIdx.x) % 32;
    const int64_t first_row = where.row + int(threadIdx.x) / 32 * S::warp_rows;
    const int64_t row = first_row + lane / 4;
    const int column = first_column + lane % 4 * 4;
    const f32_sums out = {
        p.c + where.component * p.stride_component + row * p.stride_row + column,
        p.stride_row,
        map.column_factor(group, lane % 4 * 4),
        map.column_bias(group, lane % 4 * 4),
        is_biased(p, where),
        {row_factor[0], row_factor[1]},
        int(min(p.rows.n_row - row, int64_t(S::rows))),
        p.n_outer - column,
        policy,
    };
    const bool whole =
        first_row + S::warp_rows <= p.rows.n_row && first_column + S::columns <= p.n_outer;
    if (p.add) {
        store_columns<true>(out, whole, sum);
    } else {
        store_columns<false>(out, whole, sum);
    }
}

// Half of a warp's rows to its registers; returns the factor that takes out the scale of the lane's
// row.
template <int half, int steps>
__device__ __forceinline__ float take_rows(clifford_held::fragments<steps> &held, const f32_args &p,
                                           const f32_map &map, const f32_place &where, int warp)
{
    const uint32_t slot = map.slot(warp);
    barrier_wait(map.rows_full(warp), half);
    const int exponent = clifford_held::convert<half, steps>(held, slot);
    if (p.rows.copy != nullptr) {
        clifford_held::store_copy<half, steps>(held, exponent, p.rows,
                                               half_of(p, where, warp, half), slot);
    }
    barrier_arrive(map.rows_empty(warp)); // every lane says that it has read its items
    return power_of_two(exponent - half_exponent);
}

template <int steps>
__device__ __forceinline__ void multiply_sets(const f32_args &p, const f32_map &map,
                                              const f32_walk &walk)
{
    using S = f32_shape;
    constexpr int held_steps = steps * S::k_steps;
    // The compiler is to know that a warp goes one way.
    const int warp = __shfl_sync(clifford::all_lanes, int(threadIdx.x) / 32, 0);
    const int group = warp / 4;
    const int thread = int(threadIdx.x) % 128;
    clifford_held::fragments<held_steps> held;
    f32_group_sums sum;
    round_count<S::stages> at;
#pragma unroll 1
    for (int set = walk.first; set < p.n_set; set += walk.step) {
        const f32_place where = place_of(p, set, walk.rank);
        const column_source source(p, where, thread);
        // The results of a block's last set are what the next kernel still finds in the cache.
        const bool is_last = set + walk.step >= p.n_set;
        const uint64_t policy = is_last ? clifford::stay() : clifford::leave_first();
        const float of_row[2] = {take_rows<0, held_steps>(held, p, map, where, warp),
                                 take_rows<1, held_steps>(held, p, map, where, warp)};
#pragma unroll 1
        for (int across = 0; across < p.n_across; across++) {
            const int column = across * S::columns;
            const float own = source[column + thread % S::columns];
            multiply_columns<steps>(sum, held, map, at);
            group_sync(group); // what the columns before had is not read any more
            clifford::store_shared(thread < S::columns
                                       ? map.column_factor(group, thread)
                                       : map.column_bias(group, thread - S::columns),
                                   own);
            group_sync(group);
            store_columns(p, map, where, column, group, of_row, policy, sum);
        }
    }
}

__device__ __forceinline__ void init_barriers(const f32_args &p, const f32_map &map)
{
    using S = f32_shape;
    prefetch_map(&p.w);
    for (int s = 0; s < S::stages; s++) {
        barrier_init(map.w_full(s), 1);
        barrier_init(map.w_empty(s), S::groups * S::cluster);
    }
    for (int warp = 0; warp < S::warps; warp++) {
        barrier_init(map.rows_full(warp), 1);
        barrier_init(map.rows_empty(warp), 32);
    }
    barrier_init_fence();
}

// What is behind the ends of shorter rows stays zero.
__device__ __forceinline__ void clear_slots(const f32_map &map)
{
    using S = f32_shape;
    for (uint32_t at = map.slot(0) + threadIdx.x * 16; at < map.slot(S::warps);
         at += S::threads * 16) {
        asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};\n" ::"r"(at), "r"(0) : "memory");
    }
    fence_async_proxy();
}

// steps: tiles of the inner axis.
template <int steps>
__global__ void TESS_CUDA_CLUSTER(f32_shape::cluster) __launch_bounds__(f32_shape::threads, 1)
    f32_kernel(const __grid_constant__ f32_args p)
{
#if TESS_CUDA_HAS_GROUPS
    using S = f32_shape;
    extern __shared__ __align__(1024) uint8_t shared[];
    const f32_map map = {shared_address(shared)};
    if (threadIdx.x == 0) {
        init_barriers(p, map);
    }
    if (p.rows.n < steps * S::inner) {
        clear_slots(map);
    }
    cluster_sync();
    const int warp = int(threadIdx.x) / 32 - S::warps;
    if (warp < 0) {
        take_registers<S::multiply_registers>();
        clifford::wait_for_previous();
        multiply_sets<steps>(p, map, walk_of_block());
    } else {
        give_registers<S::other_registers>();
        if (warp == 0) {
            copy_rows(p, map, walk_of_block());
        } else if (threadIdx.x == (S::warps + 1) * 32) {
            clifford::wait_for_previous();
            copy_weights<steps>(p, map, walk_of_block());
        }
    }
    // No block leaves while the other may still write to it.
    __syncwarp();
    cluster_sync();
#endif
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
    args.n_across = int32_t((p.n_j - 1) / S::columns + 1);
    args.n_component = p.n_component;
    args.n_set = int32_t((p.n_i - 1) / (S::rows * S::cluster) + 1) * p.n_component;
    args.bias_all = p.bias_all;
    args.add = p.add != 0 || first > 0;
    for (int k = 0; k < p.n_component; k++) {
        args.grade[k] = p.grade[k];
    }
    return args;
}

void (*kernel_for(int n_inner))(f32_args)
{
    using S = f32_shape;
    return n_inner <= 2 * S::inner   ? f32_kernel<2>
           : n_inner <= 4 * S::inner ? f32_kernel<4>
                                     : f32_kernel<8>;
}

} // namespace

bool clifford_linear_f32_takes(const clifford_rows_args &p)
{
    constexpr int64_t least_outer = 32; // fewer columns waste more than half of a tile
    constexpr int64_t least_inner = 32;
    constexpr int64_t most = int64_t(1) << 28;
    return p.a.low == nullptr && p.n_l >= least_inner && p.n_j >= least_outer && p.n_l % 4 == 0 &&
           p.n_j % 4 == 0 && clifford_is_f32_dense(p.from) && clifford_is_f32_dense(p.c) &&
           p.n_l < most && p.n_j < most && p.n_i / f32_shape::rows * p.n_component < most &&
           tess_cuda_level_here() == TESS_CUDA_GROUPS;
}

bool clifford_linear_f32_copies(const clifford_rows_args &p)
{
    return p.n_l <= clifford_held::most_items;
}

// Longer rows come in parts, each with scales of its own, whose products are added.
cudaError_t clifford_linear_f32(cudaStream_t stream, const clifford_rows_args &p)
{
    using S = f32_shape;
    const clifford_box_array w = {TESS_F16,
                                  p.w.data,
                                  p.n_l,
                                  clifford_fours_columns(p.n_j),
                                  p.n_grade,
                                  p.w.pitch,
                                  clifford_fours_columns(p.n_j) * p.w.pitch};
    CUtensorMap map;
    if (!clifford_encode_boxes(map, w, S::columns / S::cluster)) {
        return cudaErrorInvalidValue;
    }
    int device = 0, n_multiprocessor = 0;
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&n_multiprocessor, cudaDevAttrMultiProcessorCount, device);
    const int n_cluster = n_multiprocessor / S::cluster;
    cudaError_t error = cudaSuccess;
    for (int64_t first = 0; first < p.n_l && error == cudaSuccess;
         first += clifford_held::most_items) {
        f32_args args = args_of(
            p, first,
            p.n_l - first < clifford_held::most_items ? p.n_l - first : clifford_held::most_items);
        args.w = map;
        const dim3 grid(unsigned(S::cluster * (args.n_set < n_cluster ? args.n_set : n_cluster)));
        error = clifford::launch_early(kernel_for(args.rows.n), grid, S::threads, S::shared_bytes,
                                       stream, args);
    }
    return error;
}
