// x^T grad_out over chunks of rows with the matrix instructions of Hopper's warpgroups: see
// linear_scales.cuh for the scales of rows.
//
// A cluster of two blocks owns 256 rows and 256 columns of a chunk's result, each block 128 of the
// rows and half of the tile of grad_out, which the copy engine delivers to both. One warp of a
// block starts copies four tiles ahead; two warpgroups have 64 rows each, take x as fragments,
// because those can be scaled, and grad_out from where it lies.

#include "backend/cuda/clifford/common/box_copies.cuh"
#include "backend/cuda/clifford/common/boxes.h"
#include "backend/cuda/clifford/common/cluster.cuh"
#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/common/rounds.cuh"
#include "backend/cuda/clifford/common/wgmma.cuh"
#include "backend/cuda/clifford/linear/linear_scales.cuh"
#include "backend/cuda/clifford/linear/linear_tensor.h"

namespace
{

using namespace clifford_mma;

struct group_sums_shape {
    static constexpr int m = 128; // of a block
    static constexpr int n = 256;
    static constexpr int cluster = 2;
    static constexpr int rows = 64; // of a stage
    static constexpr int stages = 4;
    static constexpr int consumers = 2; // warpgroups
    static constexpr int threads = (consumers + 1) * 128;
    static constexpr int box_bytes = rows * 128; // 64 columns of 16 bits
    static constexpr int a_bytes = m / 64 * box_bytes;
    static constexpr int b_bytes = n / 64 * box_bytes;
    static constexpr int stage_bytes = a_bytes + b_bytes;
    static constexpr int most_rows = 16384; // of a chunk, whose scales are held
    static constexpr int shared_bytes = stages * stage_bytes + most_rows * 2 + 2 * stages * 8;
    static_assert(shared_bytes <= clifford_mma::most_shared_bytes);
};

// Of a thread of a warpgroup, which has 64 rows of m.
using group_sums = float[group_sums_shape::n / 2];

struct group_sums_args {
    CUtensorMap a, b;
    clifford_sums_args p;
    int32_t n_down, n_across; // clusters and tiles of a result
};

// Where a block's work lies.
struct group_sums_place {
    int component, rank;
    int64_t z, row0, n_row, m0, n0;

    __device__ __forceinline__ explicit group_sums_place(const group_sums_args &args)
    {
        using S = group_sums_shape;
        const clifford_sums_args &p = args.p;
        const int cluster = int(blockIdx.x) / S::cluster;
        rank = int(cluster_rank());
        z = cluster / (args.n_down * args.n_across);
        m0 = (cluster / args.n_across % args.n_down * S::cluster + rank) * S::m;
        n0 = cluster % args.n_across * S::n;
        component = int(z / p.n_chunk);
        row0 = z % p.n_chunk * p.chunk;
        n_row = min(p.chunk, p.n_row - row0);
    }
    // Two at a time; rows behind the end are zeros.
    __device__ __forceinline__ int n_stage() const
    {
        return int((n_row - 1) / (2 * group_sums_shape::rows) + 1) * 2;
    }
};

struct group_sums_map {
    using S = group_sums_shape;
    uint32_t base; // a multiple of 1024, from which the swizzle counts

    __device__ __forceinline__ uint32_t a(int s) const
    {
        return base + uint32_t(s * S::stage_bytes);
    }
    __device__ __forceinline__ uint32_t b(int s) const
    {
        return a(s) + S::a_bytes;
    }
    __device__ __forceinline__ uint32_t full(int s) const
    {
        return a(S::stages) + S::most_rows * 2 + uint32_t(s) * 8;
    }
    __device__ __forceinline__ uint32_t empty(int s) const
    {
        return full(S::stages + s);
    }
};

// By one thread.
__device__ __forceinline__ void copy_rows(const group_sums_args &args, const group_sums_map &map,
                                          const group_sums_place &at)
{
    using S = group_sums_shape;
    constexpr int n_own = S::n / 64 / S::cluster; // boxes of b
    round_count<S::stages> to;
    for (int i = 0; i < at.n_stage(); i++, to.next()) {
        const uint32_t full = map.full(to.stage);
        const int row = int(at.row0) + i * S::rows;
        barrier_wait(map.empty(to.stage), to.parity ^ 1);
        barrier_expect(full, S::stage_bytes);
#pragma unroll
        for (int box = 0; box < S::m / 64; box++) {
            copy_box(map.a(to.stage) + uint32_t(box * S::box_bytes), &args.a, int(at.m0) + box * 64,
                     row, at.component, full);
        }
#pragma unroll
        for (int own = 0; own < n_own; own++) {
            const int box = at.rank * n_own + own;
            copy_box_cluster(map.b(to.stage) + uint32_t(box * S::box_bytes), &args.b,
                             int(at.n0) + box * 64, row, at.component, full,
                             uint16_t((1 << S::cluster) - 1));
        }
    }
}

// A stage; its products are left running.
template <typename M, bool scaled>
__device__ __forceinline__ void multiply_stage(group_sums &sum, turned_fragments<> &held,
                                               uint32_t half_a, uint32_t b, const __half *scales,
                                               int keep)
{
    held.load(half_a);
    if (scaled) {
        held.scale(scales);
    }
    const uint64_t tile_b = turned_descriptor(b, group_sums_shape::box_bytes);
    group_fence();
#pragma unroll
    for (int step = 0; step < 4; step++) {
        group_multiply_held<M>(sum, held.a[step], tile_b + 128 * step, keep + step > 0);
    }
    group_commit();
}

template <typename M, bool scaled>
__device__ __forceinline__ void multiply_rows(const group_sums_map &map, const __half *scales,
                                              int n_stage, group_sums &sum)
{
    using S = group_sums_shape;
    const uint32_t own_half = threadIdx.x / 128 * S::box_bytes;
    const auto release = [&](int s) {
        if (threadIdx.x % 128 < S::cluster) {
            barrier_arrive_at(map.empty(s), threadIdx.x % 128);
        }
    };
    // Fragments of a stage are loaded while the one before is multiplied.
    turned_fragments<> held[2];
    round_count<S::stages> at;
    int before = -1; // the stage before
#pragma unroll 1
    for (int i = 0; i < n_stage; i += 2) {
#pragma unroll
        for (int odd = 0; odd < 2; odd++, at.next()) {
            barrier_wait(map.full(at.stage), at.parity);
            multiply_stage<M, scaled>(sum, held[odd], map.a(at.stage) + own_half, map.b(at.stage),
                                      scales + (i + odd) * S::rows, i + odd);
            group_wait<1>();
            if (before >= 0) {
                release(before);
            }
            before = at.stage;
        }
    }
    group_wait<0>();
    release(before);
}

// By the threads that multiply.
__device__ __forceinline__ void consumers_sync()
{
    asm volatile("bar.sync 1, %0;\n" ::"n"(group_sums_shape::consumers * 128) : "memory");
}

template <typename M, bool scaled>
__device__ __forceinline__ void sum_chunk(const clifford_sums_args &p, const group_sums_map &map,
                                          const group_sums_place &at, __half *scales)
{
    using S = group_sums_shape;
    constexpr int threads = S::consumers * 128;
    int largest = half_exponent;
    if (scaled) {
        const int64_t first = at.component * p.n_row + at.row0;
        largest = largest_exponent<threads>(p.a.exponent + first, p.b.exponent + first, at.n_row,
                                            consumers_sync);
        fill_scales<threads>(scales, at.n_stage() * S::rows, p.a.exponent + first,
                             p.b.exponent + first, at.n_row, largest);
        consumers_sync();
    }
    group_sums sum;
    multiply_rows<M, scaled>(map, scales, at.n_stage(), sum);
    store_partial<S::n>(p, p.partial + at.z * p.n_m * p.n_n, sum, at.m0 + threadIdx.x / 32 * 16,
                        at.n0, unscale_of(largest, scaled ? 0 : half_exponent));
}

template <typename M, bool scaled>
__global__ void TESS_CUDA_CLUSTER(group_sums_shape::cluster)
    __launch_bounds__(group_sums_shape::threads, 1)
        group_sums_kernel(const __grid_constant__ group_sums_args args)
{
#if TESS_CUDA_HAS_GROUPS
    using S = group_sums_shape;
    extern __shared__ __align__(1024) uint8_t shared[];
    const group_sums_map map = {shared_address(shared)};
    const group_sums_place at(args);
    if (threadIdx.x == 0) {
        prefetch_map(&args.a);
        prefetch_map(&args.b);
        for (int s = 0; s < S::stages; s++) {
            barrier_init(map.full(s), 1);
            barrier_init(map.empty(s), S::consumers * S::cluster);
        }
        barrier_init_fence();
    }
    cluster_sync();
    clifford::wait_for_previous();
    if (threadIdx.x < S::consumers * 128) {
        take_registers<232>();
        sum_chunk<M, scaled>(args.p, map, at,
                             reinterpret_cast<__half *>(shared + S::stages * S::stage_bytes));
    } else {
        give_registers<40>();
        if (threadIdx.x % 128 == 0) {
            copy_rows(args, map, at);
        }
    }
    __syncwarp();
    // No block leaves while the other may still write to it.
    cluster_sync();
#endif
}

bool encode_sums(CUtensorMap &map, int32_t type, const clifford_matrix &from, int64_t n,
                 const clifford_sums_args &p)
{
    const clifford_box_array array = {type,          from.data,  n,          p.n_row,
                                      p.n_component, from.pitch, from.stride};
    return clifford_encode_boxes(map, array, group_sums_shape::rows);
}

template <typename M, bool scaled>
cudaError_t launch_group_sums(cudaStream_t stream, int32_t type, const clifford_sums_args &p)
{
    using S = group_sums_shape;
    group_sums_args args = {};
    args.p = p;
    args.n_down = int32_t((p.n_m - 1) / (S::m * S::cluster) + 1);
    args.n_across = int32_t((p.n_n - 1) / S::n + 1);
    if (!encode_sums(args.a, type, p.a, p.n_m, p) || !encode_sums(args.b, type, p.b, p.n_n, p)) {
        return cudaErrorInvalidValue;
    }
    const int64_t blocks =
        int64_t(args.n_down) * args.n_across * S::cluster * p.n_component * p.n_chunk;
    if (blocks > INT32_MAX) {
        return cudaErrorInvalidConfiguration;
    }
    return clifford::launch_early(group_sums_kernel<M, scaled>, dim3(unsigned(blocks)), S::threads,
                                  S::shared_bytes, stream, args);
}

} // namespace

bool clifford_linear_group_sums_take(const clifford_sums_args &p)
{
    constexpr int64_t least = 192; // features: fewer waste most of a tile
    constexpr int64_t most = int64_t(1) << 31;
    return p.a.low == nullptr && p.n_m >= least && p.n_n >= least && p.a.stride > 0 &&
           p.b.stride > 0 && p.a.pitch > 0 && p.b.pitch > 0 && p.n_row < most &&
           p.chunk <= group_sums_shape::most_rows && tess_cuda_level_here() == TESS_CUDA_GROUPS;
}

cudaError_t clifford_linear_group_sums(cudaStream_t stream, int32_t dtype,
                                       const clifford_sums_args &p)
{
    return dtype == TESS_F32   ? launch_group_sums<__half, true>(stream, TESS_F16, p)
           : dtype == TESS_F16 ? launch_group_sums<__half, false>(stream, TESS_F16, p)
                               : launch_group_sums<__nv_bfloat16, false>(stream, TESS_BF16, p);
}
