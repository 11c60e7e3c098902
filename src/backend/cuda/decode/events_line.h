// The best line through an event's posterior: all lines of a route, a warp for each slope. The
// masses that lines meet are differences of prefix sums; off the route they are the bin's median.
#ifndef TESS_CUDA_DECODE_EVENTS_LINE_H
#define TESS_CUDA_DECODE_EVENTS_LINE_H

#include "backend/cuda/decode/events_judge.h"

// Bits in the order of values.
__device__ inline unsigned long long ordered_bits(double x)
{
    const long long bits = __double_as_longlong(x);
    return static_cast<unsigned long long>(bits) ^ (bits < 0 ? ~0ull : 0x8000000000000000ull);
}
__device__ inline double from_ordered_bits(unsigned long long bits)
{
    return __longlong_as_double(static_cast<long long>(
        bits ^ (bits & 0x8000000000000000ull ? 0x8000000000000000ull : ~0ull)));
}

__device__ inline double window_mass(const double *prefix, uint32_t window)
{
    return prefix[window >> 16] - prefix[window & 0xffffu];
}

// How many windows of a row hold less than bits say, or as much. A warp.
__device__ inline int count_windows(const double *prefix, const tess_events_way &way,
                                    unsigned long long bits)
{
    int n = 0;
    for (int64_t q = threadIdx.x % 32; q < way.n_bin; q += 32) {
        n += ordered_bits(window_mass(prefix, way.bin_window[q])) <= bits;
    }
    return warp_sum(n);
}

// The median of the masses around a route's bins, by halves of what bits can be. A warp.
__device__ inline double median_mass(const double *prefix, const tess_events_way &way)
{
    const int n = int(way.n_bin);
    unsigned long long low = 0;
    for (unsigned long long bit = 1ull << 63; bit != 0; bit >>= 1) {
        const unsigned long long below = low + (bit - 1);
        low = count_windows(prefix, way, below) > (n - 1) / 2 ? low : low + bit;
    }
    const double lower = from_ordered_bits(low);
    if (n % 2 == 1 || count_windows(prefix, way, low) > n / 2) {
        return n % 2 == 1 ? lower : 0.5 * (lower + lower);
    }
    double upper = INFINITY;
    for (int64_t q = threadIdx.x % 32; q < way.n_bin; q += 32) {
        const double mass = window_mass(prefix, way.bin_window[q]);
        upper = ordered_bits(mass) > low && mass < upper ? mass : upper;
    }
    return 0.5 * (lower - warp_max(-upper));
}

// Prefix sums of every counted bin, and its median. A warp for each.
__device__ inline void sum_bins(const judged &e, const tess_events_way &way)
{
    const int lane = int(threadIdx.x % 32);
    for (int a = int(threadIdx.x / 32); a < e.n; a += judge_warps) {
        const double *row = e.row(a);
        double *prefix = e.prefix + a * (way.n_bin + 1);
        double before = 0;
        if (lane == 0) {
            prefix[0] = 0;
        }
        for (int64_t first = 0; first < way.n_bin; first += 32) {
            const int64_t q = first + lane;
            double sum = q < way.n_bin ? row[way.bin[q]] : 0;
            for (int apart = 1; apart < 32; apart *= 2) {
                const double other = __shfl_up_sync(0xffffffffu, sum, apart);
                sum += lane >= apart ? other : 0;
            }
            if (q < way.n_bin) {
                prefix[q + 1] = before + sum;
            }
            before += __shfl_sync(0xffffffffu, sum, 31);
        }
        __syncwarp();
        const double median = median_mass(prefix, way);
        if (lane == 0) {
            e.value[a] = median;
        }
    }
    __syncthreads();
}

__device__ inline int64_t floor_half(int64_t a)
{
    return a >= 0 ? a / 2 : -((1 - a) / 2);
}

// Where lines of slope D meet each counted bin: D k = s (T - 1) + j. A warp.
__device__ inline void meet_bins(const judged &e, const tess_events_windows &windows, int64_t slope,
                                 int64_t n_step, int2 *met)
{
    __syncwarp();
    for (int a = int(threadIdx.x % 32); a < e.n; a += 32) {
        const int64_t product = slope * e.time[a];
        const int64_t quotient = product / n_step;
        const int64_t shift = quotient - (product - quotient * n_step < 0);
        met[a] = make_int2(int(shift), windows.class_of[product - shift * n_step]);
    }
    __syncwarp();
}

// The largest sum of masses among lines of one slope. A warp, each of whose threads has some
// neighbours of a line at a time.
__device__ inline double best_of_slope(const judged &e, const tess_events_way &way,
                                       const tess_events_windows &windows, int64_t slope,
                                       const int2 *met)
{
    constexpr int at_once = 4;
    const int64_t first = -floor_half(slope);
    const int64_t n_line = floor_half(way.last - slope) - first + 1;
    const int64_t stride = way.n_bin + 1;
    double best = -INFINITY;
    for (int64_t at = 0; at < n_line; at += 32 * at_once) {
        const int line = int(first + at) + int(threadIdx.x % 32);
        double sum[at_once];
        for (int i = 0; i < at_once; i++) {
            sum[i] = 0;
        }
        for (int a = 0; a < e.n; a++) {
            const int2 meets = met[a];
            const double median = e.value[a];
            const unsigned n_on = unsigned(windows.n_on[meets.y]);
            const uint32_t *window = windows.window + meets.y * windows.n_point;
            const double *prefix = e.prefix + a * stride;
#pragma unroll
            for (int i = 0; i < at_once; i++) {
                const int m = line + 32 * i + meets.x;
                double mass = median;
                if (unsigned(m) < n_on) {
                    mass = window_mass(prefix, window[m]);
                }
                sum[i] += mass;
            }
        }
        for (int i = 0; i < at_once; i++) {
            const bool is_line = at + 32 * i + int(threadIdx.x % 32) < n_line;
            best = is_line && sum[i] > best ? sum[i] : best;
        }
    }
    return best;
}

// The largest sum of masses of a route's lines. All threads.
__device__ inline double best_of_route(const judged &e, const tess_events_way &way,
                                       const tess_events_windows &windows, int n_time,
                                       int64_t most_time)
{
    const int warp = int(threadIdx.x / 32);
    int2 *met = e.met + warp * most_time;
    double best = -INFINITY;
    __syncthreads(); // whoever still reads the route before
    sum_bins(e, way);
    for (int64_t slope = warp - windows.most_slope; slope <= windows.most_slope;
         slope += judge_warps) {
        meet_bins(e, windows, slope, n_time > 1 ? n_time - 1 : 1, met);
        const double sum = best_of_slope(e, way, windows, slope, met);
        best = sum > best ? sum : best;
    }
    return block_max(e, best);
}

#endif
