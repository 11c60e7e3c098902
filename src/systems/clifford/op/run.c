#include "systems/clifford/op/run.h"

#include "base/status.h"
#include "base/struct_read.h"
#include "systems/clifford/op/staging.h"

// Without rows there is nothing to compute, but gradients of weights are sums of nothing.
static tess_status zero_work(tess_cl_job *job)
{
    for (int i = CL_GRADIENT; i < CL_Z; i++) {
        const bool is_result = i < CL_COTANGENT || i >= CL_RESULT;
        if (!is_result || !tess_cl_is_weight(i) || !job->views[i].data) {
            continue;
        }
        tess_stage_clifford_sum zero = {.out = job->views[i],
                                        .out_dtype = job->sizes.weight_dtype,
                                        .term_dtype = job->sizes.weight_dtype};
        tess_cl_operand_shape(job->op, &job->sizes, i, zero.shape);
        TESS_TRY(tess_cl_enqueue_sum(job, &zero));
    }
    return TESS_OK;
}

static double bytes_of(const tess_cl_operands *operands)
{
    double bytes = 0;
    for (int i = 0; i < CL_N_OPERAND; i++) {
        const tess_array *a = operands->arrays[i];
        bytes += a ? (double)tess_array_items(a) * (double)a->item_bytes : 0;
    }
    return bytes;
}

tess_status tess_cl_run(tess_context *ctx, const tess_clifford_op *op,
                        const tess_cl_operands *operands, tess_cl_work work,
                        const tess_clifford_call *given)
{
    tess_clifford_call call = {.struct_size = sizeof call};
    if (given) {
        TESS_TRY(tess_struct_read(given, &call, sizeof call, "call"));
    }
    tess_cl_sizes sizes;
    TESS_TRY(tess_cl_check_arrays(op, operands, &sizes));
    TESS_TRY(tess_cl_check_place(ctx, op, operands));
    TESS_TRY(tess_cl_check_memory(op, operands));
    TESS_TRY(tess_context_check_cancel(ctx));
    const bool is_on_host = operands->arrays[CL_X]->space != TESS_SPACE_DEVICE;
    if (call.has_stream && is_on_host) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: a stream was given, but the arrays are in host memory",
                  tess_cl_op_name(op));
    }
    if (sizes.n_row == 0) {
        work = zero_work;
    }
    tess_span span = tess_span_begin(&ctx->tracer, tess_cl_op_name(op));
    tess_status status;
    if (is_on_host && !ctx->device->shares_host_memory) {
        status = tess_cl_run_staged(ctx, op, operands, &sizes, work);
    } else {
        tess_cl_job job;
        tess_cl_job_init(&job, ctx, op, &sizes);
        for (int i = 0; i < CL_N_OPERAND; i++) {
            if (operands->arrays[i]) {
                job.views[i] = tess_cl_view_of(operands->arrays[i]);
            }
        }
        status = tess_cl_job_run(&job, work, &call);
    }
    tess_span_end(&span, span.tracer ? bytes_of(operands) : 0, 0);
    return status;
}
