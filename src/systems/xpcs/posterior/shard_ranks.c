// Shards that several ranks divide: shard k is sampled by rank k modulo their number, from the same
// data, and afterwards all have the draws of each.
#include "base/status.h"
#include "runtime/comm.h"
#include "systems/xpcs/posterior/shards.h"

#include <string.h>

// With fewer shards than ranks these rather divide the passes of each.
bool tess_xp_shards_are_dealt(const tess_context *ctx, int64_t n)
{
    return tess_comm_size(ctx) > 1 && n >= tess_comm_size(ctx);
}

bool tess_xp_shard_is_own(const tess_context *ctx, int64_t k, int64_t n)
{
    return tess_xp_shards_are_dealt(ctx, n) ? k % tess_comm_size(ctx) == tess_comm_rank(ctx)
                                            : tess_comm_is_first(ctx);
}

// Draws of every own shard behind their number of bytes. Returns how many bytes; to: NULL counts.
static size_t pack(const tess_context *ctx, tess_xpcs_posterior *const *parts, int64_t n,
                   unsigned char *to)
{
    size_t used = 0;
    for (int64_t k = tess_comm_rank(ctx); k < n; k += tess_comm_size(ctx)) {
        const uint64_t bytes = tess_xpcs_posterior_pack(parts[k], NULL, 0);
        if (to) {
            memcpy(to + used, &bytes, sizeof bytes);
            tess_xpcs_posterior_pack(parts[k], to + used + sizeof bytes, bytes);
        }
        used += sizeof bytes + bytes;
    }
    return used;
}

static tess_status unpack(tess_context *ctx, const tess_comm_parts *all, int64_t n,
                          tess_xpcs_posterior **parts)
{
    const int32_t n_rank = tess_comm_size(ctx);
    for (int32_t rank = 0; rank < n_rank; rank++) {
        const unsigned char *at = all->data + all->offset[rank];
        for (int64_t k = rank; k < n && rank != tess_comm_rank(ctx); k += n_rank) {
            uint64_t bytes = 0;
            memcpy(&bytes, at, sizeof bytes);
            TESS_TRY(tess_xpcs_posterior_unpack(ctx, at + sizeof bytes, bytes, &parts[k]));
            at += sizeof bytes + bytes;
        }
    }
    return TESS_OK;
}

tess_status tess_xp_shards_share(tess_context *ctx, tess_xpcs_posterior **parts, int64_t n,
                                 tess_status status)
{
    const tess_comm_point at = {"draws of shards", (uint64_t)n};
    const size_t bytes = status == TESS_OK ? pack(ctx, parts, n, NULL) : 0;
    unsigned char *own =
        tess_heap_alloc(&ctx->heap, bytes + 1, TESS_TAG_SCRATCH, "draws of shards");
    if (!own) {
        status = status == TESS_OK ? TESS_E_MEMORY : status;
    } else if (status == TESS_OK) {
        pack(ctx, parts, n, own);
    }
    tess_comm_parts all;
    status = tess_comm_gather(ctx, at, status, own, bytes, &all);
    tess_heap_free(&ctx->heap, own, bytes + 1, TESS_TAG_SCRATCH);
    TESS_TRY(status);
    status = unpack(ctx, &all, n, parts);
    tess_comm_parts_free(&all);
    return status;
}
