// The first call takes no longer than others: models go to a GPU, and its kernels are loaded, when
// a detector is made there.
#include "base/status.h"
#include "systems/decode/states/engine.h"

#include <string.h>

// Two rows that say nothing through filter and smoother.
static tess_status warm_states(tess_context *ctx, const tess_decode_detector *d)
{
    enum { N_ROW = 2 };
    tess_device *device = tess_de_rows_device(ctx, d->hmm, INT64_MAX);
    if (device->shares_host_memory) {
        return TESS_OK;
    }
    const int64_t n_bin = d->info.n_state_bin;
    const size_t item = tess_dtype_bytes((tess_dtype)d->dtype);
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    void *ll = tess_blocks_alloc(&blocks, N_ROW * d->info.n_ll, item, "rows");
    double *vector = tess_blocks_alloc(&blocks, n_bin, sizeof *vector, "rows");
    double *states =
        tess_blocks_alloc(&blocks, (int64_t)N_ROW * d->info.n_state, sizeof *states, "rows");
    tess_de_hmm_chunk rows = {.n_row = N_ROW,
                              .ll = ll,
                              .ll_dtype = d->dtype,
                              .dtype = d->dtype,
                              .transition = d->discrete_transition,
                              .filtered = tess_blocks_alloc(&blocks, N_ROW * n_bin, item, "rows"),
                              .causal_states = states,
                              .acausal_states = states};
    tess_de_hmm_carry carry = {.predicted = vector, .first_impossible = -1};
    tess_status status = ll && vector && states && rows.filtered ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        memcpy(vector, d->initial, (size_t)n_bin * sizeof *vector);
        status = tess_de_hmm_filter(ctx, device, d->hmm, &rows, &carry);
    }
    if (status == TESS_OK) {
        status = tess_de_hmm_smooth(ctx, device, d->hmm, &rows, 1, vector);
    }
    tess_blocks_free(&blocks);
    return status;
}

void tess_de_detector_warm(tess_context *ctx, const tess_decode_detector *detector)
{
    if (ctx->device->shares_host_memory) {
        return;
    }
    const tess_de_engine_desc desc = {.device = ctx->device, .detector = detector};
    // What fails here fails again where somebody asked for it, and is told there.
    if (tess_de_engine_prepare(ctx, &desc) != TESS_OK || warm_states(ctx, detector) != TESS_OK) {
        tess_error_clear();
    }
}
