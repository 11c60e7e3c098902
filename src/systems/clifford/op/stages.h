// Stages filled from the views of a job.
#ifndef TESS_CLIFFORD_STAGES_H
#define TESS_CLIFFORD_STAGES_H

#include "systems/clifford/op/job.h"

// The product of x and y with the job's weight, output or gradient of it, and statistics.
tess_stage_clifford_sgp tess_cl_product_stage(const tess_cl_job *job, tess_clifford_pass pass,
                                              tess_cl_view y);
// SGP or FCGP, as the operation has it; the latter with z of the forward pass where the call has
// it.
TESS_MUST_CHECK tess_status tess_cl_enqueue_product(tess_cl_job *job,
                                                    const tess_stage_clifford_sgp *stage);

// The problem of the linear map alone.
tess_cl_problem tess_cl_linear_problem(const tess_cl_job *job, tess_clifford_pass pass);
// The linear map of x into out.
TESS_MUST_CHECK tess_status tess_cl_linear(tess_cl_job *job, tess_cl_view out);

#endif
