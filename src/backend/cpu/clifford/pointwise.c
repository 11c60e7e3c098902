// Gates and norms of multivectors on the CPU, three passes each: a block of rows is a block.
#include "backend/cpu/clifford/clifford.h"

#include "base/status.h"

enum { N_VIEW = 5 }; // x, grad_out, cotangent, and two results

// A gate is a norm without statistics as far as rows are moved.
typedef struct pointwise_job {
    const tess_kernels *kernels;
    const tess_stage_clifford_norm *args;
    int is_norm;
    tess_cl_grades grades;
    unsigned char *scratch; // [workers][N_VIEW][block_items]
    size_t block_items;
    int64_t block_rows;
} pointwise_job;

#define T_BITS 32
#include "backend/cpu/clifford/pointwise_body.h"

#define T_BITS 64
#include "backend/cpu/clifford/pointwise_body.h"

static void end_span(tess_span *span, const tess_cl_problem *problem)
{
    static const int n_moved[] = {0, 2, 3, 5}, n_flop[] = {0, 2, 5, 12}; // per item, by pass
    const double items =
        (double)problem->n_row * (double)problem->n_in * problem->algebra->n_component;
    const double bytes = (double)tess_dtype_bytes((tess_dtype)problem->dtype);
    tess_span_end(span, items * bytes * n_moved[problem->pass], items * n_flop[problem->pass]);
}

static tess_status run(tess_backend_device *device, const tess_stage_clifford_norm *args,
                       int is_norm, const char *name)
{
    const tess_cl_problem *problem = &args->problem;
    tess_context *ctx = device->ctx;
    const int is_f64 = tess_cpu_cl_is_f64(problem);
    pointwise_job job = {.kernels = device->kernels,
                         .args = args,
                         .is_norm = is_norm,
                         .block_items = tess_cpu_cl_block_items(problem, problem->n_in),
                         .block_rows = tess_cpu_cl_block_rows(problem, problem->n_in)};
    tess_cpu_cl_grades(problem, &job.grades);
    const size_t bytes = job.block_items * N_VIEW * (is_f64 ? sizeof(double) : sizeof(float)) *
                         (size_t)tess_pool_threads(ctx->pool);
    job.scratch = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "rows of multivectors");
    if (!job.scratch) {
        return TESS_E_MEMORY;
    }
    const int64_t n_block = (problem->n_row + job.block_rows - 1) / job.block_rows;
    tess_span span = tess_span_begin(&ctx->tracer, name);
    const tess_status status = tess_parallel_for(
        ctx->pool, n_block, is_f64 ? pointwise_block_f64 : pointwise_block_f32, &job);
    end_span(&span, problem);
    tess_heap_free(&ctx->heap, job.scratch, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_cpu_clifford_gate(tess_backend_device *device, const void *args)
{
    const tess_stage_clifford_gate *a = args;
    const tess_stage_clifford_norm same = {.problem = a->problem,
                                           .x = a->x,
                                           .out = a->out,
                                           .grad_out = a->grad_out,
                                           .grad_x = a->grad_x,
                                           .cotangent = a->cotangent,
                                           .d_grad_out = a->d_grad_out,
                                           .d_x = a->d_x};
    return run(device, &same, 0, "clifford.gate");
}

tess_status tess_cpu_clifford_norm(tess_backend_device *device, const void *args)
{
    return run(device, args, 1, "clifford.norm");
}
