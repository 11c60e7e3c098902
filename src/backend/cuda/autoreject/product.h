// Products of weights with the channels of tiles, in the order of sums of the CPU's kernel.
//
// 128 threads make 64 rows of 8 segments, a segment being 16 samples of all channels: 8 x 8 sums a
// thread, each one chain of fused products over the channels. Weights and samples of 8 channels at
// a time lie in shared memory, the next ones on their way. The sums are stored, or only their
// extremes kept over all segments of an epoch.
#ifndef TESS_CUDA_AUTOREJECT_PRODUCT_H
#define TESS_CUDA_AUTOREJECT_PRODUCT_H

#include "backend/cuda/autoreject/copy.h"
#include "backend/cuda/autoreject/tile.h"

struct product_shape {
    static constexpr int threads = 128;
    static constexpr int rows = 64;
    static constexpr int segments = 8;
    static constexpr int columns = segments * TILE;
    static constexpr int depth = 8; // channels at a time
    static constexpr int each = 8;  // rows and columns of a thread
};

struct product_args {
    const double *w; // [n_row][n_chan]
    const double *x; // channel i of segment s of set e: x + e stride_set + s stride + i * 16
    int64_t n_row;
    int64_t n_chan;
    int64_t n_segment;
    int64_t stride;
    int64_t stride_set;
};

struct product_shared {
    double w[2][product_shape::depth][product_shape::rows];
    double x[2][product_shape::depth][product_shape::columns];
};

// Channels from..from+7 of the segments from `segment` on; what is not there is 0.
__device__ __forceinline__ void product_load(product_shared &shared, int slot,
                                             const product_args &a, const double *x, int64_t row,
                                             int64_t segment, int64_t from)
{
    using shape = product_shape;
#pragma unroll
    for (int i = 0; i < shape::depth * shape::rows / shape::threads; i++) {
        const int at = int(threadIdx.x) + i * shape::threads;
        const int k = at % shape::depth, r = at / shape::depth;
        const bool is_there = from + k < a.n_chan && row + r < a.n_row;
        const double *w = is_there ? a.w + (row + r) * a.n_chan + from + k : a.w;
        copy_start<8>(&shared.w[slot][k][r], w, is_there);
    }
#pragma unroll
    for (int i = 0; i < shape::depth * shape::columns / 2 / shape::threads; i++) {
        const int at = int(threadIdx.x) + i * shape::threads;
        const int column = at % (shape::columns / 2) * 2, k = at / (shape::columns / 2);
        const int64_t s = segment + column / TILE;
        const bool is_there = from + k < a.n_chan && s < a.n_segment;
        const double *pair = is_there ? x + s * a.stride + (from + k) * TILE + column % TILE : a.x;
        copy_start<16>(&shared.x[slot][k][column], pair, is_there);
    }
    copy_commit();
}

// Where a thread's sums are: rows 8 (tid / 16) on, columns 2 (tid % 16) + 32 j and the next.
__device__ __forceinline__ int product_column(int i)
{
    return 2 * (int(threadIdx.x) % 16) + 32 * (i / 2) + i % 2;
}

__device__ __forceinline__ int product_row(int i)
{
    return int(threadIdx.x) / 16 * product_shape::each + i;
}

// sums[i][j] of the thread's rows and columns.
__device__ __forceinline__ void
product_sums(product_shared &shared, const product_args &a, const double *x, int64_t row,
             int64_t segment, double (&sums)[product_shape::each][product_shape::each])
{
    using shape = product_shape;
#pragma unroll
    for (int i = 0; i < shape::each; i++) {
#pragma unroll
        for (int j = 0; j < shape::each; j++) {
            sums[i][j] = 0;
        }
    }
    product_load(shared, 0, a, x, row, segment, 0);
    int slot = 0;
    for (int64_t from = 0; from < a.n_chan; from += shape::depth, slot ^= 1) {
        if (from + shape::depth < a.n_chan) {
            product_load(shared, slot ^ 1, a, x, row, segment, from + shape::depth);
            copy_wait<1>();
        } else {
            copy_wait<0>();
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < shape::depth; k++) {
            double w[shape::each], v[shape::each];
#pragma unroll
            for (int i = 0; i < shape::each; i++) {
                w[i] = shared.w[slot][k][product_row(i)];
                v[i] = shared.x[slot][k][product_column(i)];
            }
#pragma unroll
            for (int i = 0; i < shape::each; i++) {
#pragma unroll
                for (int j = 0; j < shape::each; j++) {
                    sums[i][j] = __fma_rn(w[i], v[j], sums[i][j]);
                }
            }
        }
        __syncthreads();
    }
}

#endif
