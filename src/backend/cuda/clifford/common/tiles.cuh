// Matrix products with the matrix instructions of single warps, which every GPU from sm_80 on has:
//
//   sum (row, column) = sum over inner of A (row, inner) B (column, inner), 16-bit items, f32 sums
//
// A block owns a tile of the result. Tiles of 64 of the inner axis come through shared memory, some
// of them ahead. An operand lies with its inner axis dense, or turned: with the other axis dense,
// then in parts of 64 rows (columns). Shared memory is what such kernels wait for: the larger a
// warp's part of the tile, the fewer loads a product takes.
#ifndef TESS_CLIFFORD_TILES_CUH
#define TESS_CLIFFORD_TILES_CUH

#include "backend/cuda/clifford/common/mma.cuh"
#include "backend/cuda/level.h"

namespace clifford_tiles
{

using namespace clifford_mma;

constexpr int inner = 64; // items of a tile's row: 128 bytes

template <int rows_, int columns_, int warp_rows_, int warp_columns_, int stages_>
struct shape {
    static constexpr int rows = rows_;
    static constexpr int columns = columns_;
    static constexpr int warp_rows = warp_rows_;
    static constexpr int warp_columns = warp_columns_;
    static constexpr int stages = stages_;
    static constexpr int across = columns / warp_columns; // warps
    static constexpr int threads = rows / warp_rows * across * 32;
    static constexpr int a_bytes = rows * inner * 2;
    static constexpr int b_bytes = columns * inner * 2;
    static constexpr int stage_bytes = a_bytes + b_bytes;
    static constexpr int shared_bytes = stages * stage_bytes;
};

// What fits twice into a multiprocessor that has room for it, and once into any.
using square = shape<128, 128, 64, 64, 3>;

template <class S>
using sums = float[S::warp_rows / 16][S::warp_columns / 8][4];

// First row and column of this warp's part of the tile.
template <class S>
__device__ __forceinline__ int warp_row()
{
    return int(threadIdx.x) / 32 / S::across * S::warp_rows;
}

template <class S>
__device__ __forceinline__ int warp_column()
{
    return int(threadIdx.x) / 32 % S::across * S::warp_columns;
}

// Rows `first` to before n of a matrix (outer, inner), or turned (inner, outer); pitch in items, a
// multiple of 8, and data on 16 bytes.
template <typename M>
struct operand {
    const M *data;
    int64_t pitch;
    int64_t first, n;
    int64_t n_inner;
};

// Starts the copy of `rows` rows from inner item l on; what is outside the matrix becomes zero.
template <bool turned, int rows, int threads, typename M>
__device__ __forceinline__ void copy_tile(uint32_t to, const operand<M> &from, int64_t l)
{
    constexpr int chunks = turned ? rows / 8 : inner / 8; // of 16 bytes, of a line in memory
    constexpr int lines = turned ? inner : rows;
    static_assert(threads % chunks == 0 && lines * chunks % threads == 0);
    const int chunk = int(threadIdx.x) % chunks;
    const int64_t item = (turned ? from.first : l) + 8 * chunk;
    const int64_t n_item = turned ? from.n : from.n_inner;
    const int64_t line0 = turned ? l : from.first;
    const int64_t n_line = turned ? from.n_inner : from.n;
    const int bytes = int(min(max(n_item - item, int64_t(0)), int64_t(8))) * 2;
    to += uint32_t(chunk / 8 * inner * 128);
#pragma unroll
    for (int i = 0; i < lines * chunks / threads; i++) {
        const int line = int(threadIdx.x) / chunks + i * (threads / chunks);
        const bool inside = bytes > 0 && line0 + line < n_line;
        copy_async_16(to + swizzle_128(line, chunk % 8),
                      from.data + (inside ? (line0 + line) * from.pitch + item : 0),
                      inside ? bytes : 0);
    }
}

// Fragments of 16 rows from `row` on and of 16 of the inner axis.
template <bool turned>
__device__ __forceinline__ void load_a(uint32_t (&a)[4], uint32_t tile, int row, int step)
{
    const int lane = int(threadIdx.x) % 32;
    if constexpr (turned) {
        const int chunk = row / 8 + lane / 8 % 2;
        load_matrix_x4_trans(a, tile + uint32_t(chunk / 8 * inner * 128) +
                                    swizzle_128(step * 16 + lane % 8 + lane / 16 * 8, chunk % 8));
    } else {
        load_matrix_x4(a, tile + swizzle_128(row + lane % 16, 2 * step + lane / 16));
    }
}

// The same of 16 columns: b[0], b[1] of the first eight.
template <bool turned>
__device__ __forceinline__ void load_b(uint32_t (&b)[4], uint32_t tile, int column, int step)
{
    const int lane = int(threadIdx.x) % 32;
    if constexpr (turned) {
        const int chunk = column / 8 + lane / 16;
        load_matrix_x4_trans(b, tile + uint32_t(chunk / 8 * inner * 128) +
                                    swizzle_128(step * 16 + lane % 16, chunk % 8));
    } else {
        load_matrix_x4(
            b, tile + swizzle_128(column + lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2));
    }
}

struct as_they_are {
    __device__ __forceinline__ void operator()(uint32_t (&)[4], int) const
    {
    }
};

// Adds the products of two tiles. change(fragments of a, step): before they are multiplied.
template <class S, bool turned_a, bool turned_b, typename M, typename Change = as_they_are>
__device__ __forceinline__ void multiply_stage(sums<S> &sum, uint32_t tile_a, uint32_t tile_b,
                                               const Change &change = {})
{
    constexpr int steps = inner / 16;
    const int row = warp_row<S>();
    const int column = warp_column<S>();
    // Those of the next step are on their way while these are multiplied.
    uint32_t a[2][S::warp_rows / 16][4];
    uint32_t b[2][S::warp_columns / 16][4];
    const auto load = [&](int step) {
#pragma unroll
        for (int j = 0; j < S::warp_columns / 16; j++) {
            load_b<turned_b>(b[step % 2][j], tile_b, column + j * 16, step);
        }
#pragma unroll
        for (int i = 0; i < S::warp_rows / 16; i++) {
            load_a<turned_a>(a[step % 2][i], tile_a, row + i * 16, step);
        }
    };
    load(0);
#pragma unroll
    for (int step = 0; step < steps; step++) {
        if (step + 1 < steps) {
            load(step + 1);
        }
#pragma unroll
        for (int i = 0; i < S::warp_rows / 16; i++) {
            change(a[step % 2][i], step);
#pragma unroll
            for (int j = 0; j < S::warp_columns / 8; j++) {
                const uint32_t(&two)[4] = b[step % 2][j / 2];
                multiply_16816<M>(sum[i][j], a[step % 2][i], two[j % 2 * 2], two[j % 2 * 2 + 1]);
            }
        }
    }
}

// n tiles of both operands, one stage of shared memory each. copy(to): starts the copies of the
// next one. multiply(stage, n): its products.
template <class S, typename Copy, typename Multiply>
__device__ __forceinline__ void walk_tiles(uint32_t base, int n, const Copy &copy,
                                           const Multiply &multiply)
{
    for (int i = 0; i < S::stages - 1; i++) {
        if (i < n) {
            copy(base + uint32_t(i * S::stage_bytes));
        }
        copy_commit();
    }
    int slot = 0;
    int slot_ahead = S::stages - 1;
    for (int i = 0; i < n; i++) {
        copy_wait<S::stages - 2>();
        __syncthreads();
        if (i + S::stages - 1 < n) {
            copy(base + uint32_t(slot_ahead * S::stage_bytes));
        }
        copy_commit();
        multiply(base + uint32_t(slot * S::stage_bytes), i);
        slot = slot + 1 == S::stages ? 0 : slot + 1;
        slot_ahead = slot_ahead + 1 == S::stages ? 0 : slot_ahead + 1;
    }
}

// The column of a thread's first four sums; the next four are 16 further.
template <class S>
__device__ __forceinline__ int first_four()
{
    const int lane = int(threadIdx.x) % 32;
    return warp_column<S>() + lane % 2 * 8 + lane % 4 / 2 * 4;
}

// Calls put(row)(n, column, four items in a row) for all of a thread's sums: rows and columns of
// the tile, n counts a row's calls. Two neighbouring lanes exchange a pair, so that a warp writes
// whole sectors.
template <class S, typename Put>
__device__ __forceinline__ void for_fours(const sums<S> &sum, const Put &put)
{
    const int lane = int(threadIdx.x) % 32;
    const bool odd = lane % 2 != 0;
    const int column = first_four<S>();
#pragma unroll
    for (int i = 0; i < S::warp_rows / 16; i++) {
#pragma unroll
        for (int second = 0; second < 2; second++) {
            const int row = warp_row<S>() + i * 16 + second * 8 + lane / 4;
            const auto put_row = put(row);
#pragma unroll
            for (int j = 0; j < S::warp_columns / 8; j += 2) {
                const float *left = &sum[i][j][2 * second];
                const float *right = &sum[i][j + 1][2 * second];
                const float first = __shfl_xor_sync(0xffffffffu, odd ? left[0] : right[0], 1);
                const float last = __shfl_xor_sync(0xffffffffu, odd ? left[1] : right[1], 1);
                put_row(j / 2, column + j * 8,
                        odd ? make_float4(first, last, right[0], right[1])
                            : make_float4(left[0], left[1], first, last));
            }
        }
    }
}

} // namespace clifford_tiles

#endif
