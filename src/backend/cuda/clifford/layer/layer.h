// What the files of stage clifford.layer share: its arguments, and how an algebra offers its
// kernels.
#ifndef TESS_CUDA_CLIFFORD_LAYER_H
#define TESS_CUDA_CLIFFORD_LAYER_H

#include "backend/cuda/clifford/sgp/sgp.cuh"

#include <cuda_runtime.h>

namespace clifford
{

struct layer_args {
    sgp_args product; // y: what is kept of the linear map, or data NULL
    tess_cl_view linear_weight;
    const float *bias; // or NULL
    int64_t stride_bias;
    int32_t bias_all;
    int32_t n_tile;
};

// The kernels of an algebra with straight-line code; shared_bytes is what a block of theirs needs.
struct layer_kernels {
    int8_t metric[TESS_CLIFFORD_MAX_SYMBOLS];
    int32_t n_symbol;
    int32_t n_path;
    size_t (*shared_bytes)(int64_t n);
    cudaError_t (*forward)(cudaStream_t stream, const layer_args &args);
};

extern const layer_kernels layer_cl20;
extern const layer_kernels layer_cl30;

} // namespace clifford

#endif
