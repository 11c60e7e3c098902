// A call at work: views of its arrays, a workspace handed out front to back, a queue for stages.
//
// The work of a pass is a function that takes memory and enqueues stages. It runs twice: first
// without a queue, when nothing happens but that memory is counted, then for good.
#ifndef TESS_CLIFFORD_JOB_H
#define TESS_CLIFFORD_JOB_H

#include "systems/clifford/op/operands.h"

typedef struct tess_cl_job {
    tess_context *ctx;
    const tess_clifford_op *op;
    tess_device *device;
    tess_backend_queue *queue; // NULL: memory is counted only
    tess_cl_sizes sizes;
    tess_cl_problem problem; // what all stages have in common; pass 0
    tess_cl_view views[CL_N_OPERAND];
    unsigned char *base; // of the workspace
    size_t used_bytes;
    size_t peak_bytes;
} tess_cl_job;

typedef tess_status (*tess_cl_work)(tess_cl_job *job);

void tess_cl_job_init(tess_cl_job *job, tess_context *ctx, const tess_clifford_op *op,
                      const tess_cl_sizes *sizes);
// views[operand] of an array.
tess_cl_view tess_cl_view_of(const tess_array *a);
// The same of C-contiguous memory with the shape of the operand.
tess_cl_view tess_cl_view_like(const tess_cl_job *job, int operand, void *data);

// Does everything in this context's memory: counts, takes the workspace, works, waits. call may be
// NULL.
TESS_MUST_CHECK tess_status tess_cl_job_run(tess_cl_job *job, tess_cl_work work,
                                            const tess_clifford_call *call);

// For the work. Memory of the workspace, 256-byte aligned, given back by setting used_bytes back.
void *tess_cl_take(tess_cl_job *job, size_t bytes);
// Memory for a temporary with the shape and type of an operand.
tess_cl_view tess_cl_take_like(tess_cl_job *job, int operand);
// Puts a stage (args begin with a tess_cl_problem, whose scratch is set here) into the queue.
TESS_MUST_CHECK tess_status tess_cl_enqueue(tess_cl_job *job, int32_t stage, void *args,
                                            size_t args_bytes);
TESS_MUST_CHECK tess_status tess_cl_enqueue_sum(tess_cl_job *job,
                                                const tess_stage_clifford_sum *args);
// Whether the device has the stage for these arguments.
bool tess_cl_is_supported(const tess_cl_job *job, int32_t stage, const void *args);

#endif
