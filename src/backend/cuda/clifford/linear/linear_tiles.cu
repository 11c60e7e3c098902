// C[k] = A[k] W[grade of k] with the matrix instructions of single warps (see tiles.cuh): the
// forward pass and grad_x of stage clifford.linear on GPUs without warpgroups.
//
// Either from copies of 16-bit items, a block for every tile of the result, or from f32 that is
// converted on the way: a block then owns 64 rows, whose items stay in shared memory as f16 with a
// scale for each row, as long as all weights pass by.

#include "backend/cuda/clifford/common/device.cuh"
#include "backend/cuda/clifford/common/tiles.cuh"
#include "backend/cuda/clifford/common/types.cuh"
#include "backend/cuda/clifford/linear/linear_tensor.h"
#include "backend/cuda/warp_sum.h"

#include <algorithm>

namespace
{

using namespace clifford_tiles;
using clifford::narrow;
using clifford::widen;

struct tiles_args {
    clifford_rows_args rows;
    int32_t n_down, n_across; // tiles
    int32_t fours;            // four items of c can be moved at once
};

template <typename T>
struct alignas(4 * sizeof(T)) four_items {
    T at[4];
};

// What columns are multiplied with, and what they get added, for all of a thread's.
template <class S>
struct column_values {
    static constexpr int n = S::warp_columns / 16;
    float4 factor[n], bias[n];

    template <typename TC>
    __device__ __forceinline__ void fetch(const clifford_rows_args &p, int component, int64_t first)
    {
        const bool biased = p.bias != nullptr && (p.bias_all || component == 0);
        const float *factors = p.w.factor + p.grade[component] * p.n_j;
#pragma unroll
        for (int j = 0; j < n; j++) {
            float f[4], b[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int64_t at = min(first + first_four<S>() + j * 16 + i, p.n_j - 1);
                f[i] = factors[at];
                b[i] = !biased         ? 0.0f
                       : p.bias_is_f32 ? static_cast<const float *>(p.bias)[at * p.stride_bias]
                                       : widen(static_cast<const TC *>(p.bias)[at * p.stride_bias]);
            }
            factor[j] = make_float4(f[0], f[1], f[2], f[3]);
            bias[j] = make_float4(b[0], b[1], b[2], b[3]);
        }
    }
};

template <typename TC>
__device__ __forceinline__ void put_four(const tiles_args &args, TC *row, int64_t column, float4 v)
{
    const clifford_rows_args &p = args.rows;
    float items[4] = {v.x, v.y, v.z, v.w};
    if (args.fours) {
        if (column >= p.n_j) {
            return;
        }
        auto *to = reinterpret_cast<four_items<TC> *>(row + column);
        four_items<TC> result = {};
        if (p.add) {
            result = *to;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            result.at[i] = narrow<TC>(p.add ? items[i] + widen(result.at[i]) : items[i]);
        }
        *to = result;
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (column + i < p.n_j) {
            TC *to = row + (column + i) * p.c.stride[2];
            *to = narrow<TC>(p.add ? items[i] + widen(*to) : items[i]);
        }
    }
}

// A tile's sums. scale(row of the tile): what takes out the scale of a row.
template <class S, typename TC, typename Scale>
__device__ __forceinline__ void store_tile(const tiles_args &args, int component, int64_t row0,
                                           int64_t column0, const sums<S> &sum, const Scale &scale)
{
    const clifford_rows_args &p = args.rows;
    column_values<S> columns;
    columns.template fetch<TC>(p, component, column0);
    TC *const c = static_cast<TC *>(p.c.data) + component * p.c.stride[0];
    for_fours<S>(sum, [&](int tile_row) {
        const float by = scale(tile_row);
        TC *const row = c + (row0 + tile_row) * p.c.stride[1];
        const bool inside = row0 + tile_row < p.n_i;
        return [&args, &columns, column0, by, row, inside](int n, int column, float4 v) {
            const float4 f = columns.factor[n];
            const float4 b = columns.bias[n];
            if (inside) {
                put_four<TC>(args, row, column0 + column,
                             make_float4(v.x * f.x * by + b.x, v.y * f.y * by + b.y,
                                         v.z * f.z * by + b.z, v.w * f.w * by + b.w));
            }
        };
    });
}

// Columns of W from `first` on, of a component's grade.
template <typename M>
__device__ __forceinline__ operand<M> weights_of(const clifford_rows_args &p, int component,
                                                 int64_t first)
{
    return {static_cast<const M *>(p.w.data) + p.grade[component] * p.n_j * p.w.pitch, p.w.pitch,
            first, p.n_j, p.n_l};
}

template <typename M, typename TC>
__global__ void __launch_bounds__(square::threads, 2)
    copies_kernel(const __grid_constant__ tiles_args args)
{
#if TESS_CUDA_HAS_MATRIX
    using S = square;
    extern __shared__ __align__(1024) uint8_t shared[];
    const clifford_rows_args &p = args.rows;
    const int rest = int(blockIdx.x) % (args.n_down * args.n_across);
    const int component = int(blockIdx.x) / (args.n_down * args.n_across);
    const int64_t row = int64_t(rest / args.n_across) * S::rows;
    const int64_t column = int64_t(rest % args.n_across) * S::columns;
    const operand<M> a = {static_cast<const M *>(p.a.data) + component * p.a.stride, p.a.pitch, row,
                          p.n_i, p.n_l};
    const operand<M> w = weights_of<M>(p, component, column);
    int64_t l = 0;
    sums<S> sum = {};
    walk_tiles<S>(
        shared_address(shared), int((p.n_l - 1) / inner + 1),
        [&](uint32_t to) {
            copy_tile<false, S::rows, S::threads>(to, a, l);
            copy_tile<false, S::columns, S::threads>(to + S::a_bytes, w, l);
            l += inner;
        },
        [&](uint32_t stage, int) {
            multiply_stage<S, false, false, M>(sum, stage, stage + S::a_bytes);
        });
    const int32_t *exponent =
        p.a.exponent == nullptr ? nullptr : p.a.exponent + component * p.n_i + row;
    const int last = int(min(p.n_i - row, int64_t(S::rows))) - 1;
    store_tile<S, TC>(args, component, row, column, sum, [&](int tile_row) {
        return exponent == nullptr ? 1.0f
                                   : power_of_two(exponent[min(tile_row, last)] - half_exponent);
    });
#endif
}

// ---- f32 that is converted on the way -----------------------------------------------------------

// Weights alone pass by.
using held = shape<64, 128, 32, 64, 2>;
constexpr int most_inner = 512;
constexpr int held_tile_bytes = held::rows * 128;
constexpr int rows_at_once = 4; // of a warp: their loads are under way together

struct held_stage : held {
    static constexpr int stage_bytes = held::b_bytes;
};

__host__ __device__ constexpr int inner_tiles(int64_t n)
{
    return int((n + inner - 1) / inner);
}

constexpr int held_shared_bytes(int64_t n_inner)
{
    return inner_tiles(n_inner) * held_tile_bytes + held::stages * held::b_bytes +
           held::rows * int(sizeof(float));
}

// Four items of a row as f16, to where the matrix instructions find them.
__device__ __forceinline__ void put_halves(uint32_t base, int row, int item, uint2 four)
{
    const uint32_t to = base + uint32_t(item / inner * held_tile_bytes) +
                        swizzle_128(row, item % inner / 8) + uint32_t(item % 8 * 2);
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};\n" ::"r"(to), "r"(four.x), "r"(four.y)
                 : "memory");
}

// A warp's rows, from memory to shared memory and where it is wanted to the copy; `factor` gets
// what takes out a row's scale.
__device__ __forceinline__ void hold_rows(const clifford_rows_args &p, int component, int64_t row0,
                                          uint32_t base, float *factor)
{
    constexpr int pieces = most_inner / 128; // of four items per lane
    constexpr int warp_rows = held::rows / (held::threads / 32);
    const int lane = int(threadIdx.x) % 32;
    const int first = int(threadIdx.x) / 32 * warp_rows;
    const int n_item = inner_tiles(p.n_l) * inner;
    const float *from = static_cast<const float *>(p.from.data) + component * p.from.stride[0];
#pragma unroll 1
    for (int row = first; row < first + warp_rows; row += rows_at_once) {
        float4 v[rows_at_once][pieces];
#pragma unroll
        for (int r = 0; r < rows_at_once; r++) {
            const int64_t at = row0 + row + r;
#pragma unroll
            for (int i = 0; i < pieces; i++) {
                const int item = (i * 32 + lane) * 4;
                v[r][i] = item < p.n_l && at < p.n_i ? __ldcs(reinterpret_cast<const float4 *>(
                                                           from + at * p.from.stride[1] + item))
                                                     : float4{};
            }
        }
#pragma unroll
        for (int r = 0; r < rows_at_once; r++) {
            const int64_t at = row0 + row + r;
            uint32_t largest = 0;
#pragma unroll
            for (int i = 0; i < pieces; i++) {
                largest = max(largest, max(max(magnitude(v[r][i].x), magnitude(v[r][i].y)),
                                           max(magnitude(v[r][i].z), magnitude(v[r][i].w))));
            }
            const int exponent = exponent_of(warp_max(largest));
            const float scale = scale_to_half(exponent);
#pragma unroll
            for (int i = 0; i < pieces; i++) {
                const int item = (i * 32 + lane) * 4;
                const float4 f = v[r][i];
                const uint2 four = make_uint2(pack_half(f.x * scale, f.y * scale),
                                              pack_half(f.z * scale, f.w * scale));
                if (item < n_item) {
                    put_halves(base, row + r, item, four);
                }
                if (p.a.data != nullptr && item < p.n_l && at < p.n_i) {
                    *reinterpret_cast<uint2 *>(static_cast<__half *>(p.a.data) +
                                               component * p.a.stride + at * p.a.pitch + item) =
                        four;
                }
            }
            if (lane == 0) {
                factor[row + r] = power_of_two(exponent - half_exponent);
                if (p.a.data != nullptr && at < p.n_i) {
                    p.a.exponent[component * p.n_i + at] = exponent;
                }
            }
        }
    }
}

__global__ void __launch_bounds__(held::threads, 2)
    held_kernel(const __grid_constant__ tiles_args args)
{
#if TESS_CUDA_HAS_MATRIX
    using S = held;
    extern __shared__ __align__(1024) uint8_t shared[];
    const clifford_rows_args &p = args.rows;
    const int n_tile = inner_tiles(p.n_l);
    const uint32_t rows = shared_address(shared);
    const uint32_t stages = rows + uint32_t(n_tile * held_tile_bytes);
    float *factor =
        reinterpret_cast<float *>(shared + n_tile * held_tile_bytes + S::stages * S::b_bytes);
    const int component = int(blockIdx.x) / args.n_down;
    const int64_t row0 = int64_t(int(blockIdx.x) % args.n_down) * S::rows;
    operand<__half> w = weights_of<__half>(p, component, 0);
    int64_t l = 0;
    int64_t column = 0;
    sums<S> sum = {};
    hold_rows(p, component, row0, rows, factor);
    walk_tiles<held_stage>(
        stages, n_tile * args.n_across,
        [&](uint32_t to) {
            copy_tile<false, S::columns, S::threads>(to, w, l);
            l += inner;
            if (l >= p.n_l) {
                l = 0;
                w.first += S::columns;
            }
        },
        [&](uint32_t stage, int n) {
            const int tile = n % n_tile;
            multiply_stage<S, false, false, __half>(sum, rows + uint32_t(tile * held_tile_bytes),
                                                    stage);
            if (tile == n_tile - 1) {
                store_tile<S, float>(args, component, row0, column, sum,
                                     [&](int tile_row) { return factor[tile_row]; });
                memset(sum, 0, sizeof(sum));
                column += S::columns;
            }
        });
#endif
}

// ---- Launch -------------------------------------------------------------------------------------

template <class S>
tiles_args args_of(const clifford_rows_args &p, size_t item_bytes)
{
    const bool fours = p.c.stride[2] == 1 && p.n_j % 4 == 0 && p.c.stride[0] % 4 == 0 &&
                       p.c.stride[1] % 4 == 0 &&
                       reinterpret_cast<uintptr_t>(p.c.data) % (4 * item_bytes) == 0;
    return {p, int32_t((p.n_i - 1) / S::rows + 1), int32_t((p.n_j - 1) / S::columns + 1), fours};
}

template <typename M, typename TC>
cudaError_t launch_copies(cudaStream_t stream, const clifford_rows_args &p)
{
    const tiles_args args = args_of<square>(p, sizeof(TC));
    const int64_t blocks = int64_t(args.n_down) * args.n_across * p.n_component;
    return blocks > INT32_MAX
               ? cudaErrorInvalidConfiguration
               : clifford::launch(copies_kernel<M, TC>, dim3(unsigned(blocks)), square::threads,
                                  square::shared_bytes, stream, args);
}

} // namespace

cudaError_t clifford_linear_tiles(cudaStream_t stream, int32_t dtype, const clifford_rows_args &p)
{
    return dtype == TESS_F32   ? launch_copies<__half, float>(stream, p)
           : dtype == TESS_F16 ? launch_copies<__half, __half>(stream, p)
                               : launch_copies<__nv_bfloat16, __nv_bfloat16>(stream, p);
}

bool clifford_linear_held_takes(const clifford_rows_args &p)
{
    return tess_cuda_level_here() == TESS_CUDA_MATRIX && p.a.low == nullptr &&
           p.n_l <= most_inner && p.n_l % 4 == 0 && clifford_is_f32_dense(p.from) &&
           p.n_i / held::rows * p.n_component < INT32_MAX / 2;
}

cudaError_t clifford_linear_held(cudaStream_t stream, const clifford_rows_args &p)
{
    const tiles_args args = args_of<held>(p, sizeof(float));
    return clifford::launch(held_kernel, dim3(unsigned(args.n_down * p.n_component)), held::threads,
                            size_t(held_shared_bytes(p.n_l)), stream, args);
}
