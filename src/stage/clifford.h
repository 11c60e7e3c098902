// Stages of clifford: operations on arrays of multivectors, activations (component, row, feature).
//
// Every stage writes all of each output it is given and never reads one. Outputs whose data are
// NULL are not computed. Sums over rows (gradients of weights) are taken in an order that depends
// on the shape alone; what belongs to a row depends on that row alone.
#ifndef TESS_STAGE_CLIFFORD_H
#define TESS_STAGE_CLIFFORD_H

#include "tessera/clifford/op.h"

#include <stdint.h>

enum {
    TESS_STAGE_CLIFFORD_GATE = 0x0101,
    TESS_STAGE_CLIFFORD_NORM = 0x0102,
    TESS_STAGE_CLIFFORD_SGP = 0x0103,
    TESS_STAGE_CLIFFORD_FCGP = 0x0104,
    TESS_STAGE_CLIFFORD_LINEAR = 0x0105,
    TESS_STAGE_CLIFFORD_LAYER = 0x0106,
    TESS_STAGE_CLIFFORD_SUM = 0x0107,
};

// An activation or weight and its strides in items; unused axes have stride 0. Activations:
// (component, row, feature).
typedef struct tess_cl_view {
    void *data;
    int64_t stride[3];
} tess_cl_view;

// What all stages know. algebra is host memory, valid until the stage was enqueued.
typedef struct tess_cl_problem {
    const tess_clifford_algebra *algebra;
    uint64_t path_mask;   // bits of paths that exist only
    int64_t n_row;        // B >= 1
    int64_t n_in;         // features of x (and y) >= 1
    int64_t n_out;        // features of z; n_in where they cannot differ
    int32_t dtype;        // of activations: TESS_F32, F64, BF16, F16
    int32_t weight_dtype; // of weights and biases and their gradients: dtype, or TESS_F32
    int32_t pass;         // tess_clifford_pass; DOUBLE_BACKWARD for gate and norm only
    int32_t activation;   // tess_clifford_activation of x, and of y
    int32_t normalize;
    int32_t norm_metric; // EUCLID, ABS, CLAMP or ABS_CLAMP
    int32_t bias_mode;
    int32_t precision;
    double eps;
    void *scratch; // scratch_bytes() of the backend, 256-byte aligned
} tess_cl_problem;

// Statistics are r (not squared): [n_grade][n_row] of f32, f64 for dtype f64; NULL in the forward
// pass: not wanted, in the others: to be computed.

// z_k = f(x_0) x_k.
//   forward   x -> out
//   backward  x, grad_out -> grad_x
//   double    x, grad_out, cotangent (of grad_x) -> d_grad_out, d_x
typedef struct tess_stage_clifford_gate {
    tess_cl_problem problem;
    tess_cl_view x, out;
    tess_cl_view grad_out, grad_x;
    tess_cl_view cotangent, d_grad_out, d_x;
} tess_stage_clifford_gate;

// z_k = x_k / r_g(k); the views as of the gate. The same struct, so that the two can share code.
typedef struct tess_stage_clifford_norm {
    tess_cl_problem problem;
    tess_cl_view x, out;
    tess_cl_view grad_out, grad_x;
    tess_cl_view cotangent, d_grad_out, d_x;
    void *statistics;
} tess_stage_clifford_norm;

// Norm(product(gate(x), gate(y))) with one weight per feature and path.
//   forward   x, y, weight -> out, statistics
//   backward  x, y, weight, grad_out (, statistics) -> grad_x, grad_y, grad_weight
// weight: (feature, path), strides [0] and [1]; data NULL: ones (and no grad_weight). grad_weight
// of paths outside path_mask is 0.
typedef struct tess_stage_clifford_sgp {
    tess_cl_problem problem;
    tess_cl_view x, y, weight;
    tess_cl_view out;
    tess_cl_view grad_out, grad_x, grad_y, grad_weight;
    void *statistics;
} tess_stage_clifford_sgp;

// The same with weights (path, in, out): o[k,b,n] = sum_p sum_m q[p,k][b,m] w[p,m,n].
// saved_out, of the backward pass: out as the forward pass left it, data NULL: computed again (a
// third of the pass). Read only together with statistics.
typedef struct tess_stage_clifford_fcgp {
    tess_cl_problem problem;
    tess_cl_view x, y, weight;
    tess_cl_view out, saved_out;
    tess_cl_view grad_out, grad_x, grad_y, grad_weight;
    void *statistics;
} tess_stage_clifford_fcgp;

// z[k,b,n] = sum_m x[k,b,m] W[g(k),m,n] + bias[n] (component 0, or all). bias.data NULL: none.
//   backward  x, weight, grad_out -> grad_x, grad_weight, grad_bias
// add_to_grad_x: grad_x holds something already (of the view's type), to which is added.
typedef struct tess_stage_clifford_linear {
    tess_cl_problem problem;
    tess_cl_view x, weight, bias;
    tess_cl_view out;
    tess_cl_view grad_out, grad_x, grad_weight, grad_bias;
    int32_t add_to_grad_x;
    int32_t reserved;
} tess_stage_clifford_linear;

// SGP of x and of its linear map, n_in = n_out. linear_out.data NULL: not kept. Forward only: the
// backward pass is that of SGP, then that of LINEAR with add_to_grad_x.
typedef struct tess_stage_clifford_layer {
    tess_cl_problem problem;
    tess_cl_view x, weight, linear_weight, bias;
    tess_cl_view out, linear_out;
    void *statistics;
} tess_stage_clifford_layer;

// out = sum of the terms, in their order, item by item; types are converted on the way. No term:
// zeros. out may be one of the terms.
typedef struct tess_stage_clifford_sum {
    int64_t shape[3]; // each >= 1
    tess_cl_view out;
    tess_cl_view terms[4];
    int32_t out_dtype; // F64 where the terms are F64; else F32, BF16, F16, added as f32. On the
                       // CPU one may be F64 and the other not: added as f64
    int32_t term_dtype;
    int32_t n_term;
    int32_t reserved;
} tess_stage_clifford_sum;

#endif
