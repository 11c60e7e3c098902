// The global threshold on a device with memory of its own: tables go up once, tiles are worked on
// many at a time, squared errors come down after the last.
#include "base/status.h"
#include "runtime/device_memory.h"
#include "runtime/stage.h"
#include "runtime/upload.h"
#include "stage/autoreject_global.h"
#include "systems/autoreject/global/global.h"

#include <string.h>

// Room for what tiles are worked with.
static const uint64_t BATCH_BYTES = (uint64_t)2 << 30;

typedef struct global_there {
    tess_ar_store *store;
    global_curves *curves;
    tess_blocks memory;
    tess_resident tables;
    tess_resident test;
    tess_resident train;
    tess_resident work;
    tess_stage_autoreject_global args;
    uint64_t *left;        // [n_fold][n_word]
    int32_t *members[3];   // of those that train (1) and test (2)
    int64_t *member_first; // [n_fold + 1] of those that test
    uint64_t median_items; // of a tile
    uint64_t error_items;
} global_there;

static int64_t n_word(const global_curves *c)
{
    return (c->n_epoch + 63) / 64;
}

// Epochs by part of each fold, and bits of those that do not train it.
static tess_status make_lists(global_there *g)
{
    const global_curves *c = g->curves;
    const int64_t n = c->n_fold * c->n_epoch;
    g->left = tess_blocks_alloc(&g->memory, c->n_fold * n_word(c), sizeof *g->left, "folds");
    g->member_first = tess_blocks_alloc(&g->memory, c->n_fold + 1, sizeof(int64_t), "folds");
    for (int part = 1; part <= 2; part++) {
        g->members[part] = tess_blocks_alloc(&g->memory, n, sizeof(int32_t), "folds");
    }
    if (!g->left || !g->member_first || !g->members[1] || !g->members[2]) {
        return TESS_E_MEMORY;
    }
    int64_t n_train = 0;
    for (int64_t f = 0; f < c->n_fold; f++) {
        g->member_first[f + 1] = g->member_first[f];
        for (int64_t i = 0; i < c->n_epoch; i++) {
            const uint8_t part = c->folds[f * c->n_epoch + i];
            g->left[f * n_word(c) + i / 64] |= (uint64_t)(part != 1) << (i % 64);
            if (part == 1) {
                g->members[1][n_train++] = c->order[i];
            } else if (part == 2) {
                g->members[2][g->member_first[f + 1]++] = c->order[i];
            }
        }
        const int64_t n_test = g->member_first[f + 1] - g->member_first[f];
        const int64_t n_own = c->first[f + 1] - c->first[f];
        g->args.most_test = n_test > g->args.most_test ? n_test : g->args.most_test;
        g->args.most_train = n_own > g->args.most_train ? n_own : g->args.most_train;
    }
    return TESS_OK;
}

static tess_status send_tables(global_there *g)
{
    const global_curves *c = g->curves;
    tess_stage_autoreject_global *a = &g->args;
    const int64_t n_error = c->first[c->n_fold];
    tess_upload up = {.into = &g->tables};
    for (int turn = 0; turn < 2; turn++) { // counts, then sends
        a->order = tess_upload_add(&up, c->order, c->n_epoch, sizeof *c->order);
        a->first = tess_upload_add(&up, c->first, c->n_fold + 1, sizeof *c->first);
        a->inverse = tess_upload_add(&up, c->inverse, c->n_epoch, sizeof *c->inverse);
        a->left = tess_upload_add(&up, g->left, c->n_fold * n_word(c), sizeof *g->left);
        a->test_members =
            tess_upload_add(&up, g->members[2], g->member_first[c->n_fold], sizeof *g->members[2]);
        a->test_first =
            tess_upload_add(&up, g->member_first, c->n_fold + 1, sizeof *g->member_first);
        a->train_members = tess_upload_add(&up, g->members[1], n_error, sizeof *g->members[1]);
        TESS_TRY(turn == 0 ? tess_upload_begin(&up, g->store->device) : tess_upload_end(&up));
    }
    return TESS_OK;
}

// How many tiles fit beside what is there.
static tess_status choose_batch(global_there *g, int64_t *batch)
{
    const global_curves *c = g->curves;
    const tess_ar_store *store = g->store;
    g->median_items = (uint64_t)(store->n_chan * c->n_fold * TESS_AR_TILE);
    g->error_items = (uint64_t)(store->n_chan * c->n_fold * g->args.most_train);
    return tess_ar_store_batch(g->store, "the global threshold of a tile", 0,
                               (g->median_items + g->error_items) * sizeof(double), BATCH_BYTES,
                               batch);
}

static tess_status open_there(global_there *g, int64_t *batch)
{
    const global_curves *c = g->curves;
    tess_device *device = g->store->device;
    const size_t bytes = (size_t)(c->n_group * c->first[c->n_fold]) * sizeof(double);
    TESS_TRY(make_lists(g));
    TESS_TRY(send_tables(g));
    TESS_TRY(tess_resident_from(device, c->test, bytes, &g->test));
    if (c->train) {
        TESS_TRY(tess_resident_from(device, c->train, bytes, &g->train));
    }
    TESS_TRY(choose_batch(g, batch));
    TESS_TRY(tess_resident_create(
        device, (size_t)*batch * (size_t)(g->median_items + g->error_items) * sizeof(double),
        &g->work));
    tess_stage_autoreject_global *a = &g->args;
    a->test = g->test.data;
    a->train = g->train.data;
    a->medians = g->work.data;
    a->errors = (double *)g->work.data + (uint64_t)*batch * g->median_items;
    a->n_epoch = c->n_epoch;
    a->n_chan = g->store->n_chan;
    a->n_fold = c->n_fold;
    a->n_group = c->n_group;
    a->n_error = c->first[c->n_fold];
    a->tile_stride = (int64_t)g->store->tile_items;
    return TESS_OK;
}

static tess_status run(global_there *g, tess_watch *progress)
{
    const global_curves *c = g->curves;
    tess_ar_store *store = g->store;
    const size_t bytes = (size_t)(c->n_group * c->first[c->n_fold]) * sizeof(double);
    int64_t batch = 0;
    TESS_TRY(open_there(g, &batch));
    for (int64_t k = 0; k < store->n_tile; k += batch) {
        TESS_TRY(tess_watch_poll(progress, k, store->n_tile));
        g->args.n_tile = store->n_tile - k < batch ? store->n_tile - k : batch;
        TESS_TRY(tess_ar_store_tiles(store, k, g->args.n_tile, &g->args.x));
        tess_span span = tess_span_begin(&c->ctx->tracer, "autoreject.global");
        TESS_TRY(
            tess_stage_run(store->device, TESS_STAGE_AUTOREJECT_GLOBAL, &g->args, sizeof g->args));
        tess_span_end(&span, (double)g->args.n_tile * (double)store->tile_items * sizeof(double),
                      0);
    }
    TESS_TRY(tess_resident_fetch(&g->test, c->test, bytes));
    return c->train ? tess_resident_fetch(&g->train, c->train, bytes) : TESS_OK;
}

tess_status tess_ar_global_tiles_there(tess_ar_store *store, global_curves *curves,
                                       tess_watch *progress)
{
    global_there g = {.store = store, .curves = curves};
    tess_blocks_init(&g.memory, &curves->ctx->heap);
    const tess_status status = run(&g, progress);
    tess_resident_free(&g.tables);
    tess_resident_free(&g.test);
    tess_resident_free(&g.train);
    tess_resident_free(&g.work);
    tess_blocks_free(&g.memory);
    return status;
}
