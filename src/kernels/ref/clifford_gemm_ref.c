// Matrix products of tiles with packed panels, as plainly as they can be said.

#include "kernels/clifford_gemm.h"
#include "kernels/isa.h"

#include <math.h>

enum { WIDTH = 8 };

void TESS_KFN(clifford_gemm_shape)(tess_cl_gemm_shape *shape)
{
    *shape = (tess_cl_gemm_shape){.n_row = 4, .width_f32 = WIDTH, .width_f64 = WIDTH};
}

#define SCALAR float
#define FMA fmaf
#define T_NAME(name) name##_f32
#include "kernels/ref/clifford_gemm_ref_body.h"

#undef SCALAR
#undef FMA
#undef T_NAME
#define SCALAR double
#define FMA fma
#define T_NAME(name) name##_f64
#include "kernels/ref/clifford_gemm_ref_body.h"
