// Blocks of rows of the product for one dtype; included by fcgp.c only.
#include "kernels/simd/dtype.h"

#define ROWS T_NAME(tess_cl_rows)
#define BLOCK T_NAME(fcgp_block)

// A block of rows and its scratch. Rows of scratch are [component][row], so that those of a grade
// follow each other.
typedef struct BLOCK {
    const fcgp_job *job;
    int64_t first, n_row;  // of the problem
    ROWS x, y;             // gated
    ROWS o, h;             // product, and its gradient
    ROWS grad_x, grad_y;   // of the gated inputs
    SCALAR *grad_q, *tile; // of the lines of a grade
    ROWS room;             // what is loaded for a moment
} BLOCK;

static ROWS T_NAME(take_rows)(SCALAR **scratch, int64_t n_component, int64_t n_row, int64_t stride)
{
    const ROWS rows = {.data = *scratch, .component = n_row * stride, .row = stride};
    *scratch += n_component * n_row * stride;
    return rows;
}

static ROWS T_NAME(rows_from)(ROWS rows, int64_t r)
{
    rows.data += r * rows.row;
    return rows;
}

static SCALAR *T_NAME(line_at)(ROWS rows, int64_t k, int64_t r)
{
    return rows.data + k * rows.component + r * rows.row;
}

// Rows of a view the kernels can work on in place.
static bool T_NAME(is_direct)(const tess_cl_problem *p, const tess_cl_view *view)
{
    return p->dtype == (sizeof(SCALAR) == 8 ? TESS_F64 : TESS_F32) && view->stride[2] == 1;
}

static ROWS T_NAME(target)(const BLOCK *b, const tess_cl_view *view, ROWS room)
{
    if (!T_NAME(is_direct)(&b->job->args->problem, view)) {
        return room;
    }
    return (ROWS){.data = (SCALAR *)view->data + b->first * view->stride[1],
                  .component = view->stride[0],
                  .row = view->stride[1]};
}

static ROWS T_NAME(load)(const BLOCK *b, const tess_cl_view *view, int64_t n, ROWS room)
{
    const tess_cl_problem *p = &b->job->args->problem;
    for (int64_t k = 0; k < p->algebra->n_component && !T_NAME(is_direct)(p, view); k++) {
        for (int64_t r = 0; r < b->n_row; r++) {
            const cl_line line = cl_line_of(view, p->dtype, k, b->first + r, 0, n);
            tess_cpu_cl_line_load(&b->job->math, &line, T_NAME(line_at)(room, k, r));
        }
    }
    return T_NAME(target)(b, view, room);
}

static void T_NAME(store)(const BLOCK *b, const tess_cl_view *view, int64_t n, ROWS rows)
{
    const tess_cl_problem *p = &b->job->args->problem;
    for (int64_t k = 0; k < p->algebra->n_component && !T_NAME(is_direct)(p, view); k++) {
        for (int64_t r = 0; r < b->n_row; r++) {
            const cl_line line = cl_line_of(view, p->dtype, k, b->first + r, 0, n);
            tess_cpu_cl_line_store(&b->job->math, &line, T_NAME(line_at)(rows, k, r));
        }
    }
}

static BLOCK T_NAME(block_of)(const fcgp_job *job, int64_t block, int32_t worker, int64_t first,
                              int64_t n_row)
{
    const int64_t d = job->args->problem.algebra->n_component;
    const bool is_backward = job->args->problem.pass == (int32_t)TESS_CLIFFORD_BACKWARD;
    const int64_t widest = job->in > job->out ? job->in : job->out;
    SCALAR *s = (SCALAR *)(void *)job->memory + worker * job->worker_items;
    BLOCK b = {.job = job, .first = first + block * job->block_rows};
    b.n_row = least(first + n_row - b.first, job->block_rows);
    b.x = T_NAME(take_rows)(&s, d, b.n_row, job->in);
    b.y = T_NAME(take_rows)(&s, d, b.n_row, job->in);
    b.o = T_NAME(take_rows)(&s, d, b.n_row, job->out);
    if (is_backward) {
        b.h = T_NAME(take_rows)(&s, d, b.n_row, job->out);
        b.grad_x = T_NAME(take_rows)(&s, d, b.n_row, job->in);
        b.grad_y = T_NAME(take_rows)(&s, d, b.n_row, job->in);
        b.room = T_NAME(take_rows)(&s, d, b.n_row, widest);
        b.grad_q = s;
        s += job->most_grade * b.n_row * job->in;
    }
    b.tile = s;
    return b;
}

// The gated rows of x or y, in `to` or, where nothing is to be done, in the view.
static ROWS T_NAME(gated)(const BLOCK *b, const tess_cl_view *view, ROWS to)
{
    const tess_cl_problem *p = &b->job->args->problem;
    const T_NAME(tess_cl_gate) gate = {.activation = p->activation,
                                       .n_component = p->algebra->n_component,
                                       .n_row = (size_t)b->n_row,
                                       .n = (size_t)p->n_in,
                                       .x = T_NAME(load)(b, view, p->n_in, to)};
    if (p->activation == (int32_t)TESS_CLIFFORD_IDENTITY && !b->job->keeps) {
        return gate.x;
    }
    b->job->math.kernels->T_NAME(clifford_gate)(&gate, to);
    return to;
}

// The terms of path and component k, from feature first on.
static T_NAME(tess_cl_pair) T_NAME(pair_of)(const fcgp_job *job, int64_t path, int64_t k, ROWS x,
                                            ROWS y, int64_t n_row, int64_t first, int64_t n)
{
    const int32_t at = job->first_entry[k][path];
    x.data += first;
    y.data += first;
    return (T_NAME(tess_cl_pair)){.entries = job->list.entries + at,
                                  .n_entry = (size_t)(job->first_entry[k][path + 1] - at),
                                  .n_row = (size_t)n_row,
                                  .n = (size_t)n,
                                  .x = x,
                                  .y = y};
}

// The lines of one grade: over its paths, over features.
static void T_NAME(multiply_grade)(const BLOCK *b, int64_t grade)
{
    const fcgp_job *job = b->job;
    const tess_cl_problem *p = &job->args->problem;
    const int64_t begin = first_of(p->algebra, grade), end = first_of(p->algebra, grade + 1);
    const int64_t n_line = (end - begin) * b->n_row;
    SCALAR *o = T_NAME(line_at)(b->o, begin, 0);
    bool is_first = true;
    for (int64_t path = 0; path < p->algebra->n_path; path++) {
        if (p->algebra->path_out[path] != grade || !is_used(p, path)) {
            continue;
        }
        for (int64_t m = 0; m < p->n_in; m += DEPTH, is_first = false) {
            const int64_t depth = least(p->n_in - m, DEPTH);
            for (int64_t k = begin; k < end; k++) {
                const T_NAME(tess_cl_pair) pair =
                    T_NAME(pair_of)(job, path, k, b->x, b->y, b->n_row, m, depth);
                job->math.kernels->T_NAME(clifford_pair)(&pair,
                                                         b->tile + (k - begin) * b->n_row * ROW);
            }
            tess_cpu_cl_gemm(&job->math, b->tile, n_line,
                             cl_packed_at(&job->weights, path, m, depth, 0), depth, p->n_out, o,
                             job->out, is_first);
        }
    }
    if (is_first) {
        memset(o, 0, (size_t)(n_line * job->out) * sizeof *o);
    }
}

static void T_NAME(multiply)(const BLOCK *b)
{
    for (int64_t g = 0; g < b->job->args->problem.algebra->n_grade; g++) {
        T_NAME(multiply_grade)(b, g);
    }
}

static tess_status T_NAME(forward_block)(void *arg, int64_t block, int32_t worker)
{
    const fcgp_job *job = arg;
    const tess_stage_clifford_fcgp *a = job->args;
    const tess_cl_problem *p = &a->problem;
    BLOCK b = T_NAME(block_of)(job, block, worker, 0, p->n_row);
    b.x = T_NAME(gated)(&b, &a->x, b.x);
    b.y = T_NAME(gated)(&b, &a->y, b.y);
    T_NAME(multiply)(&b);
    const ROWS out = T_NAME(target)(&b, &a->out, b.o);
    SCALAR *statistics = a->statistics;
    for (int64_t r = 0; r < b.n_row; r += TESS_CPU_CL_ROWS) {
        tess_cl_factors factors[TESS_CPU_CL_ROWS];
        const T_NAME(tess_cl_norm) norm = {.grades = &job->grades,
                                           .n_row = (size_t)least(b.n_row - r, TESS_CPU_CL_ROWS),
                                           .n = (size_t)p->n_out,
                                           .o = T_NAME(rows_from)(b.o, r)};
        T_NAME(tess_cpu_cl_row_factors)
        (job->math.kernels, p, &norm, NULL, statistics ? statistics + b.first + r : NULL, factors);
        job->math.kernels->T_NAME(clifford_scale)(&norm, factors, T_NAME(rows_from)(out, r));
    }
    T_NAME(store)(&b, &a->out, p->n_out, out);
    return TESS_OK;
}

#include "backend/cpu/clifford/fcgp_back_body.h"

#undef ROWS
#undef BLOCK
