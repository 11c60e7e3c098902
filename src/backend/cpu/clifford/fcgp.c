// The product whose weights mix features, on the CPU.
//
// For a block of rows and an output grade it is one product of matrices: rows are (component, row),
// the depth runs over the paths of the grade and the input features, and what is multiplied with
// the weights is made tile by tile from the gated inputs. The backward pass keeps what it needs of
// a stretch of rows, so that gradients of weights are sums over many rows; memory stays bounded.
#include "backend/cpu/clifford/clifford.h"
#include "backend/cpu/clifford/matrix.h"

#include "base/checked.h"
#include "base/status.h"

#include <string.h>

enum { DEPTH = TESS_CL_GEMM_DEPTH, ROW = TESS_CL_GEMM_ROW };

// Rows times components of a block; blocks wanted for the threads of any machine.
enum { BLOCK_LINES = 896, WANTED_BLOCKS = 32 };

// What a stretch of rows may keep for the gradients of weights.
enum { STRETCH_BYTES = 64 << 20 };

typedef struct fcgp_job {
    const tess_stage_clifford_fcgp *args;
    cl_math math;
    cl_packed weights, turned; // turned: transposed; memory NULL: not for this pass
    tess_cl_grades grades;
    tess_cl_list list;                                                              // form OUT
    int32_t first_entry[TESS_CLIFFORD_MAX_COMPONENTS][TESS_CLIFFORD_MAX_PATHS + 1]; // of a pair
    bool makes_out;     // the pass needs the product itself
    bool keeps;         // X, Y and h of a stretch, for grad_weight
    int64_t in, out;    // items from one row of scratch to the next
    int64_t most_grade; // components of the largest grade
    int64_t block_rows;
    int64_t stretch, stretch_rows; // first row, and rows, of the stretch that runs
    int64_t most_stretch;
    int64_t worker_items, all_bytes;
    char *memory;          // of the workers, then what is kept
    char *kept_x, *kept_y; // [component][most_stretch][in]
    char *kept_h;          // [component][chunk] panels
} fcgp_job;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t ceil_to(int64_t a, int64_t unit)
{
    return (a + unit - 1) / unit * unit;
}

static int64_t first_of(const tess_clifford_algebra *algebra, int64_t grade)
{
    int64_t k = 0;
    while (k < algebra->n_component && algebra->grade[k] < grade) {
        k++;
    }
    return k;
}

static bool is_used(const tess_cl_problem *p, int64_t path)
{
    return p->path_mask >> path & 1;
}

// Panels of h: those of component k and of the chunk at row r of the stretch.
static char *kept_panels(const fcgp_job *job, int64_t k, int64_t r)
{
    const int64_t n_col = ceil_to(job->args->problem.n_out, job->math.width);
    const int64_t at = (k * ceil_to(job->most_stretch, DEPTH) + r / DEPTH * DEPTH) * n_col;
    return job->kept_h + at * job->math.item;
}

static int64_t chunk_depth(const fcgp_job *job, int64_t r)
{
    return least(job->stretch_rows - r / DEPTH * DEPTH, DEPTH);
}

static const void *right_panels(void *self, int64_t k, int64_t row, int64_t n_row, int64_t first,
                                int64_t n, void *room)
{
    (void)n;
    (void)room;
    const fcgp_job *job = self;
    return kept_panels(job, k, row) + first * n_row * job->math.item;
}

#define T_BITS 32
#include "backend/cpu/clifford/fcgp_body.h"

#define T_BITS 64
#include "backend/cpu/clifford/fcgp_body.h"

// Where the entries of every pair begin; those of a component follow each other by path.
static void index_entries(fcgp_job *job)
{
    const tess_clifford_algebra *algebra = job->args->problem.algebra;
    int32_t t = 0;
    for (int32_t k = 0; k < algebra->n_component; k++) {
        for (int32_t p = 0; p <= algebra->n_path; p++) {
            job->first_entry[k][p] = t;
            while (t < job->list.n_entry && job->list.entries[t].out == k &&
                   job->list.entries[t].path == p) {
                t++;
            }
        }
    }
}

static void choose_blocks(fcgp_job *job)
{
    const tess_cl_problem *p = &job->args->problem;
    const int64_t good = job->math.good_row;
    const int64_t most = least(ceil_to((p->n_row + WANTED_BLOCKS - 1) / WANTED_BLOCKS, good),
                               BLOCK_LINES / p->algebra->n_component / good * good);
    job->block_rows = least(most > good ? most : good, p->n_row);
    job->in = (int64_t)tess_cpu_cl_stride(p->n_in);
    job->out = (int64_t)tess_cpu_cl_stride(p->n_out);
    for (int64_t g = 0; g < p->algebra->n_grade; g++) {
        const int64_t n = first_of(p->algebra, g + 1) - first_of(p->algebra, g);
        job->most_grade = n > job->most_grade ? n : job->most_grade;
    }
    job->most_stretch = p->n_row;
    if (job->keeps) {
        const int64_t row_bytes =
            p->algebra->n_component * (2 * job->in + job->out) * job->math.item;
        const int64_t fit = STRETCH_BYTES / row_bytes / DEPTH * DEPTH;
        job->most_stretch = least(p->n_row, fit > DEPTH ? fit : DEPTH);
    }
}

// Scratch of a worker: X, Y and o; backward also h, what is loaded, S and R, and gradients of q.
static tess_status take_memory(tess_context *ctx, fcgp_job *job)
{
    const tess_cl_problem *p = &job->args->problem;
    const int64_t d = p->algebra->n_component, rows = job->block_rows;
    const bool is_backward = p->pass == (int32_t)TESS_CLIFFORD_BACKWARD;
    const int64_t widest = job->in > job->out ? job->in : job->out;
    const int64_t per_row =
        d * (2 * job->in + job->out) + job->most_grade * ROW +
        (is_backward ? d * (job->out + widest + 2 * job->in) + job->most_grade * job->in : 0);
    const int64_t kept_rows = job->keeps ? ceil_to(job->most_stretch, DEPTH) : 0;
    uint64_t bytes = 0, kept = 0;
    job->worker_items = ceil_to(rows * per_row, 64);
    if (!tess_mul_u64((uint64_t)(job->worker_items * job->math.item),
                      (uint64_t)tess_pool_threads(ctx->pool), &bytes) ||
        !tess_mul_u64((uint64_t)(kept_rows * job->math.item),
                      (uint64_t)(d * (2 * job->in + ceil_to(p->n_out, job->math.width))), &kept) ||
        !tess_add_u64(bytes, kept, &kept) || kept > INT64_MAX) {
        TESS_FAIL(TESS_E_MEMORY, "x: rows of %lld features are too large", (long long)p->n_in);
    }
    job->all_bytes = (int64_t)kept;
    job->memory = tess_heap_alloc(&ctx->heap, (size_t)kept, TESS_TAG_SCRATCH, "rows of a product");
    if (!job->memory) {
        return TESS_E_MEMORY;
    }
    job->kept_x = job->memory + bytes;
    job->kept_y = job->kept_x + d * kept_rows * job->in * job->math.item;
    job->kept_h = job->kept_y + d * kept_rows * job->in * job->math.item;
    return TESS_OK;
}

static tess_status pack_weights(tess_context *ctx, fcgp_job *job)
{
    const tess_stage_clifford_fcgp *a = job->args;
    cl_packed *w = &job->weights, *t = &job->turned;
    *w = (cl_packed){.math = job->math,
                     .view = a->weight,
                     .dtype = a->problem.weight_dtype,
                     .n_matrix = a->problem.algebra->n_path,
                     .n_in = a->problem.n_in,
                     .n_out = a->problem.n_out};
    *t = *w;
    t->view.stride[1] = w->view.stride[2];
    t->view.stride[2] = w->view.stride[1];
    t->n_in = w->n_out;
    t->n_out = w->n_in;
    if (job->makes_out) {
        TESS_TRY(tess_cpu_cl_packed_create(ctx, w));
    }
    return a->grad_x.data || a->grad_y.data ? tess_cpu_cl_packed_create(ctx, t) : TESS_OK;
}

static cl_outer outer_of(fcgp_job *job)
{
    const tess_stage_clifford_fcgp *a = job->args;
    const tess_clifford_algebra *algebra = a->problem.algebra;
    cl_outer outer = {.math = job->math,
                      .n_matrix = algebra->n_path,
                      .n_in = a->problem.n_in,
                      .n_out = a->problem.n_out,
                      .n_row = job->most_stretch,
                      .self = job,
                      .left = job->math.is_f64 ? left_tile_f64 : left_tile_f32,
                      .right = right_panels,
                      .grad = a->grad_weight,
                      .dtype = a->problem.weight_dtype};
    for (int32_t path = 0; path < algebra->n_path; path++) {
        const int64_t g = algebra->path_out[path];
        outer.component[path] = (int32_t)first_of(algebra, g);
        outer.n_component[path] = is_used(&a->problem, path)
                                      ? (int32_t)first_of(algebra, g + 1) - outer.component[path]
                                      : 0;
    }
    return outer;
}

// A stretch of rows: their own gradients first, then what they add to those of the weights.
static tess_status backward(tess_context *ctx, fcgp_job *job)
{
    const tess_stage_clifford_fcgp *a = job->args;
    cl_outer outer = outer_of(job);
    tess_status status = job->keeps ? tess_cpu_cl_outer_create(ctx, &outer) : TESS_OK;
    while (status == TESS_OK && job->stretch < a->problem.n_row) {
        job->stretch_rows = least(a->problem.n_row - job->stretch, job->most_stretch);
        const int64_t n_block = (job->stretch_rows + job->block_rows - 1) / job->block_rows;
        status = tess_parallel_for(ctx->pool, n_block,
                                   job->math.is_f64 ? backward_block_f64 : backward_block_f32, job);
        if (status == TESS_OK && job->keeps) {
            status = tess_cpu_cl_outer_add(ctx, &outer, 0, job->stretch_rows);
        }
        job->stretch += job->stretch_rows;
    }
    if (status == TESS_OK && job->keeps) {
        status = tess_cpu_cl_outer_finish(ctx, &outer);
    }
    tess_cpu_cl_outer_destroy(ctx, &outer);
    return status;
}

static tess_status forward(tess_context *ctx, fcgp_job *job)
{
    const int64_t n_block = (job->args->problem.n_row + job->block_rows - 1) / job->block_rows;
    return tess_parallel_for(ctx->pool, n_block,
                             job->math.is_f64 ? forward_block_f64 : forward_block_f32, job);
}

tess_status tess_cpu_clifford_fcgp(tess_backend_device *device, const void *args)
{
    const tess_stage_clifford_fcgp *a = args;
    const tess_cl_problem *p = &a->problem;
    tess_context *ctx = device->ctx;
    const bool is_backward = p->pass == (int32_t)TESS_CLIFFORD_BACKWARD;
    fcgp_job *job = tess_heap_alloc_zero(&ctx->heap, sizeof *job, TESS_TAG_SCRATCH, "terms");
    if (!job) {
        return TESS_E_MEMORY;
    }
    job->args = a;
    job->math = tess_cpu_cl_math(device->kernels, p->dtype);
    job->makes_out = !is_backward || (p->normalize && !(a->saved_out.data && a->statistics));
    job->keeps = is_backward && a->grad_weight.data;
    tess_cpu_cl_grades(p, &job->grades);
    tess_cpu_cl_list(p->algebra, p->path_mask, TESS_CL_OUT, &job->list);
    index_entries(job);
    choose_blocks(job);
    tess_status status = pack_weights(ctx, job);
    if (status == TESS_OK) {
        status = take_memory(ctx, job);
    }
    if (status == TESS_OK) {
        status = is_backward ? backward(ctx, job) : forward(ctx, job);
    }
    if (job->memory) {
        tess_heap_free(&ctx->heap, job->memory, (size_t)job->all_bytes, TESS_TAG_SCRATCH);
    }
    tess_cpu_cl_packed_destroy(ctx, &job->weights);
    tess_cpu_cl_packed_destroy(ctx, &job->turned);
    tess_heap_free(&ctx->heap, job, sizeof *job, TESS_TAG_SCRATCH);
    return status;
}
