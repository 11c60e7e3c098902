// The threshold search on a device with memory of its own: tables go up once, tiles are worked on
// many at a time, squared errors come down after the last.
#include "base/status.h"
#include "runtime/device_memory.h"
#include "runtime/stage.h"
#include "stage/autoreject_interpolation.h"
#include "stage/autoreject_threshold.h"
#include "systems/autoreject/threshold/search.h"

// Room for what tiles are worked with.
static const uint64_t BATCH_BYTES = (uint64_t)4 << 30;

static int64_t n_validation(const ar_search *search)
{
    return search->n_row - search->n_train;
}

// Medians, errors and predictions of a tile.
static uint64_t tile_bytes(const ar_search *search)
{
    const uint64_t n_curve = (uint64_t)(search->chan_group * search->split_group);
    const uint64_t augmented = search->request->leave_one_out
                                   ? (uint64_t)(search->chan_group * search->store->n_epoch)
                                   : 0;
    return (n_curve * (uint64_t)search->n_train + (n_curve + augmented) * TESS_AR_TILE) *
           sizeof(double);
}

static uint64_t fixed_bytes(const ar_search *search)
{
    const uint64_t n_curve = (uint64_t)(search->chan_group * search->split_group);
    return (uint64_t)(search->n_chan * search->n_row) * sizeof(int32_t) +
           n_curve * (uint64_t)(search->n_word + search->n_train) * sizeof(double) +
           (uint64_t)(search->split_group * n_validation(search)) * sizeof(int32_t) +
           (uint64_t)(search->n_chan * search->n_chan + search->n_train) * sizeof(double) + 4096;
}

tess_status tess_ar_device_batch(const ar_search *search, int64_t *batch)
{
    return tess_ar_store_batch(search->store, "the threshold search of a tile", fixed_bytes(search),
                               tile_bytes(search), BATCH_BYTES, batch);
}

tess_status tess_ar_device_open(ar_search *search)
{
    const tess_device *device = search->store->device;
    ar_there *there = &search->there;
    const tess_ar_store *store = search->store;
    const size_t n_curve = (size_t)(search->chan_group * search->split_group);
    const size_t n_batch = (size_t)search->batch;
    TESS_TRY(tess_resident_from(device, search->order,
                                (size_t)(search->n_chan * search->n_row) * sizeof *search->order,
                                &there->order));
    TESS_TRY(tess_resident_from(device, search->inverse,
                                (size_t)search->n_train * sizeof *search->inverse,
                                &there->inverse));
    TESS_TRY(tess_resident_create(
        device, n_curve * (size_t)search->n_word * sizeof *search->validation, &there->validation));
    TESS_TRY(tess_resident_create(
        device, (size_t)(search->split_group * n_validation(search)) * sizeof(int32_t),
        &there->members));
    TESS_TRY(tess_resident_create(device, (size_t)(search->split_group + 1) * sizeof(int64_t),
                                  &there->member_first));
    TESS_TRY(tess_resident_create(device, n_curve * (size_t)search->n_train * sizeof(double),
                                  &there->sse));
    TESS_TRY(tess_resident_create(device, n_batch * n_curve * TESS_AR_TILE * sizeof(double),
                                  &there->medians));
    TESS_TRY(tess_resident_create(
        device, n_batch * n_curve * (size_t)search->n_train * sizeof(double), &there->errors));
    if (!search->request->leave_one_out) {
        return TESS_OK;
    }
    const size_t n_augmented =
        n_batch * (size_t)(search->chan_group * store->n_epoch) * TESS_AR_TILE;
    TESS_TRY(tess_resident_create(device, n_augmented * sizeof(double), &there->augmented));
    return tess_resident_from(device, search->request->leave_one_out,
                              (size_t)(store->n_chan * store->n_chan) * sizeof(double), &there->w);
}

void tess_ar_device_close(ar_search *search)
{
    ar_there *there = &search->there;
    tess_resident_free(&there->order);
    tess_resident_free(&there->inverse);
    tess_resident_free(&there->validation);
    tess_resident_free(&there->members);
    tess_resident_free(&there->member_first);
    tess_resident_free(&there->sse);
    tess_resident_free(&there->medians);
    tess_resident_free(&there->errors);
    tess_resident_free(&there->augmented);
    tess_resident_free(&there->w);
}

// The rows that validate each split of a pass, as lists in the room of its marks' order.
static tess_status send_members(ar_search *search, int64_t n_split)
{
    const int64_t n = n_validation(search);
    tess_heap *heap = &search->ctx->heap;
    const size_t first_bytes = (size_t)(n_split + 1) * sizeof(int64_t);
    const size_t member_bytes = (size_t)(n_split * n) * sizeof(int32_t);
    const size_t bytes = first_bytes + member_bytes;
    int64_t *first = tess_heap_alloc(heap, bytes, TESS_TAG_SCRATCH, "rows that validate");
    if (!first) {
        return TESS_E_MEMORY;
    }
    int32_t *members = (int32_t *)(first + n_split + 1);
    int32_t *to = members;
    first[n_split] = n_split * n;
    for (int64_t s = 0; s < n_split; s++) {
        first[s] = s * n;
        for (int64_t r = 0; r < search->n_row; r++) {
            if (search->marks[s * search->n_row + r]) {
                *to++ = (int32_t)r;
            }
        }
    }
    tess_status status = tess_resident_refill(&search->there.members, members, member_bytes);
    if (status == TESS_OK) {
        status = tess_resident_refill(&search->there.member_first, first, first_bytes);
    }
    if (status == TESS_OK) {
        status = tess_stage_finish(search->store->device); // before the list goes
    }
    tess_heap_free(heap, first, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_ar_device_begin(ar_search *search, int64_t n_chan, int64_t n_split,
                                 bool is_resumed)
{
    const size_t n_curve = (size_t)(n_chan * search->split_group);
    ar_there *there = &search->there;
    TESS_TRY(tess_resident_refill(&there->validation, search->validation,
                                  n_curve * (size_t)search->n_word * sizeof *search->validation));
    there->is_fresh = !is_resumed;
    if (is_resumed) {
        TESS_TRY(tess_resident_refill(&there->sse, search->sse,
                                      n_curve * (size_t)search->n_train * sizeof(double)));
    }
    return send_members(search, n_split);
}

tess_status tess_ar_device_fetch(ar_search *search, int64_t n_chan)
{
    const size_t n_item = (size_t)(n_chan * search->split_group * search->n_train);
    return tess_resident_fetch(&search->there.sse, search->sse, n_item * sizeof(double));
}

static tess_status augment(const ar_search *search, const double *tiles, int64_t n_tile,
                           int64_t first_chan, int64_t n_chan)
{
    const tess_ar_store *store = search->store;
    const int64_t n_epoch = n_tile * store->n_epoch;
    const tess_stage_autoreject_augment args = {.w = (const double *)search->there.w.data +
                                                     first_chan * store->n_chan,
                                                .x = tiles,
                                                .out = search->there.augmented.data,
                                                .n_epoch = n_epoch,
                                                .n_row = n_chan,
                                                .n_chan = store->n_chan,
                                                .width = TESS_AR_TILE,
                                                .stride_epoch = store->n_chan * TESS_AR_TILE,
                                                .stride_chan = TESS_AR_TILE,
                                                .out_stride_epoch = TESS_AR_TILE,
                                                .out_stride_row = n_epoch * TESS_AR_TILE};
    return tess_stage_start(store->device, TESS_STAGE_AUTOREJECT_AUGMENT, &args, sizeof args);
}

static tess_status curves(ar_search *search, const double *tiles, int64_t n_tile,
                          int64_t first_chan, int64_t n_chan, int64_t n_split)
{
    const tess_ar_store *store = search->store;
    ar_there *there = &search->there;
    tess_stage_autoreject_curve args = {.x = tiles + first_chan * TESS_AR_TILE,
                                        .order = (const int32_t *)there->order.data +
                                                 first_chan * search->n_row,
                                        .validation = there->validation.data,
                                        .inverse = there->inverse.data,
                                        .sse = there->sse.data,
                                        .n_tile = n_tile,
                                        .n_epoch = store->n_epoch,
                                        .n_row = search->n_row,
                                        .n_chan = n_chan,
                                        .n_split = n_split,
                                        .n_train = search->n_train,
                                        .stride_tile = (int64_t)store->tile_items,
                                        .stride_epoch = store->n_chan * TESS_AR_TILE,
                                        .stride_chan = TESS_AR_TILE,
                                        .stride_curves = search->split_group,
                                        .members = there->members.data,
                                        .member_first = there->member_first.data,
                                        .medians = there->medians.data,
                                        .errors = there->errors.data,
                                        .is_fresh = there->is_fresh};
    if (there->augmented.data) {
        args.augmented = there->augmented.data;
        args.augmented_stride_epoch = TESS_AR_TILE;
        args.augmented_stride_tile = store->n_epoch * TESS_AR_TILE;
        args.augmented_stride_chan = n_tile * args.augmented_stride_tile;
    } else if (search->request->augment_with_copy) {
        args.augmented = args.x;
        args.augmented_stride_tile = args.stride_tile;
        args.augmented_stride_epoch = args.stride_epoch;
        args.augmented_stride_chan = args.stride_chan;
    }
    there->is_fresh = false;
    return tess_stage_start(store->device, TESS_STAGE_AUTOREJECT_CURVE, &args, sizeof args);
}

tess_status tess_ar_device_tiles(ar_search *search, int64_t first, int64_t n_tile,
                                 int64_t first_chan, int64_t n_chan, int64_t n_split)
{
    const double *tiles = NULL;
    TESS_TRY(tess_context_check_cancel(search->ctx));
    TESS_TRY(tess_ar_store_tiles(search->store, first, n_tile, &tiles));
    tess_span span = tess_span_begin(&search->ctx->tracer, "autoreject.curve");
    if (search->there.augmented.data) {
        TESS_TRY(augment(search, tiles, n_tile, first_chan, n_chan));
    }
    TESS_TRY(curves(search, tiles, n_tile, first_chan, n_chan, n_split));
    const tess_status status = tess_stage_finish(search->store->device);
    const double items = (double)n_tile * (double)n_chan * (double)search->n_row * TESS_AR_TILE;
    tess_span_end(&span, items * sizeof(double), 5 * items * (double)n_split);
    return status;
}
