// exp, log, sin and cos, erf, the normal distribution over the vocabulary, for fused kernels:
// v_exp_f32(x) and so on.
//
// Every step is an exact operation or one rounding in a fixed order, so each ISA gives the same
// bits. Largest error in ulp, tested over the whole range, denormal results included:
//
//   v_exp_T        1         v_sincos_T(x, &sine, &cosine)   2    |x| <= 2^17 (f32), 2^24 (f64)
//   v_log_T        1         v_erf_T                         2
//
// v_normal_T(x, &density) is Phi(x), and its derivative: relative error 4 eps (1 + x^2), in the
// lower tail too. v_normal_pair_T does two at a time; a NaN of one is one of the other. Their last
// bits are those of v_inverse_T.
//
// Larger arguments of sincos take the C library's sine and cosine, lane by lane (f32: in double).
// Overflow gives infinity, underflow denormals and then zero, log(0) -infinity, log of a negative
// number NaN; sine and erf keep the sign of zero. Every NaN result is the positive quiet one,
// because ISAs differ in which operand's payload survives.
#ifndef TESS_KERNELS_SIMD_MATH_H
#define TESS_KERNELS_SIMD_MATH_H

#include "kernels/simd/math_coefficients.h"
#include "kernels/simd/vec.h"

#include <math.h>

#define T_BITS 32
#define EXP_LOWEST -104.0f // exp() of it is below half the least denormal
#define EXP_HIGHEST 89.0f
#define ROUND_MAGIC 0x1.8p23f
#define NORMAL_LEAST 0x1p-126f
#define SINCOS_LAST 0x1p17f
#include "kernels/simd/math_body.h"

#undef EXP_LOWEST
#undef EXP_HIGHEST
#undef ROUND_MAGIC
#undef NORMAL_LEAST
#undef SINCOS_LAST
#define T_BITS 64
#define EXP_LOWEST -746.0
#define EXP_HIGHEST 710.0
#define ROUND_MAGIC 0x1.8p52
#define NORMAL_LEAST 0x1p-1022
#define SINCOS_LAST 0x1p24
#include "kernels/simd/math_body.h"

#undef EXP_LOWEST
#undef EXP_HIGHEST
#undef ROUND_MAGIC
#undef NORMAL_LEAST
#undef SINCOS_LAST

#endif
