// How much memory a pass wants beside its arrays.
#include "base/status.h"
#include "systems/clifford/op/run.h"

// Whether a pass may be asked for it, or may be given it.
static bool belongs_to(tess_clifford_pass pass, int operand)
{
    switch (pass) {
    case TESS_CLIFFORD_FORWARD:
        return operand == CL_Z;
    case TESS_CLIFFORD_BACKWARD:
        return operand == CL_GZ || (operand >= CL_GRADIENT && operand < CL_COTANGENT);
    default:
        return operand == CL_GZ || operand == CL_DGZ || (operand >= CL_COTANGENT && operand < CL_Z);
    }
}

// Stages may want other memory for arrays that are aligned and contiguous than for others; which a
// call will bring is not known yet.
typedef struct guess {
    uintptr_t address; // not to be used
    int64_t spread;    // of strides
} guess;

// Everything that can be asked for, and nothing that would spare work (statistics, linear_out) but
// what the caller says he will bring.
static void pretend_all(tess_cl_job *job, tess_clifford_pass pass, const guess *g)
{
    for (int i = CL_GRADIENT; i < CL_N_OPERAND; i++) {
        const int member = i % CL_N_MEMBER;
        const bool is_there = i >= CL_Z || (tess_cl_has_member(job->op->kind, member) &&
                                            (!tess_cl_is_weight(i) || job->views[member].data));
        if (!is_there || !belongs_to(pass, i)) {
            continue;
        }
        job->views[i] = tess_cl_view_like(job, i, (void *)g->address);
        for (int axis = 0; axis < 3; axis++) {
            job->views[i].stride[axis] *= g->spread;
        }
    }
}

// z of the forward pass comes with its statistics. Without them it would be of no use.
static void pretend_kept(tess_cl_job *job, const tess_array *z, const guess *g)
{
    job->views[CL_Z] = tess_cl_view_of(z);
    job->views[CL_Z].data = (void *)g->address;
    job->views[CL_STATISTICS] = tess_cl_view_like(job, CL_STATISTICS, (void *)g->address);
}

static tess_status count(tess_context *ctx, const tess_clifford_op *op,
                         const tess_cl_operands *operands, const tess_cl_sizes *sizes,
                         const guess *g, uint64_t *bytes)
{
    tess_cl_job job;
    tess_cl_job_init(&job, ctx, op, sizes);
    for (int i = 0; i < CL_N_MEMBER; i++) {
        if (operands->arrays[i]) {
            job.views[i] = tess_cl_view_of(operands->arrays[i]);
            job.views[i].data = (void *)g->address; // there may be no data yet
        }
    }
    pretend_all(&job, operands->pass, g);
    if (operands->pass == TESS_CLIFFORD_BACKWARD && operands->arrays[CL_Z]) {
        pretend_kept(&job, operands->arrays[CL_Z], g);
    }
    TESS_TRY(operands->pass == TESS_CLIFFORD_FORWARD    ? tess_cl_forward_work(&job)
             : operands->pass == TESS_CLIFFORD_BACKWARD ? tess_cl_backward_work(&job)
                                                        : tess_cl_double_work(&job));
    *bytes = job.peak_bytes > *bytes ? job.peak_bytes : *bytes;
    return TESS_OK;
}

tess_status tess_clifford_workspace(tess_context *ctx, const tess_clifford_op *op,
                                    tess_clifford_pass pass, const tess_clifford_arrays *in,
                                    uint64_t *bytes)
{
    tess_error_clear();
    *bytes = 0;
    TESS_TRY(tess_cl_check_op(ctx, op));
    if (pass < TESS_CLIFFORD_FORWARD || pass > TESS_CLIFFORD_DOUBLE_BACKWARD) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: pass %d is none", tess_cl_op_name(op), (int)pass);
    }
    tess_cl_operands operands = {.pass = pass, .has_inputs_only = true};
    TESS_TRY(tess_cl_operands_take(&operands, CL_INPUT, in, "in"));
    tess_cl_sizes sizes;
    TESS_TRY(tess_cl_check_arrays(op, &operands, &sizes));
    TESS_TRY(tess_cl_check_place(ctx, op, &operands));
    const bool is_staged =
        operands.arrays[CL_X]->space != TESS_SPACE_DEVICE && !ctx->device->shares_host_memory;
    if (is_staged || sizes.n_row == 0) {
        return TESS_OK; // the library's own, or none
    }
    static const guess guesses[] = {{4096, 1}, {4096 + 8, 2}};
    TESS_TRY(count(ctx, op, &operands, &sizes, &guesses[0], bytes));
    return count(ctx, op, &operands, &sizes, &guesses[1], bytes);
}
