// Channels of a pass that several ranks divide: each adds up its own, and after the last tile all
// have the losses of all. What every rank does afterwards is the same.
#include "base/status.h"
#include "runtime/comm.h"
#include "systems/autoreject/threshold/search.h"

#include <string.h>

// Of one channel: its losses, and those of its replicates.
static size_t channel_doubles(const ar_search *search)
{
    return (size_t)search->n_row + (size_t)(AR_N_REPLICATE * search->n_point);
}

static void copy_channel(const ar_search *search, int64_t c, double *packed, bool is_to_state)
{
    double *sums = search->sums + c * search->n_row;
    double *disturbed = search->disturbed + c * AR_N_REPLICATE * search->n_point;
    double *rest = packed + search->n_row;
    const size_t n_sum = (size_t)search->n_row * sizeof *sums;
    const size_t n_disturbed = (size_t)(AR_N_REPLICATE * search->n_point) * sizeof *disturbed;
    memcpy(is_to_state ? sums : packed, is_to_state ? packed : sums, n_sum);
    memcpy(is_to_state ? disturbed : rest, is_to_state ? rest : disturbed, n_disturbed);
}

void tess_ar_ranks_resume(const ar_search *search, int64_t first)
{
    const int64_t stride = search->split_group * search->n_train;
    memmove(search->sse, search->sse + first * stride,
            (size_t)((search->chan_group - first) * stride) * sizeof *search->sse);
}

tess_status tess_ar_ranks_losses(ar_search *search, int64_t number, int64_t first_chan,
                                 int64_t n_chan)
{
    tess_context *ctx = search->ctx;
    const tess_comm_range own = tess_comm_share_of(ctx, n_chan);
    const size_t n = channel_doubles(search);
    const size_t bytes = (size_t)(own.end - own.begin) * n * sizeof(double);
    const tess_comm_point at = {"losses of a pass", (uint64_t)(number * search->n_chan + n_chan)};
    tess_comm_parts parts;
    double *packed = tess_heap_alloc(&ctx->heap, bytes + 1, TESS_TAG_SCRATCH, "losses");
    for (int64_t k = own.begin; packed && k < own.end; k++) {
        copy_channel(search, first_chan + k, packed + (size_t)(k - own.begin) * n, false);
    }
    const tess_status status =
        tess_comm_gather(ctx, at, packed ? TESS_OK : TESS_E_MEMORY, packed, bytes, &parts);
    tess_heap_free(&ctx->heap, packed, bytes + 1, TESS_TAG_SCRATCH);
    TESS_TRY(status);
    double *all = (double *)(void *)parts.data; // shares in the order of ranks are all in theirs
    for (int64_t k = 0; k < n_chan; k++) {
        copy_channel(search, first_chan + k, all + (size_t)k * n, true);
    }
    tess_comm_parts_free(&parts);
    return TESS_OK;
}
