// Extremes of the values that threads see, and the peak-to-peak of them: the bits of every backend.
#ifndef TESS_CUDA_AUTOREJECT_EXTREMES_H
#define TESS_CUDA_AUTOREJECT_EXTREMES_H

#include <cmath>

constexpr unsigned all_lanes = 0xffffffffu;

template <typename T>
struct extremes {
    T low;
    T high;
    bool has_nan;
};

// Comparisons are false for NaN, so it is tracked apart. Not fmin and fmax: for f64 they cost
// several times the instructions and give the same extremes.
template <typename T>
__device__ __forceinline__ void include(extremes<T> &seen, T value)
{
    seen.low = value < seen.low ? value : seen.low;
    seen.high = value > seen.high ? value : seen.high;
    seen.has_nan |= value != value;
}

template <typename T>
__device__ __forceinline__ extremes<T> no_extremes()
{
    return {T(INFINITY), -T(INFINITY), false};
}

// Combines groups of 1 << lanes_log2 lanes; every lane of the warp takes part.
template <typename T>
__device__ __forceinline__ void reduce_lanes(extremes<T> &seen, int lanes_log2)
{
    for (int step = (1 << lanes_log2) >> 1; step > 0; step >>= 1) {
        const T low = __shfl_xor_sync(all_lanes, seen.low, step);
        const T high = __shfl_xor_sync(all_lanes, seen.high, step);
        seen.low = low < seen.low ? low : seen.low;
        seen.high = high > seen.high ? high : seen.high;
        seen.has_nan |= __shfl_xor_sync(all_lanes, int(seen.has_nan), step) != 0;
    }
}

__device__ __forceinline__ float quiet_nan(float)
{
    return __int_as_float(0x7fc00000);
}

__device__ __forceinline__ double quiet_nan(double)
{
    return __longlong_as_double(0x7ff8000000000000);
}

// The bits every backend gives: one NaN, no negative zero.
template <typename T>
__device__ __forceinline__ T peak_to_peak(const extremes<T> &seen)
{
    const T difference = seen.high - seen.low;
    if (seen.has_nan || difference != difference) {
        return quiet_nan(T());
    }
    return difference == T(0) ? T(0) : difference;
}

#endif
