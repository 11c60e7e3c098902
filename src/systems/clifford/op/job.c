#include "systems/clifford/op/job.h"

#include "base/status.h"
#include "runtime/device.h"
#include "runtime/device_memory.h"

enum { ALIGN = 256 };

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

void tess_cl_job_init(tess_cl_job *job, tess_context *ctx, const tess_clifford_op *op,
                      const tess_cl_sizes *sizes)
{
    *job = (tess_cl_job){
        .ctx = ctx,
        .op = op,
        .device = ctx->device,
        .sizes = *sizes,
        .problem = {.algebra = &op->algebra,
                    .path_mask = op->path_mask,
                    .n_row = sizes->n_row,
                    .n_in = sizes->n_in,
                    .n_out = sizes->n_out,
                    .dtype = sizes->dtype,
                    .weight_dtype = sizes->weight_dtype,
                    .activation = op->config.activation,
                    .normalize = tess_cl_has_norm(op),
                    .norm_metric = op->config.norm_metric,
                    .bias_mode = op->config.bias_mode,
                    .precision = op->config.precision,
                    .eps = op->config.eps},
    };
}

tess_cl_view tess_cl_view_of(const tess_array *a)
{
    tess_cl_view view = {.data = a->data};
    int64_t contiguous = 1;
    for (int32_t i = a->rank - 1; i >= 0; i--) {
        // The stride of an axis of one item means nothing; this one does not spoil fast ways.
        view.stride[i] = a->shape[i] == 1 ? contiguous : a->stride[i];
        contiguous *= a->shape[i];
    }
    return view;
}

tess_cl_view tess_cl_view_like(const tess_cl_job *job, int operand, void *data)
{
    int64_t shape[3];
    const int32_t rank = tess_cl_operand_shape(job->op, &job->sizes, operand, shape);
    tess_cl_view view = {.data = data};
    int64_t stride = 1;
    for (int32_t i = rank - 1; i >= 0; i--) {
        view.stride[i] = stride;
        stride *= shape[i];
    }
    return view;
}

void *tess_cl_take(tess_cl_job *job, size_t bytes)
{
    // While counting there is no memory, but the address must not look like an absent array.
    unsigned char *base = job->queue ? job->base : (unsigned char *)(uintptr_t)ALIGN;
    void *taken = base + job->used_bytes;
    job->used_bytes += round_up(bytes);
    job->peak_bytes = job->used_bytes > job->peak_bytes ? job->used_bytes : job->peak_bytes;
    return taken;
}

tess_cl_view tess_cl_take_like(tess_cl_job *job, int operand)
{
    int64_t shape[3];
    tess_cl_operand_shape(job->op, &job->sizes, operand, shape);
    const int32_t dtype = tess_cl_operand_dtype(&job->sizes, operand);
    const size_t bytes =
        (size_t)(shape[0] * shape[1] * shape[2]) * tess_dtype_bytes((tess_dtype)dtype);
    return tess_cl_view_like(job, operand, tess_cl_take(job, bytes));
}

tess_status tess_cl_enqueue(tess_cl_job *job, int32_t stage, void *args, size_t args_bytes)
{
    const tess_backend *backend = job->device->backend;
    tess_cl_problem *problem = args;
    const size_t scratch_bytes = backend->scratch_bytes(job->device->handle, stage, args);
    // The queue is in order: what one stage is done with, the next may use.
    const size_t used_bytes = job->used_bytes;
    problem->scratch = scratch_bytes > 0 ? tess_cl_take(job, scratch_bytes) : NULL;
    job->used_bytes = used_bytes;
    return job->queue ? backend->enqueue(job->queue, stage, args, args_bytes) : TESS_OK;
}

tess_status tess_cl_enqueue_sum(tess_cl_job *job, const tess_stage_clifford_sum *args)
{
    if (!job->queue) {
        return TESS_OK;
    }
    return job->device->backend->enqueue(job->queue, TESS_STAGE_CLIFFORD_SUM, args, sizeof *args);
}

bool tess_cl_is_supported(const tess_cl_job *job, int32_t stage, const void *args)
{
    const bool yes = job->device->backend->supports(job->device->handle, stage, args) == TESS_OK;
    if (!yes) {
        tess_error_clear();
    }
    return yes;
}

static tess_status check_workspace(const tess_cl_job *job, const tess_clifford_call *call)
{
    if (call->workspace_bytes < job->peak_bytes) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s: workspace of %llu bytes, expected at least %zu; ask "
                  "tess_clifford_workspace()",
                  tess_cl_op_name(job->op), (unsigned long long)call->workspace_bytes,
                  job->peak_bytes);
    }
    if ((uintptr_t)call->workspace % ALIGN != 0) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: workspace must be aligned to %d bytes",
                  tess_cl_op_name(job->op), ALIGN);
    }
    return TESS_OK;
}

// With memory and queue at hand.
static tess_status work_and_wait(tess_cl_job *job, tess_cl_work work, bool waits)
{
    job->used_bytes = 0;
    const tess_status worked = work(job);
    const tess_status waited = waits ? job->device->backend->finish(job->queue) : TESS_OK;
    return worked != TESS_OK ? worked : waited;
}

tess_status tess_cl_job_run(tess_cl_job *job, tess_cl_work work, const tess_clifford_call *call)
{
    TESS_TRY(work(job));
    const bool has_stream = call && call->has_stream;
    tess_backend_queue *queue = job->device->queue;
    if (has_stream) {
        TESS_TRY(tess_device_adopt(job->device, call->stream, &queue));
    }
    if (job->peak_bytes == 0 || (call && call->workspace)) {
        if (call && call->workspace) {
            TESS_TRY(check_workspace(job, call));
            job->base = call->workspace;
        }
        job->queue = queue;
        return work_and_wait(job, work, !has_stream);
    }
    const tess_space space = job->device->shares_host_memory ? TESS_SPACE_HOST : TESS_SPACE_DEVICE;
    const size_t bytes = job->peak_bytes + ALIGN;
    void *block = NULL;
    TESS_TRY(tess_device_alloc(job->device, space, bytes, &block));
    job->base = (unsigned char *)block + (ALIGN - (uintptr_t)block % ALIGN) % ALIGN;
    job->queue = queue;
    // The block must outlive the work, on the caller's stream too.
    const tess_status status = work_and_wait(job, work, true);
    tess_device_free(job->device, space, block, bytes);
    return status;
}
