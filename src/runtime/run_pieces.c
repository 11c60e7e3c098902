#include "runtime/run_pieces.h"

#include "base/status.h"
#include "runtime/source.h"

#include <string.h>

// Half of a small second-level cache: what was read is there when it is worked on.
static const uint64_t PIECE_BYTES = 256 << 10;

int64_t tess_run_piece_items(uint64_t item_bytes)
{
    return item_bytes > 0 && item_bytes < PIECE_BYTES ? (int64_t)(PIECE_BYTES / item_bytes) : 1;
}

static size_t piece_bytes(uint64_t item_bytes)
{
    return (size_t)((uint64_t)tess_run_piece_items(item_bytes) * item_bytes);
}

uint64_t tess_run_pieces_bytes(const tess_context *ctx, uint64_t item_bytes)
{
    return (uint64_t)ctx->n_thread * piece_bytes(item_bytes);
}

tess_status tess_run_pieces_open(tess_context *ctx, const tess_plan *plan, tess_source *source,
                                 tess_run_pieces *out)
{
    *out = (tess_run_pieces){0};
    if (!plan->has_pieces) {
        return TESS_OK;
    }
    const size_t n = (size_t)ctx->n_thread;
    const tess_device *device = tess_plan_device(plan, ctx);
    *out = (tess_run_pieces){.ctx = ctx,
                             .device = device,
                             .plan = plan,
                             .source = source,
                             .piece_bytes = piece_bytes(plan->in_item_bytes)};
    out->queues =
        tess_heap_alloc_zero(&ctx->heap, n * sizeof *out->queues, TESS_TAG_PLAN, "queues");
    out->buffers =
        tess_heap_alloc(&ctx->heap, n * out->piece_bytes, TESS_TAG_TILE, "pieces of the input");
    if (!out->queues || !out->buffers) {
        return TESS_E_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        TESS_TRY(device->backend->queue_create(device->handle, &out->queues[i]));
    }
    return TESS_OK;
}

void tess_run_pieces_close(tess_run_pieces *pieces)
{
    if (!pieces->ctx) {
        return;
    }
    tess_heap *heap = &pieces->ctx->heap;
    const size_t n = (size_t)pieces->ctx->n_thread;
    for (size_t i = 0; pieces->queues && i < n; i++) {
        if (pieces->queues[i]) {
            pieces->device->backend->queue_destroy(pieces->queues[i]);
        }
    }
    tess_heap_free(heap, pieces->queues, n * sizeof *pieces->queues, TESS_TAG_PLAN);
    tess_heap_free(heap, pieces->buffers, n * pieces->piece_bytes, TESS_TAG_TILE);
    *pieces = (tess_run_pieces){0};
}

typedef struct piece_job {
    tess_run_pieces *pieces;
    int64_t first;
    int64_t count;
    int64_t items_per_piece;
    char *out;
} piece_job;

static tess_status run_piece(void *arg, int64_t number, int32_t worker)
{
    const piece_job *job = arg;
    tess_run_pieces *p = job->pieces;
    const tess_plan *plan = p->plan;
    const int64_t done = number * job->items_per_piece;
    const int64_t left = job->count - done;
    const int64_t n = left < job->items_per_piece ? left : job->items_per_piece;
    const uint64_t item = plan->in_item_bytes;
    void *buffer = p->buffers + (size_t)worker * p->piece_bytes;
    TESS_TRY(tess_source_read_bytes(p->source, (uint64_t)(job->first + done) * item,
                                    (uint64_t)n * item, buffer));
    tess_device own = *p->device;
    own.queue = p->queues[worker];
    tess_tile tile = {.first = job->first + done,
                      .count = n,
                      .out = job->out + (uint64_t)done * plan->out_item_bytes,
                      .device = &own};
    int64_t shape[TESS_MAX_RANK];
    memcpy(shape, plan->in.shape, sizeof shape);
    shape[0] = n;
    TESS_TRY(tess_array_init(&tile.in, buffer, (tess_dtype)plan->in.dtype, plan->in.rank, shape));
    TESS_TRY(plan->ops->compute(plan, p->ctx, &tile));
    return p->device->backend->finish(own.queue);
}

tess_status tess_run_pieces_compute(tess_run_pieces *pieces, int64_t first, int64_t count,
                                    void *out)
{
    const int64_t per_piece = tess_run_piece_items(pieces->plan->in_item_bytes);
    piece_job job = {
        .pieces = pieces, .first = first, .count = count, .items_per_piece = per_piece, .out = out};
    return tess_parallel_for(pieces->ctx->pool, (count + per_piece - 1) / per_piece, run_piece,
                             &job);
}
