// For arrays on the host and a device with memory of its own.
#ifndef TESS_CLIFFORD_STAGING_H
#define TESS_CLIFFORD_STAGING_H

#include "systems/clifford/op/job.h"

TESS_MUST_CHECK tess_status tess_cl_run_staged(tess_context *ctx, const tess_clifford_op *op,
                                               const tess_cl_operands *operands,
                                               const tess_cl_sizes *sizes, tess_cl_work work);

#endif
