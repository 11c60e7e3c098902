// The mark kernel of the decode kernels: a power of two for arguments that are not positive.
#ifndef TESS_KERNELS_DECODE_EXP2_H
#define TESS_KERNELS_DECODE_EXP2_H

#include "kernels/decode_kde.h"
#include "kernels/simd/math.h"

// 2^t for -100 <= t <= 0.
static inline v_f32 tess_power_of_two(v_f32 t)
{
#ifdef V_HAS_FRACTION
    const v_f32 r = v_fraction_f32(t);
#else
    // The nearest whole number sits in the low bits of the sum with 1.5 * 2^23.
    const v_f32 magic = v_set1_f32(0x1.8p23f);
    const v_f32 sum = v_add_f32(t, magic);
    const v_f32 r = v_sub_f32(t, v_sub_f32(sum, magic));
#endif
    v_f32 p = v_set1_f32(tess_exp2_tail[0]);
    p = v_fma_f32(p, r, v_set1_f32(tess_exp2_tail[1]));
    p = v_fma_f32(p, r, v_set1_f32(tess_exp2_tail[2]));
    p = v_fma_f32(p, r, v_set1_f32(tess_exp2_tail[3]));
    p = v_fma_f32(p, r, v_set1_f32(tess_exp2_tail[4]));
    p = v_fma_f32(p, r, v_set1_f32(1));
#ifdef V_HAS_FRACTION
    return v_scale_f32(p, v_sub_f32(t, r));
#else
    // p lies between sqrt(1/2) and sqrt(2), so that adding to its exponent multiplies it.
    return v_from_bits_f32(v_add_u32(v_bits_f32(p), v_shl_u32(v_bits_f32(sum), 23)));
#endif
}

static inline v_f32 tess_weight_of(v_f32 minus_q)
{
    return tess_power_of_two(v_max_f32(minus_q, v_set1_f32(TESS_DE_LEAST_POWER)));
}

#endif
