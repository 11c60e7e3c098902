// Blocks of rows of the product for one dtype; included by sgp.c only.
#include "kernels/simd/dtype.h"

#define ROWS T_NAME(tess_cl_rows)

// Rows in and out of a block, and its scratch behind what load and store take.
typedef struct T_NAME(sgp_rows) {
    size_t n_row;
    ROWS x, y, g;        // g: gradient of the result
    ROWS grad_x, grad_y; // data NULL: not wanted
    SCALAR *grad_weight; // of the chunk, or NULL
    SCALAR *statistics;  // of the first row, or NULL
    SCALAR *scratch;
} T_NAME(sgp_rows);

// Weights as the kernels take them, zeros behind the features. Those of the type that is computed
// with are most, and in small calls are what takes longest.
static void T_NAME(pack_weights)(const tess_cl_problem *problem, const tess_cl_view *weight,
                                 size_t stride, SCALAR *packed)
{
    const int is_own =
        problem->weight_dtype == (sizeof(SCALAR) == sizeof(double) ? TESS_F64 : TESS_F32);
    const SCALAR *own = weight->data;
    memset(packed, 0, (size_t)problem->algebra->n_path * stride * sizeof *packed);
    for (int64_t p = 0; p < problem->algebra->n_path; p++) {
        SCALAR *to = packed + (size_t)p * stride;
        for (int64_t n = 0; n < problem->n_out; n++) {
            const int64_t at = n * weight->stride[0] + p * weight->stride[1];
            if (!weight->data) {
                to[n] = 1;
            } else if (is_own) {
                to[n] = own[at];
            } else {
                to[n] = (SCALAR)tess_cpu_cl_read(weight->data, at, problem->weight_dtype);
            }
        }
    }
}

// The product of every row, before its gate.
static T_NAME(tess_cl_product)
    T_NAME(product_of)(const tess_cpu_cl_sgp *sgp, size_t n_row, ROWS x, ROWS y, ROWS o)
{
    return (T_NAME(tess_cl_product)){.code = (int32_t)sgp->code,
                                     .form = TESS_CL_OUT,
                                     .n_row = n_row,
                                     .n = (size_t)sgp->problem->n_out,
                                     .a = x,
                                     .b = y,
                                     .out = o,
                                     .weight = sgp->weight,
                                     .weight_stride = sgp->stride,
                                     .grades = &sgp->grades,
                                     .list = sgp->lists[TESS_CL_OUT]};
}

// f(x_0) f(y_0) of every row, and its slopes unless these are NULL.
static void T_NAME(open_gates)(const tess_cpu_cl_sgp *sgp, size_t n_row, ROWS x, ROWS y,
                               SCALAR *gate, SCALAR *slope_x, SCALAR *slope_y)
{
    const T_NAME(tess_cl_gates) gates = {.activation = sgp->problem->activation,
                                         .n_component = sgp->problem->algebra->n_component,
                                         .n_row = n_row,
                                         .n = (size_t)sgp->problem->n_out,
                                         .x = x,
                                         .y = y,
                                         .gate = gate,
                                         .slope_x = slope_x,
                                         .slope_y = slope_y,
                                         .gate_row = sgp->stride};
    sgp->kernels->T_NAME(clifford_gates)(&gates);
}

void T_NAME(tess_cpu_cl_sgp_rows)(const tess_cpu_cl_sgp *sgp, void *scratch, size_t n_row, ROWS x,
                                  ROWS y, ROWS out, SCALAR *statistics)
{
    const tess_cl_problem *p = sgp->problem;
    SCALAR *gate = scratch;
    const T_NAME(tess_cl_norm)
        norm = {.grades = &sgp->grades,
                .n_row = n_row,
                .n = (size_t)p->n_out,
                .is_large = sgp->is_large,
                .o = T_NAME(tess_cpu_cl_scratch)(p, p->n_out, gate + row_items(sgp))};
    double squares[TESS_CPU_CL_ROWS * TESS_CLIFFORD_MAX_GRADES];
    tess_cl_factors factors[TESS_CPU_CL_ROWS];
    T_NAME(tess_cl_product) product = T_NAME(product_of)(sgp, n_row, x, y, norm.o);
    product.squares = squares;
    product.soon = sgp->is_large ? (ROWS){.data = NULL} : out;
    if (p->activation != (int32_t)TESS_CLIFFORD_GELU) {
        T_NAME(open_gates)(sgp, n_row, x, y, gate, NULL, NULL);
        product.gate = gate;
        product.gate_row = sgp->stride;
    }
    sgp->kernels->T_NAME(clifford_product)(&product);
    T_NAME(tess_cpu_cl_row_factors)(sgp->kernels, p, &norm, squares, statistics, factors);
    sgp->kernels->T_NAME(clifford_scale)(&norm, factors, out);
}

static void T_NAME(forward_rows)(const sgp_job *job, int64_t first, int64_t n_row,
                                 unsigned char *scratch)
{
    const tess_stage_clifford_sgp *a = job->args;
    const tess_cl_problem *p = &a->problem;
    const int64_t n = p->n_out;
    SCALAR *s = (SCALAR *)(void *)(scratch + job->sgp.scratch_bytes);
    SCALAR *statistics = a->statistics;
    const ROWS x = T_NAME(tess_cpu_cl_load)(job->sgp.kernels, p, &a->x, n, first, n_row, s);
    const ROWS y =
        T_NAME(tess_cpu_cl_load)(job->sgp.kernels, p, &a->y, n, first, n_row, s + job->block_items);
    const ROWS out = T_NAME(tess_cpu_cl_target)(p, &a->out, n, first, s + 2 * job->block_items);
    T_NAME(tess_cpu_cl_sgp_rows)
    (&job->sgp, scratch, (size_t)n_row, x, y, out, statistics ? statistics + first : NULL);
    T_NAME(tess_cpu_cl_store)(job->sgp.kernels, p, &a->out, n, first, n_row, out);
}

static tess_status T_NAME(forward_chunk)(void *arg, int64_t chunk, int32_t worker)
{
    const sgp_job *job = arg;
    const int64_t first = chunk * job->chunk_rows, left = job->args->problem.n_row - first;
    const int64_t n_row = left < job->chunk_rows ? left : job->chunk_rows;
    unsigned char *scratch = job->scratch + (size_t)worker * job->worker_bytes;
    for (int64_t row = 0; row < n_row; row += job->sgp.block_rows) {
        const int64_t rest = n_row - row;
        T_NAME(forward_rows)
        (job, first + row, rest < job->sgp.block_rows ? rest : job->sgp.block_rows, scratch);
    }
    return TESS_OK;
}

// The gradients of a block. h is that of the product times the gate, and tau = sum_k h_k o_k of the
// product without gates, which is what the slopes of both gates multiply.
static void T_NAME(backward_rows)(const sgp_job *job, const T_NAME(sgp_rows) * rows)
{
    const tess_cpu_cl_sgp *sgp = &job->sgp;
    const tess_cl_problem *p = sgp->problem;
    SCALAR *gate = rows->scratch, *slope_x = gate + row_items(sgp);
    SCALAR *slope_y = slope_x + row_items(sgp), *tau = slope_y + row_items(sgp);
    const ROWS h = T_NAME(tess_cpu_cl_scratch)(p, p->n_out, tau + row_items(sgp));
    const T_NAME(tess_cl_norm)
        norm = {.grades = &sgp->grades,
                .n_row = rows->n_row,
                .n = (size_t)p->n_out,
                .o = T_NAME(tess_cpu_cl_scratch)(p, p->n_out, h.data + job->block_items),
                .gate = gate,
                .gate_row = sgp->stride,
                .g = rows->g};
    tess_cl_factors factors[TESS_CPU_CL_ROWS];
    T_NAME(open_gates)(sgp, rows->n_row, rows->x, rows->y, gate, slope_x, slope_y);
    T_NAME(tess_cl_product)
    product = T_NAME(product_of)(sgp, rows->n_row, rows->x, rows->y, norm.o);
    sgp->kernels->T_NAME(clifford_product)(&product);
    T_NAME(tess_cpu_cl_row_factors)
    (sgp->kernels, p, &norm, NULL, rows->statistics, factors);
    sgp->kernels->T_NAME(clifford_norm_back)(&norm, factors, h, tau, sgp->stride);
    product.a = h;
    product.x = rows->x;
    product.tau = tau;
    product.tau_row = sgp->stride;
    if (rows->grad_x.data || rows->grad_weight) {
        product.form = TESS_CL_LEFT;
        product.list = sgp->lists[TESS_CL_LEFT];
        product.b = rows->y;
        product.out = rows->grad_x;
        product.slope = slope_x;
        product.grad_weight = rows->grad_weight;
        sgp->kernels->T_NAME(clifford_product)(&product);
    }
    if (rows->grad_y.data) {
        product.form = TESS_CL_RIGHT;
        product.list = sgp->lists[TESS_CL_RIGHT];
        product.b = rows->x;
        product.out = rows->grad_y;
        product.slope = slope_y;
        product.grad_weight = NULL;
        sgp->kernels->T_NAME(clifford_product)(&product);
    }
}

static void T_NAME(backward_block)(const sgp_job *job, int64_t first, int64_t n_row,
                                   unsigned char *scratch, SCALAR *grad_weight)
{
    const tess_stage_clifford_sgp *a = job->args;
    const tess_cl_problem *p = &a->problem;
    const int64_t n = p->n_out;
    const size_t step = job->block_items;
    SCALAR *s = (SCALAR *)(void *)scratch, *statistics = a->statistics;
    const T_NAME(sgp_rows) rows = {
        .n_row = (size_t)n_row,
        .x = T_NAME(tess_cpu_cl_load)(job->sgp.kernels, p, &a->x, n, first, n_row, s),
        .y = T_NAME(tess_cpu_cl_load)(job->sgp.kernels, p, &a->y, n, first, n_row, s + step),
        .g = T_NAME(tess_cpu_cl_load)(job->sgp.kernels, p, &a->grad_out, n, first, n_row,
                                      s + 2 * step),
        .grad_x = T_NAME(tess_cpu_cl_target)(p, &a->grad_x, n, first, s + 3 * step),
        .grad_y = T_NAME(tess_cpu_cl_target)(p, &a->grad_y, n, first, s + 4 * step),
        .grad_weight = grad_weight,
        .statistics = statistics ? statistics + first : NULL,
        .scratch = s + 5 * step};
    T_NAME(backward_rows)(job, &rows);
    T_NAME(tess_cpu_cl_store)(job->sgp.kernels, p, &a->grad_x, n, first, n_row, rows.grad_x);
    T_NAME(tess_cpu_cl_store)(job->sgp.kernels, p, &a->grad_y, n, first, n_row, rows.grad_y);
}

static tess_status T_NAME(backward_chunk)(void *arg, int64_t chunk, int32_t worker)
{
    const sgp_job *job = arg;
    const int64_t first = chunk * job->chunk_rows;
    const int64_t end = first + job->chunk_rows < job->args->problem.n_row
                            ? first + job->chunk_rows
                            : job->args->problem.n_row;
    unsigned char *scratch = job->scratch + (size_t)worker * job->worker_bytes;
    SCALAR *gradient = job->gradients;
    if (gradient) {
        gradient += (size_t)chunk * job->gradient_items;
        memset(gradient, 0, job->gradient_items * sizeof *gradient);
    }
    for (int64_t row = first; row < end; row += job->sgp.block_rows) {
        const int64_t left = end - row;
        const int64_t n_row = left < job->sgp.block_rows ? left : job->sgp.block_rows;
        T_NAME(backward_block)(job, row, n_row, scratch, gradient);
    }
    return TESS_OK;
}

// The gradients of one path: neighbouring chunks, then pairs of them, and so on.
static tess_status T_NAME(add_gradients)(void *arg, int64_t path, int32_t worker)
{
    (void)worker;
    const sgp_job *job = arg;
    const tess_cl_view *view = &job->args->grad_weight;
    const tess_cl_problem *p = &job->args->problem;
    SCALAR *base = (SCALAR *)job->gradients + (size_t)path * job->sgp.stride;
    for (int64_t step = 1; step < job->n_chunk; step *= 2) {
        for (int64_t c = 0; c + step < job->n_chunk; c += 2 * step) {
            SCALAR *restrict to = base + (size_t)c * job->gradient_items;
            const SCALAR *restrict from = base + (size_t)(c + step) * job->gradient_items;
            for (int64_t n = 0; n < p->n_out; n++) {
                to[n] += from[n];
            }
        }
    }
    for (int64_t n = 0; n < p->n_out; n++) {
        tess_cpu_cl_write(view->data, n * view->stride[0] + path * view->stride[1], p->weight_dtype,
                          (double)base[n]);
    }
    return TESS_OK;
}

#undef ROWS
