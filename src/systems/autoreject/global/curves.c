// The global objective at every threshold: one order of the epochs, prefix sums over it.
#include "base/checked.h"
#include "base/status.h"
#include "runtime/stage.h"
#include "runtime/watch.h"
#include "stage/autoreject_global.h"
#include "systems/autoreject/global/global.h"

#include <math.h>
#include <stdlib.h>

// Groups of channels: what threads can share out, and what errors are held for.
enum { MAX_GROUP = 32 };

typedef struct ranked {
    double peak;
    int32_t epoch;
} ranked;

// Ties keep the order of the epochs.
static int by_peak(const void *a, const void *b)
{
    const ranked *x = a;
    const ranked *y = b;
    if (x->peak != y->peak) {
        return x->peak < y->peak ? -1 : 1;
    }
    return x->epoch < y->epoch ? -1 : x->epoch > y->epoch;
}

static tess_status rank_epochs(const tess_ar_store *store, global_curves *curves)
{
    const size_t bytes = (size_t)store->n_epoch * sizeof(ranked);
    ranked *all = tess_heap_alloc(&store->ctx->heap, bytes, TESS_TAG_GENERAL, "ranks of epochs");
    if (!all) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < store->n_epoch; e++) {
        all[e] = (ranked){.peak = 0, .epoch = (int32_t)e};
        for (int64_t c = 0; c < store->n_chan; c++) {
            all[e].peak = fmax(all[e].peak, store->delta[e * store->n_chan + c]);
        }
    }
    qsort(all, (size_t)store->n_epoch, sizeof *all, by_peak);
    for (int64_t i = 0; i < store->n_epoch; i++) {
        curves->peaks[i] = all[i].peak;
        curves->order[i] = all[i].epoch;
        curves->inverse[i] = 1 / (double)(i + 1);
    }
    tess_heap_free(&store->ctx->heap, all, bytes, TESS_TAG_GENERAL);
    return TESS_OK;
}

static size_t aligned(size_t bytes)
{
    return (bytes + TESS_ALIGN - 1) / TESS_ALIGN * TESS_ALIGN;
}

// One block of memory for everything.
static tess_status allocate(const global_request *request, global_curves *c)
{
    const size_t n_epoch = (size_t)c->n_epoch, n_fold = (size_t)c->n_fold;
    int64_t n_error = 0;
    for (int64_t i = 0; i < c->n_fold * c->n_epoch; i++) {
        n_error += request->folds[i] == 1;
    }
    uint64_t errors = 0;
    uint64_t folds = 0;
    if (!tess_mul_u64((uint64_t)n_error * sizeof(double), (uint64_t)c->n_group, &errors) ||
        !tess_mul_u64(n_fold, n_epoch, &folds) || errors > c->ctx->memory_limit_bytes / 4) {
        TESS_FAIL(TESS_E_LIMIT,
                  "n_fold: the errors of %lld folds of %lld epochs do not fit in a quarter of the "
                  "memory limit (%llu bytes); raise it, or take fewer folds",
                  (long long)c->n_fold, (long long)c->n_epoch,
                  (unsigned long long)c->ctx->memory_limit_bytes);
    }
    const size_t parts[] = {n_epoch * sizeof *c->peaks,
                            n_epoch * sizeof *c->inverse,
                            (n_fold + 1) * sizeof *c->first,
                            n_epoch * sizeof *c->order,
                            folds,
                            errors,
                            request->want_train ? errors : 0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        c->memory_bytes += aligned(parts[i]);
    }
    char *at = tess_heap_alloc_zero(&c->ctx->heap, c->memory_bytes, TESS_TAG_GENERAL,
                                    "errors of the global threshold");
    if (!at) {
        return TESS_E_MEMORY;
    }
    c->memory = at;
    c->peaks = (double *)at;
    c->inverse = (double *)(at += aligned(parts[0]));
    c->first = (int64_t *)(at += aligned(parts[1]));
    c->order = (int32_t *)(at += aligned(parts[2]));
    c->folds = (uint8_t *)(at += aligned(parts[3]));
    c->test = (double *)(at += aligned(parts[4]));
    c->train = request->want_train ? (double *)(at + aligned(parts[5])) : NULL;
    return TESS_OK;
}

static void arrange_folds(const uint8_t *folds, global_curves *c)
{
    for (int64_t f = 0; f < c->n_fold; f++) {
        c->first[f + 1] = c->first[f];
        for (int64_t i = 0; i < c->n_epoch; i++) {
            const uint8_t part = folds[f * c->n_epoch + c->order[i]];
            c->folds[f * c->n_epoch + i] = part;
            c->first[f + 1] += part == 1;
        }
    }
}

static void add_groups(double *errors, int64_t n_group, int64_t n)
{
    for (int64_t g = 1; g < n_group; g++) {
        for (int64_t i = 0; i < n; i++) {
            errors[i] += errors[g * n + i];
        }
    }
}

static tess_status add_tiles_here(tess_ar_store *store, global_curves *c, tess_watch *progress)
{
    tess_stage_autoreject_global args = {.order = c->order,
                                         .folds = c->folds,
                                         .first = c->first,
                                         .inverse = c->inverse,
                                         .test = c->test,
                                         .train = c->train,
                                         .n_epoch = c->n_epoch,
                                         .n_chan = store->n_chan,
                                         .n_fold = c->n_fold,
                                         .n_group = c->n_group};
    // A step of the prefix sums is an addition, a multiplication and subtraction, a square.
    const double flops = 5.0 * (double)c->first[c->n_fold] * (double)store->n_chan * TESS_AR_TILE *
                         (c->train ? 2 : 1);
    for (int64_t k = 0; k < store->n_tile; k++) {
        TESS_TRY(tess_watch_poll(progress, k, store->n_tile));
        TESS_TRY(tess_ar_store_tile(store, k, &args.x));
        tess_span span = tess_span_begin(&c->ctx->tracer, "autoreject.global");
        TESS_TRY(tess_stage_run(store->device, TESS_STAGE_AUTOREJECT_GLOBAL, &args, sizeof args));
        tess_span_end(&span, (double)store->tile_items * sizeof(double), flops);
    }
    return TESS_OK;
}

static tess_status add_tiles(tess_ar_store *store, global_curves *c)
{
    tess_watch progress;
    const uint64_t bytes = (uint64_t)store->n_tile * store->tile_items * sizeof(double);
    tess_watch_begin(&progress, c->ctx, "autoreject.global", "tiles", 0, bytes,
                     tess_ar_store_strategy(store));
    TESS_TRY(store->device->shares_host_memory ? add_tiles_here(store, c, &progress)
                                               : tess_ar_global_tiles_there(store, c, &progress));
    add_groups(c->test, c->n_group, c->first[c->n_fold]);
    if (c->train) {
        add_groups(c->train, c->n_group, c->first[c->n_fold]);
    }
    return tess_watch_poll(&progress, store->n_tile, store->n_tile);
}

// With the samples rearranged in memory or in a file, whatever the limit leaves room for.
static tess_status from_epochs(const global_request *request, tess_autoreject_epochs *epochs,
                               global_curves *c)
{
    const uint64_t limit = c->ctx->memory_limit_bytes;
    const uint64_t scratch = (uint64_t)tess_pool_threads(c->ctx->pool) * (uint64_t)c->n_epoch *
                             (2 * TESS_AR_TILE * sizeof(double) + sizeof(int32_t));
    const uint64_t own = c->memory_bytes + scratch;
    const tess_ar_store_request store_request = {.device = request->device,
                                                 .epochs = epochs,
                                                 .channels = request->channels,
                                                 .n_chan = request->n_chan,
                                                 .memory_bytes = limit > own ? limit - own : 0};
    tess_ar_store store;
    TESS_TRY(tess_ar_store_create(c->ctx, &store_request, &store));
    tess_status status = rank_epochs(&store, c);
    if (status == TESS_OK) {
        arrange_folds(request->folds, c);
        status = add_tiles(&store, c);
    }
    tess_ar_store_close(&store);
    return status;
}

tess_status tess_ar_global_curves(tess_context *ctx, const global_request *request,
                                  global_curves *out)
{
    const tess_autoreject_epochs_info *info = &request->epochs->info;
    *out = (global_curves){.ctx = ctx,
                           .n_epoch = info->n_epoch,
                           .n_fold = request->n_fold,
                           .n_group = request->n_chan < MAX_GROUP ? request->n_chan : MAX_GROUP};
    TESS_TRY(allocate(request, out));
    tess_autoreject_epochs *decimated = NULL;
    tess_status status = TESS_OK;
    if (request->decim > 1) {
        status = tess_ar_decimate(ctx, request->epochs, request->decim, &decimated);
    }
    if (status == TESS_OK) {
        tess_autoreject_epochs *epochs = decimated ? decimated : request->epochs;
        out->n_value = request->n_chan * epochs->info.n_time;
        status = from_epochs(request, epochs, out);
    }
    tess_autoreject_epochs_close(decimated);
    if (status != TESS_OK) {
        tess_ar_global_release(out);
    }
    return status;
}

void tess_ar_global_release(global_curves *curves)
{
    tess_heap_free(&curves->ctx->heap, curves->memory, curves->memory_bytes, TESS_TAG_GENERAL);
    curves->memory = NULL;
}

double tess_ar_global_loss(const global_curves *curves, const double *errors, int64_t fold,
                           int64_t n_kept)
{
    return n_kept == 0 ? (double)INFINITY
                       : sqrt(errors[curves->first[fold] + n_kept - 1] / (double)curves->n_value);
}
