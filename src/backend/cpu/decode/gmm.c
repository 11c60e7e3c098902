// decode's mixtures at every bin on the CPU.
#include "stage/decode_gmm.h"

#include "backend/cpu/decode/stages.h"

enum { SPIKES = 8 }; // of a block

typedef struct gmm_job {
    const tess_stage_decode_gmm *args;
    double *scratch; // [n_thread][n_item]
    int64_t n_item;
} gmm_job;

static tess_status gmm_block(void *arg, int64_t block, int32_t worker)
{
    const gmm_job *job = arg;
    const tess_stage_decode_gmm *a = job->args;
    const int64_t end = (block + 1) * SPIKES < a->n_spike ? (block + 1) * SPIKES : a->n_spike;
    for (int64_t i = block * SPIKES; i < end; i++) {
        a->n_floored[i] =
            tess_gmm_values(&a->bins, a->marks + i * a->bins.n_feature,
                            job->scratch + worker * job->n_item, a->values + i * a->bins.n_bin);
    }
    return TESS_OK;
}

tess_status tess_cpu_decode_gmm(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_gmm *a = args;
    tess_context *ctx = device->ctx;
    gmm_job job = {.args = a, .n_item = tess_gmm_scratch_items(&a->bins)};
    const size_t bytes = (size_t)(ctx->n_thread * job.n_item) * sizeof *job.scratch;
    job.scratch = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "mixtures at a mark");
    if (!job.scratch) {
        return TESS_E_MEMORY;
    }
    const tess_status status =
        tess_parallel_for(ctx->pool, (a->n_spike + SPIKES - 1) / SPIKES, gmm_block, &job);
    tess_heap_free(&ctx->heap, job.scratch, bytes, TESS_TAG_SCRATCH);
    return status;
}
