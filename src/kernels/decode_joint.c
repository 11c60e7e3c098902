// Gaussian sums over points with a running maximum; built once per ISA.

#include "kernels/decode_exp2.h"
#include "kernels/simd/math.h"

#include <math.h>

// Points per block: its coordinates and exponents stay in the first cache.
enum { JOINT_BLOCK = 512 };

// exp(x), x <= 0, without the denormal results that cost more than all the rest: what is small
// enough to be one is not seen beside the largest term, 1.
static inline v_f32 joint_exp_f32(v_f32 x)
{
    return tess_weight_of(v_mul_f32(x, v_set1_f32(0x1.715476p+0f))); // log2(e)
}

static inline v_f64 joint_exp_f64(v_f64 x)
{
    return v_exp_f64(v_max_f64(x, v_set1_f64(-690)));
}

#define T_BITS 32
#include "kernels/decode_joint_body.h"

#define T_BITS 64
#include "kernels/decode_joint_body.h"
