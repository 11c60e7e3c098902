// Layers of Cl(2,0) on CUDA.

#define TESS_CL_NAME cl20
#define TESS_CL_UPPER CL20
#define TESS_CL_TERMS "clifford/cl20.def"
#define TESS_CL_LEFT "clifford/cl20_left.def"
#define TESS_CL_RIGHT "clifford/cl20_right.def"
#include "backend/cuda/clifford/common/terms.cuh"

#include "backend/cuda/clifford/layer/layer.cuh"

const clifford::layer_kernels clifford::layer_cl20 = {
    {CL20_METRIC}, CL20_SYMBOLS, cl20::n_path, layer_shared_bytes<cl20>, layer_pass<cl20>,
};
