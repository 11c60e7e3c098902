// The vocabulary with one lane, in plain C: what the other sets are compared with.
#ifndef TESS_KERNELS_SIMD_VEC_REF_H
#define TESS_KERNELS_SIMD_VEC_REF_H

#include <math.h>

typedef float v_f32;
typedef double v_f64;
typedef uint32_t v_u32;
typedef uint64_t v_u64;
typedef int v_mask_f32;
typedef int v_mask_f64;

#define T_BITS 32
#define FMA fmaf
#define SQRT sqrtf
#include "kernels/simd/vec_ref_body.h"

#undef FMA
#undef SQRT
#define T_BITS 64
#define FMA fma
#define SQRT sqrt
#include "kernels/simd/vec_ref_body.h"
#undef FMA
#undef SQRT

static inline v_f64 v_widen_f64(const float *p)
{
    return (double)*p;
}

static inline v_f64 v_narrow_f64(float *p, v_f64 v)
{
    *p = (float)v;
    return (double)*p;
}

#endif
