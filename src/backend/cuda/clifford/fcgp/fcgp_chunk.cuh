// What the kernels of stage clifford.fcgp on tensor cores hand to each other, a chunk of rows at a
// time.
//
// Items are f16 with exact scales (powers of two) and f32 sums: the 10 bits of mantissa of TF32 at
// twice its rate, half its bytes. Rows have scales of their own, weights one for all, so that
// nothing leaves the range of f16 and a row's result depends on that row alone:
//   pairs      q = item 2^(left + right - product_exponent)      left, right: of the row's x and y
//   gradients  h = item 2^(gradient of the row)
//   weights    w = item 2^weight
// The gradient of the weights is a sum over rows. Where a row's gradients have been read for the
// last time with their own scale, they get what makes
//   q h = items' product 2^common
// for all rows of the chunk; they are few beside the pairs.
#ifndef TESS_CLIFFORD_FCGP_CHUNK_CUH
#define TESS_CLIFFORD_FCGP_CHUNK_CUH

#include "backend/cuda/clifford/fcgp/fcgp_plan.h"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace clifford
{

// Views start at the chunk's first row. Scratch memory has room for the largest chunk.
struct fc_chunk {
    tess_cl_view x, y, grad_out, grad_x, grad_y;
    tess_cl_view product;        // f32, without the norm
    tess_cl_view out, saved_out; // with it; saved_out is read
    float *statistics;           // of the first row; or NULL
    int64_t stride_statistics;   // from grade to grade
    __half *pairs;               // [pair][row][in_pitch]: products, or their gradients
    __half *gradients;           // [component][row][out_pitch]: h
    int64_t stride_pair, stride_gradient;
    int64_t in_pitch, out_pitch;
    int *left_exponent, *right_exponent, *gradient_exponent; // [row]
    int *weight_exponent, *common_exponent;
    int64_t n_row;
    int32_t n_in, n_out;
    int32_t product_exponent, sum_exponent;
    int32_t dtype;                  // of x, y and gradients
    int32_t out_dtype, saved_dtype; // dtype, or f32
    int32_t activation;
    int32_t normalize;
    int32_t metric;
    float eps;
    // No kernel that may still run wrote the caller's arrays: they can be read at once.
    int32_t are_inputs_ready;
};

// The row kernels of an algebra.
struct fc_kernels {
    int8_t metric[TESS_CLIFFORD_MAX_SYMBOLS];
    int32_t n_symbol;
    int32_t most_terms; // of a pair
    // x, y -> pairs, exponents
    cudaError_t (*form)(cudaStream_t stream, const fc_chunk &chunk);
    // pairs, x, y -> grad_x, grad_y where pairs are gradients; then products in their place, and
    // exponents
    cudaError_t (*contract)(cudaStream_t stream, const fc_chunk &chunk, bool has_gradients);
    // product -> out, statistics
    cudaError_t (*norm)(cudaStream_t stream, const fc_chunk &chunk);
    // grad_out, saved_out, statistics -> gradients; common_exponent starts anew
    cudaError_t (*gradient)(cudaStream_t stream, const fc_chunk &chunk);
};

// Gradients of all rows to the scale of the chunk.
cudaError_t fc_rescale_gradients(cudaStream_t stream, const fc_chunk &chunk, int32_t n_component);

extern const fc_kernels fc_cl20;
extern const fc_kernels fc_cl30;
extern const fc_kernels fc_cl301;
extern const fc_kernels fc_cl13;
extern const fc_kernels fc_cl41;

} // namespace clifford

#endif
