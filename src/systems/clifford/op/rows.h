// Passes of several stages work on tiles of rows, with every array in the type that is computed in.
//
// The functions below take memory for what they make, enqueue one stage, and leave NULL data where
// nothing is wanted or an input is absent (zero). Memory of a tile is given back when it is done.
#ifndef TESS_CLIFFORD_ROWS_H
#define TESS_CLIFFORD_ROWS_H

#include "systems/clifford/op/job.h"

// Weights and the like, once per call.
typedef struct tess_cl_tile {
    tess_cl_job *job;
    tess_cl_problem problem; // of a tile: rows and types; pass 0, no activation, no norm
    int64_t first_row;
    int sums;                   // CL_GRADIENT or CL_RESULT: which gradients of weights are summed
    tess_cl_view weights[CL_Z]; // of the operands that are weights; NULL data: absent. Sums:
                                // where they grow
    bool has_sum[CL_Z];         // something is there already
} tess_cl_tile;

static inline bool tess_cl_is_there(tess_cl_view view)
{
    return view.data != NULL;
}

// Whether tiles compute f32 in f64, because a norm magnifies what was rounded on the way. That over
// a handful of features is small now and then, and its derivatives with it; few features cost
// little.
bool tess_cl_is_few(const tess_cl_job *job);
// Under norm_metric clamp squares of either sign cancel over all grades and features, however many.
bool tess_cl_cancels(const tess_cl_job *job);
// In the forward pass: those, and squares of either sign that cancel within a few features.
bool tess_cl_is_wide_forward(const tess_cl_job *job);

// Weights and cotangents of weights in the type that is computed in.
TESS_MUST_CHECK tess_status tess_cl_tile_init(tess_cl_tile *tile, tess_cl_job *job, int sums);
// Zeros instead of an absent weight.
TESS_MUST_CHECK tess_status tess_cl_tile_zero_weight(tess_cl_tile *tile, int operand);

typedef tess_status (*tess_cl_tile_fn)(tess_cl_tile *tile);
// Does the work of every tile in turn; then what was summed becomes the gradients of weights.
TESS_MUST_CHECK tess_status tess_cl_tile_run(tess_cl_tile *tile, tess_cl_tile_fn work);

// The rows of an operand from first_row on.
TESS_MUST_CHECK tess_status tess_cl_rows_load(tess_cl_tile *tile, int operand, tess_cl_view *out);
// Writes them; absent: zeros.
TESS_MUST_CHECK tess_status tess_cl_rows_store(tess_cl_tile *tile, int operand, tess_cl_view rows);

// *sum += term; either may be absent. n_feature is that of both.
TESS_MUST_CHECK tess_status tess_cl_rows_add(tess_cl_tile *tile, tess_cl_view *sum,
                                             tess_cl_view term, int64_t n_feature);

TESS_MUST_CHECK tess_status tess_cl_rows_gate(tess_cl_tile *tile, tess_cl_view x,
                                              tess_cl_view *out);
TESS_MUST_CHECK tess_status tess_cl_rows_gate_backward(tess_cl_tile *tile, tess_cl_view x,
                                                       tess_cl_view grad_out, tess_cl_view *grad_x);
TESS_MUST_CHECK tess_status tess_cl_rows_gate_double(tess_cl_tile *tile, tess_cl_view x,
                                                     tess_cl_view grad_out, tess_cl_view cotangent,
                                                     tess_cl_view *d_grad_out, tess_cl_view *d_x);
// z of a norm, and of a product as the whole job has it, gated and normalised; statistics of the
// rows, where the caller wants them.
TESS_MUST_CHECK tess_status tess_cl_rows_norm(tess_cl_tile *tile, tess_cl_view o, tess_cl_view *z);
TESS_MUST_CHECK tess_status tess_cl_rows_whole_product(tess_cl_tile *tile, tess_cl_view x,
                                                       tess_cl_view y, tess_cl_view *z);
TESS_MUST_CHECK tess_status tess_cl_rows_norm_backward(tess_cl_tile *tile, tess_cl_view o,
                                                       tess_cl_view grad_out, tess_cl_view *grad_o);
TESS_MUST_CHECK tess_status tess_cl_rows_norm_double(tess_cl_tile *tile, tess_cl_view o,
                                                     tess_cl_view grad_out, tess_cl_view cotangent,
                                                     tess_cl_view *d_grad_out, tess_cl_view *d_o);

// The bare product of any three, weight CL_WEIGHT or CL_COTANGENT + CL_WEIGHT.
TESS_MUST_CHECK tess_status tess_cl_rows_product(tess_cl_tile *tile, tess_cl_view x, tess_cl_view y,
                                                 int weight, tess_cl_view *out);
// Its gradients where the pointers are not NULL; that of the weight is added to the sums.
TESS_MUST_CHECK tess_status tess_cl_rows_product_backward(tess_cl_tile *tile, tess_cl_view h,
                                                          tess_cl_view x, tess_cl_view y,
                                                          int weight, tess_cl_view *grad_x,
                                                          tess_cl_view *grad_y, bool wants_weight);

// The linear map with a weight CL_LINEAR_WEIGHT or its cotangent, and a bias operand (-1: none).
TESS_MUST_CHECK tess_status tess_cl_rows_linear(tess_cl_tile *tile, tess_cl_view x, int weight,
                                                int bias, tess_cl_view *out);
// Its gradients; those of weight and bias are added to the sums where wanted.
TESS_MUST_CHECK tess_status tess_cl_rows_linear_backward(tess_cl_tile *tile, tess_cl_view x,
                                                         tess_cl_view grad_out, int weight,
                                                         tess_cl_view *grad_x, bool wants_weight,
                                                         bool wants_bias);

#endif
