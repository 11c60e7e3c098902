// The product of rows with their linear map for one dtype; included by layer.c only.
#include "kernels/simd/dtype.h"

#define ROWS T_NAME(tess_cl_rows)

static void T_NAME(multiply_rows)(const layer_job *job, const layer_scratch *s, const cl_rows *x,
                                  int64_t first)
{
    const tess_stage_clifford_layer *a = job->args;
    const tess_cl_problem *p = &a->problem;
    SCALAR *statistics = a->statistics;
    for (int64_t r = 0; r < x->n_row; r += job->sgp.block_rows) {
        const int64_t n_row = least(x->n_row - r, job->sgp.block_rows);
        const ROWS from = {.data = (SCALAR *)x->x->data + (x->row + r) * x->x->stride[1],
                           .component = x->x->stride[0],
                           .row = x->x->stride[1]};
        const ROWS y = {.data = (SCALAR *)(void *)s->y + r * job->stride,
                        .component = x->n_row * job->stride,
                        .row = job->stride};
        const ROWS scratch = {
            .data = (SCALAR *)(void *)s->out, .component = n_row * job->stride, .row = job->stride};
        const ROWS direct = {.data = (SCALAR *)a->out.data + (first + r) * a->out.stride[1],
                             .component = a->out.stride[0],
                             .row = a->out.stride[1]};
        T_NAME(tess_cpu_cl_sgp_rows)
        (&job->sgp, s->sgp, (size_t)n_row, from, y, job->has_direct_out ? direct : scratch,
         statistics ? statistics + first + r : NULL);
        for (int64_t l = 0; l < p->algebra->n_component * n_row && !job->has_direct_out; l++) {
            const cl_line line =
                cl_line_of(&a->out, p->dtype, l / n_row, first + r + l % n_row, 0, p->n_out);
            tess_cpu_cl_line_store(&job->weights.math, &line, scratch.data + l * job->stride);
        }
    }
}

#undef ROWS
