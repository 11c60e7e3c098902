#include "systems/clifford/op/stages.h"

tess_stage_clifford_sgp tess_cl_product_stage(const tess_cl_job *job, tess_clifford_pass pass,
                                              tess_cl_view y)
{
    tess_stage_clifford_sgp stage = {.problem = job->problem,
                                     .x = job->views[CL_X],
                                     .y = y,
                                     .weight = job->views[CL_WEIGHT],
                                     .grad_out = job->views[CL_GZ],
                                     .statistics = job->views[CL_STATISTICS].data};
    stage.problem.pass = (int32_t)pass;
    if (pass == TESS_CLIFFORD_FORWARD) {
        stage.out = job->views[CL_Z];
    }
    return stage;
}

tess_status tess_cl_enqueue_product(tess_cl_job *job, const tess_stage_clifford_sgp *stage)
{
    if (!tess_cl_is_connected(job->op->kind)) {
        tess_stage_clifford_sgp sgp = *stage;
        return tess_cl_enqueue(job, TESS_STAGE_CLIFFORD_SGP, &sgp, sizeof sgp);
    }
    tess_stage_clifford_fcgp fcgp = {.problem = stage->problem,
                                     .x = stage->x,
                                     .y = stage->y,
                                     .weight = stage->weight,
                                     .out = stage->out,
                                     .grad_out = stage->grad_out,
                                     .grad_x = stage->grad_x,
                                     .grad_y = stage->grad_y,
                                     .grad_weight = stage->grad_weight,
                                     .statistics = stage->statistics};
    if (stage->problem.pass == TESS_CLIFFORD_BACKWARD && stage->problem.normalize) {
        fcgp.saved_out = job->views[CL_Z];
    }
    return tess_cl_enqueue(job, TESS_STAGE_CLIFFORD_FCGP, &fcgp, sizeof fcgp);
}

tess_cl_problem tess_cl_linear_problem(const tess_cl_job *job, tess_clifford_pass pass)
{
    tess_cl_problem problem = job->problem;
    problem.pass = (int32_t)pass;
    problem.activation = TESS_CLIFFORD_IDENTITY;
    problem.normalize = 0;
    if (job->op->kind != TESS_CLIFFORD_LINEAR) {
        problem.n_out = problem.n_in;
    }
    return problem;
}

tess_status tess_cl_linear(tess_cl_job *job, tess_cl_view out)
{
    tess_stage_clifford_linear stage = {.problem =
                                            tess_cl_linear_problem(job, TESS_CLIFFORD_FORWARD),
                                        .x = job->views[CL_X],
                                        .weight = job->views[CL_LINEAR_WEIGHT],
                                        .bias = job->views[CL_BIAS],
                                        .out = out};
    return tess_cl_enqueue(job, TESS_STAGE_CLIFFORD_LINEAR, &stage, sizeof stage);
}
