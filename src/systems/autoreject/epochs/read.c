// Reading many epochs, by all threads where a reader allows it.
#include "runtime/context.h"
#include "systems/autoreject/epochs/epochs.h"

typedef struct reading {
    tess_context *ctx;
    const tess_ar_reader *reader;
    const int64_t *channels;
    int64_t n_channel;
    int64_t first;
    int64_t epoch_items;
    double *to;
} reading;

static tess_status read_one(void *arg, int64_t epoch, int32_t worker)
{
    (void)worker;
    const reading *r = arg;
    return r->reader->read(r->ctx, r->reader->impl, r->first + epoch, 1, r->channels, r->n_channel,
                           r->to + epoch * r->epoch_items);
}

tess_status tess_ar_epochs_read_block(tess_context *ctx, const tess_autoreject_epochs *epochs,
                                      int64_t first, int64_t count, const int64_t *channels,
                                      int64_t n_channel, double *to)
{
    const tess_ar_reader *reader = &epochs->reader;
    reading r = {.ctx = ctx,
                 .reader = reader,
                 .channels = channels,
                 .n_channel = n_channel,
                 .first = first,
                 .epoch_items = n_channel * epochs->info.n_time,
                 .to = to};
    return reader->is_concurrent
               ? tess_parallel_for(ctx->pool, count, read_one, &r)
               : reader->read(ctx, reader->impl, first, count, channels, n_channel, to);
}
