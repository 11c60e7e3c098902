#include "runtime/plan.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/device_memory.h"
#include "runtime/pipeline.h"
#include "runtime/provenance.h"
#include "runtime/run_identity.h"
#include "runtime/run_pieces.h"
#include "runtime/run_tiles.h"
#include "runtime/sink.h"
#include "runtime/source.h"
#include "runtime/watch.h"
#include "runtime/work.h"

#include <stdio.h>
#include <string.h>

// Buffers of one tile in flight. Which exist depends on the device and the source: input in memory,
// or read piece by piece, needs none on the CPU.
typedef struct slot {
    void *host_in;   // read into here; NULL when tiles are views or read in pieces
    void *host_out;  // the tile's result in host memory
    void *device_in; // NULL when the device works on host memory
    void *device_out;
    tess_array in; // the tile as the stage sees it
    tess_backend_queue *queue;
} slot;

// Memory of one space, cut up for the slots.
typedef struct block {
    void *base; // NULL: none
    size_t bytes;
    tess_space space;
    tess_arena arena;
} block;

struct tess_run {
    tess_context *ctx;
    const tess_plan *plan;
    tess_device *device;
    tess_source *source;
    tess_sink *sink;
    tess_run_config config;
    char *checkpoint_dir; // copies of the config's texts
    char *command_line;

    slot slots[4];
    tess_run_pieces pieces;
    block host_block;
    block device_block;
    tess_identity id;
    tess_work work;
    tess_run_tiles tiles;
    tess_watch watch;
    tess_provenance provenance;
    char *provenance_text;
    size_t provenance_bytes;

    int64_t first_item; // where this execution begins
    int64_t items_done; // written, in order
    int64_t begin_ns;
    tess_run_report report;
};

void tess_run_config_init(tess_run_config *config, size_t struct_size)
{
    const tess_run_config defaults = {.checkpoint_every_s = 60, .keep_checkpoints = 2};
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

static bool reads_into_buffers(const tess_run *run)
{
    if (!run->source || run->plan->has_pieces) {
        return false;
    }
    return !tess_source_in_memory(run->source) || !run->device->shares_host_memory;
}

// Bytes one slot needs of the run's two blocks.
typedef struct slot_bytes {
    size_t host_in;
    size_t host_out;
    size_t device_in;
    size_t device_out;
} slot_bytes;

static slot_bytes bytes_of_slot(const tess_run *run)
{
    const size_t items = (size_t)run->plan->info.items_per_tile;
    const size_t in = items * (size_t)run->plan->in_item_bytes;
    const size_t out = items * (size_t)run->plan->out_item_bytes;
    const bool on_device = !run->device->shares_host_memory;
    return (slot_bytes){.host_in = reads_into_buffers(run) ? in : 0,
                        .host_out = out,
                        .device_in = on_device ? in : 0,
                        .device_out = on_device ? out : 0};
}

static size_t cost_of(size_t bytes)
{
    return bytes > 0 ? tess_arena_cost(bytes) : 0;
}

static tess_status open_block(tess_run *run, tess_space space, size_t bytes, block *out)
{
    const tess_device *device = run->device;
    if (bytes == 0) {
        return TESS_OK;
    }
    TESS_TRY(tess_device_alloc(device, space, bytes, &out->base));
    out->space = space;
    out->bytes = bytes;
    tess_arena_open(&out->arena, out->base, bytes, space == TESS_SPACE_HOST);
    return TESS_OK;
}

static void close_block(tess_run *run, block *b)
{
    if (b->base) {
        const tess_device *device = run->device;
        tess_arena_close(&b->arena);
        tess_device_free(device, b->space, b->base, b->bytes);
    }
}

// One block per memory space, cut into the buffers of all slots for the whole run.
static tess_status make_slots(tess_run *run)
{
    const tess_device *device = run->device;
    const slot_bytes bytes = bytes_of_slot(run);
    const size_t n_slot = (size_t)run->plan->info.n_slot;
    // Devices other than the CPU want host memory that they can reach by themselves.
    const tess_space space = device->shares_host_memory ? TESS_SPACE_HOST : TESS_SPACE_PINNED;
    TESS_TRY(open_block(run, space, n_slot * (cost_of(bytes.host_in) + cost_of(bytes.host_out)),
                        &run->host_block));
    TESS_TRY(open_block(run, TESS_SPACE_DEVICE,
                        n_slot * (cost_of(bytes.device_in) + cost_of(bytes.device_out)),
                        &run->device_block));
    for (size_t i = 0; i < n_slot; i++) {
        slot *s = &run->slots[i];
        TESS_TRY(device->backend->queue_create(device->handle, &s->queue));
        s->host_in = tess_arena_take(&run->host_block.arena, bytes.host_in);
        s->host_out = tess_arena_take(&run->host_block.arena, bytes.host_out);
        s->device_in = tess_arena_take(&run->device_block.arena, bytes.device_in);
        s->device_out = tess_arena_take(&run->device_block.arena, bytes.device_out);
    }
    return TESS_OK;
}

static void free_slots(tess_run *run)
{
    for (size_t i = 0; i < sizeof run->slots / sizeof *run->slots; i++) {
        if (run->slots[i].queue) {
            run->device->backend->queue_destroy(run->slots[i].queue);
        }
    }
    close_block(run, &run->host_block);
    close_block(run, &run->device_block);
}

static bool same_shape(const tess_array *a, const tess_array *b)
{
    return a->rank == b->rank && a->dtype == b->dtype &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

// Source and sink must be the arrays the plan was made for.
static tess_status check_ends(const tess_run *run)
{
    tess_array found;
    if (run->source) {
        tess_source_array(run->source, &found);
        if (!same_shape(&found, &run->plan->in)) {
            TESS_FAIL(TESS_E_SHAPE, "source: its shape or type is not that of the plan's input");
        }
    }
    tess_sink_array(run->sink, &found);
    if (!same_shape(&found, &run->plan->out)) {
        TESS_FAIL(TESS_E_SHAPE, "sink: its shape or type is not that of the plan's output");
    }
    if (run->source && tess_sink_path(run->sink)) {
        return tess_file_check_distinct(tess_source_get_info(run->source)->path,
                                        tess_sink_path(run->sink));
    }
    return TESS_OK;
}

static tess_status copy_config(tess_run *run, const tess_run_config *config)
{
    tess_run_config_init(&run->config, sizeof run->config);
    if (config) {
        TESS_TRY(tess_struct_read(config, &run->config, sizeof run->config, "config"));
    }
    if (!(run->config.checkpoint_every_s >= 0)) {
        TESS_FAIL(TESS_E_RANGE, "checkpoint_every_s: must be 0 or more seconds");
    }
    if (run->config.keep_checkpoints < 1) {
        TESS_FAIL(TESS_E_RANGE, "keep_checkpoints: must be 1 or more");
    }
    const char *command_line = run->config.command_line ? run->config.command_line : "";
    run->command_line = tess_heap_strdup(&run->ctx->heap, command_line, TESS_TAG_PLAN);
    if (!run->command_line) {
        return TESS_E_MEMORY;
    }
    if (run->config.checkpoint_dir) {
        run->checkpoint_dir =
            tess_heap_strdup(&run->ctx->heap, run->config.checkpoint_dir, TESS_TAG_PLAN);
        if (!run->checkpoint_dir) {
            return TESS_E_MEMORY;
        }
    }
    return TESS_OK;
}

static tess_status refresh_provenance(tess_run *run)
{
    tess_heap *heap = &run->ctx->heap;
    char *text = NULL;
    size_t bytes = 0;
    run->provenance.items_done = run->items_done;
    TESS_TRY(tess_provenance_make(run->ctx, &run->provenance, &text, &bytes));
    tess_heap_free(heap, run->provenance_text, run->provenance_bytes, TESS_TAG_RESULT);
    run->provenance_text = text;
    run->provenance_bytes = bytes;
    return TESS_OK;
}

static const char SPOOL[] = "spool.npy";

static tess_status check_tiles(void *self, const tess_checkpoint *found, const char *path)
{
    tess_run *run = self;
    return tess_run_tiles_load(&run->tiles, found, run->plan->info.n_item, path);
}

// Takes the checkpoint folder; where an earlier run got to is where this one begins.
static tess_status open_work(tess_run *run)
{
    static const char *const files[] = {SPOOL, NULL};
    const tess_work_config config = {.name = run->plan->ops->name,
                                     .what = "run",
                                     .folder = run->checkpoint_dir,
                                     .resume = run->config.resume,
                                     .every_s = run->config.checkpoint_every_s,
                                     .keep = run->config.keep_checkpoints,
                                     .files = files,
                                     .check = check_tiles,
                                     .self = run};
    TESS_TRY(tess_work_open(run->ctx, &config, &run->id, &run->work));
    if (!tess_work_is_kept(&run->work)) {
        return TESS_OK;
    }
    char spool[1024];
    const bool is_found = run->work.is_found;
    run->first_item = tess_run_tiles_end(&run->tiles);
    run->provenance.resumed = run->first_item > 0;
    tess_work_path(&run->work, SPOOL, spool);
    tess_work_forget(&run->work);
    TESS_TRY(tess_sink_attach_spool(run->sink, spool, is_found, run->first_item));
    return is_found ? tess_run_tiles_verify(&run->tiles, tess_sink_spool(run->sink)) : TESS_OK;
}

static tess_status fill_run(tess_run *run, const tess_run_config *config)
{
    TESS_TRY(copy_config(run, config));
    TESS_TRY(check_ends(run));
    run->provenance = (tess_provenance){
        .plan = run->plan, .source = run->source, .command_line = run->command_line};
    tess_utc_text(run->provenance.started, sizeof run->provenance.started);
    // The caller's memory needs no fingerprint unless a later run may have to recognise it.
    if (run->source && (run->checkpoint_dir || !tess_source_in_memory(run->source))) {
        TESS_TRY(tess_source_fingerprint(run->source, &run->provenance.fingerprint));
    }
    tess_run_identity_make(run->ctx, run->plan, run->provenance.fingerprint, &run->id);
    tess_identity_digest(&run->id, run->provenance.identity);
    TESS_TRY(open_work(run));
    run->items_done = run->first_item;
    TESS_TRY(make_slots(run));
    TESS_TRY(tess_run_pieces_open(run->ctx, run->plan, run->source, &run->pieces));
    return refresh_provenance(run);
}

tess_status tess_run_create(tess_context *ctx, const tess_plan *plan, tess_source *source,
                            tess_sink *sink, const tess_run_config *config, tess_run **out)
{
    tess_error_clear();
    *out = NULL;
    if ((source == NULL) != (plan->in.rank == 0)) {
        TESS_FAIL(TESS_E_ARGUMENT, "source: %s",
                  source ? "this plan takes none" : "this plan needs one");
    }
    tess_run *run = tess_heap_alloc_zero(&ctx->heap, sizeof *run, TESS_TAG_PLAN, "run");
    if (!run) {
        return TESS_E_MEMORY;
    }
    run->ctx = ctx;
    run->plan = plan;
    run->device = tess_plan_device(plan, ctx);
    run->source = source;
    run->sink = sink;
    run->work.lock_fd = -1;
    tess_run_tiles_init(&run->tiles, &ctx->heap);
    tess_text_init(&run->id.text, &ctx->heap);
    const tess_status status = fill_run(run, config);
    if (status != TESS_OK) {
        tess_run_destroy(run);
        return status;
    }
    *out = run;
    return TESS_OK;
}

void tess_run_destroy(tess_run *run)
{
    if (!run) {
        return;
    }
    tess_heap *heap = &run->ctx->heap;
    free_slots(run);
    tess_run_pieces_close(&run->pieces);
    tess_work_close(&run->work);
    tess_run_tiles_free(&run->tiles);
    tess_identity_free(&run->id);
    if (run->checkpoint_dir) {
        tess_heap_free(heap, run->checkpoint_dir, strlen(run->checkpoint_dir) + 1, TESS_TAG_PLAN);
    }
    if (run->command_line) {
        tess_heap_free(heap, run->command_line, strlen(run->command_line) + 1, TESS_TAG_PLAN);
    }
    tess_heap_free(heap, run->provenance_text, run->provenance_bytes, TESS_TAG_RESULT);
    tess_heap_free(heap, run, sizeof *run, TESS_TAG_PLAN);
}

// Items of a tile, counted from where this execution begins.
static void tile_range(const tess_run *run, int64_t tile, int64_t *first, int64_t *count)
{
    const tess_plan_info *info = &run->plan->info;
    *first = run->first_item + tile * info->items_per_tile;
    const int64_t left = info->n_item - *first;
    *count = left < info->items_per_tile ? left : info->items_per_tile;
}

static tess_status read_tile(void *self, int64_t tile, int32_t index)
{
    tess_run *run = self;
    slot *s = &run->slots[index];
    int64_t first;
    int64_t count;
    tile_range(run, tile, &first, &count);
    memset(&s->in, 0, sizeof s->in);
    if (!run->source || run->plan->has_pieces) {
        return TESS_OK;
    }
    size_t bytes = (size_t)count * (size_t)run->plan->in_item_bytes;
    tess_span span = tess_span_begin(&run->ctx->tracer, "read");
    tess_status status = TESS_OK;
    if (s->host_in) {
        // While a device computes, the threads have nothing else to do; on the CPU they do.
        status = run->device->shares_host_memory
                     ? tess_source_read(run->source, first, count, s->host_in, bytes)
                     : tess_source_read_with(run->source, run->ctx->pool, first, count, s->host_in);
        int64_t shape[TESS_MAX_RANK];
        memcpy(shape, run->plan->in.shape, sizeof shape);
        shape[0] = count;
        if (status == TESS_OK) {
            status = tess_array_init(&s->in, s->host_in, (tess_dtype)run->plan->in.dtype,
                                     run->plan->in.rank, shape);
        }
    } else {
        tess_source_view(run->source, first, count, &s->in);
        bytes = 0; // nothing was moved
    }
    tess_span_end(&span, (double)bytes, 0);
    return status;
}

static tess_status compute_tile(void *self, int64_t tile, int32_t index)
{
    tess_run *run = self;
    slot *s = &run->slots[index];
    const tess_device *device = run->device;
    int64_t first;
    int64_t count;
    tile_range(run, tile, &first, &count);
    const size_t in_bytes = (size_t)count * (size_t)run->plan->in_item_bytes;
    const size_t out_bytes = (size_t)count * (size_t)run->plan->out_item_bytes;
    tess_span span = tess_span_begin(&run->ctx->tracer, run->plan->ops->name);
    tess_device own = *device;
    own.queue = s->queue;
    tess_tile work = {
        .first = first, .count = count, .in = s->in, .out = s->host_out, .device = &own};
    if (!device->shares_host_memory) {
        work.in.data = s->device_in;
        work.in.space = TESS_SPACE_DEVICE;
        work.out = s->device_out;
        if (in_bytes > 0) {
            TESS_TRY(device->backend->copy(s->queue, s->device_in, TESS_SPACE_DEVICE, s->host_in,
                                           TESS_SPACE_PINNED, in_bytes));
        }
    }
    TESS_TRY(run->plan->has_pieces
                 ? tess_run_pieces_compute(&run->pieces, first, count, s->host_out)
                 : run->plan->ops->compute(run->plan, run->ctx, &work));
    if (!device->shares_host_memory && out_bytes > 0) {
        TESS_TRY(device->backend->copy(s->queue, s->host_out, TESS_SPACE_PINNED, s->device_out,
                                       TESS_SPACE_DEVICE, out_bytes));
    }
    tess_span_end(&span, (double)(in_bytes + out_bytes), 0);
    return TESS_OK;
}

static tess_status write_state(void *self, tess_checkpoint_writer *writer)
{
    tess_run *run = self;
    // The data first: a checkpoint must never speak of tiles the disk does not have.
    const tess_spool *spool = tess_sink_spool(run->sink);
    TESS_TRY(tess_file_sync(spool->fd, spool->path));
    return tess_run_tiles_save(&run->tiles, writer);
}

static void save_checkpoint(tess_run *run)
{
    const double n_item = (double)run->plan->info.n_item;
    tess_work_save(&run->work, (double)run->items_done / n_item, write_state, run);
}

static tess_status write_tile(void *self, int64_t tile, int32_t index)
{
    tess_run *run = self;
    slot *s = &run->slots[index];
    int64_t first;
    int64_t count;
    tile_range(run, tile, &first, &count);
    const size_t bytes = (size_t)count * (size_t)run->plan->out_item_bytes;
    TESS_TRY(run->device->backend->finish(s->queue));
    if (run->plan->ops->inspect) {
        TESS_TRY(run->plan->ops->inspect(run->plan, run->ctx, first, count, s->host_out));
    }
    tess_span span = tess_span_begin(&run->ctx->tracer, "write");
    TESS_TRY(tess_sink_write(run->sink, first, count, s->host_out, bytes));
    tess_span_end(&span, (double)bytes, 0);
    if (tess_work_is_kept(&run->work)) {
        TESS_TRY(
            tess_run_tiles_note(&run->tiles, first, count, s->host_out, run->plan->out_item_bytes));
    }
    run->items_done = first + count;
    if (tess_work_is_due(&run->work, false)) {
        save_checkpoint(run);
    }
    return TESS_OK;
}

static tess_status poll_tile(void *self, int64_t tile)
{
    tess_run *run = self;
    int64_t first;
    int64_t count;
    tile_range(run, tile, &first, &count);
    return tess_watch_poll(&run->watch, first, run->plan->info.n_item);
}

static tess_status finish_run(tess_run *run)
{
    TESS_TRY(tess_watch_poll(&run->watch, run->plan->info.n_item, run->plan->info.n_item));
    if (run->source) {
        TESS_TRY(tess_source_check(run->source));
    }
    TESS_TRY(refresh_provenance(run));
    TESS_TRY(tess_sink_set_provenance(run->sink, run->provenance_text));
    tess_span span = tess_span_begin(&run->ctx->tracer, "commit");
    TESS_TRY(tess_sink_commit(run->sink));
    tess_span_end(&span, 0, 0);
    tess_work_end(&run->work);
    return TESS_OK;
}

tess_status tess_run_execute(tess_run *run)
{
    tess_error_clear();
    const tess_plan_info *info = &run->plan->info;
    const int64_t left = info->n_item - run->items_done;
    run->first_item = run->items_done;
    for (int64_t i = 0; i < info->n_slot; i++) {
        // A failure nobody fetched belongs to the execution before.
        (void)!run->device->backend->finish(run->slots[i].queue);
    }
    tess_error_clear();
    run->begin_ns = tess_now_ns();
    run->work.last_save_ns = run->begin_ns;
    const int64_t n_saved = run->work.n_saved;
    const double saved_s = run->work.saved_s;
    tess_watch_begin(&run->watch, run->ctx, run->plan->ops->name, run->plan->ops->unit,
                     run->first_item, UINT64_MAX, (tess_strategy)info->strategy);
    run->watch.item_bytes = run->plan->in_item_bytes;
    memset(&run->report, 0, sizeof run->report);
    run->report.first_item = run->first_item;
    tess_pipeline pipeline = {.self = run,
                              .n_tile = (left + info->items_per_tile - 1) / info->items_per_tile,
                              .n_slot = (int32_t)info->n_slot,
                              .read = read_tile,
                              .compute = compute_tile,
                              .write = write_tile,
                              .poll = poll_tile};
    tess_status status = tess_pipeline_run(&pipeline);
    if (status == TESS_OK) {
        status = finish_run(run);
    }
    if (status != TESS_OK && tess_work_is_kept(&run->work) && run->tiles.n > 0) {
        save_checkpoint(run); // what is done, whatever stopped the rest
    }
    run->report.n_checkpoint = run->work.n_saved - n_saved;
    run->report.checkpoint_s = run->work.saved_s - saved_s;
    run->report.elapsed_s = (double)(tess_now_ns() - run->begin_ns) * 1e-9;
    run->report.read_wait_s = (double)pipeline.read_wait_ns * 1e-9;
    return status;
}

tess_status tess_run_get_report(const tess_run *run, tess_run_report *report, size_t struct_size)
{
    tess_error_clear();
    tess_run_report all = run->report;
    uint64_t now = 0;
    if (struct_size < sizeof all.struct_size || struct_size > sizeof all) {
        TESS_FAIL(TESS_E_VERSION, "report: size %zu is unknown to this library", struct_size);
    }
    all.struct_size = (uint32_t)struct_size;
    all.resumed = run->provenance.resumed;
    all.items_done = run->items_done;
    tess_context_memory(run->ctx, &now, &all.peak_heap_bytes);
    snprintf(all.checkpoint_path, sizeof all.checkpoint_path, "%s", run->work.newest);
    memcpy(report, &all, struct_size);
    return TESS_OK;
}

const char *tess_run_provenance(const tess_run *run)
{
    return run->provenance_text;
}
