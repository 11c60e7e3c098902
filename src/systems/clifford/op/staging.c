// Host arrays on a device with memory of its own: up, compute, down.
#include "systems/clifford/op/staging.h"
#include "base/status.h"
#include "runtime/device_memory.h"
#include "runtime/stage.h"

enum { ALIGN = 256 };

typedef struct staging {
    tess_context *ctx;
    const tess_cl_operands *operands;
    tess_cl_job job;
    unsigned char *block; // on the device: every array, contiguous
    size_t block_bytes;
    unsigned char *packed; // on the host, for arrays that are not contiguous; NULL: all are
    size_t packed_bytes;
} staging;

static size_t bytes_of(const tess_array *a)
{
    return (size_t)tess_array_items(a) * (size_t)a->item_bytes;
}

static tess_status take_memory(staging *s)
{
    size_t offsets[CL_N_OPERAND];
    for (int i = 0; i < CL_N_OPERAND; i++) {
        const tess_array *a = s->operands->arrays[i];
        if (!a) {
            continue;
        }
        offsets[i] = s->block_bytes;
        s->block_bytes += (bytes_of(a) + ALIGN) / ALIGN * ALIGN;
        if (!tess_array_is_contiguous(a) && bytes_of(a) > s->packed_bytes) {
            s->packed_bytes = bytes_of(a);
        }
    }
    if (s->packed_bytes > 0) {
        s->packed = tess_heap_alloc(&s->ctx->heap, s->packed_bytes, TESS_TAG_TILE,
                                    "a contiguous copy of an array");
        if (!s->packed) {
            return TESS_E_MEMORY;
        }
    }
    const tess_device *device = s->ctx->device;
    void *block = NULL;
    TESS_TRY(tess_device_alloc(device, TESS_SPACE_DEVICE, s->block_bytes, &block));
    s->block = block;
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (s->operands->arrays[i]) {
            s->job.views[i] = tess_cl_view_like(&s->job, i, s->block + offsets[i]);
        }
    }
    return TESS_OK;
}

// Between a host array of any strides and the packed copy, on the CPU.
static tess_status repack(const staging *s, int operand, bool unpack)
{
    const tess_array *a = s->operands->arrays[operand];
    tess_stage_clifford_sum copy = {.n_term = 1, .out_dtype = a->dtype, .term_dtype = a->dtype};
    tess_cl_operand_shape(s->job.op, &s->job.sizes, operand, copy.shape);
    const tess_cl_view packed = tess_cl_view_like(&s->job, operand, s->packed);
    copy.out = unpack ? tess_cl_view_of(a) : packed;
    copy.terms[0] = unpack ? packed : tess_cl_view_of(a);
    return tess_stage_run_on_host(s->ctx, TESS_STAGE_CLIFFORD_SUM, &copy, sizeof copy);
}

static tess_status upload(const staging *s, int operand)
{
    const tess_device *device = s->ctx->device;
    const tess_array *a = s->operands->arrays[operand];
    const bool is_packed = !tess_array_is_contiguous(a);
    if (is_packed) {
        TESS_TRY(repack(s, operand, false));
    }
    TESS_TRY(device->backend->copy(device->queue, s->job.views[operand].data, TESS_SPACE_DEVICE,
                                   is_packed ? s->packed : a->data, TESS_SPACE_HOST, bytes_of(a)));
    return is_packed ? device->backend->finish(device->queue) : TESS_OK;
}

static tess_status download(const staging *s, int operand)
{
    const tess_device *device = s->ctx->device;
    const tess_array *a = s->operands->arrays[operand];
    const bool is_packed = !tess_array_is_contiguous(a);
    TESS_TRY(device->backend->copy(device->queue, is_packed ? s->packed : a->data, TESS_SPACE_HOST,
                                   s->job.views[operand].data, TESS_SPACE_DEVICE, bytes_of(a)));
    TESS_TRY(device->backend->finish(device->queue));
    return is_packed ? repack(s, operand, true) : TESS_OK;
}

static tess_status work_on_copies(staging *s, tess_cl_work work)
{
    TESS_TRY(take_memory(s));
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (s->operands->arrays[i] && !tess_cl_is_output(s->operands, i)) {
            TESS_TRY(upload(s, i));
        }
    }
    TESS_TRY(tess_cl_job_run(&s->job, work, NULL));
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (s->operands->arrays[i] && tess_cl_is_output(s->operands, i)) {
            TESS_TRY(download(s, i));
        }
    }
    return TESS_OK;
}

tess_status tess_cl_run_staged(tess_context *ctx, const tess_clifford_op *op,
                               const tess_cl_operands *operands, const tess_cl_sizes *sizes,
                               tess_cl_work work)
{
    staging s = {.ctx = ctx, .operands = operands};
    tess_cl_job_init(&s.job, ctx, op, sizes);
    const tess_status status = work_on_copies(&s, work);
    const tess_device *device = ctx->device;
    if (s.block) {
        if (status != TESS_OK) {
            (void)device->backend->finish(device->queue); // copies may still be under way
        }
        tess_device_free(device, TESS_SPACE_DEVICE, s.block, s.block_bytes);
    }
    if (s.packed) {
        tess_heap_free(&ctx->heap, s.packed, s.packed_bytes, TESS_TAG_TILE);
    }
    return status;
}
