// x^T grad_out over chunks of rows with the matrix units: grad_weight of stage clifford.linear.
// See linear_scales.cuh for the scales of rows. With warpgroups, or where there are none in tiles
// that fit the shared memory of any GPU: f32 to all its bits, the rest is linear_tile_sums.cu's.

#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/common/wgmma.cuh"
#include "backend/cuda/clifford/linear/linear_scales.cuh"

namespace
{

using namespace clifford_mma;

// A block's tile of the result, 64 x 128 per warpgroup, 16 x 128 per warp, and how it comes through
// shared memory: tiles of 64 rows, or 32 for single warps, in halves of 64 columns (128 bytes).
template <int copies_, int rows_ = 64>
struct sums_shape {
    static constexpr int side = 128;
    static constexpr int rows = rows_;
    static constexpr bool by_groups = rows == 64;
    static constexpr bool is_there = by_groups ? TESS_CUDA_HAS_GROUPS : TESS_CUDA_HAS_MATRIX;
    static constexpr int copies = copies_; // 2: with what the first lacks
    static constexpr int threads = 256;
    static constexpr int blocks = copies == 1 ? 2 : 1;
    static constexpr int stages = 3;
    static constexpr int half_bytes = rows * 128;
    static constexpr int copy_bytes = 4 * half_bytes;
    static constexpr int stage_bytes = copies * copy_bytes;
    static constexpr int scale_rows = 1024; // scales of this many rows at a time
    static constexpr int shared_bytes = stages * stage_bytes + scale_rows * 2;
};

using sums_tile_of_warp = float[16][4]; // 16 rows by 8 columns, 16 times

// Starts the copy of 64 rows by 128 columns; what is outside the matrix becomes zero.
template <class S, typename M>
__device__ __forceinline__ void copy_halves(uint32_t to, const M *from, int64_t pitch,
                                            int64_t n_row, int64_t n_column)
{
    const int chunk = int(threadIdx.x) % 16;
    const int first = int(threadIdx.x) / 16;
    const int bytes = int(min(max(n_column - 8 * chunk, int64_t(0)), int64_t(8))) * 2;
    const M *source = from + (bytes > 0 ? 8 * chunk : 0);
    to += uint32_t(chunk / 8 * S::half_bytes);
#pragma unroll
    for (int i = 0; i < S::rows * 16 / S::threads; i++) {
        const int row = first + i * (S::threads / 16);
        const bool inside = row < n_row;
        copy_async_16(to + swizzle_128(row, chunk % 8), source + (inside ? row * pitch : 0),
                      inside ? bytes : 0);
    }
}

// One step of 16 rows: all 128 columns of b.
template <class S, typename M>
__device__ __forceinline__ void multiply_step(sums_tile_of_warp &sum, const uint32_t (&a)[4],
                                              uint32_t tile_b, int step, bool add)
{
    if constexpr (S::by_groups) {
        group_multiply_held<M>(as_group_sums(sum), a,
                               turned_descriptor(tile_b + uint32_t(step * 2048), S::half_bytes),
                               add);
        return;
    }
    const int lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int j = 0; j < 8; j++) {
        uint32_t b[4];
        load_matrix_x4_trans(b, tile_b + uint32_t(j / 4 * S::half_bytes) +
                                    swizzle_128(step * 16 + lane % 16, j % 4 * 2 + lane / 16));
#pragma unroll
        for (int i = 0; i < 2; i++) {
#pragma unroll
            for (int n = 0; n < 4 && !add; n++) {
                sum[2 * j + i][n] = 0.0f;
            }
            multiply_16816<M>(sum[2 * j + i], a, b[2 * i], b[2 * i + 1]);
        }
    }
}

template <class S>
__device__ __forceinline__ void begin_products()
{
    if constexpr (S::by_groups) {
        group_fence();
    }
}

template <class S>
__device__ __forceinline__ void end_products()
{
    if constexpr (S::by_groups) {
        group_commit();
        group_wait<0>();
    }
}

template <class S, typename M, bool scaled>
__device__ __forceinline__ void multiply_rows(sums_tile_of_warp &sum, uint32_t half_a,
                                              uint32_t tile_b, const __half *scales)
{
    turned_fragments<S::rows / 16> held;
    held.load(half_a);
    if (scaled) {
        held.scale(scales);
    }
    begin_products<S>();
#pragma unroll
    for (int step = 0; step < S::rows / 16; step++) {
        multiply_step<S, M>(sum, held.a[step], tile_b, step, true);
    }
    end_products<S>();
}

// With both copies. The matrix units cut bits off a sum, so it is short, and added up outside.
template <class S, typename M>
__device__ __forceinline__ void multiply_rows_exact(sums_tile_of_warp &whole, uint32_t half_a,
                                                    uint32_t tile_b, const __half *scales)
{
    sums_tile_of_warp sum;
    turned_fragments<S::rows / 16> high, low;
    high.load(half_a);
    low.load(half_a + S::copy_bytes);
    high.scale(scales);
    low.scale(scales);
    begin_products<S>();
#pragma unroll
    for (int step = 0; step < S::rows / 16; step++) {
        multiply_step<S, M>(sum, low.a[step], tile_b, step, step > 0);
        multiply_step<S, M>(sum, high.a[step], tile_b + S::copy_bytes, step, true);
        multiply_step<S, M>(sum, high.a[step], tile_b, step, true);
    }
    end_products<S>();
#pragma unroll
    for (int n = 0; n < 64; n++) {
        whole[n / 4][n % 4] += sum[n / 4][n % 4];
    }
}

// Where a block's work lies.
struct sums_place {
    int64_t z, component, row0, n_row, m0, n0;

    __device__ __forceinline__ sums_place(const clifford_sums_args &p, int side)
    {
        const int64_t n_tile_n = (p.n_n - 1) / side + 1;
        const int64_t n_tile_m = (p.n_m - 1) / side + 1;
        z = blockIdx.x / (n_tile_n * n_tile_m);
        m0 = blockIdx.x / n_tile_n % n_tile_m * side;
        n0 = blockIdx.x % n_tile_n * side;
        component = z / p.n_chunk;
        row0 = z % p.n_chunk * p.chunk;
        n_row = min(p.chunk, p.n_row - row0);
    }
};

template <class S, typename M, bool scaled>
__device__ __forceinline__ void sum_tile(const clifford_sums_args &p)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    const uint32_t base = shared_address(shared);
    __half *scales = reinterpret_cast<__half *>(shared + S::stages * S::stage_bytes);
    const sums_place at(p, S::side);
    const int64_t n_row = at.n_row;
    const int64_t place_a = at.component * p.a.stride + at.row0 * p.a.pitch + at.m0;
    const int64_t place_b = at.component * p.b.stride + at.row0 * p.b.pitch + at.n0;

    const int n_tile = int((n_row - 1) / S::rows + 1);
    const auto copy_stage = [&](int tile) {
        const uint32_t to = base + uint32_t(tile % S::stages * S::stage_bytes);
        const int64_t row = int64_t(tile) * S::rows;
#pragma unroll
        for (int copy = 0; copy < S::copies && tile < n_tile; copy++) {
            const M *a = static_cast<const M *>(copy == 0 ? p.a.data : p.a.low) + place_a;
            const M *b = static_cast<const M *>(copy == 0 ? p.b.data : p.b.low) + place_b;
            copy_halves<S>(to + copy * S::copy_bytes, a + row * p.a.pitch, p.a.pitch, n_row - row,
                           p.n_m - at.m0);
            copy_halves<S>(to + copy * S::copy_bytes + 2 * S::half_bytes, b + row * p.b.pitch,
                           p.b.pitch, n_row - row, p.n_n - at.n0);
        }
        copy_commit();
    };
    for (int tile = 0; tile < S::stages - 1; tile++) {
        copy_stage(tile);
    }
    const int32_t *exponent_a = scaled ? p.a.exponent + at.component * p.n_row + at.row0 : nullptr;
    const int32_t *exponent_b = scaled ? p.b.exponent + at.component * p.n_row + at.row0 : nullptr;
    const int largest = scaled ? largest_exponent<S::threads>(exponent_a, exponent_b, n_row,
                                                              [] { __syncthreads(); })
                               : half_exponent;
    const int warp = int(threadIdx.x) / 32;
    sums_tile_of_warp sum = {};
    for (int tile = 0; tile < n_tile; tile++) {
        copy_wait<S::stages - 2>();
        if constexpr (S::by_groups) {
            fence_async_proxy();
        }
        __syncthreads();
        const int64_t row = int64_t(tile) * S::rows;
        if (scaled && row % S::scale_rows == 0) {
            fill_scales<S::threads>(scales, S::scale_rows, exponent_a + row, exponent_b + row,
                                    n_row - row, largest);
            __syncthreads();
        }
        copy_stage(tile + S::stages - 1);
        const uint32_t stage = base + uint32_t(tile % S::stages * S::stage_bytes);
        const uint32_t half_a = stage + uint32_t(warp / 4 * S::half_bytes);
        const uint32_t tile_b = stage + uint32_t(2 * S::half_bytes);
        const __half *scale = scales + row % S::scale_rows;
        if constexpr (S::copies == 2) {
            multiply_rows_exact<S, M>(sum, half_a, tile_b, scale);
        } else {
            multiply_rows<S, M, scaled>(sum, half_a, tile_b, scale);
        }
    }
    store_partial<S::side>(p, p.partial + at.z * p.n_m * p.n_n, &sum[0][0], at.m0 + warp * 16,
                           at.n0, unscale_of(largest, scaled ? 0 : half_exponent));
}

template <class S, typename M, bool scaled>
__global__ void __launch_bounds__(S::threads, S::blocks)
    sums_kernel(const __grid_constant__ clifford_sums_args p)
{
    if constexpr (S::is_there) {
        sum_tile<S, M, scaled>(p);
    }
}

template <class S, typename M, bool scaled>
cudaError_t launch_sums(cudaStream_t stream, const clifford_sums_args &p)
{
    const int64_t blocks =
        ((p.n_m - 1) / S::side + 1) * ((p.n_n - 1) / S::side + 1) * p.n_component * p.n_chunk;
    if (blocks > INT32_MAX) {
        return cudaErrorInvalidConfiguration;
    }
    return clifford::launch(sums_kernel<S, M, scaled>, dim3(unsigned(blocks)), S::threads,
                            S::shared_bytes, stream, p);
}

} // namespace

cudaError_t clifford_linear_sums(cudaStream_t stream, int32_t dtype, const clifford_sums_args &p)
{
    using shape = sums_shape<1>;
    if (tess_cuda_level_here() < TESS_CUDA_GROUPS) {
        return p.a.low != nullptr ? launch_sums<sums_shape<2, 32>, __half, true>(stream, p)
                                  : clifford_linear_tile_sums(stream, dtype, p);
    }
    if (dtype == TESS_F32) {
        return p.a.low != nullptr ? launch_sums<sums_shape<2>, __half, true>(stream, p)
                                  : launch_sums<shape, __half, true>(stream, p);
    }
    return dtype == TESS_F16 ? launch_sums<shape, __half, false>(stream, p)
                             : launch_sums<shape, __nv_bfloat16, false>(stream, p);
}
