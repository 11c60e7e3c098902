// The weighted product of Cl(3,0,1) on CUDA.

#define TESS_CL_NAME cl301
#define TESS_CL_UPPER CL301
#define TESS_CL_TERMS "clifford/cl301.def"
#define TESS_CL_LEFT "clifford/cl301_left.def"
#define TESS_CL_RIGHT "clifford/cl301_right.def"
#include "backend/cuda/clifford/common/terms.cuh"

#include "backend/cuda/clifford/sgp/sgp_launch.cuh"

const clifford::sgp_kernels clifford::sgp_cl301 = {
    {CL301_METRIC},
    CL301_SYMBOLS,
    sgp_forward<cl301, true>,
    sgp_backward<cl301, true>,
};
