// Two components whose fields interfere: the model between two frames.
#ifndef TESS_CUDA_XPCS_TWO_H
#define TESS_CUDA_XPCS_TWO_H

#include "stage/xpcs.h"

#include <cuda_runtime.h>

__device__ __forceinline__ double xp_two_decay(double w2, double integral)
{
    const double exponent = -w2 * integral;
    return exponent < -160 ? 0 : exp(exponent);
}

// M of both amplitudes and the cosine between them; *by_x and *by_y are half of its derivatives.
__device__ __forceinline__ double xp_two_mix(double x, double y, double cosine, double *by_x,
                                             double *by_y)
{
    *by_x = fma(y, cosine, x);
    *by_y = fma(x, cosine, y);
    return fma(x, *by_x, y * *by_y);
}

__device__ inline double xp_two_integral(const double *sums, int64_t i, int64_t j, double eps)
{
    const double d = fabs(sums[j] - sums[i]);
    return eps == 0 ? d : sqrt(fma(d, d, eps));
}

// grid: the arrays of a point of the parameters, n frames each.
__device__ inline double xp_two_value(const double *grid, int64_t n, double eps,
                                      const tess_xp_angle &angle, int64_t i, int64_t j)
{
    const double *cosine = grid + TESS_XP_TWO_COSINE * n, *sine = grid + TESS_XP_TWO_SINE * n;
    const double *reference = grid + TESS_XP_TWO_REFERENCE * n;
    const double *sample = grid + TESS_XP_TWO_SAMPLE * n;
    const double *velocity = grid + TESS_XP_TWO_VELOCITY * n;
    const double hr = xp_two_decay(angle.w2, xp_two_integral(reference, i, j, eps));
    const double hs = xp_two_decay(angle.w2, xp_two_integral(sample, i, j, eps));
    double by_x, by_y;
    return xp_two_mix(cosine[i] * cosine[j] * hr, sine[i] * sine[j] * hs,
                      cos(angle.amplitude * (velocity[j] - velocity[i])), &by_x, &by_y);
}

#endif
