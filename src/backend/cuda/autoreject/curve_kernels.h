// Squared errors of growing means against medians on CUDA: what the threshold search and the global
// threshold share.
//
// Two kernels. Medians: a block per channel, tile, split and 4 samples (median.h). Curves: a block
// per channel and 4 tiles has a warp per split; rows in order of their peak-to-peak come through
// shared memory 64 at a time, for all splits at once. A lane has samples t and t + 8 of a tile: its
// sums grow row by row as on the CPU, and the errors of 8 rows are added over the 8 lanes of a tile
// together, by exchanging halves.
#ifndef TESS_CUDA_AUTOREJECT_CURVE_KERNELS_H
#define TESS_CUDA_AUTOREJECT_CURVE_KERNELS_H

#include "backend/cuda/autoreject/copy.h"
#include "backend/cuda/autoreject/median.h"
#include "stage/autoreject_threshold.h"

// Splits of any sizes: a.n_train is the most rows that train one.
struct curve_args {
    tess_stage_autoreject_curve a;
    const int64_t *member_first; // [n_split + 1] of a.members
    int64_t order_stride;        // from channel to channel; 0: one order for all
    int64_t validation_stride;   // likewise
    int64_t most_members;        // of a split
};

namespace
{

enum { HALF = TILE / 2, TILES = 4, ROWS = 64, MOST_WARPS = 10 };

__device__ __forceinline__ tile_rows rows_of(const tess_stage_autoreject_curve &a, int64_t tile,
                                             int64_t c)
{
    return {a.x + tile * a.stride_tile + c * a.stride_chan,
            a.augmented + tile * a.augmented_stride_tile + c * a.augmented_stride_chan,
            a.stride_epoch, a.augmented_stride_epoch, int(a.n_epoch)};
}

// Of a tile's medians.
__device__ __forceinline__ int64_t median_at(const tess_stage_autoreject_curve &a, int64_t tile,
                                             int64_t c, int64_t split)
{
    return ((tile * a.n_chan + c) * a.n_split + split) * TILE;
}

// Neighbouring blocks read the same rows: parts, then splits, then tiles, then channels.
template <int THREADS, int V>
__global__ void __launch_bounds__(THREADS) curve_median_kernel(curve_args args)
{
    const tess_stage_autoreject_curve &a = args.a;
    __shared__ median_shared<THREADS> shared;
    int64_t at = blockIdx.x;
    const int part = int(at % MEDIAN_PARTS);
    at /= MEDIAN_PARTS;
    const int64_t split = at % a.n_split;
    at /= a.n_split;
    const int64_t tile = at % a.n_tile, c = at / a.n_tile;
    const int64_t first = args.member_first[split];
    const int n = int(args.member_first[split + 1] - first);
    median_block<THREADS, V>(shared, rows_of(a, tile, c), a.members + first, n, part,
                             a.medians + median_at(a, tile, c, split) + part * MEDIAN_SAMPLES);
}

struct curve_shared {
    double rows[2][ROWS][TILES][TILE]; // halves of odd tiles exchanged: other banks
};

__device__ __forceinline__ void load_rows(curve_shared &shared, int slot, const curve_args &args,
                                          int64_t c, int64_t first_tile, int64_t first_row)
{
    const tess_stage_autoreject_curve &a = args.a;
    constexpr int pairs = TILE / 2;
    const int32_t *order = a.order + c * args.order_stride;
    for (int at = int(threadIdx.x); at < ROWS * TILES * pairs; at += int(blockDim.x)) {
        const int pair = at % pairs, tile = at / pairs % TILES, row = at / (pairs * TILES);
        if (first_row + row < a.n_row && first_tile + tile < a.n_tile) {
            const tile_rows rows = rows_of(a, first_tile + tile, c);
            const int sample = 2 * pair ^ (tile & 1 ? HALF : 0);
            copy_start<16>(&shared.rows[slot][row][tile][sample],
                           row_of(rows, order[first_row + row]) + 2 * pair, true);
        }
    }
    copy_commit();
}

// errors[i] of the 8 lanes of a tile: lane i gets the sum of theirs, neighbours, pairs, halves.
__device__ __forceinline__ double sum_lanes(double (&errors)[HALF], int t)
{
    double four[4], two[2];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const double mine = t & 1 ? errors[2 * i + 1] : errors[2 * i];
        const double other = t & 1 ? errors[2 * i] : errors[2 * i + 1];
        four[i] = mine + __shfl_xor_sync(every_lane, other, 1);
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const double mine = t & 2 ? four[2 * i + 1] : four[2 * i];
        const double other = t & 2 ? four[2 * i] : four[2 * i + 1];
        two[i] = mine + __shfl_xor_sync(every_lane, other, 2);
    }
    const double mine = t & 4 ? two[1] : two[0];
    const double other = t & 4 ? two[0] : two[1];
    return mine + __shfl_xor_sync(every_lane, other, 4);
}

__global__ void __launch_bounds__(MOST_WARPS *WARP) curve_kernel(curve_args args)
{
    const tess_stage_autoreject_curve &a = args.a;
    extern __shared__ double raw[];
    curve_shared &shared = *reinterpret_cast<curve_shared *>(raw);
    const int lane = int(threadIdx.x) % WARP, tile = lane / HALF, t = lane % HALF;
    const int64_t first_tile = int64_t(blockIdx.x) * TILES, c = blockIdx.y;
    const int64_t split = int64_t(blockIdx.z) * (blockDim.x / WARP) + threadIdx.x / WARP;
    const bool has_split = split < a.n_split;
    const bool is_there = has_split && first_tile + tile < a.n_tile;
    const int64_t n_word = (a.n_row + ROWS - 1) / ROWS;
    const uint64_t *validation =
        a.validation + c * args.validation_stride + (has_split ? split : 0) * n_word;
    const double *median =
        a.medians + median_at(a, is_there ? first_tile + tile : 0, c, has_split ? split : 0);
    double *errors = a.errors + (((is_there ? first_tile + tile : 0) * a.n_chan + c) * a.n_split +
                                 (has_split ? split : 0)) *
                                    a.n_train;
    const double m0 = median[t], m1 = median[t + HALF];
    const int at0 = tile & 1 ? t + HALF : t, at1 = at0 ^ HALF;
    double s0 = 0, s1 = 0;
    int64_t k = 0;
    load_rows(shared, 0, args, c, first_tile, 0);
    for (int64_t word = 0; word < n_word; word++) {
        const int slot = int(word) & 1;
        if (word + 1 < n_word) {
            load_rows(shared, slot ^ 1, args, c, first_tile, (word + 1) * ROWS);
            copy_wait<1>();
        } else {
            copy_wait<0>();
        }
        __syncthreads();
        const int64_t left = a.n_row - word * ROWS;
        const uint64_t rows = left < ROWS ? (uint64_t(1) << left) - 1 : ~uint64_t(0);
        unsigned long long bits = has_split ? ~validation[word] & rows : 0;
        while (bits) { // the whole warp alike
            const int found = __popcll(bits);
            const int n = found < HALF ? found : int(HALF);
            double squares[HALF];
#pragma unroll
            for (int i = 0; i < HALF; i++) {
                squares[i] = 0;
                if (i < n) {
                    const double *row = shared.rows[slot][__ffsll((long long)(bits)) - 1][tile];
                    bits &= bits - 1;
                    const double by = __ldg(a.inverse + k + i);
                    s0 += row[at0];
                    s1 += row[at1];
                    const double r0 = __fma_rn(-s0, by, m0), r1 = __fma_rn(-s1, by, m1);
                    squares[i] = __fma_rn(r1, r1, r0 * r0);
                }
            }
            const double total = sum_lanes(squares, t);
            if (is_there && t < n) {
                errors[k + t] = total;
            }
            k += n;
        }
        __syncthreads();
    }
}

// Medians and errors of a.n_tile tiles.
cudaError_t launch_curves(cudaStream_t stream, const curve_args &args)
{
    const tess_stage_autoreject_curve &a = args.a;
    const int64_t n_block = a.n_chan * a.n_tile * a.n_split * MEDIAN_PARTS;
    median_choose(args.most_members, [&](auto threads, auto values) {
        curve_median_kernel<threads, values>
            <<<unsigned(n_block), unsigned(threads), 0, stream>>>(args);
    });
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) {
        error = cudaFuncSetAttribute(curve_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     int(sizeof(curve_shared)));
    }
    if (error != cudaSuccess) {
        return error;
    }
    const int64_t warps = a.n_split < MOST_WARPS ? a.n_split : int64_t(MOST_WARPS);
    const dim3 grid(unsigned((a.n_tile + TILES - 1) / TILES), unsigned(a.n_chan),
                    unsigned((a.n_split + warps - 1) / warps));
    curve_kernel<<<grid, unsigned(warps * WARP), sizeof(curve_shared), stream>>>(args);
    return cudaGetLastError();
}

} // namespace

#endif
