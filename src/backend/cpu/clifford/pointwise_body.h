// Blocks of gated or normalised rows for one dtype; included by pointwise.c only.
#include "kernels/simd/dtype.h"

#define ROWS T_NAME(tess_cl_rows)

// The inputs of a block, and where its one or two results go.
typedef struct T_NAME(pointwise_rows) {
    size_t n_row;
    int64_t first;
    ROWS x, g, u;
    ROWS out, second;
} T_NAME(pointwise_rows);

static void T_NAME(gate_rows)(const pointwise_job *job, const T_NAME(pointwise_rows) * rows)
{
    const tess_cl_problem *p = &job->args->problem;
    const T_NAME(tess_cl_gate) gate = {.activation = p->activation,
                                       .n_component = p->algebra->n_component,
                                       .n_row = rows->n_row,
                                       .n = (size_t)p->n_in,
                                       .x = rows->x,
                                       .g = rows->g,
                                       .u = rows->u};
    if (p->pass == TESS_CLIFFORD_FORWARD) {
        job->kernels->T_NAME(clifford_gate)(&gate, rows->out);
    } else if (p->pass == TESS_CLIFFORD_BACKWARD) {
        job->kernels->T_NAME(clifford_gate_back)(&gate, rows->out);
    } else {
        job->kernels->T_NAME(clifford_gate_twice)(&gate, rows->out, rows->second);
    }
}

static void T_NAME(norm_rows)(const pointwise_job *job, const T_NAME(pointwise_rows) * rows)
{
    const tess_cl_problem *p = &job->args->problem;
    const T_NAME(tess_cl_norm) norm = {.grades = &job->grades,
                                       .n_row = rows->n_row,
                                       .n = (size_t)p->n_in,
                                       .o = rows->x,
                                       .g = rows->g,
                                       .u = rows->u};
    SCALAR *statistics = job->args->statistics;
    tess_cl_factors factors[TESS_CPU_CL_ROWS];
    if (statistics) {
        statistics += rows->first;
    }
    T_NAME(tess_cpu_cl_row_factors)(job->kernels, p, &norm, NULL, statistics, factors);
    if (p->pass == TESS_CLIFFORD_FORWARD) {
        job->kernels->T_NAME(clifford_scale)(&norm, factors, rows->out);
    } else if (p->pass == TESS_CLIFFORD_BACKWARD) {
        job->kernels->T_NAME(clifford_norm_back)(&norm, factors, rows->out, NULL, 0);
    } else {
        job->kernels->T_NAME(clifford_norm_twice)(&norm, factors, rows->out, rows->second);
    }
}

static tess_status T_NAME(pointwise_block)(void *arg, int64_t block, int32_t worker)
{
    static const tess_cl_view none;
    const pointwise_job *job = arg;
    const tess_stage_clifford_norm *a = job->args;
    const tess_cl_problem *p = &a->problem;
    const int is_first = p->pass == TESS_CLIFFORD_FORWARD,
              is_last = p->pass == TESS_CLIFFORD_DOUBLE_BACKWARD;
    const int64_t n = p->n_in, first = block * job->block_rows, left = p->n_row - first;
    const int64_t n_row = left < job->block_rows ? left : job->block_rows;
    const tess_cl_view *views[] = {&a->x, is_first ? &none : &a->grad_out,
                                   is_last ? &a->cotangent : &none};
    const tess_cl_view *result = is_first ? &a->out : is_last ? &a->d_grad_out : &a->grad_x;
    const tess_cl_view *second = is_last ? &a->d_x : &none;
    const size_t step = job->block_items;
    SCALAR *s = (SCALAR *)(void *)job->scratch + (size_t)worker * N_VIEW * step;
    const T_NAME(pointwise_rows) rows = {
        .n_row = (size_t)n_row,
        .first = first,
        .x = T_NAME(tess_cpu_cl_load)(job->kernels, p, views[0], n, first, n_row, s),
        .g = T_NAME(tess_cpu_cl_load)(job->kernels, p, views[1], n, first, n_row, s + step),
        .u = T_NAME(tess_cpu_cl_load)(job->kernels, p, views[2], n, first, n_row, s + 2 * step),
        .out = T_NAME(tess_cpu_cl_target)(p, result, n, first, s + 3 * step),
        .second = T_NAME(tess_cpu_cl_target)(p, second, n, first, s + 4 * step)};
    if (job->is_norm) {
        T_NAME(norm_rows)(job, &rows);
    } else {
        T_NAME(gate_rows)(job, &rows);
    }
    T_NAME(tess_cpu_cl_store)(job->kernels, p, result, n, first, n_row, rows.out);
    T_NAME(tess_cpu_cl_store)(job->kernels, p, second, n, first, n_row, rows.second);
    return TESS_OK;
}

#undef ROWS
