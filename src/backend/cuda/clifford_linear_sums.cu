// x^T grad_out over chunks of rows with the matrix units: grad_weight of stage clifford.linear.
//
// The sum is over rows, and every row of either operand has its own scale. The smaller rows of one
// operand are brought down to the largest product of scales in the chunk: a factor of at most 1 per
// row, a power of two, put on the fragments of b. A row too small for f16 then is too small to
// matter beside the largest.

#include "backend/cuda/clifford_linear_tensor.h"
#include "backend/cuda/clifford_mma.cuh"

namespace
{

using namespace clifford_mma;

// A block's tile of the result, 64 x 64 per warp, and how it comes through shared memory: tiles of
// 64 rows, in halves of 64 columns (128 bytes).
struct sums_shape {
    static constexpr int side = 128;
    static constexpr int threads = 128;
    static constexpr int rows = 64;
    static constexpr int stages = 3;
    static constexpr int half_bytes = rows * 128;
    static constexpr int stage_bytes = 4 * half_bytes;
    static constexpr int scale_rows = 2048; // scales of this many rows at a time
    static constexpr int shared_bytes = stages * stage_bytes + scale_rows * 2;
};

// Starts the copy of 64 rows by 128 columns; what is outside the matrix becomes zero.
template <typename M>
__device__ __forceinline__ void copy_halves(uint32_t to, const M *from, int64_t pitch,
                                            int64_t n_row, int64_t n_column)
{
    const int chunk = int(threadIdx.x) % 16;
    const int first = int(threadIdx.x) / 16;
    const int bytes = int(min(max(n_column - 8 * chunk, int64_t(0)), int64_t(8))) * 2;
    const M *source = from + (bytes > 0 ? 8 * chunk : 0);
    to += uint32_t(chunk / 8 * sums_shape::half_bytes);
#pragma unroll
    for (int i = 0; i < sums_shape::rows * 16 / sums_shape::threads; i++) {
        const int row = first + i * (sums_shape::threads / 16);
        const bool inside = row < n_row;
        copy_async_16(to + swizzle_128(row, chunk % 8), source + (inside ? row * pitch : 0),
                      inside ? bytes : 0);
    }
}

// A warp's fragments of 16 rows.
struct turned_fragments {
    uint32_t a[4][4];
    uint32_t b[4][4];

    __device__ __forceinline__ void load(uint32_t half_a, uint32_t half_b, int step)
    {
        const int lane = int(threadIdx.x) % 32;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            load_matrix_x4_trans(a[i], half_a + swizzle_128(step * 16 + lane % 8 + lane / 16 * 8,
                                                            2 * i + lane / 8 % 2));
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            load_matrix_x4_trans(b[j],
                                 half_b + swizzle_128(step * 16 + lane % 16, 2 * j + lane / 16));
        }
    }
};

__device__ __forceinline__ uint32_t times(uint32_t pair, __half2 factors)
{
    __half2 items;
    memcpy(&items, &pair, sizeof(pair));
    items = __hmul2(items, factors);
    memcpy(&pair, &items, sizeof(pair));
    return pair;
}

// scales: those of the tile's 64 rows.
template <typename M, bool scaled>
__device__ __forceinline__ void multiply_rows(float (&sum)[4][8][4], uint32_t half_a,
                                              uint32_t half_b, const __half *scales)
{
    const int lane = int(threadIdx.x) % 32;
    turned_fragments held[2];
    held[0].load(half_a, half_b, 0);
#pragma unroll
    for (int step = 0; step < sums_shape::rows / 16; step++) {
        if (step + 1 < sums_shape::rows / 16) {
            held[(step + 1) % 2].load(half_a, half_b, step + 1);
        }
        turned_fragments &now = held[step % 2];
        if (scaled) {
            const __half2 *pairs = reinterpret_cast<const __half2 *>(scales + step * 16);
            const __half2 low = pairs[lane % 4];
            const __half2 high = pairs[lane % 4 + 4];
#pragma unroll
            for (int j = 0; j < 8; j++) {
                now.b[j / 2][j % 2 * 2] = times(now.b[j / 2][j % 2 * 2], low);
                now.b[j / 2][j % 2 * 2 + 1] = times(now.b[j / 2][j % 2 * 2 + 1], high);
            }
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
#pragma unroll
            for (int j = 0; j < 8; j++) {
                multiply_16816<M>(sum[i][j], now.a[i], now.b[j / 2][j % 2 * 2],
                                  now.b[j / 2][j % 2 * 2 + 1]);
            }
        }
    }
}

// The largest product of the two scales among a chunk's rows, for all threads.
__device__ int largest_exponent(const int32_t *a, const int32_t *b, int64_t n_row)
{
    __shared__ int warps[sums_shape::threads / 32];
    int largest = INT32_MIN;
    for (int64_t row = threadIdx.x; row < n_row; row += sums_shape::threads) {
        largest = max(largest, a[row] + b[row]);
    }
    largest = __reduce_max_sync(0xffffffffu, largest);
    if (threadIdx.x % 32 == 0) {
        warps[threadIdx.x / 32] = largest;
    }
    __syncthreads();
    for (int warp : warps) {
        largest = max(largest, warp);
    }
    return largest;
}

__device__ void fill_scales(__half *scales, const int32_t *a, const int32_t *b, int64_t n_row,
                            int largest)
{
    for (int row = int(threadIdx.x); row < sums_shape::scale_rows; row += sums_shape::threads) {
        const int below = row < n_row ? a[row] + b[row] - largest : -126;
        scales[row] = __float2half_rn(power_of_two(max(below, -126)));
    }
}

__device__ __forceinline__ void store_partial(const clifford_sums_args &p, float *to,
                                              const float (&sum)[4][8][4], int64_t m, int64_t n,
                                              unscale factors)
{
    const int lane = int(threadIdx.x) % 32;
    const bool pairs = p.n_n % 2 == 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int64_t row = m + i * 8 + lane / 4;
        if (row >= p.n_m) {
            continue;
        }
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const int64_t column = n + j * 8 + lane % 4 * 2;
            const float first = sum[i / 2][j][i % 2 * 2] * factors;
            const float second = sum[i / 2][j][i % 2 * 2 + 1] * factors;
            float *place = to + row * p.n_n + column;
            if (pairs && column < p.n_n) {
                *reinterpret_cast<float2 *>(place) = make_float2(first, second);
            } else if (column < p.n_n) {
                place[0] = first;
                if (column + 1 < p.n_n) {
                    place[1] = second;
                }
            }
        }
    }
}

template <typename M, bool scaled>
__global__ void __launch_bounds__(sums_shape::threads, 2)
    sums_kernel(const __grid_constant__ clifford_sums_args p)
{
    using S = sums_shape;
    extern __shared__ __align__(1024) uint8_t shared[];
    const uint32_t base = shared_address(shared);
    __half *scales = reinterpret_cast<__half *>(shared + S::stages * S::stage_bytes);
    const int64_t n_tile_n = (p.n_n - 1) / S::side + 1;
    const int64_t n_tile_m = (p.n_m - 1) / S::side + 1;
    const int64_t z = blockIdx.x / (n_tile_n * n_tile_m);
    const int64_t m0 = blockIdx.x / n_tile_n % n_tile_m * S::side;
    const int64_t n0 = blockIdx.x % n_tile_n * S::side;
    const int64_t component = z / p.n_chunk;
    const int64_t row0 = z % p.n_chunk * p.chunk;
    const int64_t n_row = min(p.chunk, p.n_row - row0);
    const M *a = static_cast<const M *>(p.a.data) + component * p.a.stride + row0 * p.a.pitch + m0;
    const M *b = static_cast<const M *>(p.b.data) + component * p.b.stride + row0 * p.b.pitch + n0;

    const int n_tile = int((n_row - 1) / S::rows + 1);
    const auto copy_stage = [&](int tile) {
        if (tile < n_tile) {
            const uint32_t to = base + uint32_t(tile % S::stages * S::stage_bytes);
            const int64_t row = int64_t(tile) * S::rows;
            copy_halves(to, a + row * p.a.pitch, p.a.pitch, n_row - row, p.n_m - m0);
            copy_halves(to + 2 * S::half_bytes, b + row * p.b.pitch, p.b.pitch, n_row - row,
                        p.n_n - n0);
        }
        copy_commit();
    };
    for (int tile = 0; tile < S::stages - 1; tile++) {
        copy_stage(tile);
    }
    const int32_t *exponent_a = scaled ? p.a.exponent + component * p.n_row + row0 : nullptr;
    const int32_t *exponent_b = scaled ? p.b.exponent + component * p.n_row + row0 : nullptr;
    const int largest = scaled ? largest_exponent(exponent_a, exponent_b, n_row) : half_exponent;
    const int warp = int(threadIdx.x) / 32;
    float sum[4][8][4] = {};
    for (int tile = 0; tile < n_tile; tile++) {
        copy_wait<S::stages - 2>();
        __syncthreads();
        const int64_t row = int64_t(tile) * S::rows;
        if (scaled && row % S::scale_rows == 0) {
            fill_scales(scales, exponent_a + row, exponent_b + row, n_row - row, largest);
            __syncthreads();
        }
        copy_stage(tile + S::stages - 1);
        const uint32_t stage = base + uint32_t(tile % S::stages * S::stage_bytes);
        multiply_rows<M, scaled>(sum, stage + uint32_t(warp / 2 * S::half_bytes),
                                 stage + uint32_t((2 + warp % 2) * S::half_bytes),
                                 scales + row % S::scale_rows);
    }
    const unscale factors = unscale_of(largest, scaled ? 0 : half_exponent);
    store_partial(p, p.partial + z * p.n_m * p.n_n, sum, m0 + warp / 2 * 64, n0 + warp % 2 * 64,
                  factors);
}

template <typename M, bool scaled>
cudaError_t launch_sums(cudaStream_t stream, const clifford_sums_args &p)
{
    const int64_t blocks = ((p.n_m - 1) / sums_shape::side + 1) *
                           ((p.n_n - 1) / sums_shape::side + 1) * p.n_component * p.n_chunk;
    if (blocks > INT32_MAX) {
        return cudaErrorInvalidConfiguration;
    }
    const cudaError_t error =
        cudaFuncSetAttribute(sums_kernel<M, scaled>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             sums_shape::shared_bytes);
    if (error != cudaSuccess) {
        return error;
    }
    sums_kernel<M, scaled>
        <<<unsigned(blocks), sums_shape::threads, sums_shape::shared_bytes, stream>>>(p);
    return cudaGetLastError();
}

} // namespace

cudaError_t clifford_linear_sums(cudaStream_t stream, int32_t dtype, const clifford_sums_args &p)
{
    if (dtype == TESS_F32) {
        return launch_sums<__half, true>(stream, p);
    }
    return dtype == TESS_F16 ? launch_sums<__half, false>(stream, p)
                             : launch_sums<__nv_bfloat16, false>(stream, p);
}
