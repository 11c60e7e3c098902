// z from the inputs.
#include "base/status.h"
#include "systems/clifford/op/rows.h"
#include "systems/clifford/op/run.h"
#include "systems/clifford/op/stages.h"

// The linear map of a layer, then the product with it. Where the caller does not keep the map's
// result it is a temporary.
static tess_status composed_layer(tess_cl_job *job)
{
    tess_cl_view *views = job->views;
    const tess_cl_view y =
        views[CL_LINEAR_OUT].data ? views[CL_LINEAR_OUT] : tess_cl_take_like(job, CL_LINEAR_OUT);
    TESS_TRY(tess_cl_linear(job, y));
    tess_stage_clifford_sgp stage = tess_cl_product_stage(job, TESS_CLIFFORD_FORWARD, y);
    return tess_cl_enqueue_product(job, &stage);
}

static tess_status layer(tess_cl_job *job)
{
    const tess_cl_view *views = job->views;
    tess_stage_clifford_layer stage = {.problem = job->problem,
                                       .x = views[CL_X],
                                       .weight = views[CL_WEIGHT],
                                       .linear_weight = views[CL_LINEAR_WEIGHT],
                                       .bias = views[CL_BIAS],
                                       .out = views[CL_Z],
                                       .linear_out = views[CL_LINEAR_OUT],
                                       .statistics = views[CL_STATISTICS].data};
    stage.problem.pass = TESS_CLIFFORD_FORWARD;
    if (!stage.weight.data || !tess_cl_is_supported(job, TESS_STAGE_CLIFFORD_LAYER, &stage)) {
        return composed_layer(job);
    }
    return tess_cl_enqueue(job, TESS_STAGE_CLIFFORD_LAYER, &stage, sizeof stage);
}

// f32 in f64, where squares cancel.
static tess_status wide_tile(tess_cl_tile *tile)
{
    const int32_t kind = tile->job->op->kind;
    tess_cl_view x;
    tess_cl_view y;
    tess_cl_view z;
    TESS_TRY(tess_cl_rows_load(tile, CL_X, &x));
    if (kind == TESS_CLIFFORD_NORM) {
        TESS_TRY(tess_cl_rows_norm(tile, x, &z));
        return tess_cl_rows_store(tile, CL_Z, z);
    }
    if (tess_cl_is_layer(kind)) {
        TESS_TRY(tess_cl_rows_linear(tile, x, CL_LINEAR_WEIGHT, CL_BIAS, &y));
        TESS_TRY(tess_cl_rows_store(tile, CL_LINEAR_OUT, y));
    } else {
        TESS_TRY(tess_cl_rows_load(tile, CL_Y, &y));
    }
    TESS_TRY(tess_cl_rows_whole_product(tile, x, y, &z));
    return tess_cl_rows_store(tile, CL_Z, z);
}

static tess_status wide_forward(tess_cl_job *job)
{
    tess_cl_tile tile;
    TESS_TRY(tess_cl_tile_init(&tile, job, CL_GRADIENT));
    return tess_cl_tile_run(&tile, wide_tile);
}

tess_status tess_cl_forward_work(tess_cl_job *job)
{
    tess_cl_view *views = job->views;
    if (tess_cl_is_wide_forward(job)) {
        return wide_forward(job);
    }
    switch (job->op->kind) {
    case TESS_CLIFFORD_GATE: {
        tess_stage_clifford_gate stage = {
            .problem = job->problem, .x = views[CL_X], .out = views[CL_Z]};
        stage.problem.pass = TESS_CLIFFORD_FORWARD;
        return tess_cl_enqueue(job, TESS_STAGE_CLIFFORD_GATE, &stage, sizeof stage);
    }
    case TESS_CLIFFORD_NORM: {
        tess_stage_clifford_norm stage = {.problem = job->problem,
                                          .x = views[CL_X],
                                          .out = views[CL_Z],
                                          .statistics = views[CL_STATISTICS].data};
        stage.problem.pass = TESS_CLIFFORD_FORWARD;
        return tess_cl_enqueue(job, TESS_STAGE_CLIFFORD_NORM, &stage, sizeof stage);
    }
    case TESS_CLIFFORD_LINEAR:
        return tess_cl_linear(job, views[CL_Z]);
    case TESS_CLIFFORD_LAYER:
        return layer(job);
    case TESS_CLIFFORD_FC_LAYER:
        return composed_layer(job);
    default: {
        tess_stage_clifford_sgp stage =
            tess_cl_product_stage(job, TESS_CLIFFORD_FORWARD, views[CL_Y]);
        return tess_cl_enqueue_product(job, &stage);
    }
    }
}

tess_status tess_clifford_forward(tess_context *ctx, const tess_clifford_op *op,
                                  const tess_clifford_arrays *in, const tess_array *z,
                                  const tess_array *statistics, const tess_array *linear_out,
                                  const tess_clifford_call *call)
{
    tess_error_clear();
    TESS_TRY(tess_cl_check_op(ctx, op));
    tess_cl_operands operands = {.pass = TESS_CLIFFORD_FORWARD};
    TESS_TRY(tess_cl_operands_take(&operands, CL_INPUT, in, "in"));
    operands.arrays[CL_Z] = z;
    operands.arrays[CL_STATISTICS] = statistics;
    operands.arrays[CL_LINEAR_OUT] = linear_out;
    return tess_cl_run(ctx, op, &operands, tess_cl_forward_work, call);
}
