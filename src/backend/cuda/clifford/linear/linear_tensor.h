// What the files of the tensor path of stage clifford.linear share.
//
// The matrix units read 16-bit items. f32 becomes f16, which has the 10 bits of mantissa of TF32,
// with one exact power of two per row of activations and per column of weights: `prepare` makes
// these copies, with the inner axis of the product dense. Where f32 is to stay exact, a second copy
// `low` has what the first lacks, 22 bits in all, and three products stand for one. Then `rows` is
// C[k] = A[k] W[grade of k] (forward, grad_x) and `weights` sums x^T grad_out over chunks of rows.
#ifndef TESS_CUDA_CLIFFORD_LINEAR_TENSOR_H
#define TESS_CUDA_CLIFFORD_LINEAR_TENSOR_H

#include "backend/cuda/clifford/linear/linear.h"
#include "stage/clifford.h"

#include <cuda_runtime.h>

// 16-bit activations [component][row][pitch]; exponent [component][row], NULL where items are not
// scaled.
struct clifford_matrix {
    void *data;
    int64_t stride;
    int64_t pitch; // a multiple of 8; items behind the row are not read
    int32_t *exponent;
    void *low; // of the layout of data, or NULL
};

// One activation to copy.
struct clifford_copy {
    tess_cl_view from;
    clifford_matrix to;
    int64_t n_inner;
};

// Weights as [grade][outer][pitch]: outer is the column of the product, inside is its sum. A sum of
// scaled items times factor [grade][outer] has the weights' scale taken out.
struct clifford_weights {
    void *data;
    int64_t pitch;
    float *factor;
    void *low;        // or NULL
    int32_t by_fours; // columns lie as below
};

// Where column `outer` lies with by_fours: in every 16 columns, a thread of the matrix instructions
// that has two of the first 8 and two of the last 8 then has four in a row. Grades begin at
// multiples of 16.
constexpr int64_t clifford_fours = 16;

__host__ __device__ constexpr int64_t clifford_fours_place(int64_t outer)
{
    return outer / 16 * 16 + outer / 2 % 2 * 8 + outer % 16 / 4 * 2 + outer % 2;
}

__host__ __device__ constexpr int64_t clifford_fours_columns(int64_t n_outer)
{
    return (n_outer + clifford_fours - 1) / clifford_fours * clifford_fours;
}

struct clifford_prepare_args {
    tess_cl_view weight; // strides of (grade, inner, outer)
    clifford_weights weight_to;
    int64_t n_inner, n_outer;
    clifford_copy copy[2];
    int32_t n_copy;
    int32_t n_grade;
    int64_t n_row; // of all components together
    int64_t component_rows;
    int64_t weight_blocks;
    int64_t row_blocks;      // of all copies, behind those of the weights
    clifford_bias_sums bias; // first half of the sums, behind both
};

struct clifford_rows_args {
    clifford_matrix a;
    tess_cl_view from; // what a is, or is to be, a copy of
    clifford_weights w;
    const void *bias;
    int64_t stride_bias;
    tess_cl_view c;
    int64_t n_i, n_j, n_l;
    int32_t n_component, n_grade;
    int32_t bias_is_f32; // else of the activations' type
    int32_t bias_all;
    int32_t add;   // to what c holds
    int32_t pairs; // two items of c can be moved at once
    uint8_t grade[TESS_CLIFFORD_MAX_COMPONENTS];
};

// Whether rows of f32 can be read in words of 16 bytes.
inline bool clifford_is_f32_dense(const tess_cl_view &view)
{
    return view.stride[2] == 1 && view.stride[0] % 4 == 0 && view.stride[1] % 4 == 0 &&
           reinterpret_cast<uintptr_t>(view.data) % 16 == 0;
}

// partial [component][chunk][m][n] = sum over a chunk's rows of a[row][m] b[row][n].
struct clifford_sums_args {
    clifford_matrix a, b;
    float *partial;
    int64_t n_row, n_m, n_n;
    int64_t n_chunk, chunk; // a multiple of 128 rows
    int32_t n_component;
};

cudaError_t clifford_linear_prepare(cudaStream_t stream, int32_t dtype, int32_t weight_dtype,
                                    clifford_prepare_args &p);
cudaError_t clifford_linear_rows(cudaStream_t stream, int32_t dtype, const clifford_rows_args &p);

// The same with the matrix instructions of warpgroups and the copy engine, where they can be had:
// for 16-bit activations, and for f32, which is converted on the way. Either follows a launch of
// prepare, of which it reads the weights alone.
bool clifford_linear_groups_take(int32_t dtype, const clifford_rows_args &p);
cudaError_t clifford_linear_groups(cudaStream_t stream, int32_t dtype, const clifford_rows_args &p);

bool clifford_linear_f32_takes(const clifford_rows_args &p);
bool clifford_linear_f32_copies(const clifford_rows_args &p); // makes p.a, unless its data is NULL
cudaError_t clifford_linear_f32(cudaStream_t stream, const clifford_rows_args &p);

// The same with the matrix instructions of single warps, in tiles that fit any GPU; held: f32 is
// converted on the way, and p.a made unless its data is NULL. linear_rows is who asks for tiles.
cudaError_t clifford_linear_tiles(cudaStream_t stream, int32_t dtype, const clifford_rows_args &p);
bool clifford_linear_held_takes(const clifford_rows_args &p);
cudaError_t clifford_linear_held(cudaStream_t stream, const clifford_rows_args &p);

cudaError_t clifford_linear_sums(cudaStream_t stream, int32_t dtype, const clifford_sums_args &p);
cudaError_t clifford_linear_tile_sums(cudaStream_t stream, int32_t dtype,
                                      const clifford_sums_args &p);

// The same with warpgroups, where they can be had.
bool clifford_linear_group_sums_take(const clifford_sums_args &p);
cudaError_t clifford_linear_group_sums(cudaStream_t stream, int32_t dtype,
                                       const clifford_sums_args &p);

#endif
