// Shuffles that several ranks divide: those of every event are numbered, and each is made from its
// number alone. All ranks hold all tables, from the same scores.
#include "systems/decode/events/shuffle.h"

#include "base/status.h"
#include "runtime/comm.h"

#include <string.h>

enum { N_SCORE = TESS_DECODE_EVENT_N_SCORE };

tess_status tess_de_shuffle_agree(tess_de_shuffle *t, tess_status status)
{
    return tess_comm_broadcast(t->model.ctx,
                               (tess_comm_point){"events of a batch", (uint64_t)t->at.n_event},
                               status, &t->at.n_batch, sizeof t->at.n_batch);
}

tess_status tess_de_shuffle_gather(const tess_de_shuffle *t, int64_t n_event, tess_status status,
                                   double *scores)
{
    tess_context *ctx = t->model.ctx;
    const int32_t n_rank = tess_comm_size(ctx);
    if (n_rank == 1) {
        return status;
    }
    const tess_comm_range own = tess_comm_share_of(ctx, t->n_shuffle);
    const size_t own_bytes = (size_t)(own.end - own.begin) * N_SCORE * sizeof *scores;
    const size_t bytes = (size_t)n_event * own_bytes;
    unsigned char *packed = tess_heap_alloc(&ctx->heap, bytes + 1, TESS_TAG_SCRATCH, "shuffles");
    status = status == TESS_OK && !packed ? TESS_E_MEMORY : status;
    for (int64_t i = 0; status == TESS_OK && i < n_event; i++) {
        memcpy(packed + (size_t)i * own_bytes, scores + (i * t->n_shuffle + own.begin) * N_SCORE,
               own_bytes);
    }
    tess_comm_parts parts;
    status =
        tess_comm_gather(ctx, (tess_comm_point){"shuffles of a batch", (uint64_t)t->at.n_event},
                         status, packed, bytes, &parts);
    tess_heap_free(&ctx->heap, packed, bytes + 1, TESS_TAG_SCRATCH);
    TESS_TRY(status);
    double *to = scores; // of the first event; shares in the order of ranks are all in theirs
    for (int32_t rank = 0; rank < n_rank; rank++) {
        const unsigned char *from = parts.data + parts.offset[rank];
        const size_t share =
            (size_t)(parts.offset[rank + 1] - parts.offset[rank]) / (size_t)n_event;
        for (int64_t i = 0; i < n_event; i++) {
            memcpy(to + i * t->n_shuffle * N_SCORE, from + (size_t)i * share, share);
        }
        to += share / sizeof *to;
    }
    tess_comm_parts_free(&parts);
    return TESS_OK;
}
