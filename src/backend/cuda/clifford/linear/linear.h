// What the files of stage clifford.linear share.
//
// The general path takes every type, stride and size with one multiply-add after the other; the
// tensor path takes what the matrix units can do within the stage's precision.
#ifndef TESS_CUDA_CLIFFORD_LINEAR_H
#define TESS_CUDA_CLIFFORD_LINEAR_H

#include "stage/clifford.h"

#include <cuda_runtime.h>

// Scratch is asked for before it is known which gradients are wanted: it suffices for all.

// linear_general.cu
size_t clifford_linear_general_scratch(const tess_stage_clifford_linear &a);
cudaError_t clifford_linear_general(cudaStream_t stream, const tess_stage_clifford_linear &a);

// What sums grad_out over rows for grad_bias; from NULL: nothing is to be done.
struct clifford_bias_sums {
    const void *from;
    void *to;
    double *partial; // [component][chunk][n]
    int64_t stride[3];
    int64_t stride_to;
    int64_t n_row, n_n, chunk;
    int64_t n_chunk;
    int64_t n_part;  // chunks of all components
    int64_t n_block; // of 32 columns
};

// linear_bias.cu: scratch is the caller's share. finish() is the second half of grad_bias().
size_t clifford_linear_bias_scratch(const tess_stage_clifford_linear &a);
clifford_bias_sums clifford_linear_bias_sums(const tess_stage_clifford_linear &a, void *scratch);
cudaError_t clifford_linear_grad_bias(cudaStream_t stream, const tess_cl_problem &problem,
                                      const clifford_bias_sums &sums);
cudaError_t clifford_linear_bias_finish(cudaStream_t stream, const tess_cl_problem &problem,
                                        const clifford_bias_sums &sums);

// grad_weight = sums of partial [component][chunk][in][out], in order; f32, or f64 for f64.
// Finishes grad_bias, too, where there is something to finish.
cudaError_t clifford_linear_gather(cudaStream_t stream, const tess_stage_clifford_linear &a,
                                   const void *partial, int64_t n_chunk,
                                   const clifford_bias_sums &bias);

// linear_tensor.cu: takes() says by types and features whether the path computes it,
// aligned() whether it can read these arrays.
bool clifford_linear_tensor_takes(const tess_cl_problem &p);
bool clifford_linear_tensor_aligned(const tess_stage_clifford_linear &a);
size_t clifford_linear_tensor_scratch(const tess_stage_clifford_linear &a);
cudaError_t clifford_linear_tensor(cudaStream_t stream, const tess_stage_clifford_linear &a,
                                   const clifford_bias_sums &bias);

#endif
