// See clifford_linear_wgmma.h.
//
// A cluster of two blocks owns 256 rows of a component and 256 columns: each block 128 rows, half
// of the weights' tile each, which the copy engine delivers to both. One warp of a block starts
// copies four tiles ahead, two warpgroups multiply 64 rows each. Blocks stay and take one tile
// after another, so that copies of the next go on while sums are stored.

#include "backend/cuda/clifford_boxes.h"
#include "backend/cuda/clifford_linear_wgmma.h"
#include "backend/cuda/clifford_types.cuh"
#include "backend/cuda/clifford_wgmma.cuh"

namespace
{

using namespace clifford_mma;
using namespace clifford_types;

struct wgmma_shape {
    static constexpr int rows = 128;    // of a block
    static constexpr int columns = 256; // of a cluster
    static constexpr int cluster = 2;
    static constexpr int row_bytes = 128; // of a tile: one span of the swizzle
    static constexpr int stages = 4;
    static constexpr int consumers = 2; // warpgroups
    static constexpr int threads = (consumers + 1) * 128;
    static constexpr int a_bytes = rows * row_bytes;
    static constexpr int w_bytes = columns * row_bytes;
    static constexpr int stage_bytes = a_bytes + w_bytes;
    static constexpr int slice_bytes = 64 * row_bytes; // of a warpgroup's sums, on their way out
    static constexpr int slices = 2;
    static constexpr int sums_bytes = consumers * slices * slice_bytes;
    static constexpr int shared_bytes = stages * stage_bytes + sums_bytes + 1024 + 2 * stages * 8;
};
using S = wgmma_shape;

constexpr int64_t least_outer = 192; // fewer columns waste most of a tile
constexpr int64_t least_inner = 32;

struct rows_args {
    CUtensorMap a, w, c;
    const void *bias;
    int64_t stride_bias;
    int64_t n_row, n_outer;
    int32_t n_step; // tiles of the inner axis
    int32_t n_pair; // of row tiles
    int32_t n_across;
    int32_t n_tile;
    int32_t bias_all, bias_is_f32, add;
    uint8_t grade[TESS_CL_MAX_COMPONENTS];
};

// Where a tile is.
struct place {
    int component, column;
    int64_t row;
};

__device__ __forceinline__ place place_of(const rows_args &p, int tile, int rank)
{
    const int pair = tile / p.n_across;
    return {pair / p.n_pair, tile % p.n_across * S::columns,
            int64_t(pair % p.n_pair * S::cluster + rank) * S::rows};
}

// Places of stage s: tiles, and the barriers of full and of empty ones.
struct stage_map {
    uint32_t base;
    uint32_t barriers;

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
    __device__ __forceinline__ uint32_t full(int s) const
    {
        return barriers + uint32_t(s) * 8;
    }
    __device__ __forceinline__ uint32_t empty(int s) const
    {
        return barriers + uint32_t(S::stages + s) * 8;
    }
};

// Stages come round and round; parity tells the rounds apart.
struct stage_count {
    int stage = 0;
    uint32_t parity = 0;

    __device__ __forceinline__ void next()
    {
        if (++stage == S::stages) {
            stage = 0;
            parity ^= 1;
        }
    }
};

template <typename T>
__device__ __forceinline__ void copy_tiles(const rows_args &p, const stage_map &map, int rank,
                                           int cluster, int n_cluster)
{
    constexpr int items = S::row_bytes / int(sizeof(T));
    constexpr int half = S::columns / S::cluster;
    stage_count at;
    for (int tile = cluster; tile < p.n_tile; tile += n_cluster) {
        const place where = place_of(p, tile, rank);
        for (int step = 0; step < p.n_step; step++, at.next()) {
            barrier_wait(map.empty(at.stage), at.parity ^ 1);
            barrier_expect(map.full(at.stage), S::stage_bytes);
            clifford_wgmma::copy_box(map.a(at.stage), &p.a, step * items, int(where.row),
                                     where.component, map.full(at.stage));
            clifford_wgmma::copy_box_cluster(map.w(at.stage) + uint32_t(rank * half * S::row_bytes),
                                             &p.w, step * items, where.column + rank * half,
                                             p.grade[where.component], map.full(at.stage),
                                             uint16_t((1 << S::cluster) - 1));
        }
    }
}

template <typename T>
__device__ __forceinline__ float bias_at(const rows_args &p, int64_t j)
{
    return p.bias_is_f32 ? static_cast<const float *>(p.bias)[j * p.stride_bias]
                         : widen(static_cast<const T *>(p.bias)[j * p.stride_bias]);
}

__device__ __forceinline__ void put_pair(uint32_t to, float first, float second, float)
{
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};\n" ::"r"(to), "f"(first), "f"(second)
                 : "memory");
}

__device__ __forceinline__ void put_pair(uint32_t to, float first, float second, __nv_bfloat16)
{
    asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(to), "r"(pack_bfloat16(first, second))
                 : "memory");
}

__device__ __forceinline__ void group_sync(int group)
{
    asm volatile("bar.sync %0, 128;\n" ::"r"(group + 1) : "memory");
}

// The copy engine takes a warpgroup's sums out, 128 bytes of columns after 128 bytes, while the
// next are written to shared memory, and then the next tile is multiplied.
template <typename T>
__device__ __forceinline__ void store_sums(const rows_args &p, const stage_map &map,
                                           const place &where, int group,
                                           const float (&sum)[clifford_wgmma::sums_per_thread])
{
    constexpr int columns = S::row_bytes / int(sizeof(T)); // of a slice
    const int lane = int(threadIdx.x) % 32;
    const int row = int(threadIdx.x) % 128 / 32 * 16 + lane / 4;
    const bool biased = p.bias != nullptr && (p.bias_all || where.component == 0);
    const bool leads = threadIdx.x % 128 == 0;
#pragma unroll
    for (int slice = 0; slice < S::columns / columns; slice++) {
        const uint32_t to = map.sums(group, slice % S::slices);
        if (leads) {
            clifford_wgmma::wait_boxes_read<S::slices - 1>();
        }
        group_sync(group);
#pragma unroll
        for (int j = 0; j < columns / 8; j++) {
            const int column = j * 8 + lane % 4 * 2;
            const int64_t outer = where.column + slice * columns + column;
            const float bias_0 = biased && outer < p.n_outer ? bias_at<T>(p, outer) : 0.0f;
            const float bias_1 = biased && outer + 1 < p.n_outer ? bias_at<T>(p, outer + 1) : 0.0f;
            const float *pair = &sum[4 * (slice * columns / 8 + j)];
            const int byte = column * int(sizeof(T));
#pragma unroll
            for (int second = 0; second < 2; second++) {
                put_pair(to + swizzle_128(row + 8 * second, byte / 16) + uint32_t(byte % 16),
                         pair[2 * second] + bias_0, pair[2 * second + 1] + bias_1, T());
            }
        }
        fence_async_proxy();
        group_sync(group);
        if (leads) {
            const int x = where.column + slice * columns;
            const int y = int(where.row) + group * 64;
            if (p.add) {
                clifford_wgmma::add_box(&p.c, x, y, where.component, to);
            } else {
                clifford_wgmma::store_box(&p.c, x, y, where.component, to);
            }
            clifford_wgmma::commit_boxes();
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
__device__ __forceinline__ void multiply_tiles(const rows_args &p, const stage_map &map, int rank,
                                               int cluster, int n_cluster)
{
    const int group = int(threadIdx.x) / 128;
    float sum[clifford_wgmma::sums_per_thread];
    stage_count at;
    for (int tile = cluster; tile < p.n_tile; tile += n_cluster) {
        int held = -1; // stage whose products may still run
        for (int step = 0; step < p.n_step; step++, at.next()) {
            barrier_wait(map.full(at.stage), at.parity);
            const uint64_t a =
                clifford_wgmma::tile_descriptor(map.a(at.stage) + uint32_t(group) * 64 * 128);
            const uint64_t w = clifford_wgmma::tile_descriptor(map.w(at.stage));
            group_fence();
#pragma unroll
            for (int k = 0; k < S::row_bytes / 32; k++) {
                clifford_wgmma::multiply<T>(sum, a + 2 * k, w + 2 * k, step + k > 0);
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
        store_sums<T>(p, map, place_of(p, tile, rank), group, sum);
    }
    if (threadIdx.x % 128 == 0) {
        clifford_wgmma::wait_boxes_read<0>();
    }
}

template <typename T>
__global__ void __cluster_dims__(S::cluster, 1, 1) __launch_bounds__(S::threads, 1)
    rows_kernel(const __grid_constant__ rows_args p)
{
    extern __shared__ uint8_t shared[];
    const uint32_t start = shared_address(shared);
    // The swizzle counts from multiples of 1024 bytes.
    const uint32_t base = (start + 1023) / 1024 * 1024;
    const stage_map map = {base, base + S::stages * S::stage_bytes + S::sums_bytes};
    const int rank = int(cluster_rank());
    const int cluster = int(blockIdx.x) / S::cluster;
    const int n_cluster = int(gridDim.x) / S::cluster;
    if (threadIdx.x == 0) {
        for (int s = 0; s < S::stages; s++) {
            barrier_init(map.full(s), 1);
            barrier_init(map.empty(s), S::consumers * S::cluster);
        }
        barrier_init_fence();
    }
    cluster_sync();
    if (threadIdx.x / 128 == S::consumers) {
        clifford_wgmma::give_registers<40>();
        if (threadIdx.x % 128 == 0) {
            copy_tiles<T>(p, map, rank, cluster, n_cluster);
        }
    } else {
        clifford_wgmma::take_registers<232>();
        multiply_tiles<T>(p, map, rank, cluster, n_cluster);
    }
    // No block leaves while the other may still write to it.
    cluster_sync();
}

// ---- The weights' copy --------------------------------------------------------------------------

constexpr int turn_tile = 32;

struct turn_args {
    const void *from;
    int64_t stride[3];
    void *to; // [grade][outer][pitch]
    int64_t n_inner, n_outer, pitch;
};

__device__ __forceinline__ void put_rounded(float *to, float value)
{
    *to = __uint_as_float(to_tf32(value));
}

__device__ __forceinline__ void put_rounded(__nv_bfloat16 *to, float value)
{
    *to = narrow<__nv_bfloat16>(value);
}

// Weights with the inner axis dense, rounded to what the matrix units take; zeros behind a row.
template <typename W, typename T>
__global__ void turn_kernel(const turn_args p)
{
    __shared__ float held[turn_tile][turn_tile + 1];
    const W *from = static_cast<const W *>(p.from) + blockIdx.z * p.stride[0];
    const int64_t inner = int64_t(blockIdx.x) * turn_tile;
    const int64_t outer = int64_t(blockIdx.y) * turn_tile;
    for (int i = int(threadIdx.y); i < turn_tile; i += int(blockDim.y)) {
        const int64_t row = inner + i, column = outer + threadIdx.x;
        held[i][threadIdx.x] = row < p.n_inner && column < p.n_outer
                                   ? widen(from[row * p.stride[1] + column * p.stride[2]])
                                   : 0.0f;
    }
    __syncthreads();
    T *to = static_cast<T *>(p.to) + blockIdx.z * p.n_outer * p.pitch;
    for (int i = int(threadIdx.y); i < turn_tile; i += int(blockDim.y)) {
        const int64_t row = outer + i, column = inner + threadIdx.x;
        if (row < p.n_outer && column < p.pitch) {
            put_rounded(to + row * p.pitch + column, held[threadIdx.x][i]);
        }
    }
}

int64_t item_bytes(int32_t dtype)
{
    return dtype == TESS_F32 ? 4 : 2;
}

int64_t pitch_of(const clifford_wgmma_args &p)
{
    const int64_t items = 16 / item_bytes(p.dtype);
    return (p.n_inner + items - 1) / items * items;
}

template <typename W, typename T>
cudaError_t turn_weights(cudaStream_t stream, const clifford_wgmma_args &p)
{
    const turn_args args = {
        p.weight.data, {p.weight.stride[0], p.weight.stride[1], p.weight.stride[2]},
        p.scratch,     p.n_inner,
        p.n_outer,     pitch_of(p)};
    const dim3 grid(unsigned((args.pitch - 1) / turn_tile + 1),
                    unsigned((p.n_outer - 1) / turn_tile + 1), unsigned(p.algebra->n_grade));
    turn_kernel<W, T><<<grid, dim3(turn_tile, 8), 0, stream>>>(args);
    return cudaGetLastError();
}

// ---- Launch -------------------------------------------------------------------------------------

template <typename T>
cudaError_t launch_rows(cudaStream_t stream, const clifford_wgmma_args &p)
{
    rows_args args = {};
    const int64_t pitch = pitch_of(p);
    const int32_t n_component = p.algebra->n_component;
    const clifford_box_array a = {p.dtype,     p.a.data,      p.n_inner,    p.n_row,
                                  n_component, p.a.stride[1], p.a.stride[0]};
    const clifford_box_array w = {p.dtype, p.scratch,        pitch, p.n_outer, p.algebra->n_grade,
                                  pitch,   p.n_outer * pitch};
    const clifford_box_array c = {p.dtype,     p.c.data,      p.n_outer,    p.n_row,
                                  n_component, p.c.stride[1], p.c.stride[0]};
    if (!clifford_encode_boxes(args.a, a, S::rows) ||
        !clifford_encode_boxes(args.w, w, S::columns / S::cluster) ||
        !clifford_encode_boxes(args.c, c, 64)) {
        return cudaErrorInvalidValue;
    }
    args.bias = p.bias;
    args.stride_bias = p.stride_bias;
    args.n_outer = p.n_outer;
    args.n_step = int32_t((p.n_inner * item_bytes(p.dtype) - 1) / S::row_bytes + 1);
    args.n_pair = int32_t((p.n_row - 1) / (S::rows * S::cluster) + 1);
    args.n_across = int32_t((p.n_outer - 1) / S::columns + 1);
    args.n_tile = args.n_pair * args.n_across * p.algebra->n_component;
    args.bias_all = p.bias_all;
    args.bias_is_f32 = p.weight_dtype == TESS_F32;
    args.add = p.add;
    for (int k = 0; k < p.algebra->n_component; k++) {
        args.grade[k] = p.algebra->grade[k];
    }
    int device = 0, n_multiprocessor = 0;
    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&n_multiprocessor, cudaDevAttrMultiProcessorCount, device);
    const int n_cluster = n_multiprocessor / S::cluster;
    const unsigned blocks =
        unsigned(S::cluster * (args.n_tile < n_cluster ? args.n_tile : n_cluster));
    const cudaError_t error = cudaFuncSetAttribute(
        rows_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::shared_bytes);
    if (error != cudaSuccess) {
        return error;
    }
    rows_kernel<T><<<blocks, S::threads, S::shared_bytes, stream>>>(args);
    return cudaGetLastError();
}

bool is_dense(const tess_cl_view &view, int64_t bytes)
{
    return view.stride[2] == 1 && view.stride[0] > 0 && view.stride[1] > 0 &&
           view.stride[0] * bytes % 16 == 0 && view.stride[1] * bytes % 16 == 0 &&
           reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
}

} // namespace

bool clifford_wgmma_takes(const clifford_wgmma_args &p)
{
    return (p.dtype == TESS_F32 || p.dtype == TESS_BF16) && p.n_inner >= least_inner &&
           p.n_outer >= least_outer && clifford_has_warpgroups();
}

bool clifford_wgmma_aligned(const clifford_wgmma_args &p)
{
    const int64_t bytes = item_bytes(p.dtype);
    // Coordinates of boxes and numbers of tiles are int.
    return is_dense(p.a, bytes) && is_dense(p.c, bytes) &&
           p.n_row < (int64_t(1) << 31) - 2 * S::rows &&
           p.n_row / S::rows * p.algebra->n_component < (int64_t(1) << 28);
}

size_t clifford_wgmma_scratch(const clifford_wgmma_args &p)
{
    return size_t(p.algebra->n_grade * p.n_outer * pitch_of(p) * item_bytes(p.dtype));
}

cudaError_t clifford_wgmma_rows(cudaStream_t stream, const clifford_wgmma_args &p)
{
    cudaError_t error = cudaSuccess;
    if (p.dtype == TESS_F32) {
        error = turn_weights<float, float>(stream, p);
        return error == cudaSuccess ? launch_rows<float>(stream, p) : error;
    }
    error = p.weight_dtype == TESS_F32 ? turn_weights<float, __nv_bfloat16>(stream, p)
                                       : turn_weights<__nv_bfloat16, __nv_bfloat16>(stream, p);
    return error == cudaSuccess ? launch_rows<__nv_bfloat16>(stream, p) : error;
}
