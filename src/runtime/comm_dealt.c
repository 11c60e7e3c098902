// Items that ranks work out in turn.
#include "base/status.h"
#include "runtime/comm.h"

#include <string.h>

static void unpack(const tess_comm_parts *parts, int32_t n_rank, unsigned char *items,
                   size_t item_bytes, int64_t n)
{
    for (int32_t rank = 0; rank < n_rank; rank++) {
        const unsigned char *from = parts->data + parts->offset[rank];
        for (int64_t k = rank; k < n; k += n_rank, from += item_bytes) {
            memcpy(items + (size_t)k * item_bytes, from, item_bytes);
        }
    }
}

tess_status tess_comm_share_dealt(tess_context *ctx, tess_comm_point at, tess_comm_deal deal,
                                  tess_status status, void *items, size_t item_bytes, int64_t n)
{
    const int32_t n_rank = tess_comm_size(ctx);
    if (deal.step == 1) {
        return status;
    }
    const size_t bytes = (size_t)tess_comm_count_dealt(deal, n) * item_bytes;
    unsigned char *own = tess_heap_alloc(&ctx->heap, bytes + 1, TESS_TAG_SCRATCH, "own items");
    if (own) {
        size_t at_byte = 0;
        for (int64_t k = deal.first; k < n; k += deal.step, at_byte += item_bytes) {
            memcpy(own + at_byte, (const char *)items + (size_t)k * item_bytes, item_bytes);
        }
    } else {
        status = TESS_E_MEMORY;
    }
    tess_comm_parts parts;
    status = tess_comm_gather(ctx, at, status, own, bytes, &parts);
    if (status == TESS_OK) {
        unpack(&parts, n_rank, items, item_bytes, n);
        tess_comm_parts_free(&parts);
    }
    tess_heap_free(&ctx->heap, own, bytes + 1, TESS_TAG_SCRATCH);
    return status;
}
