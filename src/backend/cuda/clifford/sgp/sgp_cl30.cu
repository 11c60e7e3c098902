// The weighted product of Cl(3,0) on CUDA.

#define TESS_CL_NAME cl30
#define TESS_CL_UPPER CL30
#define TESS_CL_TERMS "clifford/cl30.def"
#define TESS_CL_LEFT "clifford/cl30_left.def"
#define TESS_CL_RIGHT "clifford/cl30_right.def"
#define TESS_CL_PATHS "clifford/cl30_paths.def"
#include "backend/cuda/clifford/common/terms.cuh"

#include "backend/cuda/clifford/sgp/sgp_launch.cuh"

const clifford::sgp_kernels clifford::sgp_cl30 = {
    {CL30_METRIC},
    CL30_SYMBOLS,
    sgp_forward<cl30, true>,
    sgp_backward<cl30, true>,
};
