// Gradients of the inputs from the gradient of z.
#include "base/status.h"
#include "systems/clifford/op/rows.h"
#include "systems/clifford/op/run.h"
#include "systems/clifford/op/stages.h"

// The linear map's part: gradients from that of its result. adds: to the gradient of x that is
// there already.
static tess_status linear_backward(tess_cl_job *job, tess_cl_view grad_out, bool adds)
{
    const tess_cl_view *views = job->views;
    tess_stage_clifford_linear stage = {
        .problem = tess_cl_linear_problem(job, TESS_CLIFFORD_BACKWARD),
        .x = views[CL_X],
        .weight = views[CL_LINEAR_WEIGHT],
        .grad_out = grad_out,
        .grad_x = views[CL_GRADIENT + CL_X],
        .grad_weight = views[CL_GRADIENT + CL_LINEAR_WEIGHT],
        .grad_bias = views[CL_GRADIENT + CL_BIAS],
        .add_to_grad_x = adds && views[CL_GRADIENT + CL_X].data,
    };
    return tess_cl_enqueue(job, TESS_STAGE_CLIFFORD_LINEAR, &stage, sizeof stage);
}

static tess_status product_backward(tess_cl_job *job, tess_cl_view y, tess_cl_view grad_y)
{
    const tess_cl_view *views = job->views;
    tess_stage_clifford_sgp stage = tess_cl_product_stage(job, TESS_CLIFFORD_BACKWARD, y);
    stage.grad_x = views[CL_GRADIENT + CL_X];
    stage.grad_y = grad_y;
    stage.grad_weight = views[CL_GRADIENT + CL_WEIGHT];
    return tess_cl_enqueue_product(job, &stage);
}

static tess_status layer_backward(tess_cl_job *job)
{
    const tess_cl_view *views = job->views;
    tess_cl_view y = views[CL_Y];
    if (!y.data) {
        y = tess_cl_take_like(job, CL_LINEAR_OUT);
        TESS_TRY(tess_cl_linear(job, y));
    }
    const bool wants_linear = views[CL_GRADIENT + CL_X].data ||
                              views[CL_GRADIENT + CL_LINEAR_WEIGHT].data ||
                              views[CL_GRADIENT + CL_BIAS].data;
    if (!wants_linear) {
        return product_backward(job, y, (tess_cl_view){.data = NULL});
    }
    const tess_cl_view grad_y = tess_cl_take_like(job, CL_LINEAR_OUT);
    TESS_TRY(product_backward(job, y, grad_y));
    return linear_backward(job, grad_y, true);
}

static tess_status norm_tile(tess_cl_tile *tile)
{
    tess_cl_view x;
    tess_cl_view gz;
    tess_cl_view grad_x;
    TESS_TRY(tess_cl_rows_load(tile, CL_X, &x));
    TESS_TRY(tess_cl_rows_load(tile, CL_GZ, &gz));
    TESS_TRY(tess_cl_rows_norm_backward(tile, x, gz, &grad_x));
    return tess_cl_rows_store(tile, CL_GRADIENT + CL_X, grad_x);
}

// The product alone, in the type of a tile.
static tess_status product_tile(tess_cl_tile *tile)
{
    const tess_cl_view *views = tile->job->views;
    tess_cl_view x;
    tess_cl_view y;
    tess_cl_view gz;
    tess_cl_view grad_x = {.data = NULL};
    tess_cl_view grad_y = {.data = NULL};
    TESS_TRY(tess_cl_rows_load(tile, CL_X, &x));
    TESS_TRY(tess_cl_rows_load(tile, CL_Y, &y));
    TESS_TRY(tess_cl_rows_load(tile, CL_GZ, &gz));
    TESS_TRY(tess_cl_rows_product_backward(
        tile, gz, x, y, CL_WEIGHT, tess_cl_is_there(views[CL_GRADIENT + CL_X]) ? &grad_x : NULL,
        tess_cl_is_there(views[CL_GRADIENT + CL_Y]) ? &grad_y : NULL, true));
    TESS_TRY(tess_cl_rows_store(tile, CL_GRADIENT + CL_X, grad_x));
    return tess_cl_rows_store(tile, CL_GRADIENT + CL_Y, grad_y);
}

// A layer with what lies between the stages in the type of a tile.
static tess_status layer_tile(tess_cl_tile *tile)
{
    const tess_cl_view *views = tile->job->views;
    const bool wants_x = views[CL_GRADIENT + CL_X].data != NULL;
    const bool wants_linear =
        wants_x || views[CL_GRADIENT + CL_LINEAR_WEIGHT].data || views[CL_GRADIENT + CL_BIAS].data;
    tess_cl_view x;
    tess_cl_view y;
    tess_cl_view gz;
    tess_cl_view grad_x = {.data = NULL};
    tess_cl_view grad_y = {.data = NULL};
    tess_cl_view more_x = {.data = NULL};
    TESS_TRY(tess_cl_rows_load(tile, CL_X, &x));
    TESS_TRY(tess_cl_rows_load(tile, CL_GZ, &gz));
    // Not the y of the caller, which is rounded to the type of x.
    TESS_TRY(tess_cl_rows_linear(tile, x, CL_LINEAR_WEIGHT, CL_BIAS, &y));
    TESS_TRY(tess_cl_rows_product_backward(tile, gz, x, y, CL_WEIGHT, wants_x ? &grad_x : NULL,
                                           wants_linear ? &grad_y : NULL, true));
    TESS_TRY(tess_cl_rows_linear_backward(tile, x, grad_y, CL_LINEAR_WEIGHT,
                                          wants_x ? &more_x : NULL, true, true));
    TESS_TRY(tess_cl_rows_add(tile, &grad_x, more_x, tile->problem.n_in));
    return tess_cl_rows_store(tile, CL_GRADIENT + CL_X, grad_x);
}

// Three roundings to 16 bits between the stages of a layer would show in the gradients. Converting
// rows is cheap on the CPU, which computes in f32 anyway; a GPU has matrix products of 16 bits to
// lose. Of few features, and where squares cancel, those to f32 show as well. The stage of SGP has
// a way of its own for few features.
static bool is_rounded_once(const tess_cl_job *job)
{
    const bool is_layer = tess_cl_is_layer(job->op->kind);
    if (tess_cl_cancels(job)) {
        return true;
    }
    if (tess_cl_is_few(job)) {
        return job->op->kind != TESS_CLIFFORD_SGP;
    }
    return is_layer && job->device->shares_host_memory &&
           tess_dtype_bytes((tess_dtype)job->sizes.dtype) == 2;
}

static tess_status backward_rounded_once(tess_cl_job *job)
{
    tess_cl_tile tile;
    TESS_TRY(tess_cl_tile_init(&tile, job, CL_GRADIENT));
    tile.problem.activation = job->problem.activation;
    tile.problem.normalize = job->problem.normalize;
    const int32_t kind = job->op->kind;
    return tess_cl_tile_run(&tile, tess_cl_is_layer(kind)       ? layer_tile
                                   : kind == TESS_CLIFFORD_NORM ? norm_tile
                                                                : product_tile);
}

static bool wants_nothing(const tess_cl_job *job)
{
    for (int i = CL_GRADIENT; i < CL_COTANGENT; i++) {
        if (job->views[i].data) {
            return false;
        }
    }
    return true;
}

tess_status tess_cl_backward_work(tess_cl_job *job)
{
    const tess_cl_view *views = job->views;
    if (wants_nothing(job)) {
        return TESS_OK;
    }
    if (is_rounded_once(job)) {
        return backward_rounded_once(job);
    }
    switch (job->op->kind) {
    case TESS_CLIFFORD_GATE: {
        tess_stage_clifford_gate stage = {.problem = job->problem,
                                          .x = views[CL_X],
                                          .grad_out = views[CL_GZ],
                                          .grad_x = views[CL_GRADIENT + CL_X]};
        stage.problem.pass = TESS_CLIFFORD_BACKWARD;
        return tess_cl_enqueue(job, TESS_STAGE_CLIFFORD_GATE, &stage, sizeof stage);
    }
    case TESS_CLIFFORD_NORM: {
        tess_stage_clifford_norm stage = {.problem = job->problem,
                                          .x = views[CL_X],
                                          .grad_out = views[CL_GZ],
                                          .grad_x = views[CL_GRADIENT + CL_X],
                                          .statistics = views[CL_STATISTICS].data};
        stage.problem.pass = TESS_CLIFFORD_BACKWARD;
        return tess_cl_enqueue(job, TESS_STAGE_CLIFFORD_NORM, &stage, sizeof stage);
    }
    case TESS_CLIFFORD_LINEAR:
        return linear_backward(job, views[CL_GZ], false);
    case TESS_CLIFFORD_LAYER:
    case TESS_CLIFFORD_FC_LAYER:
        return layer_backward(job);
    default:
        return product_backward(job, views[CL_Y], views[CL_GRADIENT + CL_Y]);
    }
}

tess_status tess_clifford_backward(tess_context *ctx, const tess_clifford_op *op,
                                   const tess_clifford_arrays *in, const tess_array *gz,
                                   const tess_array *statistics,
                                   const tess_clifford_arrays *gradients,
                                   const tess_clifford_call *call)
{
    tess_error_clear();
    TESS_TRY(tess_cl_check_op(ctx, op));
    tess_cl_operands operands = {.pass = TESS_CLIFFORD_BACKWARD};
    TESS_TRY(tess_cl_operands_take(&operands, CL_INPUT, in, "in"));
    TESS_TRY(tess_cl_operands_take(&operands, CL_GRADIENT, gradients, "gradients"));
    operands.arrays[CL_GZ] = gz;
    operands.arrays[CL_STATISTICS] = statistics;
    return tess_cl_run(ctx, op, &operands, tess_cl_backward_work, call);
}
