// The weighted product of Cl(1,3) on CUDA.

#define TESS_CL_NAME cl13
#define TESS_CL_UPPER CL13
#define TESS_CL_TERMS "clifford/cl13.def"
#define TESS_CL_LEFT "clifford/cl13_left.def"
#define TESS_CL_RIGHT "clifford/cl13_right.def"
#include "backend/cuda/clifford/common/terms.cuh"

#include "backend/cuda/clifford/sgp/sgp_launch.cuh"

const clifford::sgp_kernels clifford::sgp_cl13 = {
    {CL13_METRIC},
    CL13_SYMBOLS,
    sgp_forward<cl13, true>,
    sgp_backward<cl13, true>,
};
