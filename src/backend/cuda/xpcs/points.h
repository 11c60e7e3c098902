// A point of a pass on the GPU: its weight, its model, and what is multiplied with the pair's
// factors.
#ifndef TESS_CUDA_XPCS_POINTS_H
#define TESS_CUDA_XPCS_POINTS_H

#include "backend/cuda/xpcs/pass.h"
#include "backend/cuda/xpcs/sinc.h"

#include <cfloat>

// Rows of the products that the tensor cores take: v M, v M^2, v M y, v T, v T M, v T y, v T^2.
struct xp_rows {
    double m, mm, mg, t, tm, tg, tt;
};

// Sums of a lane besides: S1, Sy, Syy (of a robust loss: rho), and squares of residuals.
struct xp_extra {
    double weight, sample, square, residual;
};

// What a lane knows of its angle.
struct xp_lane {
    bool is_there;
    double w2, mean, contrast, offset, by; // by: inverse variance over the squared scale of a loss
    double amplitude, inverse;             // |A| and 1/|A|, 0 where it is 0
    const double *lag_weight;              // at lag 0; NULL: none
};

// rho, its first derivative and rho' + 2 rho'' z, kept above 0.
__device__ inline void xp_loss_at(int loss, double z, double *rho, double *slope, double *scale)
{
    const double one = 1 + z;
    switch (loss) {
    case 1: { // soft_l1
        const double root = sqrt(one);
        *rho = (z + z) / (root + 1);
        *slope = 1 / root;
        *scale = *slope / one;
        break;
    }
    case 2: { // huber
        const double root = sqrt(z);
        const bool is_far = z > 1;
        *rho = is_far ? root + root - 1 : z;
        *slope = is_far ? 1 / root : 1;
        *scale = is_far ? 0 : 1;
        break;
    }
    case 3: // cauchy, with what the sum 1 + z lost
        *slope = 1 / one;
        *rho = fma(z - (one - 1), *slope, log(one));
        *scale = (1 - z) * (*slope * *slope);
        break;
    case 4: // arctan
        *slope = 1 / fma(z, z, 1.0);
        *rho = atan(z);
        *scale = fma(-3 * z, z, 1.0) * (*slope * *slope);
        break;
    default:
        *rho = z;
        *slope = *scale = 1;
        break;
    }
    *scale = *scale > DBL_EPSILON ? *scale : DBL_EPSILON;
}

// M and T of a laminar point of factor e.
template <typename T>
__device__ __forceinline__ void xp_laminar(T e, T b, T inverse, T amplitude, T inverse_amplitude,
                                           int power, T *m, T *t)
{
    T s, d;
    xp_sinc(amplitude * b, inverse_amplitude * inverse, &s, &d);
    const T factor = power == 4 ? e * s * (s * s) : e * s;
    *m = factor * s;
    *t = factor * d;
}

// y, less its mean, and the weight v of a point whose model is m, t.
template <int weighing>
__device__ __forceinline__ xp_rows xp_products(const xp_pass &a, const xp_lane &lane, double m,
                                               double t, double y, double v, xp_extra *extra)
{
    double g = y;
    if (weighing == XP_WEIGHTED) {
        extra->weight += v;
        g = v * y;
        extra->sample += g;
        extra->square = fma(g, y, extra->square);
    }
    if (weighing == XP_ROBUST) {
        const double error = fma(lane.contrast, m, lane.offset) - y;
        const double weighted = v * error, square = weighted * error;
        double rho, slope, scale;
        xp_loss_at(a.loss, square * lane.by, &rho, &slope, &scale);
        v *= scale;
        g = slope * weighted;
        extra->weight += v;
        extra->sample += g;
        extra->square += rho;
        extra->residual += square;
    }
    xp_rows r;
    r.m = weighing == XP_PLAIN ? m : v * m;
    r.mm = r.m * m;
    r.mg = m * g;
    r.t = weighing == XP_PLAIN ? t : v * t;
    r.tm = r.t * m;
    r.tg = t * g;
    r.tt = r.t * t;
    return r;
}

#endif
