// Products of gated multivectors on the CPU, in chunks of rows, each gone through in blocks that
// stay in the first-level cache. Backward, a chunk has a gradient of the weights of its own. These
// add up as a tree.
#include "backend/cpu/clifford/clifford.h"

#include "base/checked.h"
#include "base/status.h"

#include <string.h>

enum {
    FORWARD_BYTES = 32 << 10, // a chunk of the forward pass has rows of so many, or one block
    CHUNK_ROWS = 32,          // a chunk has at least so many rows
    MOST_CHUNKS = 64,         // and a call at most so many chunks,
    GRADIENT_BYTES = 8 << 20  // whose gradients take at most this, or of two chunks
};

// Results from this size on are written past the caches: nobody finds them there anyway, and memory
// need not be read for them first. 15 % faster at 64 MiB.
enum { STREAM_BYTES = 32 << 20 };

typedef struct sgp_job {
    tess_cpu_cl_sgp sgp;
    const tess_stage_clifford_sgp *args;
    unsigned char *scratch; // [workers][worker_bytes]
    size_t worker_bytes;
    size_t block_items;
    int64_t chunk_rows;
    int64_t n_chunk;
    void *gradients; // [n_chunk][gradient_items], NULL: not wanted
    size_t gradient_items;
} sgp_job;

static size_t item_bytes(const tess_cl_problem *problem)
{
    return tess_cpu_cl_is_f64(problem) ? sizeof(double) : sizeof(float);
}

// A row of gates, or of tau.
static size_t row_items(const tess_cpu_cl_sgp *sgp)
{
    return (size_t)sgp->block_rows * sgp->stride;
}

#define T_BITS 32
#include "backend/cpu/clifford/sgp_body.h"

#define T_BITS 64
#include "backend/cpu/clifford/sgp_body.h"

tess_status tess_cpu_cl_sgp_open(tess_backend_device *device, const tess_cl_problem *problem,
                                 const tess_cl_view *weight, tess_cpu_cl_sgp *sgp)
{
    const int n_list = problem->pass == TESS_CLIFFORD_FORWARD ? 1 : TESS_CL_N_FORM;
    const size_t item = item_bytes(problem);
    *sgp = (tess_cpu_cl_sgp){.kernels = device->kernels,
                             .problem = problem,
                             .code = tess_cpu_cl_code(problem),
                             .block_rows = tess_cpu_cl_block_rows(problem, problem->n_out),
                             .stride = tess_cpu_cl_stride(problem->n_out)};
    // The product, and gates.
    sgp->scratch_bytes = (tess_cpu_cl_block_items(problem, problem->n_out) + row_items(sgp)) * item;
    tess_cpu_cl_grades(problem, &sgp->grades);
    const size_t list_bytes = ((size_t)n_list * sizeof(tess_cl_list) + 63) / 64 * 64;
    uint64_t bytes;
    if (!tess_mul_u64((uint64_t)problem->algebra->n_path * item, sgp->stride, &bytes) ||
        !tess_add_u64(bytes, list_bytes, &bytes) || bytes > SIZE_MAX) {
        TESS_FAIL(TESS_E_MEMORY, "clifford: %lld features are too many for the packed weights",
                  (long long)problem->n_out);
    }
    sgp->memory_bytes = (size_t)bytes;
    sgp->memory = tess_heap_alloc(&device->ctx->heap, sgp->memory_bytes, TESS_TAG_SCRATCH,
                                  "weights of a product");
    if (!sgp->memory) {
        return TESS_E_MEMORY;
    }
    tess_cl_list *lists = sgp->memory;
    for (int form = 0; form < n_list; form++) {
        tess_cpu_cl_list(problem->algebra, problem->path_mask, (tess_cl_form)form, &lists[form]);
        sgp->lists[form] = &lists[form];
    }
    void *packed = (unsigned char *)sgp->memory + list_bytes;
    if (tess_cpu_cl_is_f64(problem)) {
        pack_weights_f64(problem, weight, sgp->stride, packed);
    } else {
        pack_weights_f32(problem, weight, sgp->stride, packed);
    }
    sgp->weight = packed;
    return TESS_OK;
}

void tess_cpu_cl_sgp_close(tess_backend_device *device, tess_cpu_cl_sgp *sgp)
{
    tess_heap_free(&device->ctx->heap, sgp->memory, sgp->memory_bytes, TESS_TAG_SCRATCH);
}

// Long enough that rows which are asked for ahead are mostly the worker's own.
static void cut_forward_chunks(sgp_job *job)
{
    const tess_cl_problem *problem = job->sgp.problem;
    const size_t row_items = (size_t)problem->algebra->n_component * job->sgp.stride;
    const int64_t row_bytes = (int64_t)(row_items * item_bytes(problem));
    const int64_t rows = FORWARD_BYTES / row_bytes;
    job->chunk_rows = rows > job->sgp.block_rows ? rows : job->sgp.block_rows;
    job->n_chunk = (problem->n_row + job->chunk_rows - 1) / job->chunk_rows;
}

// Fixed by the shape: the sums must not depend on who adds them.
static void cut_chunks(sgp_job *job)
{
    const tess_cl_problem *problem = job->sgp.problem;
    if (problem->pass == TESS_CLIFFORD_FORWARD) {
        cut_forward_chunks(job);
        return;
    }
    job->gradient_items = (size_t)problem->algebra->n_path * job->sgp.stride;
    const int64_t fit = GRADIENT_BYTES / (int64_t)(job->gradient_items * item_bytes(problem));
    const int64_t most = fit < 2 ? 2 : fit > MOST_CHUNKS ? MOST_CHUNKS : fit;
    const int64_t even = (problem->n_row + most - 1) / most;
    job->chunk_rows = even > CHUNK_ROWS ? even : CHUNK_ROWS;
    job->n_chunk = (problem->n_row + job->chunk_rows - 1) / job->chunk_rows;
    job->n_chunk = job->n_chunk > 0 ? job->n_chunk : 1; // without rows the gradient is 0
}

static void end_span(tess_span *span, const tess_cl_problem *problem)
{
    const tess_clifford_algebra *algebra = problem->algebra;
    const double points = (double)problem->n_row * (double)problem->n_out;
    const double bytes = (double)tess_dtype_bytes((tess_dtype)problem->dtype);
    const int is_forward = problem->pass == TESS_CLIFFORD_FORWARD;
    const double flops = is_forward ? 2.0 * algebra->n_term + algebra->n_pair
                                    : 8.0 * algebra->n_term + 3.0 * algebra->n_pair;
    tess_span_end(span, points * bytes * algebra->n_component * (is_forward ? 3 : 5),
                  points * flops);
}

static tess_status run_chunks(tess_backend_device *device, sgp_job *job)
{
    const tess_cl_problem *problem = job->sgp.problem;
    tess_pool *pool = device->ctx->pool;
    const int is_f64 = tess_cpu_cl_is_f64(problem);
    tess_span span = tess_span_begin(&device->ctx->tracer, "clifford.sgp");
    tess_status status;
    if (problem->pass == TESS_CLIFFORD_FORWARD) {
        status = tess_parallel_for(pool, job->n_chunk,
                                   is_f64 ? forward_chunk_f64 : forward_chunk_f32, job);
    } else {
        status = tess_parallel_for(pool, job->n_chunk,
                                   is_f64 ? backward_chunk_f64 : backward_chunk_f32, job);
        if (status == TESS_OK && job->gradients) {
            status = tess_parallel_for(pool, problem->algebra->n_path,
                                       is_f64 ? add_gradients_f64 : add_gradients_f32, job);
        }
    }
    end_span(&span, problem);
    return status;
}

tess_status tess_cpu_cl_sgp_run(tess_backend_device *device, const tess_stage_clifford_sgp *a)
{
    const tess_cl_problem *problem = &a->problem;
    tess_heap *heap = &device->ctx->heap;
    const size_t item = item_bytes(problem);
    sgp_job job = {.args = a, .block_items = tess_cpu_cl_block_items(problem, problem->n_out)};
    TESS_TRY(tess_cpu_cl_sgp_open(device, problem, &a->weight, &job.sgp));
    const double bytes_out = (double)problem->n_row * (double)problem->n_out *
                             problem->algebra->n_component * (double)item;
    job.sgp.is_large = bytes_out >= STREAM_BYTES && tess_cpu_cl_is_direct(problem, &a->out);
    // Rows of x, y and the result; or of x, y, grad_out, h and the two gradients, and two slopes
    // and tau.
    job.worker_bytes = job.sgp.scratch_bytes + 3 * job.block_items * item;
    if (problem->pass != TESS_CLIFFORD_FORWARD) {
        job.worker_bytes += (3 * job.block_items + 3 * row_items(&job.sgp)) * item;
    }
    cut_chunks(&job);
    const size_t bytes = job.worker_bytes * (size_t)tess_pool_threads(device->ctx->pool);
    const size_t gradient_bytes = (size_t)job.n_chunk * job.gradient_items * item;
    tess_status status = TESS_E_MEMORY;
    job.scratch = tess_heap_alloc(heap, bytes, TESS_TAG_SCRATCH, "rows of multivectors");
    if (!job.scratch) {
        goto done;
    }
    if (problem->pass == TESS_CLIFFORD_BACKWARD && a->grad_weight.data) {
        job.gradients =
            tess_heap_alloc(heap, gradient_bytes, TESS_TAG_SCRATCH, "gradients of weights");
        if (!job.gradients) {
            goto done;
        }
    }
    status = run_chunks(device, &job);
done:
    tess_heap_free(heap, job.gradients, gradient_bytes, TESS_TAG_SCRATCH);
    tess_heap_free(heap, job.scratch, bytes, TESS_TAG_SCRATCH);
    tess_cpu_cl_sgp_close(device, &job.sgp);
    return status;
}
