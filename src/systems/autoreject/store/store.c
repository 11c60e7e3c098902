// Where the tiles lie: memory, or a scratch file that is read a few tiles at a time.
#include "systems/autoreject/store/store.h"

#include "base/checked.h"
#include "base/file.h"
#include "base/scratch.h"
#include "base/status.h"
#include "runtime/device_memory.h"
#include "systems/autoreject/store/store_pass.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t BLOCK_BYTES = 1 << 20; // that a thread reads at a time

static uint64_t delta_bytes(const tess_ar_store *store)
{
    return (uint64_t)(store->n_epoch * store->n_chan) * sizeof(double);
}

static uint64_t tile_bytes(const tess_ar_store *store)
{
    return store->tile_items * sizeof(double);
}

static tess_status describe(tess_context *ctx, const tess_ar_store_request *request,
                            tess_ar_store *store)
{
    const tess_autoreject_epochs_info *info = &request->epochs->info;
    *store = (tess_ar_store){.ctx = ctx,
                             .device = request->device,
                             .n_epoch = info->n_epoch,
                             .n_chan = request->n_chan,
                             .n_time = info->n_time,
                             .n_tile = (info->n_time + TESS_AR_TILE - 1) / TESS_AR_TILE,
                             .tile_now = -1,
                             .scratch_fd = -1};
    uint64_t items = 0;
    uint64_t bytes = 0;
    if (!tess_mul_u64((uint64_t)info->n_epoch, (uint64_t)request->n_chan * TESS_AR_TILE, &items) ||
        !tess_mul_u64(items, (uint64_t)store->n_tile * sizeof(double), &bytes) ||
        bytes > (uint64_t)INT64_MAX) {
        TESS_FAIL(TESS_E_SHAPE,
                  "epochs: %lld epochs of %lld channels and %lld samples are more "
                  "than can be addressed",
                  (long long)info->n_epoch, (long long)request->n_chan, (long long)info->n_time);
    }
    store->tile_items = items;
    return TESS_OK;
}

// A file is filled from an epoch at least, and then read by tiles.
static uint64_t least_beside(const tess_ar_store *store, const tess_ar_store_request *request)
{
    const uint64_t pass = tess_ar_pass_bytes(request, 1, true);
    return pass > tile_bytes(store) ? pass : tile_bytes(store);
}

tess_status tess_ar_store_sizes(const tess_ar_store_request *request, uint64_t *all_bytes,
                                uint64_t *least_bytes)
{
    tess_ar_store store;
    TESS_TRY(describe(NULL, request, &store));
    *all_bytes = (uint64_t)store.n_tile * tile_bytes(&store);
    *least_bytes =
        (request->leave_one_out ? 2 : 1) * delta_bytes(&store) + least_beside(&store, request);
    return TESS_OK;
}

static tess_status alloc_delta(tess_ar_store *store, bool is_augmented)
{
    tess_heap *heap = &store->ctx->heap;
    store->delta = tess_heap_alloc(heap, delta_bytes(store), TESS_TAG_RESULT, "peak-to-peaks");
    if (!store->delta) {
        return TESS_E_MEMORY;
    }
    if (is_augmented) {
        store->delta_augmented = tess_heap_alloc(heap, delta_bytes(store), TESS_TAG_RESULT,
                                                 "peak-to-peaks of predictions");
        if (!store->delta_augmented) {
            return TESS_E_MEMORY;
        }
    }
    return TESS_OK;
}

static tess_status open_kept(tess_ar_store *store, const char *kept_path)
{
    char *path = store->scratch_path;
    if (snprintf(path, sizeof store->scratch_path, "%s", kept_path) >=
        (int)sizeof store->scratch_path) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", path);
    }
    store->scratch_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (store->scratch_fd < 0) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot create the file of rearranged samples: %s", path,
                  strerror(errno));
    }
    return TESS_OK;
}

static tess_status open_scratch(tess_ar_store *store, const tess_ar_store_request *request)
{
    const tess_scratch scratch = {request->folder, "samples", "the rearranged samples"};
    TESS_TRY(request->kept_path
                 ? open_kept(store, request->kept_path)
                 : tess_scratch_open(&scratch, store->scratch_path, sizeof store->scratch_path,
                                     &store->scratch_fd));
    return tess_scratch_reserve(&scratch, store->scratch_path, store->scratch_fd,
                                (uint64_t)store->n_tile * tile_bytes(store));
}

static bool is_apart(const tess_ar_store *store)
{
    return !store->device->shares_host_memory;
}

// In the device's memory where two thirds of it are left for them: the searches need room too.
static bool fits_device(const tess_ar_store *store)
{
    const uint64_t all_bytes = (uint64_t)store->n_tile * tile_bytes(store);
    return is_apart(store) && all_bytes <= tess_device_left(store->device) / 3 * 2;
}

// The predictions where they fit beside the tiles and a pass.
static tess_status take_memory(tess_ar_store *store, const tess_ar_store_request *request,
                               uint64_t bytes, uint64_t *rest)
{
    tess_heap *heap = &store->ctx->heap;
    store->tiles = tess_heap_alloc(heap, bytes, TESS_TAG_TILE, "rearranged samples");
    if (!store->tiles) {
        return TESS_E_MEMORY;
    }
    *rest -= bytes;
    if (request->leave_one_out && request->keeps_predictions && !is_apart(store) && *rest > bytes &&
        *rest - bytes >= tess_ar_pass_bytes(request, 1, false)) {
        store->predicted = tess_heap_alloc(heap, bytes, TESS_TAG_TILE, "predicted samples");
        if (!store->predicted) {
            return TESS_E_MEMORY;
        }
        *rest -= bytes;
    }
    return TESS_OK;
}

static tess_status place_tiles(tess_ar_store *store, const tess_ar_store_request *request)
{
    TESS_TRY(alloc_delta(store, request->leave_one_out != NULL));
    const uint64_t all_bytes = (uint64_t)store->n_tile * tile_bytes(store);
    if (fits_device(store) && !request->kept_path) {
        store->is_resident = true;
        TESS_TRY(tess_resident_create(store->device, all_bytes, &store->there));
        return tess_ar_store_device_pass(store, request);
    }
    const uint64_t delta = (request->leave_one_out ? 2 : 1) * delta_bytes(store);
    uint64_t rest = request->memory_bytes > delta ? request->memory_bytes - delta : 0;
    if (rest > all_bytes && rest - all_bytes >= tess_ar_pass_bytes(request, 1, false)) {
        TESS_TRY(take_memory(store, request, all_bytes, &rest));
        return tess_ar_store_pass(store, request, rest);
    }
    if (rest < least_beside(store, request)) {
        TESS_FAIL(TESS_E_LIMIT,
                  "memory limit: %lld samples of %lld epochs of %lld channels need %llu bytes",
                  (long long)TESS_AR_TILE, (long long)store->n_epoch, (long long)store->n_chan,
                  (unsigned long long)(delta + least_beside(store, request)));
    }
    TESS_TRY(open_scratch(store, request));
    TESS_TRY(tess_ar_store_pass(store, request, rest));
    return request->kept_path ? tess_file_sync(store->scratch_fd, store->scratch_path) : TESS_OK;
}

tess_status tess_ar_store_create(tess_context *ctx, const tess_ar_store_request *request,
                                 tess_ar_store *out)
{
    TESS_TRY(describe(ctx, request, out));
    const tess_status status = place_tiles(out, request);
    if (status != TESS_OK) {
        if (out->scratch_fd >= 0 && request->kept_path) {
            unlink(request->kept_path);
        }
        tess_ar_store_close(out);
    }
    return status;
}

static tess_status reopen(tess_ar_store *store, const tess_ar_store_request *request)
{
    uint64_t bytes = 0;
    int64_t mtime_ns = 0;
    snprintf(store->scratch_path, sizeof store->scratch_path, "%s", request->kept_path);
    TESS_TRY(tess_file_open_read(request->kept_path, &store->scratch_fd, &bytes, &mtime_ns));
    if (bytes != (uint64_t)store->n_tile * tile_bytes(store)) {
        TESS_FAIL(TESS_E_TRUNCATED, "%s: has %llu bytes, %llu are expected", request->kept_path,
                  (unsigned long long)bytes,
                  (unsigned long long)((uint64_t)store->n_tile * tile_bytes(store)));
    }
    return alloc_delta(store, request->leave_one_out != NULL);
}

tess_status tess_ar_store_reopen(tess_context *ctx, const tess_ar_store_request *request,
                                 tess_ar_store *out)
{
    TESS_TRY(describe(ctx, request, out));
    const tess_status status = reopen(out, request);
    if (status != TESS_OK) {
        tess_ar_store_close(out);
    }
    return status;
}

void tess_ar_store_drop_predictions(tess_ar_store *store)
{
    const uint64_t bytes = (uint64_t)store->n_tile * tile_bytes(store);
    tess_heap_free(&store->ctx->heap, store->predicted, bytes, TESS_TAG_TILE);
    store->predicted = NULL;
}

void tess_ar_store_close(tess_ar_store *store)
{
    if (!store->ctx) {
        return;
    }
    tess_ar_store_drop_predictions(store);
    tess_ar_sent_close(&store->sent); // before what it is sent from
    tess_heap *heap = &store->ctx->heap;
    const int64_t n_held = store->scratch_fd >= 0 ? store->n_held : store->n_tile;
    if (store->tiles) {
        tess_heap_free(heap, store->tiles, (uint64_t)n_held * tile_bytes(store), TESS_TAG_TILE);
    }
    if (store->scratch_fd >= 0) {
        close(store->scratch_fd);
    }
    tess_resident_free(&store->there);
    tess_heap_free(heap, store->delta, delta_bytes(store), TESS_TAG_RESULT);
    tess_heap_free(heap, store->delta_augmented, delta_bytes(store), TESS_TAG_RESULT);
    *store = (tess_ar_store){.scratch_fd = -1};
}

// Room for n tiles of the file.
static tess_status take_room(tess_ar_store *store, int64_t n)
{
    tess_heap *heap = &store->ctx->heap;
    if (n <= store->n_held) {
        return TESS_OK;
    }
    if (store->tiles) {
        tess_heap_free(heap, store->tiles, (uint64_t)store->n_held * tile_bytes(store),
                       TESS_TAG_TILE);
    }
    store->tile_now = -1;
    store->n_held = 0;
    store->tiles =
        tess_heap_alloc(heap, (uint64_t)n * tile_bytes(store), TESS_TAG_TILE, "rearranged samples");
    if (!store->tiles) {
        return TESS_E_MEMORY;
    }
    store->n_held = n;
    return TESS_OK;
}

typedef struct tile_read {
    tess_ar_store *store;
    uint64_t offset;
    uint64_t bytes;
} tile_read;

static tess_status read_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const tile_read *r = arg;
    const tess_ar_store *store = r->store;
    const uint64_t done = (uint64_t)block * BLOCK_BYTES;
    const uint64_t left = r->bytes - done;
    const tess_status status = tess_file_read_at(
        store->scratch_fd, store->scratch_path, (char *)store->tiles + done,
        left < BLOCK_BYTES ? (size_t)left : (size_t)BLOCK_BYTES, r->offset + done);
    if (status == TESS_E_TRUNCATED) { // nobody but us should write there
        TESS_FAIL(TESS_E_IO, "%s: was cut while it was in use; run again", store->scratch_path);
    }
    return status;
}

// Tiles on the host: in memory, or read from the file.
static tess_status host_tiles(tess_ar_store *store, int64_t first, int64_t n, double **tiles)
{
    if (store->scratch_fd < 0) {
        *tiles = store->tiles + (uint64_t)first * store->tile_items;
        return TESS_OK;
    }
    TESS_TRY(take_room(store, n));
    *tiles = store->tiles;
    if (first == store->tile_now && n == store->n_tile_now) {
        return TESS_OK;
    }
    store->tile_now = -1;
    tile_read r = {.store = store,
                   .offset = (uint64_t)first * tile_bytes(store),
                   .bytes = (uint64_t)n * tile_bytes(store)};
    const int64_t n_block = (int64_t)((r.bytes + BLOCK_BYTES - 1) / BLOCK_BYTES);
    TESS_TRY(tess_parallel_for(store->ctx->pool, n_block, read_block, &r));
    store->tile_now = first;
    store->n_tile_now = n;
    // Those that follow, while these are worked on.
    (void)!posix_fadvise(store->scratch_fd, (off_t)(r.offset + r.bytes), (off_t)r.bytes,
                         POSIX_FADV_WILLNEED);
    return TESS_OK;
}

static tess_status sent_tiles(tess_ar_store *store, int64_t first, int64_t n, double **tiles)
{
    const bool is_file = store->scratch_fd >= 0;
    const tess_ar_sent_source source = {.memory = is_file ? NULL : (const char *)store->tiles,
                                        .fd = store->scratch_fd,
                                        .path = store->scratch_path,
                                        .tile_bytes = tile_bytes(store),
                                        .n_tile = store->n_tile};
    return tess_ar_sent_tiles(&store->sent, store->device, &source, first, n, tiles);
}

tess_status tess_ar_store_take(tess_ar_store *store, int64_t first, int64_t n, double **tiles)
{
    if (store->is_resident) {
        *tiles = (double *)store->there.data + (uint64_t)first * store->tile_items;
        return TESS_OK;
    }
    return is_apart(store) ? sent_tiles(store, first, n, tiles)
                           : host_tiles(store, first, n, tiles);
}

tess_status tess_ar_store_tiles(tess_ar_store *store, int64_t first, int64_t n,
                                const double **tiles)
{
    double *taken = NULL;
    const tess_status status = tess_ar_store_take(store, first, n, &taken);
    *tiles = taken;
    return status;
}

tess_status tess_ar_store_tile(tess_ar_store *store, int64_t k, const double **tile)
{
    return tess_ar_store_tiles(store, k, 1, tile);
}

tess_status tess_ar_store_batch(tess_ar_store *store, const char *what, uint64_t fixed_bytes,
                                uint64_t work_bytes, uint64_t room_bytes, int64_t *batch)
{
    tess_ar_sent_close(&store->sent);
    const uint64_t left = tess_device_left(store->device);
    const uint64_t sent = store->is_resident ? 0 : tile_bytes(store);
    if (left < fixed_bytes + work_bytes + sent) {
        return tess_device_too_small(store->device, what, fixed_bytes + work_bytes + sent);
    }
    const uint64_t free_bytes = left - fixed_bytes;
    const uint64_t room = free_bytes < room_bytes ? free_bytes : room_bytes;
    const uint64_t fit = room / (work_bytes + 2 * sent); // these and the next ones
    *batch = fit < 1 ? 1 : fit < (uint64_t)store->n_tile ? (int64_t)fit : store->n_tile;
    return TESS_OK;
}
