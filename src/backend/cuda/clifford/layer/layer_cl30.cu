// Layers of Cl(3,0) on CUDA.

#define TESS_CL_NAME cl30
#define TESS_CL_UPPER CL30
#define TESS_CL_TERMS "clifford/cl30.def"
#define TESS_CL_LEFT "clifford/cl30_left.def"
#define TESS_CL_RIGHT "clifford/cl30_right.def"
#include "backend/cuda/clifford/common/terms.cuh"

#include "backend/cuda/clifford/layer/layer.cuh"

const clifford::layer_kernels clifford::layer_cl30 = {
    {CL30_METRIC}, CL30_SYMBOLS, cl30::n_path, layer_shared_bytes<cl30>, layer_pass<cl30>,
};
