#include "systems/autoreject/store/store_pass.h"

#include "base/file.h"
#include "base/status.h"
#include "runtime/pipeline.h"
#include "runtime/stage.h"
#include "runtime/watch.h"
#include "stage/autoreject_intake.h"

// Blocks of epochs: in memory they should stay in the cache while they are worked on; in a file
// every tile gets one piece of each, which should be long. Where threads read for themselves, a
// block is what is done between two looks at cancel.
enum {
    BLOCK_BYTES = 8 << 20,
    LONG_BLOCK_BYTES = 64 << 20,
    DIRECT_BLOCK_BYTES = 16 << 20,
    MAX_SLOT = 3
};
// Memory is touched so many blocks of large pages at a time, by the smallest pages there are.
enum { PAGES_BYTES = 2 << 20, PAGE_BYTES = 4 << 10, TOUCHED = 16 };

typedef struct pass {
    tess_context *ctx;
    tess_ar_store *store;
    const tess_ar_store_request *request;
    tess_watch progress;
    int64_t block_epochs;
    int64_t epoch_items;
    int32_t n_slot;
    bool is_direct;            // threads read the epochs they work on: no samples, no pipeline
    double *samples[MAX_SLOT]; // [block_epochs][n_chan][n_time]
    double *pieces[MAX_SLOT];  // [n_tile][block_epochs][n_chan][TILE], on their way to the file
    double *buffer;            // of the stage
    int64_t n_buffer;
} pass;

static bool reads_directly(const tess_ar_store_request *request, bool is_file)
{
    return request->epochs->reader.is_concurrent && !is_file;
}

static int32_t slots(const tess_ar_store_request *request, bool is_file)
{
    return reads_directly(request, is_file) ? 1 : is_file ? 3 : 2;
}

uint64_t tess_ar_pass_bytes(const tess_ar_store_request *request, int64_t block_epochs,
                            bool is_file)
{
    const uint64_t n_time = (uint64_t)request->epochs->info.n_time;
    const uint64_t padded = (n_time + TESS_AR_TILE - 1) / TESS_AR_TILE * TESS_AR_TILE;
    const uint64_t per_epoch =
        (uint64_t)slots(request, is_file) * (n_time + (is_file ? padded : 0)) +
        (request->leave_one_out ? n_time : 0);
    return (uint64_t)block_epochs * (uint64_t)request->n_chan * per_epoch * sizeof(double);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void choose_blocks(pass *p, uint64_t buffer_bytes, bool is_file)
{
    const int64_t epoch_bytes = p->epoch_items * (int64_t)sizeof(double);
    const int64_t busy = p->is_direct ? 2 * p->ctx->n_thread : 1; // something for every thread
    const int64_t fit = (is_file        ? LONG_BLOCK_BYTES
                         : p->is_direct ? DIRECT_BLOCK_BYTES
                                        : BLOCK_BYTES) /
                        epoch_bytes;
    const int64_t wished = fit > busy ? fit : busy;
    const uint64_t most = buffer_bytes / tess_ar_pass_bytes(p->request, 1, is_file);
    const int64_t n_epoch = least(p->store->n_epoch, wished);
    p->block_epochs = most < (uint64_t)n_epoch ? (int64_t)(most > 0 ? most : 1) : n_epoch;
    p->n_buffer = least(p->block_epochs, p->ctx->n_thread);
    if (p->is_direct && p->n_buffer == p->ctx->n_thread) {
        p->block_epochs = n_epoch; // buffers belong to threads, however many epochs there are
    }
}

static int64_t block_count(const pass *p, int64_t block)
{
    const int64_t left = p->store->n_epoch - block * p->block_epochs;
    return left < p->block_epochs ? left : p->block_epochs;
}

static tess_status read_epochs(pass *p, int64_t first, int64_t count, double *dst)
{
    const tess_ar_reader *reader = &p->request->epochs->reader;
    return reader->read(p->ctx, reader->impl, first, count, p->request->channels,
                        p->request->n_chan, dst);
}

static tess_status read_block(void *self, int64_t block, int32_t slot)
{
    pass *p = self;
    const int64_t count = block_count(p, block);
    tess_span span = tess_span_begin(&p->ctx->tracer, "autoreject.read");
    const tess_status status = read_epochs(p, block * p->block_epochs, count, p->samples[slot]);
    tess_span_end(&span, (double)(count * p->epoch_items) * sizeof(double), 0);
    return status;
}

// An epoch of the block that is taken in.
typedef struct direct_read {
    pass *p;
    int64_t first;
} direct_read;

static int32_t read_direct(void *self, int64_t epoch, double *dst)
{
    const direct_read *from = self;
    return read_epochs(from->p, from->first + epoch, 1, dst);
}

static tess_status compute_block(void *self, int64_t block, int32_t slot)
{
    pass *p = self;
    tess_ar_store *s = p->store;
    const int64_t first = block * p->block_epochs;
    const int64_t count = block_count(p, block);
    const double *w = p->request->leave_one_out;
    direct_read from = {.p = p, .first = first};
    tess_stage_autoreject_intake_kept args;
    args.intake = (tess_stage_autoreject_intake){
        .x = p->samples[slot],
        .read = read_direct,
        .self = &from,
        .w = w,
        .buffer = p->buffer,
        .n_buffer = p->n_buffer,
        .delta = s->delta + first * s->n_chan,
        .delta_predicted = w ? s->delta_augmented + first * s->n_chan : NULL,
        .tiles = p->pieces[slot] ? p->pieces[slot] : s->tiles + first * s->n_chan * TESS_AR_TILE,
        .n_epoch = count,
        .n_chan = s->n_chan,
        .n_time = s->n_time,
        .tile_stride = p->pieces[slot] ? count * s->n_chan * TESS_AR_TILE : (int64_t)s->tile_items};
    tess_span span = tess_span_begin(&p->ctx->tracer, "autoreject.intake");
    args.predicted = s->predicted ? s->predicted + first * s->n_chan * TESS_AR_TILE : NULL;
    TESS_TRY(args.predicted ? tess_stage_run_on_host(s->ctx, TESS_STAGE_AUTOREJECT_INTAKE_KEPT,
                                                     &args, sizeof args)
                            : tess_stage_run_on_host(s->ctx, TESS_STAGE_AUTOREJECT_INTAKE,
                                                     &args.intake, sizeof args.intake));
    const double items = (double)(count * p->epoch_items);
    tess_span_end(&span, 2 * items * sizeof(double), w ? 2 * items * (double)s->n_chan : 0);
    return TESS_OK;
}

static tess_status write_block(void *self, int64_t block, int32_t slot)
{
    const pass *p = self;
    const tess_ar_store *s = p->store;
    if (!p->pieces[slot]) {
        return TESS_OK;
    }
    tess_span span = tess_span_begin(&p->ctx->tracer, "autoreject.write");
    const size_t bytes =
        (size_t)(block_count(p, block) * s->n_chan * TESS_AR_TILE) * sizeof(double);
    const uint64_t row_bytes = (uint64_t)(s->n_chan * TESS_AR_TILE) * sizeof(double);
    const char *piece = (const char *)p->pieces[slot];
    for (int64_t k = 0; k < s->n_tile; k++) {
        const uint64_t offset = (uint64_t)k * s->tile_items * sizeof(double) +
                                (uint64_t)(block * p->block_epochs) * row_bytes;
        TESS_TRY(tess_file_write_at(s->scratch_fd, s->scratch_path, piece + (size_t)k * bytes,
                                    bytes, offset));
    }
    tess_span_end(&span, (double)bytes * (double)s->n_tile, 0);
    return TESS_OK;
}

static tess_status poll(void *self, int64_t block)
{
    pass *p = self;
    return tess_watch_poll(&p->progress, block * p->block_epochs, p->store->n_epoch);
}

static tess_status touch_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    for (char *at = (char *)arg + block * PAGES_BYTES, *end = at + PAGES_BYTES; at < end;
         at += PAGE_BYTES) {
        *(volatile char *)at = 0;
    }
    return TESS_OK;
}

// The first epochs touch all tiles: what the system does for pages that are new would all happen
// during the first block, too long without a look at cancel.
static tess_status touch(pass *p, double *tiles)
{
    const int64_t n_block =
        p->store->n_tile * (int64_t)(p->store->tile_items * sizeof *tiles) / PAGES_BYTES;
    for (int64_t i = 0; tiles && i < n_block; i += TOUCHED) {
        TESS_TRY(poll(p, 0));
        TESS_TRY(tess_parallel_for(p->ctx->pool, least(n_block - i, TOUCHED), touch_block,
                                   (char *)tiles + i * PAGES_BYTES));
    }
    return TESS_OK;
}

static tess_status run_direct(pass *p)
{
    for (int64_t block = 0; block * p->block_epochs < p->store->n_epoch; block++) {
        TESS_TRY(poll(p, block));
        TESS_TRY(compute_block(p, block, 0));
    }
    return TESS_OK;
}

static tess_status run(pass *p)
{
    const int64_t n_epoch = p->store->n_epoch;
    tess_pipeline pipeline = {.self = p,
                              .n_tile = (n_epoch + p->block_epochs - 1) / p->block_epochs,
                              .n_slot = p->n_slot,
                              .read = read_block,
                              .compute = compute_block,
                              .write = write_block,
                              .poll = poll};
    TESS_TRY(touch(p, p->store->tiles));
    TESS_TRY(touch(p, p->store->predicted));
    TESS_TRY(p->is_direct ? run_direct(p) : tess_pipeline_run(&pipeline));
    TESS_TRY(tess_ar_store_check_finite(p->store, p->request));
    return tess_watch_poll(&p->progress, n_epoch, n_epoch);
}

// The parts of the memory of a pass.
static void share_out(pass *p, double *memory, bool is_file)
{
    for (int32_t i = 0; i < p->n_slot && !p->is_direct; i++) {
        p->samples[i] = memory;
        memory += p->block_epochs * p->epoch_items;
        if (is_file) {
            p->pieces[i] = memory;
            memory += p->block_epochs * p->store->n_chan * p->store->n_tile * TESS_AR_TILE;
        }
    }
    p->buffer = memory;
}

tess_status tess_ar_store_pass(tess_ar_store *store, const tess_ar_store_request *request,
                               uint64_t buffer_bytes)
{
    const bool is_file = store->tiles == NULL;
    pass p = {.ctx = store->ctx,
              .store = store,
              .request = request,
              .epoch_items = store->n_chan * store->n_time,
              .is_direct = reads_directly(request, is_file),
              .n_slot = slots(request, is_file)};
    choose_blocks(&p, buffer_bytes, is_file);
    const uint64_t bytes =
        tess_ar_pass_bytes(request, p.is_direct ? p.n_buffer : p.block_epochs, is_file);
    tess_heap *heap = &store->ctx->heap;
    double *memory = tess_heap_alloc(heap, bytes, TESS_TAG_TILE, "blocks of epochs");
    if (!memory) {
        return TESS_E_MEMORY;
    }
    share_out(&p, memory, is_file);
    tess_watch_begin(&p.progress, store->ctx, "autoreject.read", "epochs", 0,
                     (uint64_t)store->n_epoch * (uint64_t)p.epoch_items * sizeof(double),
                     is_file ? TESS_STRATEGY_CHUNKED : TESS_STRATEGY_LARGE);
    const tess_status status = run(&p);
    tess_heap_free(heap, memory, bytes, TESS_TAG_TILE);
    return status;
}
