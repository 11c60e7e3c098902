// C[k] = A[k] W[grade of k] straight from the activations with the matrix units of Hopper's
// warpgroups: f32 as TF32, or bf16. No copy of A is made.
#ifndef TESS_CUDA_CLIFFORD_LINEAR_WGMMA_H
#define TESS_CUDA_CLIFFORD_LINEAR_WGMMA_H

#include "stage/clifford.h"

#include <cuda_runtime.h>

struct clifford_wgmma_args {
    tess_cl_view a, c;   // (component, row, feature)
    tess_cl_view weight; // strides of (grade, inner, outer)
    const void *bias;
    int64_t stride_bias;
    void *scratch;
    int64_t n_row, n_inner, n_outer;
    const tess_cl_algebra *algebra;
    int32_t dtype, weight_dtype;
    int32_t bias_all;
    int32_t add; // to what c holds
};

// By types and features alone whether the path is worth it, and whether it can read these arrays.
bool clifford_wgmma_takes(const clifford_wgmma_args &p);
bool clifford_wgmma_aligned(const clifford_wgmma_args &p);
size_t clifford_wgmma_scratch(const clifford_wgmma_args &p);
cudaError_t clifford_wgmma_rows(cudaStream_t stream, const clifford_wgmma_args &p);

#endif
