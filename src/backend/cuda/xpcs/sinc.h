// sinc and its slope on the GPU, by the polynomials of the CPU's kernels.
#ifndef TESS_CUDA_XPCS_SINC_H
#define TESS_CUDA_XPCS_SINC_H

#include <cuda_runtime.h>

// Beyond, z is taken as this: sinc is nothing there, and the reduction would fail.
constexpr double xp_far = 0x1p40;

// sin(r)/r = 1 + q tail(q) and cos(r) = 1 + q tail(q), q = r^2, on |r| <= pi/2.
__device__ __forceinline__ void xp_tails(double q, double *sine, double *cosine)
{
    double s = 0x1.8853074849969p-49, c = 0x1.9f4360808b16dp-45;
    s = fma(s, q, -0x1.ae44b4caf4b8ap-41), c = fma(c, q, -0x1.9351edce98aebp-37);
    s = fma(s, q, 0x1.6123d1814461p-33), c = fma(c, q, 0x1.1eece4bf07d4ep-29);
    s = fma(s, q, -0x1.ae6454e59c853p-26), c = fma(c, q, -0x1.27e4f992480cdp-22);
    s = fma(s, q, 0x1.71de3a52c3ac9p-19), c = fma(c, q, 0x1.a01a0199cda04p-16);
    s = fma(s, q, -0x1.a01a01a0151e4p-13), c = fma(c, q, -0x1.6c16c16c0b2dfp-10);
    s = fma(s, q, 0x1.11111111110ccp-7), c = fma(c, q, 0x1.555555555540cp-5);
    *sine = fma(s, q, -0x1.5555555555555p-3);
    *cosine = fma(c, q, -0x1.ffffffffffffdp-2);
}

__device__ __forceinline__ void xp_tails(float q, float *sine, float *cosine)
{
    float s = 0x1.5e2b88p-19f, c = -0x1.180154p-22f;
    c = fmaf(c, q, 0x1.9f6f9ap-16f);
    s = fmaf(s, q, -0x1.9f7834p-13f), c = fmaf(c, q, -0x1.6c138p-10f);
    s = fmaf(s, q, 0x1.110f04p-7f), c = fmaf(c, q, 0x1.555548p-5f);
    *sine = fmaf(s, q, -0x1.55554ep-3f);
    *cosine = fmaf(c, q, -0x1p-1f);
}

// z less the nearest multiple k of pi, which is in two parts.
__device__ __forceinline__ double xp_reduce(double z, double *k)
{
    *k = fma(z, 0x1.45f306dc9c883p-2, 0x1.8p52) - 0x1.8p52;
    return fma(-*k, 0x1.1a62633145c07p-53, fma(-*k, 0x1.921fb54442d18p+1, z));
}

__device__ __forceinline__ float xp_reduce(float z, float *k)
{
    *k = fmaf(z, 0x1.45f306p-2f, 0x1.8p23f) - 0x1.8p23f;
    return fmaf(-*k, -0x1.777a5cp-24f, fmaf(-*k, 0x1.921fb6p+1f, z));
}

// sinc(z) and cos(z) - sinc(z), 0 <= z <= far, both up to the same sign; inverse is 1/z. Within the
// first half turn the ones of the two series cancel by themselves: no other series is needed there.
template <typename T>
__device__ __forceinline__ void xp_sinc(T z, T inverse, T *s, T *d)
{
    T k, sine_tail, cosine_tail;
    const T r = xp_reduce(z, &k), q = r * r;
    xp_tails(q, &sine_tail, &cosine_tail);
    const T sine = fma(sine_tail, q, T(1)), cosine = fma(cosine_tail, q, T(1));
    const T far = r * inverse * sine;
    const bool is_first = k == T(0);
    *s = is_first ? sine : far;
    *d = is_first ? q * (cosine_tail - sine_tail) : cosine - far;
}

#endif
