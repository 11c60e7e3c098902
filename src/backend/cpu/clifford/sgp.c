// The stage of products: rows in the type they come in, but f32 of few features backward in f64.
//
// The norm of a row over a handful of features is small now and then, and its gradient magnifies
// what was rounded on the way: plain f32 loses a digit. Few features cost little, so their rows are
// widened, tile by tile, and go through as f64.
#include "backend/cpu/clifford/clifford.h"
#include "base/status.h"

#include <string.h>

enum { FEW_FEATURES = 32, TILE_ITEMS = 1 << 16, FEWEST_ROWS = 16 };

// The activations of the pass.
enum { FEW_X, FEW_Y, FEW_GRAD_OUT, FEW_GRAD_X, FEW_GRAD_Y, FEW_N };

typedef struct few_job {
    tess_stage_clifford_sgp wide; // of a tile
    tess_cl_view views[FEW_N];    // of the caller
    double *rows[FEW_N];          // [component][tile_rows][feature]
    double *weight;               // [feature][path]
    double *part;                 // gradient of the weight of a tile
    double *sum;
    int64_t tile_rows;
    int64_t first_row;
    int which; // that a conversion is of
} few_job;

static int is_few(const tess_cl_problem *problem)
{
    return problem->pass == TESS_CLIFFORD_BACKWARD && problem->dtype == TESS_F32 &&
           problem->normalize && problem->n_out <= FEW_FEATURES;
}

static int64_t item_at(const tess_cl_view *view, int64_t k, int64_t row, int64_t n)
{
    return k * view->stride[0] + row * view->stride[1] + n * view->stride[2];
}

// One component of the rows of a tile, in or out.
static tess_status convert(void *arg, int64_t k, int32_t worker)
{
    (void)worker;
    const few_job *job = arg;
    const tess_cl_view *view = &job->views[job->which];
    const int64_t n_feature = job->wide.problem.n_out;
    float *items = view->data;
    for (int64_t b = 0; b < job->wide.problem.n_row; b++) {
        double *row = job->rows[job->which] + (k * job->tile_rows + b) * n_feature;
        for (int64_t n = 0; n < n_feature; n++) {
            const int64_t at = item_at(view, k, job->first_row + b, n);
            if (job->which < FEW_GRAD_X) {
                row[n] = (double)items[at];
            } else {
                items[at] = (float)row[n];
            }
        }
    }
    return TESS_OK;
}

static tess_status convert_all(tess_backend_device *device, few_job *job, int from, int to)
{
    for (job->which = from; job->which < to; job->which++) {
        if (job->views[job->which].data) {
            TESS_TRY(tess_parallel_for(device->ctx->pool, job->wide.problem.algebra->n_component,
                                       convert, job));
        }
    }
    return TESS_OK;
}

static tess_status run_tiles(tess_backend_device *device, few_job *job, int64_t n_row)
{
    const int64_t n_weight = job->wide.problem.n_out * job->wide.problem.algebra->n_path;
    for (job->first_row = 0; job->first_row < n_row; job->first_row += job->tile_rows) {
        const int64_t left = n_row - job->first_row;
        job->wide.problem.n_row = left < job->tile_rows ? left : job->tile_rows;
        TESS_TRY(convert_all(device, job, FEW_X, FEW_GRAD_X));
        TESS_TRY(tess_cpu_cl_sgp_run(device, &job->wide));
        TESS_TRY(convert_all(device, job, FEW_GRAD_X, FEW_N));
        for (int64_t i = 0; job->wide.grad_weight.data && i < n_weight; i++) {
            job->sum[i] += job->part[i];
        }
    }
    return TESS_OK;
}

static void copy_weight(const tess_cl_view *view, int32_t dtype, int64_t n_feature, int64_t n_path,
                        double *wide, int is_out)
{
    for (int64_t i = 0; view->data && i < n_feature * n_path; i++) {
        const int64_t at = i / n_path * view->stride[0] + i % n_path * view->stride[1];
        if (is_out) {
            tess_cpu_cl_write(view->data, at, dtype, wide[i]);
        } else {
            wide[i] = tess_cpu_cl_read(view->data, at, dtype);
        }
    }
}

// The stage of a tile, in memory of its own.
static void prepare(few_job *job, const tess_stage_clifford_sgp *a, double *memory)
{
    const int64_t n_path = a->problem.algebra->n_path, n = a->problem.n_out;
    const int64_t plane = job->tile_rows * n;
    const tess_cl_view *const views[FEW_N] = {&a->x, &a->y, &a->grad_out, &a->grad_x, &a->grad_y};
    tess_cl_view *const wide[FEW_N] = {&job->wide.x, &job->wide.y, &job->wide.grad_out,
                                       &job->wide.grad_x, &job->wide.grad_y};
    job->wide.problem = a->problem;
    job->wide.problem.dtype = job->wide.problem.weight_dtype = TESS_F64;
    for (int i = 0; i < FEW_N; i++) {
        job->views[i] = *views[i];
        job->rows[i] = memory + i * a->problem.algebra->n_component * plane;
        if (views[i]->data) {
            *wide[i] = (tess_cl_view){.data = job->rows[i], .stride = {plane, n, 1}};
        }
    }
    job->weight = memory + FEW_N * a->problem.algebra->n_component * plane;
    job->part = job->weight + n * n_path;
    job->sum = job->part + n * n_path;
    memset(job->sum, 0, (size_t)(n * n_path) * sizeof *job->sum);
    copy_weight(&a->weight, a->problem.weight_dtype, n, n_path, job->weight, 0);
    if (a->weight.data) {
        job->wide.weight = (tess_cl_view){.data = job->weight, .stride = {n_path, 1, 0}};
    }
    if (a->grad_weight.data) {
        job->wide.grad_weight = (tess_cl_view){.data = job->part, .stride = {n_path, 1, 0}};
    }
}

static tess_status run_widened(tess_backend_device *device, const tess_stage_clifford_sgp *a)
{
    const int64_t n_path = a->problem.algebra->n_path, n = a->problem.n_out;
    const int64_t fit = TILE_ITEMS / (a->problem.algebra->n_component * n);
    few_job job = {.tile_rows = fit < FEWEST_ROWS ? FEWEST_ROWS : fit};
    const int64_t items = FEW_N * a->problem.algebra->n_component * job.tile_rows * n;
    const size_t bytes = (size_t)(items + 3 * n * n_path) * sizeof(double);
    double *memory =
        tess_heap_alloc(&device->ctx->heap, bytes, TESS_TAG_SCRATCH, "rows of few features");
    if (!memory) {
        return TESS_E_MEMORY;
    }
    prepare(&job, a, memory);
    const tess_status status = run_tiles(device, &job, a->problem.n_row);
    if (status == TESS_OK) {
        copy_weight(&a->grad_weight, a->problem.weight_dtype, n, n_path, job.sum, 1);
    }
    tess_heap_free(&device->ctx->heap, memory, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_cpu_clifford_sgp(tess_backend_device *device, const void *args)
{
    const tess_stage_clifford_sgp *a = args;
    return is_few(&a->problem) ? run_widened(device, a) : tess_cpu_cl_sgp_run(device, a);
}
