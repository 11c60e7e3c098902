// Linear maps by grade on the CPU: a block of rows of one component is a product with the packed
// matrix of its grade.
#include "backend/cpu/clifford/matrix.h"

#include "base/status.h"

#include <string.h>

// Rows of a block; the tile and the panels they meet stay in a core's cache.
enum { BLOCK_ROWS = 112 };

// So many blocks are wanted for the threads of any machine: few rows are cut by columns too.
enum { WANTED_BLOCKS = 32, LEAST_PANELS = 4 };

// Sums of grad_bias: of so many parts of the rows at most.
enum { MOST_PARTS = 64 };

// to = from M, where M are the weights or their transposes.
typedef struct map_job {
    cl_packed packed;
    const tess_stage_clifford_linear *args;
    const tess_cl_view *from, *to;
    const void *bias; // n_out numbers; NULL: none
    bool adds;        // to what is in to
    int64_t block_rows, n_row_block, block_columns, n_column_block;
    int64_t worker_bytes;
    char *workers;
} map_job;

// Outputs that are numbers as they are computed are summed in place.
static bool is_direct(const map_job *job)
{
    const int32_t own = job->packed.math.is_f64 ? TESS_F64 : TESS_F32;
    return job->args->problem.dtype == own && job->to->stride[2] == 1 && job->to->stride[1] >= 0;
}

static bool has_bias(const map_job *job, int64_t component)
{
    return job->bias &&
           (component == 0 || job->args->problem.bias_mode == (int32_t)TESS_CLIFFORD_BIAS_ALL);
}

static tess_status map_block(void *arg, int64_t block, int32_t worker)
{
    const map_job *job = arg;
    const cl_packed *p = &job->packed;
    const tess_cl_problem *problem = &job->args->problem;
    const int64_t column = block % job->n_column_block * job->block_columns;
    const int64_t row = block / job->n_column_block % job->n_row_block * job->block_rows;
    const int64_t k = block / job->n_column_block / job->n_row_block;
    const int64_t rows_left = problem->n_row - row, columns_left = p->n_out - column;
    const int64_t n_row = rows_left < job->block_rows ? rows_left : job->block_rows;
    const int64_t n_col = columns_left < job->block_columns ? columns_left : job->block_columns;
    char *tile = job->workers + worker * job->worker_bytes;
    char *c = tile + tess_cpu_cl_tile_items(p, job->block_rows) * p->math.item;
    int64_t stride = job->block_columns;
    const bool direct = is_direct(job);
    if (direct) {
        const cl_line line = cl_line_of(job->to, problem->dtype, k, row, column, n_col);
        c = (char *)line.data + line.offset * p->math.item;
        stride = job->to->stride[1];
    }
    const bool biased = has_bias(job, k);
    for (int64_t r = 0; r < n_row; r++) {
        const cl_line line = cl_line_of(job->to, problem->dtype, k, row + r, column, n_col);
        char *to = c + r * stride * p->math.item;
        if (biased) {
            memcpy(to, (const char *)job->bias + column * p->math.item,
                   (size_t)(n_col * p->math.item));
        } else if (job->adds && !direct) {
            tess_cpu_cl_line_load(&p->math, &line, to);
        }
    }
    const cl_rows rows = {job->from, problem->dtype, k, 1, row, n_row};
    tess_cpu_cl_apply(p, problem->algebra->grade[k], &rows, column, n_col, tile, c, stride,
                      !biased && !job->adds);
    for (int64_t r = 0; r < n_row && !direct; r++) {
        const cl_line line = cl_line_of(job->to, problem->dtype, k, row + r, column, n_col);
        tess_cpu_cl_line_store(&p->math, &line, c + r * stride * p->math.item);
    }
    return TESS_OK;
}

// Neither rows nor columns show in the result, so that blocks may follow from the ISA.
static void choose_blocks(map_job *job)
{
    const cl_packed *p = &job->packed;
    const int64_t n_row = job->args->problem.n_row;
    const int64_t n_component = job->args->problem.algebra->n_component;
    const int64_t good = p->math.good_row;
    const int64_t most = BLOCK_ROWS / good * good;
    job->block_rows = n_row < most ? n_row : most;
    job->n_row_block = (n_row + job->block_rows - 1) / job->block_rows;
    const int64_t n_panel = (p->n_out + p->math.width - 1) / p->math.width;
    int64_t n_cut = WANTED_BLOCKS / (n_component * job->n_row_block);
    n_cut = n_cut < n_panel / LEAST_PANELS ? n_cut : n_panel / LEAST_PANELS;
    n_cut = n_cut > 1 ? n_cut : 1;
    job->block_columns = (n_panel + n_cut - 1) / n_cut * p->math.width;
    job->n_column_block = (p->n_out + job->block_columns - 1) / job->block_columns;
    job->worker_bytes =
        (tess_cpu_cl_tile_items(p, job->block_rows) + job->block_rows * job->block_columns) *
        p->math.item;
}

static tess_status run_map(tess_backend_device *device, map_job *job)
{
    tess_context *ctx = device->ctx;
    const tess_cl_problem *problem = &job->args->problem;
    TESS_TRY(tess_cpu_cl_packed_create(ctx, &job->packed));
    choose_blocks(job);
    const size_t bytes = (size_t)job->worker_bytes * (size_t)tess_pool_threads(ctx->pool);
    tess_status status = TESS_E_MEMORY;
    job->workers = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "tiles of rows");
    if (job->workers) {
        const int64_t n_block =
            problem->algebra->n_component * job->n_row_block * job->n_column_block;
        status = tess_parallel_for(ctx->pool, n_block, map_block, job);
        tess_heap_free(&ctx->heap, job->workers, bytes, TESS_TAG_SCRATCH);
    }
    tess_cpu_cl_packed_destroy(ctx, &job->packed);
    return status;
}

static cl_packed packed_of(const tess_stage_clifford_linear *a, const cl_math *math)
{
    return (cl_packed){.math = *math,
                       .view = a->weight,
                       .dtype = a->problem.weight_dtype,
                       .n_matrix = a->problem.algebra->n_grade,
                       .n_in = a->problem.n_in,
                       .n_out = a->problem.n_out};
}

static tess_status forward(tess_backend_device *device, const tess_stage_clifford_linear *a,
                           const cl_math *math)
{
    map_job job = {.packed = packed_of(a, math), .args = a, .from = &a->x, .to = &a->out};
    if (!a->bias.data) {
        return run_map(device, &job);
    }
    tess_heap *heap = &device->ctx->heap;
    const size_t bytes = (size_t)(a->problem.n_out * math->item);
    void *bias = tess_heap_alloc(heap, bytes, TESS_TAG_SCRATCH, "the bias");
    if (!bias) {
        return TESS_E_MEMORY;
    }
    const cl_line line = {a->bias.data, a->problem.weight_dtype, 0, a->bias.stride[0],
                          a->problem.n_out};
    tess_cpu_cl_line_load(math, &line, bias);
    job.bias = bias;
    const tess_status status = run_map(device, &job);
    tess_heap_free(heap, bias, bytes, TESS_TAG_SCRATCH);
    return status;
}

static tess_status backward_x(tess_backend_device *device, const tess_stage_clifford_linear *a,
                              const cl_math *math)
{
    map_job job = {.packed = packed_of(a, math),
                   .args = a,
                   .from = &a->grad_out,
                   .to = &a->grad_x,
                   .adds = a->add_to_grad_x != 0};
    job.packed.view.stride[1] = a->weight.stride[2];
    job.packed.view.stride[2] = a->weight.stride[1];
    job.packed.n_in = a->problem.n_out;
    job.packed.n_out = a->problem.n_in;
    return run_map(device, &job);
}

typedef struct weight_job {
    const tess_stage_clifford_linear *args;
    const cl_math *math;
} weight_job;

static void left_tile(void *self, int64_t matrix, int64_t component, int64_t row, int64_t n_row,
                      int64_t first, int64_t n, void *tile)
{
    (void)matrix;
    const weight_job *job = self;
    for (int64_t r = 0; r < n_row; r++) {
        const cl_line line =
            cl_line_of(&job->args->x, job->args->problem.dtype, component, row + r, first, n);
        tess_cpu_cl_line_load(job->math, &line,
                              (char *)tile + r * TESS_CL_GEMM_ROW * job->math->item);
    }
}

static const void *right_panels(void *self, int64_t component, int64_t row, int64_t n_row,
                                int64_t first, int64_t n, void *room)
{
    const weight_job *job = self;
    const int64_t width = job->math->width;
    char *line_room = (char *)room + n_row * ((n + width - 1) / width * width) * job->math->item;
    for (int64_t r = 0; r < n_row; r++) {
        const cl_line line = cl_line_of(&job->args->grad_out, job->args->problem.dtype, component,
                                        row + r, first, n);
        tess_cpu_cl_pack_row(job->math, tess_cpu_cl_line_borrow(job->math, &line, line_room), n,
                             n_row, r, room);
    }
    return room;
}

static tess_status backward_weight(tess_backend_device *device, const tess_stage_clifford_linear *a,
                                   const cl_math *math)
{
    const tess_clifford_algebra *algebra = a->problem.algebra;
    weight_job job = {a, math};
    cl_outer outer = {.math = *math,
                      .n_matrix = algebra->n_grade,
                      .n_in = a->problem.n_in,
                      .n_out = a->problem.n_out,
                      .n_row = a->problem.n_row,
                      .self = &job,
                      .left = left_tile,
                      .right = right_panels,
                      .grad = a->grad_weight,
                      .dtype = a->problem.weight_dtype};
    for (int32_t k = algebra->n_component - 1; k >= 0; k--) {
        outer.component[algebra->grade[k]] = k;
        outer.n_component[algebra->grade[k]]++;
    }
    TESS_TRY(tess_cpu_cl_outer_create(device->ctx, &outer));
    tess_status status = tess_cpu_cl_outer_add(device->ctx, &outer, 0, a->problem.n_row);
    if (status == TESS_OK) {
        status = tess_cpu_cl_outer_finish(device->ctx, &outer);
    }
    tess_cpu_cl_outer_destroy(device->ctx, &outer);
    return status;
}

typedef struct bias_job {
    const tess_stage_clifford_linear *args;
    const cl_math *math;
    int64_t n_component;
    int64_t part_rows;
    double *sums; // [part][n_out]
    char *rooms;  // of each worker: n_out numbers
} bias_job;

static tess_status bias_part(void *arg, int64_t part, int32_t worker)
{
    const bias_job *job = arg;
    const tess_cl_problem *p = &job->args->problem;
    double *sums = job->sums + part * p->n_out;
    char *room = job->rooms + worker * p->n_out * job->math->item;
    const int64_t end = (part + 1) * job->part_rows;
    memset(sums, 0, (size_t)p->n_out * sizeof *sums);
    for (int64_t k = 0; k < job->n_component; k++) {
        for (int64_t row = part * job->part_rows; row < end && row < p->n_row; row++) {
            const cl_line line = cl_line_of(&job->args->grad_out, p->dtype, k, row, 0, p->n_out);
            const void *x = tess_cpu_cl_line_borrow(job->math, &line, room);
            for (int64_t n = 0; n < p->n_out; n++) {
                sums[n] +=
                    job->math->is_f64 ? ((const double *)x)[n] : (double)((const float *)x)[n];
            }
        }
    }
    return TESS_OK;
}

static void finish_bias(const bias_job *job, int64_t n_part)
{
    const tess_cl_problem *p = &job->args->problem;
    const tess_cl_view *to = &job->args->grad_bias;
    for (int64_t n = 0; n < p->n_out; n++) {
        double sum = 0;
        for (int64_t part = 0; part < n_part; part++) {
            sum += job->sums[part * p->n_out + n];
        }
        const float rounded = (float)sum;
        const void *from = job->math->is_f64 ? (const void *)&sum : (const void *)&rounded;
        const cl_line line = {to->data, p->weight_dtype, n * to->stride[0], 1, 1};
        tess_cpu_cl_line_store(job->math, &line, from);
    }
}

static tess_status backward_bias(tess_backend_device *device, const tess_stage_clifford_linear *a,
                                 const cl_math *math)
{
    tess_context *ctx = device->ctx;
    const tess_cl_problem *p = &a->problem;
    bias_job job = {.args = a,
                    .math = math,
                    .n_component = p->bias_mode == (int32_t)TESS_CLIFFORD_BIAS_ALL
                                       ? p->algebra->n_component
                                       : 1};
    const int64_t unit = TESS_CL_GEMM_DEPTH;
    job.part_rows = (p->n_row + MOST_PARTS * unit - 1) / (MOST_PARTS * unit) * unit;
    const int64_t n_part = (p->n_row + job.part_rows - 1) / job.part_rows;
    const size_t sum_bytes = (size_t)(n_part * p->n_out) * sizeof(double);
    const size_t bytes =
        sum_bytes + (size_t)(p->n_out * math->item) * (size_t)tess_pool_threads(ctx->pool);
    job.sums = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "sums of a bias");
    if (!job.sums) {
        return TESS_E_MEMORY;
    }
    job.rooms = (char *)job.sums + sum_bytes;
    const tess_status status = tess_parallel_for(ctx->pool, n_part, bias_part, &job);
    finish_bias(&job, n_part);
    tess_heap_free(&ctx->heap, job.sums, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_cpu_clifford_linear(tess_backend_device *device, const void *args)
{
    const tess_stage_clifford_linear *a = args;
    const cl_math math = tess_cpu_cl_math(device->kernels, a->problem.dtype);
    if (a->problem.pass == (int32_t)TESS_CLIFFORD_FORWARD) {
        return a->out.data ? forward(device, a, &math) : TESS_OK;
    }
    if (a->grad_x.data) {
        TESS_TRY(backward_x(device, a, &math));
    }
    if (a->grad_weight.data) {
        TESS_TRY(backward_weight(device, a, &math));
    }
    return a->grad_bias.data ? backward_bias(device, a, &math) : TESS_OK;
}
