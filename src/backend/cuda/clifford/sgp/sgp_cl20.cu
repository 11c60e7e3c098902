// The weighted product of Cl(2,0) on CUDA.

#define TESS_CL_NAME cl20
#define TESS_CL_UPPER CL20
#define TESS_CL_TERMS "clifford/cl20.def"
#define TESS_CL_LEFT "clifford/cl20_left.def"
#define TESS_CL_RIGHT "clifford/cl20_right.def"
#define TESS_CL_PATHS "clifford/cl20_paths.def"
#include "backend/cuda/clifford/common/terms.cuh"

#include "backend/cuda/clifford/sgp/sgp_launch.cuh"

const clifford::sgp_kernels clifford::sgp_cl20 = {
    {CL20_METRIC},
    CL20_SYMBOLS,
    sgp_forward<cl20, true>,
    sgp_backward<cl20, true>,
};
