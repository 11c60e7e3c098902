// The weighted product of Cl(4,1) on CUDA. Rows of 32 components do not fit in registers: split
// passes only.

#define TESS_CL_NAME cl41
#define TESS_CL_UPPER CL41
#define TESS_CL_TERMS "clifford/cl41.def"
#define TESS_CL_LEFT "clifford/cl41_left.def"
#define TESS_CL_RIGHT "clifford/cl41_right.def"
#include "backend/cuda/clifford/common/terms.cuh"

#include "backend/cuda/clifford/sgp/sgp_launch.cuh"

const clifford::sgp_kernels clifford::sgp_cl41 = {
    {CL41_METRIC},
    CL41_SYMBOLS,
    sgp_forward<cl41, false>,
    sgp_backward<cl41, false>,
};
