// Votes of peak-to-peaks against their thresholds on the CPU.
#include "stage/autoreject.h"

#include "backend/cpu/autoreject/stages.h"

// Epochs of a block: some tens of microseconds for a hundred channels.
enum { BLOCK_EPOCHS = 256 };

static tess_status votes_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const tess_stage_autoreject_votes *a = arg;
    const int64_t first = block * BLOCK_EPOCHS;
    const int64_t end = first + BLOCK_EPOCHS < a->n_epoch ? first + BLOCK_EPOCHS : a->n_epoch;
    for (int64_t e = first; e < end; e++) {
        const double *delta = a->delta + e * a->stride_epoch;
        int8_t *votes = a->votes + e * a->stride_epoch;
        int64_t count = 0;
        for (int64_t c = 0; c < a->n_chan; c++) {
            votes[c] = delta[c] > a->thresholds[c];
            count += votes[c];
        }
        a->counts[e] = count;
    }
    return TESS_OK;
}

tess_status tess_cpu_autoreject_votes(tess_backend_device *device, const void *args)
{
    tess_stage_autoreject_votes own = *(const tess_stage_autoreject_votes *)args;
    return tess_parallel_for(device->ctx->pool, (own.n_epoch + BLOCK_EPOCHS - 1) / BLOCK_EPOCHS,
                             votes_block, &own);
}
