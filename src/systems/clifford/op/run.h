// A call from its arrays to its results.
#ifndef TESS_CLIFFORD_RUN_H
#define TESS_CLIFFORD_RUN_H

#include "systems/clifford/op/job.h"

// Checks everything and does the work of the operands' pass.
TESS_MUST_CHECK tess_status tess_cl_run(tess_context *ctx, const tess_clifford_op *op,
                                        const tess_cl_operands *operands, tess_cl_work work,
                                        const tess_clifford_call *call);

// The work of the passes (forward.c, backward.c, double_backward.c).
tess_status tess_cl_forward_work(tess_cl_job *job);
tess_status tess_cl_backward_work(tess_cl_job *job);
tess_status tess_cl_double_work(tess_cl_job *job);

#endif
