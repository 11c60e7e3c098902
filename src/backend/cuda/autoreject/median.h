// Medians over listed rows of 4 samples of a tile, by one block.
//
// A thread holds V values of one sample in registers, so that the rows are read once: passes count
// how many are below two pivots (select.h) until few are left between, which are sorted by
// counting. Minimum, maximum and counts do not round: which thread has which value does not show.
#ifndef TESS_CUDA_AUTOREJECT_MEDIAN_H
#define TESS_CUDA_AUTOREJECT_MEDIAN_H

#include "backend/cuda/autoreject/median_values.h"
#include "backend/cuda/autoreject/select.h"

#include <cmath>
#include <type_traits>

// A number that is known when code is compiled.
template <int N>
using median_number = std::integral_constant<int, N>;

template <int THREADS>
struct median_shared {
    static constexpr int warps = THREADS / WARP;
    double low[2][warps][MEDIAN_SAMPLES];
    double high[2][warps][MEDIAN_SAMPLES];
    double sum[warps][MEDIAN_SAMPLES];
    unsigned counts[2][warps][MEDIAN_SAMPLES][2];
    double few[MEDIAN_SAMPLES][SELECT_FEW];
    int n_few[MEDIAN_SAMPLES];
    double found[MEDIAN_SAMPLES][2];
};

// The second one where the first is NaN.
__device__ __forceinline__ double median_lesser(double a, double b)
{
    return a < b ? a : b;
}

__device__ __forceinline__ double median_greater(double a, double b)
{
    return a > b ? a : b;
}

// The extremes of what the threads of a sample have; slot: alternating from call to call.
template <int THREADS>
__device__ __forceinline__ void median_extremes(median_shared<THREADS> &shared, int slot,
                                                double &low, double &high)
{
    const int lane = int(threadIdx.x) % WARP, warp = int(threadIdx.x) / WARP;
    const int s = int(threadIdx.x) % MEDIAN_SAMPLES;
#pragma unroll
    for (int step = MEDIAN_SAMPLES; step < WARP; step *= 2) {
        low = median_lesser(low, __shfl_xor_sync(every_lane, low, step));
        high = median_greater(high, __shfl_xor_sync(every_lane, high, step));
    }
    if (lane < MEDIAN_SAMPLES) {
        shared.low[slot][warp][s] = low;
        shared.high[slot][warp][s] = high;
    }
    __syncthreads();
#pragma unroll
    for (int w = 0; w < median_shared<THREADS>::warps; w++) {
        low = median_lesser(low, shared.low[slot][w][s]);
        high = median_greater(high, shared.high[slot][w][s]);
    }
}

// How many values are below each pivot.
template <int THREADS, int V>
__device__ __forceinline__ void median_count(median_shared<THREADS> &shared, int slot,
                                             const median_values<THREADS, V> &values, double lower,
                                             double upper, int &n_lower, int &n_upper)
{
    const int lane = int(threadIdx.x) % WARP, warp = int(threadIdx.x) / WARP;
    const int s = int(threadIdx.x) % MEDIAN_SAMPLES;
    unsigned a = 0, b = 0;
    values.each([&](double v) {
        a += v < lower;
        b += v < upper;
    });
#pragma unroll
    for (int step = MEDIAN_SAMPLES; step < WARP; step *= 2) {
        a += __shfl_xor_sync(every_lane, a, step);
        b += __shfl_xor_sync(every_lane, b, step);
    }
    if (lane < MEDIAN_SAMPLES) {
        shared.counts[slot][warp][s][0] = a;
        shared.counts[slot][warp][s][1] = b;
    }
    __syncthreads();
    n_lower = 0;
    n_upper = 0;
#pragma unroll
    for (int w = 0; w < median_shared<THREADS>::warps; w++) {
        n_lower += int(shared.counts[slot][w][s][0]);
        n_upper += int(shared.counts[slot][w][s][1]);
    }
}

// Where to look first: around the mean, as far as a fifth of the values may be away.
template <int THREADS, int V>
__device__ __forceinline__ void median_first(median_shared<THREADS> &shared,
                                             const median_values<THREADS, V> &values, int n,
                                             const select_bracket &b, double &lower, double &upper)
{
    const int lane = int(threadIdx.x) % WARP, warp = int(threadIdx.x) / WARP;
    const int s = int(threadIdx.x) % MEDIAN_SAMPLES;
    double mean = 0, distance = 0;
    for (int turn = 0; turn < 2; turn++) {
        double sum = 0;
        values.each([&](double v) {
            const double part = turn == 0 ? v : fabs(v - mean);
            sum += v == v ? part : 0;
        });
#pragma unroll
        for (int step = MEDIAN_SAMPLES; step < WARP; step *= 2) {
            sum += __shfl_xor_sync(every_lane, sum, step);
        }
        __syncthreads();
        if (lane < MEDIAN_SAMPLES) {
            shared.sum[warp][s] = sum;
        }
        __syncthreads();
        sum = 0;
        for (int w = 0; w < median_shared<THREADS>::warps; w++) {
            sum += shared.sum[w][s];
        }
        (turn == 0 ? mean : distance) = sum / n;
    }
    lower = select_between(b, mean - 0.15 * distance);
    upper = select_between(b, mean + 0.15 * distance);
}

// The few values of the bracket by their ranks; two samples' threads do not meet.
template <int THREADS, int V>
__device__ __forceinline__ void
median_sort(median_shared<THREADS> &shared, const median_values<THREADS, V> &values,
            const select_bracket &b, bool is_wanted, int first, int last)
{
    const int s = int(threadIdx.x) % MEDIAN_SAMPLES;
    if (is_wanted) {
        values.each([&](double v) {
            if (v >= b.low && v < b.high) {
                shared.few[s][atomicAdd(&shared.n_few[s], 1)] = v;
            }
        });
    }
    __syncthreads();
    const int n = shared.n_few[s];
    for (int i = int(threadIdx.x) / MEDIAN_SAMPLES; is_wanted && i < n;
         i += THREADS / MEDIAN_SAMPLES) {
        const double own = shared.few[s][i];
        int rank = b.n_low;
        for (int j = 0; j < n; j++) {
            const double other = shared.few[s][j];
            rank += other < own || (other == own && j < i);
        }
        if (rank == first) {
            shared.found[s][0] = own;
        }
        if (rank == last) {
            shared.found[s][1] = own;
        }
    }
}

// What the search ended with: a split between the middle two, or a bracket.
struct median_place {
    select_bracket b;
    double split;
    bool is_split;
    int slot; // of shared memory, free now
};

template <int THREADS, int V>
__device__ __forceinline__ median_place median_search(median_shared<THREADS> &shared,
                                                      const median_values<THREADS, V> &values,
                                                      int n, int first, int last)
{
    median_place at = {{INFINITY, -INFINITY, 0, n}, 0, false, 1};
    select_bracket &b = at.b;
    values.each([&](double v) {
        b.low = median_lesser(v, b.low);
        b.high = median_greater(v, b.high);
    });
    median_extremes(shared, 0, b.low, b.high);
    b.high = select_next(b.high);
    for (int pass = 0;; pass++) {
        const bool is_done = at.is_split || b.n_high - b.n_low <= SELECT_FEW || select_is_closed(b);
        if (__syncthreads_and(is_done)) {
            return at;
        }
        double lower, upper;
        int n_lower, n_upper;
        if (pass == 0) {
            median_first(shared, values, n, b, lower, upper);
        } else {
            select_pivots(b, first, last, pass - 1, lower, upper);
        }
        median_count(shared, at.slot, values, lower, upper, n_lower, n_upper);
        if (!is_done) {
            const bool is_lower = select_take(b, lower, n_lower, first, last) == SELECT_HIT;
            const bool is_upper = select_take(b, upper, n_upper, first, last) == SELECT_HIT;
            at.is_split = is_lower || is_upper;
            at.split = is_lower ? lower : upper;
        }
        at.slot ^= 1;
        if (pass >= SELECT_SMOOTH) { // equal values: close in on those that there are
            double low = INFINITY, high = -INFINITY;
            values.each([&](double v) {
                if (v >= b.low && v < b.high) {
                    low = median_lesser(v, low);
                    high = median_greater(v, high);
                }
            });
            median_extremes(shared, at.slot, low, high);
            b.low = low;
            b.high = select_next(high);
        }
    }
}

// out[0..3] of the n >= 1 values; all threads of the block come here.
template <int THREADS, int V>
__device__ void median_block(median_shared<THREADS> &shared, const tile_rows &rows,
                             const int32_t *list, int n, int part, double *out)
{
    const int s = int(threadIdx.x) % MEDIAN_SAMPLES;
    const median_values<THREADS, V> values(rows, list, n, part * MEDIAN_SAMPLES + s);
    const int last = n / 2, first = n % 2 ? last : last - 1;
    if (threadIdx.x < MEDIAN_SAMPLES) {
        shared.n_few[s] = 0;
    }
    const median_place at = median_search(shared, values, n, first, last);
    const select_bracket &b = at.b;
    const double split = at.split;
    const bool is_split = at.is_split;
    // A split is between the largest below and the smallest from there on.
    double below = -INFINITY, above = INFINITY;
    values.each([&](double v) {
        if (v < split) {
            below = median_greater(v, below);
        } else {
            above = median_lesser(v, above);
        }
    });
    median_extremes(shared, at.slot, above, below);
    const bool is_sorted = !is_split && b.n_high - b.n_low <= SELECT_FEW;
    median_sort(shared, values, b, is_sorted, first, last);
    __syncthreads();
    if (threadIdx.x < MEDIAN_SAMPLES) {
        double low = b.low, high = b.low;
        if (is_split) {
            low = below;
            high = above;
        } else if (is_sorted) {
            low = shared.found[s][0];
            high = shared.found[s][1];
        }
        out[s] = (n % 2 ? high : 0.5 * (low + high)) + 0.0;
    }
    __syncthreads();
}

// Calls launch(THREADS, V), as constants, with what holds n values.
template <typename Launch>
void median_choose(int64_t n, Launch launch)
{
    if (n <= 64) {
        launch(median_number<32>(), median_number<8>());
    } else if (n <= 128) {
        launch(median_number<64>(), median_number<8>());
    } else if (n <= 512) {
        launch(median_number<128>(), median_number<16>());
    } else if (n <= 2560) {
        launch(median_number<256>(), median_number<40>());
    } else if (n <= 5120) {
        launch(median_number<512>(), median_number<40>());
    } else {
        launch(median_number<512>(), median_number<0>());
    }
}

#endif
