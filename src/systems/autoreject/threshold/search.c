// The threshold search: orders, splits, then passes over the tiles.
#include "systems/autoreject/threshold/search.h"

#include "base/status.h"
#include "numerics/order.h"
#include "runtime/comm.h"
#include "runtime/stage.h"
#include "runtime/watch.h"
#include "stage/autoreject_interpolation.h"
#include "stage/autoreject_threshold.h"

#include <string.h>

// Rows times splits of one call: some tens of milliseconds, after which cancel is asked for.
static const int64_t CALL_ITEMS = (int64_t)16 << 20;

static tess_status order_block(void *arg, int64_t c, int32_t worker)
{
    (void)worker;
    ar_search *search = arg;
    const tess_ar_store *store = search->store;
    const double *augmented =
        search->request->augment_with_copy ? store->delta : store->delta_augmented;
    const int64_t n = search->n_row;
    const size_t bytes = (size_t)n * (sizeof(double) + 2 * sizeof(int64_t));
    double *delta =
        tess_heap_alloc(&search->ctx->heap, bytes, TESS_TAG_SCRATCH, "order of the epochs");
    if (!delta) {
        return TESS_E_MEMORY;
    }
    int64_t *order = (int64_t *)(delta + n);
    for (int64_t r = 0; r < n; r++) {
        const bool is_own = r < store->n_epoch;
        const int64_t e = is_own ? r : r - store->n_epoch;
        delta[r] = (is_own ? store->delta : augmented)[e * store->n_chan + c];
    }
    tess_order_stable(delta, n, order, order + n);
    for (int64_t i = 0; i < n; i++) {
        search->order[c * n + i] = (int32_t)order[i];
        search->sorted[c * n + i] = delta[order[i]];
    }
    tess_heap_free(&search->ctx->heap, delta, bytes, TESS_TAG_SCRATCH);
    return TESS_OK;
}

static void draw_splits(ar_search *search, tess_ar_splitter *splitter, int64_t n_split)
{
    int64_t *validation = search->rows + search->n_train;
    memset(search->marks, 0, (size_t)(n_split * search->n_row));
    for (int64_t s = 0; s < n_split; s++) {
        tess_ar_splitter_next(splitter, search->rows, validation);
        for (int64_t i = 0; i < splitter->n_validation; i++) {
            search->marks[s * search->n_row + validation[i]] = 1;
        }
    }
}

// A pass over the tiles.
typedef struct ar_pass {
    ar_search *search;
    int64_t first_chan;
    int64_t n_chan;
    int64_t first_split;
    int64_t n_split;
} ar_pass;

// The marks of a channel's splits in its own order.
static tess_status bits_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const ar_pass *pass = arg;
    const ar_search *search = pass->search;
    const int64_t n = search->n_row;
    const int32_t *order = search->order + (pass->first_chan + block) * n;
    for (int64_t s = 0; s < pass->n_split; s++) {
        const uint8_t *marks = search->marks + s * n;
        uint64_t *words = search->validation + (block * search->split_group + s) * search->n_word;
        for (int64_t first = 0; first < n; first += 64) {
            uint64_t word = 0;
            for (int64_t i = first; i < n && i < first + 64; i++) {
                word |= (uint64_t)marks[order[i]] << (i - first);
            }
            words[first / 64] = word;
        }
    }
    return TESS_OK;
}

static tess_status augment_tiles(const ar_pass *pass, const double *tiles, int64_t n_tile)
{
    const ar_search *search = pass->search;
    const tess_ar_store *store = search->store;
    const int64_t n_epoch =
        n_tile * store->n_epoch; // those of a tile follow those of the one before
    const tess_stage_autoreject_augment args = {.w = search->request->leave_one_out +
                                                     pass->first_chan * store->n_chan,
                                                .x = tiles,
                                                .out = search->augmented,
                                                .n_epoch = n_epoch,
                                                .n_row = pass->n_chan,
                                                .n_chan = store->n_chan,
                                                .width = TESS_AR_TILE,
                                                .stride_epoch = store->n_chan * TESS_AR_TILE,
                                                .stride_chan = TESS_AR_TILE,
                                                .out_stride_epoch = TESS_AR_TILE,
                                                .out_stride_row = n_epoch * TESS_AR_TILE};
    tess_span span = tess_span_begin(&search->ctx->tracer, "autoreject.augment");
    const tess_status status =
        tess_stage_run(search->store->device, TESS_STAGE_AUTOREJECT_AUGMENT, &args, sizeof args);
    const double n_item = (double)n_epoch * TESS_AR_TILE;
    tess_span_end(&span, 8 * n_item * (double)(store->n_chan + pass->n_chan),
                  2 * n_item * (double)store->n_chan * (double)pass->n_chan);
    return status;
}

// The curves of a few channels of the pass.
static tess_status curve_tiles(const ar_pass *pass, const double *tiles, const double *predicted,
                               int64_t n_tile, int64_t first, int64_t n_chan)
{
    const ar_search *search = pass->search;
    const tess_ar_store *store = search->store;
    tess_stage_autoreject_curve args = {
        .x = tiles + (pass->first_chan + first) * TESS_AR_TILE,
        .order = search->order + (pass->first_chan + first) * search->n_row,
        .validation = search->validation + first * search->split_group * search->n_word,
        .inverse = search->inverse,
        .sse = search->sse + first * search->split_group * search->n_train,
        .n_tile = n_tile,
        .n_epoch = store->n_epoch,
        .n_row = search->n_row,
        .n_chan = n_chan,
        .n_split = pass->n_split,
        .n_train = search->n_train,
        .stride_tile = (int64_t)store->tile_items,
        .stride_epoch = store->n_chan * TESS_AR_TILE,
        .stride_chan = TESS_AR_TILE,
        .stride_curves = search->split_group};
    if (search->augmented) {
        args.augmented_stride_epoch = TESS_AR_TILE;
        args.augmented_stride_tile = store->n_epoch * TESS_AR_TILE;
        args.augmented_stride_chan = n_tile * args.augmented_stride_tile;
        args.augmented = search->augmented + first * args.augmented_stride_chan;
    } else if (predicted) {
        args.augmented = predicted + (pass->first_chan + first) * TESS_AR_TILE;
        args.augmented_stride_tile = args.stride_tile;
        args.augmented_stride_epoch = args.stride_epoch;
        args.augmented_stride_chan = args.stride_chan;
    }
    tess_span span = tess_span_begin(&search->ctx->tracer, "autoreject.curve");
    const tess_status status =
        tess_stage_run(search->store->device, TESS_STAGE_AUTOREJECT_CURVE, &args, sizeof args);
    const double n_curve = (double)n_chan * (double)pass->n_split * (double)search->n_train;
    const double n_item = (double)n_chan * (double)search->n_row * TESS_AR_TILE;
    tess_span_end(&span, 8 * (double)n_tile * (2 * n_curve + n_item),
                  5 * (double)n_tile * n_curve * TESS_AR_TILE);
    return status;
}

static tess_status pass_tiles(const ar_pass *pass, int64_t k, int64_t n_tile)
{
    ar_search *search = pass->search;
    const double *tiles = NULL;
    if (tess_ar_search_is_apart(search)) {
        return tess_ar_device_tiles(search, k, n_tile, pass->first_chan, pass->n_chan,
                                    pass->n_split);
    }
    TESS_TRY(tess_ar_store_tiles(search->store, k, n_tile, &tiles));
    if (search->augmented) {
        TESS_TRY(augment_tiles(pass, tiles, n_tile));
    }
    const tess_ar_store *store = search->store;
    const double *predicted = search->request->augment_with_copy ? tiles
                              : store->predicted
                                  ? store->predicted + (uint64_t)k * store->tile_items
                                  : NULL;
    const int64_t fit = CALL_ITEMS / (n_tile * search->n_row * pass->n_split);
    const int64_t n_thread = search->ctx->n_thread;
    const int64_t step = fit > n_thread ? fit / n_thread * n_thread : n_thread;
    for (int64_t first = 0; first < pass->n_chan; first += step) {
        TESS_TRY(tess_context_check_cancel(search->ctx));
        const int64_t left = pass->n_chan - first;
        TESS_TRY(curve_tiles(pass, tiles, predicted, n_tile, first, left < step ? left : step));
    }
    return TESS_OK;
}

// Tiles are counted over all passes: done is where to go on.
static tess_status run_tiles(ar_pass *pass, int64_t number, int64_t n_pass, int64_t done,
                             tess_watch *progress)
{
    ar_search *search = pass->search;
    const tess_ar_threshold_request *request = search->request;
    const int64_t n_tile = search->store->n_tile;
    const int64_t begin = number * n_tile;
    TESS_TRY(tess_parallel_for(search->ctx->pool, pass->n_chan, bits_block, pass));
    if (done <= begin) {
        memset(search->sse, 0,
               (size_t)(pass->n_chan * search->split_group * search->n_train) * sizeof(double));
    }
    const bool is_apart = tess_ar_search_is_apart(search);
    const bool is_kept = request->keep && tess_comm_size(search->ctx) == 1;
    if (is_apart) {
        TESS_TRY(tess_ar_device_begin(search, pass->n_chan, pass->n_split, done > begin));
    }
    for (int64_t k = done > begin ? done - begin : 0; k < n_tile;) {
        const int64_t n = n_tile - k < search->batch ? n_tile - k : search->batch;
        TESS_TRY(tess_watch_poll(progress, begin + k, n_pass * n_tile));
        TESS_TRY(pass_tiles(pass, k, n));
        k += n;
        if (is_apart && (k == n_tile || request->keep_often)) {
            TESS_TRY(tess_ar_device_fetch(search, pass->n_chan));
        }
        if (k == n_tile) {
            TESS_TRY(tess_ar_add_losses(search, pass->first_chan, pass->n_chan, pass->first_split,
                                        pass->n_split));
        }
        if (is_kept && (!is_apart || request->keep_often)) {
            TESS_TRY(request->keep(request->user, begin + k, search->state, search->state_bytes));
        }
    }
    return TESS_OK;
}

// Ranks divide the channels. What there is to keep they have in common at the end of the pass.
static tess_status run_pass(const ar_pass *pass, int64_t number, int64_t n_pass, int64_t done,
                            tess_watch *progress)
{
    ar_search *search = pass->search;
    const tess_ar_threshold_request *request = search->request;
    const tess_comm_range own = tess_comm_share_of(search->ctx, pass->n_chan);
    const int64_t n_tile = search->store->n_tile;
    ar_pass mine = *pass;
    mine.first_chan += own.begin;
    mine.n_chan = own.end - own.begin;
    if (done > number * n_tile && own.begin > 0 && mine.n_chan > 0) {
        tess_ar_ranks_resume(search, own.begin);
    }
    if (mine.n_chan > 0) {
        TESS_TRY(run_tiles(&mine, number, n_pass, done, progress));
    }
    if (tess_comm_size(search->ctx) == 1) {
        return TESS_OK;
    }
    TESS_TRY(tess_ar_ranks_losses(search, number, pass->first_chan, pass->n_chan));
    return request->keep ? request->keep(request->user, (number + 1) * n_tile, search->state,
                                         search->state_bytes)
                         : TESS_OK;
}

static tess_status run_passes(ar_search *search, tess_ar_splitter *splitter)
{
    const tess_ar_threshold_request *request = search->request;
    const tess_ar_store *store = search->store;
    const int64_t n_chan_group = (search->n_chan + search->chan_group - 1) / search->chan_group;
    const int64_t n_split_group =
        (request->n_split + search->split_group - 1) / search->split_group;
    const int64_t n_pass = n_chan_group * n_split_group;
    const int64_t done = request->resume_state ? request->resume_tiles : 0;
    tess_watch progress;
    tess_watch_begin(&progress, search->ctx, "autoreject.thresholds", "tiles", done,
                     (uint64_t)store->n_tile * store->tile_items * sizeof(double),
                     tess_ar_store_strategy(store));
    if (request->n_tile_all) {
        *request->n_tile_all = n_pass * store->n_tile;
    }
    for (int64_t number = 0; number < n_pass; number++) {
        ar_pass pass = {.search = search,
                        .first_chan = number % n_chan_group * search->chan_group,
                        .first_split = number / n_chan_group * search->split_group};
        const int64_t chan_left = search->n_chan - pass.first_chan;
        const int64_t split_left = request->n_split - pass.first_split;
        pass.n_chan = chan_left < search->chan_group ? chan_left : search->chan_group;
        pass.n_split = split_left < search->split_group ? split_left : search->split_group;
        if (pass.first_chan == 0) {
            draw_splits(search, splitter, pass.n_split);
        }
        if (done < (number + 1) * store->n_tile) {
            TESS_TRY(run_pass(&pass, number, n_pass, done, &progress));
        }
    }
    return tess_watch_poll(&progress, n_pass * store->n_tile, n_pass * store->n_tile);
}

static tess_status search_all(ar_search *search, tess_ar_threshold_result *out)
{
    tess_ar_splitter splitter;
    TESS_TRY(tess_parallel_for(search->ctx->pool, search->n_chan, order_block, search));
    if (tess_ar_search_is_apart(search)) {
        TESS_TRY(tess_ar_device_open(search));
    }
    TESS_TRY(tess_ar_splitter_create(search->ctx, search->n_row, search->store->n_epoch,
                                     search->request->seed, &splitter));
    tess_status status = run_passes(search, &splitter);
    tess_ar_splitter_destroy(&splitter);
    if (status == TESS_OK) {
        status = tess_ar_choose(search, out);
    }
    return status;
}

tess_status tess_ar_search_thresholds(tess_context *ctx, const tess_ar_threshold_request *request,
                                      tess_ar_threshold_result *out)
{
    ar_search search;
    *out = (tess_ar_threshold_result){0};
    tess_status status = tess_ar_search_open(ctx, request, &search);
    if (status == TESS_OK) {
        status = search_all(&search, out);
    }
    tess_ar_search_close(&search);
    return status;
}
