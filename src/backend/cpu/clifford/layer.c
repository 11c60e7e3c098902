// A layer on the CPU: the linear map of a block of rows stays in a core's cache until the product
// of the rows with it is taken.
#include "backend/cpu/clifford/clifford.h"
#include "backend/cpu/clifford/matrix.h"

#include "base/checked.h"
#include "base/status.h"

#include <string.h>

// Rows times components of a block; blocks wanted for the threads of any machine.
enum { BLOCK_LINES = 448, WANTED_BLOCKS = 32 };

typedef struct layer_job {
    const tess_stage_clifford_layer *args;
    cl_packed weights;
    tess_cpu_cl_sgp sgp;
    bool has_direct_x, has_direct_out; // the kernels can work in the view
    int64_t stride;                    // items from one row of scratch to the next
    int64_t most_grade;                // components of the largest grade
    int64_t block_rows;
    int64_t bias_items, worker_items, all_bytes;
    char *memory; // bias, then scratch of the workers
} layer_job;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t ceil_to(int64_t a, int64_t unit)
{
    return (a + unit - 1) / unit * unit;
}

static bool has_bias(const layer_job *job, int64_t component)
{
    return job->args->bias.data &&
           (component == 0 || job->args->problem.bias_mode == (int32_t)TESS_CLIFFORD_BIAS_ALL);
}

// Lines of one grade of y, as the linear stage computes them: bit for bit.
static void map_grade(const layer_job *job, int64_t grade, const cl_rows *x, char *tile, char *y)
{
    const int64_t item = job->weights.math.item, n = job->args->problem.n_out;
    const tess_clifford_algebra *algebra = job->args->problem.algebra;
    cl_rows rows = *x;
    for (rows.component = 0; algebra->grade[rows.component] < grade; rows.component++) {
    }
    // Components with a bias start from it, so they are a group of their own.
    while (rows.component < algebra->n_component && algebra->grade[rows.component] == grade) {
        const bool is_biased = has_bias(job, rows.component);
        char *to = y + rows.component * rows.n_row * job->stride * item;
        rows.n_component = 1;
        while (rows.component + rows.n_component < algebra->n_component &&
               algebra->grade[rows.component + rows.n_component] == grade &&
               has_bias(job, rows.component + rows.n_component) == is_biased) {
            rows.n_component++;
        }
        for (int64_t l = 0; l < rows.n_component * rows.n_row && is_biased; l++) {
            memcpy(to + l * job->stride * item, job->memory, (size_t)(n * item));
        }
        tess_cpu_cl_apply(&job->weights, grade, &rows, 0, n, tile, to, job->stride, !is_biased);
        rows.component += rows.n_component;
    }
}

static void keep_linear(const layer_job *job, int64_t first, int64_t n_row, const char *y)
{
    const tess_cl_problem *p = &job->args->problem;
    const cl_math *math = &job->weights.math;
    for (int64_t k = 0; k < p->algebra->n_component && job->args->linear_out.data; k++) {
        for (int64_t r = 0; r < n_row; r++) {
            const cl_line line =
                cl_line_of(&job->args->linear_out, p->dtype, k, first + r, 0, p->n_out);
            tess_cpu_cl_line_store(math, &line, y + (k * n_row + r) * job->stride * math->item);
        }
    }
}

// Scratch of a worker, in this order.
typedef struct layer_scratch {
    char *x, *y, *out, *tile;
    void *sgp;
} layer_scratch;

static layer_scratch scratch_of(const layer_job *job, int32_t worker)
{
    const int64_t item = job->weights.math.item;
    const int64_t rows = job->args->problem.algebra->n_component * job->stride * item;
    char *s = job->memory + (job->bias_items + worker * job->worker_items) * item;
    layer_scratch scratch = {.sgp = s};
    s += job->sgp.scratch_bytes;
    scratch.y = s;
    s += job->block_rows * rows;
    scratch.x = s;
    s += job->has_direct_x ? 0 : job->block_rows * rows;
    scratch.out = s;
    s += job->has_direct_out ? 0 : job->sgp.block_rows * rows;
    scratch.tile = s;
    return scratch;
}

#define T_BITS 32
#include "backend/cpu/clifford/layer_body.h"

#define T_BITS 64
#include "backend/cpu/clifford/layer_body.h"

static tess_status layer_block(void *arg, int64_t block, int32_t worker)
{
    const layer_job *job = arg;
    const tess_stage_clifford_layer *a = job->args;
    const tess_cl_problem *p = &a->problem;
    const cl_math *math = &job->weights.math;
    const layer_scratch s = scratch_of(job, worker);
    const int64_t first = block * job->block_rows;
    const int64_t n_row = least(p->n_row - first, job->block_rows);
    for (int64_t l = 0; l < p->algebra->n_component * n_row && !job->has_direct_x; l++) {
        const cl_line line = cl_line_of(&a->x, p->dtype, l / n_row, first + l % n_row, 0, p->n_in);
        tess_cpu_cl_line_load(math, &line, s.x + l * job->stride * math->item);
    }
    const tess_cl_view loaded = {.data = s.x, .stride = {n_row * job->stride, job->stride, 1}};
    const cl_rows x = {.x = job->has_direct_x ? &a->x : &loaded,
                       .dtype = math->is_f64 ? TESS_F64 : TESS_F32,
                       .row = job->has_direct_x ? first : 0,
                       .n_row = n_row};
    for (int64_t g = 0; g < p->algebra->n_grade; g++) {
        map_grade(job, g, &x, s.tile, s.y);
    }
    keep_linear(job, first, n_row, s.y);
    if (math->is_f64) {
        multiply_rows_f64(job, &s, &x, first);
    } else {
        multiply_rows_f32(job, &s, &x, first);
    }
    return TESS_OK;
}

static void choose_blocks(layer_job *job)
{
    const tess_cl_problem *p = &job->args->problem;
    const int64_t good = job->weights.math.good_row, d = p->algebra->n_component;
    const int64_t most = least(ceil_to((p->n_row + WANTED_BLOCKS - 1) / WANTED_BLOCKS, good),
                               BLOCK_LINES / d / good * good);
    job->block_rows = least(most > good ? most : good, p->n_row);
    job->stride = (int64_t)tess_cpu_cl_stride(p->n_out);
    int64_t in_grade[TESS_CLIFFORD_MAX_GRADES] = {0};
    for (int64_t k = 0; k < d; k++) {
        const int64_t n = ++in_grade[p->algebra->grade[k]];
        job->most_grade = n > job->most_grade ? n : job->most_grade;
    }
}

static tess_status take_memory(tess_context *ctx, layer_job *job)
{
    const tess_cl_problem *p = &job->args->problem;
    const cl_math *math = &job->weights.math;
    const int64_t rows = p->algebra->n_component * job->stride;
    uint64_t bytes = 0;
    job->bias_items = ceil_to(p->n_out, 64);
    job->worker_items =
        ceil_to((int64_t)job->sgp.scratch_bytes / math->item +
                    job->block_rows * rows * (job->has_direct_x ? 1 : 2) +
                    tess_cpu_cl_tile_items(&job->weights, job->block_rows * job->most_grade) +
                    (job->has_direct_out ? 0 : job->sgp.block_rows * rows),
                64);
    if (!tess_mul_u64((uint64_t)(job->worker_items * math->item),
                      (uint64_t)tess_pool_threads(ctx->pool), &bytes) ||
        !tess_add_u64(bytes, (uint64_t)(job->bias_items * math->item), &bytes) ||
        bytes > INT64_MAX) {
        TESS_FAIL(TESS_E_MEMORY, "x: rows of %lld features are too large", (long long)p->n_in);
    }
    job->all_bytes = (int64_t)bytes;
    job->memory = tess_heap_alloc(&ctx->heap, (size_t)bytes, TESS_TAG_SCRATCH, "rows of a layer");
    if (!job->memory) {
        return TESS_E_MEMORY;
    }
    if (job->args->bias.data) {
        const cl_line line = {job->args->bias.data, p->weight_dtype, 0, job->args->bias.stride[0],
                              p->n_out};
        tess_cpu_cl_line_load(math, &line, job->memory);
    }
    return TESS_OK;
}

static tess_status run_layer(tess_context *ctx, layer_job *job)
{
    const int64_t n_row = job->args->problem.n_row;
    TESS_TRY(tess_cpu_cl_packed_create(ctx, &job->weights));
    TESS_TRY(take_memory(ctx, job));
    return tess_parallel_for(ctx->pool, (n_row + job->block_rows - 1) / job->block_rows,
                             layer_block, job);
}

tess_status tess_cpu_clifford_layer(tess_backend_device *device, const void *args)
{
    const tess_stage_clifford_layer *a = args;
    const tess_cl_problem *p = &a->problem;
    const bool is_own = p->dtype == TESS_F32 || p->dtype == TESS_F64;
    layer_job job = {.args = a,
                     .weights = {.math = tess_cpu_cl_math(device->kernels, p->dtype),
                                 .view = a->linear_weight,
                                 .dtype = p->weight_dtype,
                                 .n_matrix = p->algebra->n_grade,
                                 .n_in = p->n_in,
                                 .n_out = p->n_out},
                     .has_direct_x = is_own && a->x.stride[2] == 1,
                     .has_direct_out = is_own && a->out.stride[2] == 1};
    TESS_TRY(tess_cpu_cl_sgp_open(device, p, &a->weight, &job.sgp));
    choose_blocks(&job);
    const tess_status status = run_layer(device->ctx, &job);
    if (job.memory) {
        tess_heap_free(&device->ctx->heap, job.memory, (size_t)job.all_bytes, TESS_TAG_SCRATCH);
    }
    tess_cpu_cl_packed_destroy(device->ctx, &job.weights);
    tess_cpu_cl_sgp_close(device, &job.sgp);
    return status;
}
