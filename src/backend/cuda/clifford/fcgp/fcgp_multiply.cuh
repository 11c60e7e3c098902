// The three matrix products of stage clifford.fcgp on a chunk of rows. One copy of the weights
// serves two of them, products and gradients serve as they were written: what an operand's inner
// axis is, is the matrix instruction's affair.
#ifndef TESS_CLIFFORD_FCGP_MULTIPLY_CUH
#define TESS_CLIFFORD_FCGP_MULTIPLY_CUH

#include "backend/cuda/clifford/fcgp/fcgp_chunk.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_store.cuh"
#include "backend/cuda/clifford/fcgp/fcgp_tiles.cuh"

namespace clifford_fcgp
{

// Clusters by measurement at 512 features. Six stages would be as many as shared memory holds; with
// five, blocks of the next kernel are there early and read what they can.
using product_shape = clifford_matrix::shape<1, 2, 6>;
using pairs_shape = clifford_matrix::shape<2, 1, 5>;
using weights_shape = clifford_matrix::shape<1, 2, 6>;

struct matrices {
    clifford_box_array pairs;     // (pair, row, in)
    clifford_box_array gradients; // (component, row, out)
    clifford_box_array weights;   // (path, in, out)
};

inline matrices matrices_of(const clifford::fc_chunk &c, const tess_clifford_algebra &algebra,
                            __half *weights)
{
    return {
        {TESS_F16, c.pairs, c.n_in, c.n_row, algebra.n_pair, c.in_pitch, c.stride_pair},
        {TESS_F16, c.gradients, c.n_out, c.n_row, algebra.n_component, c.out_pitch,
         c.stride_gradient},
        {TESS_F16, weights, c.n_out, c.n_in, algebra.n_path, c.out_pitch, c.n_in * c.out_pitch}};
}

inline f32_results results_of(const tess_cl_view &v, int64_t n_row, int64_t n_column,
                              int64_t n_result)
{
    f32_results to = {{},
                      static_cast<float *>(v.data),
                      {v.stride[0], v.stride[1], v.stride[2]},
                      int32_t(n_row),
                      int32_t(n_column),
                      0,
                      0};
    // Whole words of 16 bytes, rows one after the other: what the copy engine wants.
    const bool is_regular = v.stride[2] == 1 && v.stride[0] % 4 == 0 && v.stride[1] % 4 == 0 &&
                            v.stride[0] > 0 && v.stride[1] > 0 &&
                            reinterpret_cast<uintptr_t>(v.data) % 16 == 0;
    to.has_fours = is_regular;
    to.is_boxed =
        is_regular && tess_cuda_level_here() == TESS_CUDA_GROUPS &&
        clifford_encode_boxes(
            to.map, {TESS_F32, v.data, n_column, n_row, n_result, v.stride[1], v.stride[0]},
            clifford_matrix::slice_rows);
    return to;
}

// With the instructions that there are.
template <typename S, bool turned_a, bool turned_b, typename Store>
cudaError_t multiply(cudaStream_t stream, const clifford_matrix::operands &o,
                     const cl_fc_table &table, const Store &store)
{
    return tess_cuda_level_here() == TESS_CUDA_GROUPS
               ? clifford_matrix::launch_matrix<S, turned_a, turned_b>(stream, o, table, store)
               : launch_tiles<turned_a, turned_b>(stream, o, table, store);
}

// pairs, weights -> product
template <typename S>
cudaError_t multiply_product(cudaStream_t stream, const clifford::fc_chunk &c, const matrices &m,
                             const cl_fc_table &table)
{
    const store_product store = {results_of(c.product, c.n_row, c.n_out, table.n_result),
                                 c.left_exponent, c.right_exponent, c.weight_exponent,
                                 c.product_exponent};
    return multiply<S, false, true>(stream, {m.pairs, m.weights, c.n_row, c.n_out, c.n_in}, table,
                                    store);
}

// gradients, weights -> pairs
template <typename S>
cudaError_t multiply_pairs(cudaStream_t stream, const clifford::fc_chunk &c, const matrices &m,
                           const cl_fc_table &table)
{
    store_pairs store = {{}, m.pairs, c.sum_exponent};
    // Rows to their full pitch: readers take several items at a time.
    store.to.n_item = c.in_pitch;
    if (tess_cuda_level_here() == TESS_CUDA_GROUPS &&
        !clifford_encode_boxes(store.map, store.to, clifford_matrix::slice_rows)) {
        return cudaErrorInvalidValue;
    }
    return multiply<S, false, false>(stream, {m.gradients, m.weights, c.n_row, c.n_in, c.n_out},
                                     table, store);
}

// pairs, rescaled gradients -> grad_weight, f32 (path, in, out)
template <typename S>
cudaError_t multiply_weights(cudaStream_t stream, const clifford::fc_chunk &c, const matrices &m,
                             const cl_fc_table &table, const tess_cl_view &grad_weight, bool adds)
{
    const store_weights store = {results_of(grad_weight, c.n_in, c.n_out, table.n_result),
                                 c.common_exponent, adds};
    return multiply<S, true, true>(stream, {m.pairs, m.gradients, c.n_in, c.n_out, c.n_row}, table,
                                   store);
}

} // namespace clifford_fcgp

#endif
