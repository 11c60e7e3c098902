// The backward pass of blocks of rows for one dtype; included by fcgp_body.h only, whose
// names it uses.

// The gradient of the product from that of the result.
static ROWS T_NAME(normalized_back)(const BLOCK *b, ROWS g)
{
    const fcgp_job *job = b->job;
    const tess_stage_clifford_fcgp *a = job->args;
    const tess_cl_problem *p = &a->problem;
    if (!p->normalize) {
        return g;
    }
    ROWS o = b->o;
    if (job->makes_out) {
        T_NAME(multiply)(b);
    } else {
        o = T_NAME(load)(b, &a->saved_out, p->n_out, b->o);
    }
    SCALAR *statistics = a->statistics;
    for (int64_t r = 0; r < b->n_row; r += TESS_CPU_CL_ROWS) {
        tess_cl_factors factors[TESS_CPU_CL_ROWS];
        const T_NAME(tess_cl_norm) norm = {.grades = &job->grades,
                                           .n_row = (size_t)least(b->n_row - r, TESS_CPU_CL_ROWS),
                                           .n = (size_t)p->n_out,
                                           .o = T_NAME(rows_from)(o, r),
                                           .g = T_NAME(rows_from)(g, r)};
        T_NAME(tess_cpu_cl_row_factors)
        (job->math.kernels, p, &norm, NULL, statistics ? statistics + b->first + r : NULL, factors);
        // With z = o / r in place of o, g o is smaller by r, and so is o itself.
        for (size_t i = 0; i < norm.n_row && !job->makes_out; i++) {
            for (int32_t grade = 0; grade < p->algebra->n_grade; grade++) {
                factors[i].b[grade] /= factors[i].a[grade] * factors[i].a[grade];
            }
        }
        job->math.kernels->T_NAME(clifford_norm_back)(&norm, factors, T_NAME(rows_from)(b->h, r),
                                                      NULL, 0);
    }
    return b->h;
}

// What the lines of a grade leave in the gradients of the gated inputs: h times the transposed
// weights of a path is the gradient of what was multiplied with them, used up at once.
static void T_NAME(back_grade)(const BLOCK *b, int64_t grade, ROWS h, ROWS grad_x, ROWS grad_y)
{
    const fcgp_job *job = b->job;
    const tess_cl_problem *p = &job->args->problem;
    const int64_t begin = first_of(p->algebra, grade), end = first_of(p->algebra, grade + 1);
    for (int64_t path = 0; path < p->algebra->n_path; path++) {
        if (p->algebra->path_out[path] != grade || !is_used(p, path)) {
            continue;
        }
        for (int64_t n = 0; n < p->n_out; n += DEPTH) {
            const int64_t depth = least(p->n_out - n, DEPTH);
            SCALAR *to = b->tile;
            for (int64_t k = begin; k < end; k++) {
                for (int64_t r = 0; r < b->n_row; r++, to += ROW) {
                    memcpy(to, T_NAME(line_at)(h, k, r) + n, (size_t)depth * sizeof *to);
                }
            }
            tess_cpu_cl_gemm(&job->math, b->tile, (end - begin) * b->n_row,
                             cl_packed_at(&job->turned, path, n, depth, 0), depth, p->n_in,
                             b->grad_q, job->in, n == 0);
        }
        for (int64_t k = begin; k < end; k++) {
            const T_NAME(tess_cl_pair) pair =
                T_NAME(pair_of)(job, path, k, b->x, b->y, b->n_row, 0, p->n_in);
            job->math.kernels->T_NAME(clifford_unpair)(&pair,
                                                       b->grad_q + (k - begin) * b->n_row * job->in,
                                                       (size_t)job->in, grad_x, grad_y);
        }
    }
}

// grad of x or y from that of the gated one.
static void T_NAME(gate_back)(const BLOCK *b, const tess_cl_view *x, const tess_cl_view *grad,
                              ROWS of_gated)
{
    const tess_cl_problem *p = &b->job->args->problem;
    if (!grad->data) {
        return;
    }
    const T_NAME(tess_cl_gate) gate = {.activation = p->activation,
                                       .n_component = p->algebra->n_component,
                                       .n_row = (size_t)b->n_row,
                                       .n = (size_t)p->n_in,
                                       .x = T_NAME(load)(b, x, p->n_in, b->room),
                                       .g = of_gated};
    const ROWS to = T_NAME(target)(b, grad, of_gated);
    b->job->math.kernels->T_NAME(clifford_gate_back)(&gate, to);
    T_NAME(store)(b, grad, p->n_in, to);
}

static void T_NAME(keep_h)(const BLOCK *b, ROWS h)
{
    const fcgp_job *job = b->job;
    const tess_cl_problem *p = &job->args->problem;
    for (int64_t k = 0; k < p->algebra->n_component; k++) {
        for (int64_t r = 0; r < b->n_row; r++) {
            const int64_t at = b->first - job->stretch + r;
            tess_cpu_cl_pack_row(&job->math, T_NAME(line_at)(h, k, r), p->n_out,
                                 chunk_depth(job, at), at % DEPTH, kept_panels(job, k, at));
        }
    }
}

// Gated rows of the stretch, from one on.
static ROWS T_NAME(kept_rows)(const fcgp_job *job, char *kept, int64_t r)
{
    return (ROWS){.data = (SCALAR *)(void *)kept + r * job->in,
                  .component = ceil_to(job->most_stretch, DEPTH) * job->in,
                  .row = job->in};
}

static tess_status T_NAME(backward_block)(void *arg, int64_t block, int32_t worker)
{
    const fcgp_job *job = arg;
    const tess_stage_clifford_fcgp *a = job->args;
    const tess_cl_problem *p = &a->problem;
    BLOCK b = T_NAME(block_of)(job, block, worker, job->stretch, job->stretch_rows);
    const int64_t at = b.first - job->stretch;
    b.x = T_NAME(gated)(&b, &a->x, job->keeps ? T_NAME(kept_rows)(job, job->kept_x, at) : b.x);
    b.y = T_NAME(gated)(&b, &a->y, job->keeps ? T_NAME(kept_rows)(job, job->kept_y, at) : b.y);
    const ROWS h = T_NAME(normalized_back)(&b, T_NAME(load)(&b, &a->grad_out, p->n_out, b.room));
    if (job->keeps) {
        T_NAME(keep_h)(&b, h);
    }
    if (!a->grad_x.data && !a->grad_y.data) {
        return TESS_OK;
    }
    const ROWS none = {.data = NULL};
    const size_t bytes = (size_t)(p->algebra->n_component * b.n_row * job->in) * sizeof(SCALAR);
    memset(b.grad_x.data, 0, bytes);
    memset(b.grad_y.data, 0, bytes);
    for (int64_t g = 0; g < p->algebra->n_grade; g++) {
        T_NAME(back_grade)
        (&b, g, h, a->grad_x.data ? b.grad_x : none, a->grad_y.data ? b.grad_y : none);
    }
    T_NAME(gate_back)(&b, &a->x, &a->grad_x, b.grad_x);
    T_NAME(gate_back)(&b, &a->y, &a->grad_y, b.grad_y);
    return TESS_OK;
}

// For the gradients of weights: what was multiplied with them, made again.
static void T_NAME(left_tile)(void *self, int64_t path, int64_t k, int64_t row, int64_t n_row,
                              int64_t first, int64_t n, void *tile)
{
    const fcgp_job *job = self;
    const T_NAME(tess_cl_pair) pair =
        T_NAME(pair_of)(job, path, k, T_NAME(kept_rows)(job, job->kept_x, row),
                        T_NAME(kept_rows)(job, job->kept_y, row), n_row, first, n);
    job->math.kernels->T_NAME(clifford_pair)(&pair, tile);
}
