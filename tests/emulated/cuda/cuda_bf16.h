// Stands in for CUDA's own: bfloat16 as its bits.
#ifndef EMULATED_CUDA_BF16_H
#define EMULATED_CUDA_BF16_H

#include "emulated/arithmetic.h"

struct __nv_bfloat16 {
    unsigned short bits;
};

struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

inline float __bfloat162float(__nv_bfloat16 x)
{
    return __uint_as_float(unsigned(x.bits) << 16);
}

// To the nearest, ties to even; all NaNs are one.
inline __nv_bfloat16 __float2bfloat16_rn(float x)
{
    const unsigned bits = __float_as_uint(x);
    if (x != x) {
        return {0x7fff};
    }
    return {static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

// Rounded once: by way of an odd float, which keeps on which side of a tie the double is.
inline __nv_bfloat16 __double2bfloat16(double x)
{
    const float nearest = float(x);
    unsigned bits = __float_as_uint(nearest);
    if (double(nearest) != x && x == x && (bits & 1) == 0) {
        const bool is_beyond = std::fabs(double(nearest)) > std::fabs(x);
        bits = is_beyond ? bits - 1 : bits + 1;
    }
    return __float2bfloat16_rn(__uint_as_float(bits));
}

inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y)
{
    return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}

#endif
