// What the kernels that score events share: a block of threads and the bins that count of its
// event.
#ifndef TESS_CUDA_DECODE_EVENTS_JUDGE_H
#define TESS_CUDA_DECODE_EVENTS_JUDGE_H

#include "backend/cuda/decode/stages.h"
#include "stage/decode_events_there.h"

constexpr int judge_threads = 512;
constexpr int judge_warps = judge_threads / 32;

// One event's part of the memory of a block.
struct judged {
    const double *posterior; // [T][P] of the event
    int n;                   // counted bins
    int n_place;
    int *time;      // [n]
    int *best;      // [n] most likely places
    double *value;  // [n]
    int2 *met;      // [n] of each warp: where a line of some slope meets the bins
    double *parts;  // [warps]
    double *prefix; // [n][n_bin + 1]

    __device__ const double *row(int a) const
    {
        return posterior + int64_t(time[a]) * n_place;
    }
};

__device__ inline double warp_sum(double x)
{
    for (int apart = 16; apart > 0; apart /= 2) {
        x += __shfl_xor_sync(0xffffffffu, x, apart);
    }
    return x;
}
__device__ inline double warp_max(double x)
{
    for (int apart = 16; apart > 0; apart /= 2) {
        const double other = __shfl_xor_sync(0xffffffffu, x, apart);
        x = other > x ? other : x;
    }
    return x;
}
__device__ inline int warp_sum(int x)
{
    for (int apart = 16; apart > 0; apart /= 2) {
        x += __shfl_xor_sync(0xffffffffu, x, apart);
    }
    return x;
}

// Of all threads, always in the same order. A step of all together.
__device__ inline double block_sum(const judged &e, double x)
{
    x = warp_sum(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        e.parts[threadIdx.x / 32] = x;
    }
    __syncthreads();
    double sum = 0;
    for (int w = 0; w < judge_warps; w++) {
        sum += e.parts[w];
    }
    return sum;
}
__device__ inline double block_max(const judged &e, double x)
{
    x = warp_max(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        e.parts[threadIdx.x / 32] = x;
    }
    __syncthreads();
    double most = e.parts[0];
    for (int w = 1; w < judge_warps; w++) {
        most = e.parts[w] > most ? e.parts[w] : most;
    }
    return most;
}

#endif
