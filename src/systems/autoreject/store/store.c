// Where the tiles lie: memory, or a scratch file mapped one tile at a time.
#include "systems/autoreject/store/store.h"

#include "base/checked.h"
#include "base/file.h"
#include "base/status.h"
#include "systems/autoreject/store/store_pass.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 // Linux 5.14
#endif

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

tess_status tess_ar_store_sizes(const tess_ar_store_request *request, uint64_t *all_bytes,
                                uint64_t *least_bytes)
{
    tess_ar_store store;
    TESS_TRY(describe(NULL, request, &store));
    *all_bytes = (uint64_t)store.n_tile * tile_bytes(&store);
    *least_bytes = (request->leave_one_out ? 2 : 1) * delta_bytes(&store) +
                   tess_ar_pass_bytes(request, 1, true);
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

static const char *temporary_folder(void)
{
    // /tmp lies in memory on many machines, which is what there is too little of.
    const char *folder = getenv("TMPDIR");
    if (folder && folder[0]) {
        return folder;
    }
    return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

static tess_status open_scratch(tess_ar_store *store, const tess_ar_store_request *request)
{
    char *path = store->scratch_path;
    const char *folder = request->folder ? request->folder : temporary_folder();
    const int length =
        request->kept_path
            ? snprintf(path, sizeof store->scratch_path, "%s", request->kept_path)
            : snprintf(path, sizeof store->scratch_path, "%s/tessera.samples.XXXXXX", folder);
    if (length >= (int)sizeof store->scratch_path) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", path);
    }
    store->scratch_fd = request->kept_path
                            ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600)
                            : mkostemp(path, O_CLOEXEC);
    if (store->scratch_fd < 0) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot create the file of rearranged samples: %s", path,
                  strerror(errno));
    }
    if (!request->kept_path) {
        unlink(path); // goes with the process, however that ends
    }
    return TESS_OK;
}

// All of the file now: a full disk is found out before the work, not in the middle.
static tess_status reserve(tess_ar_store *store)
{
    const uint64_t bytes = (uint64_t)store->n_tile * tile_bytes(store);
    const int code = posix_fallocate(store->scratch_fd, 0, (off_t)bytes);
    if (code == EINVAL || code == EOPNOTSUPP) {
        return tess_file_resize(store->scratch_fd, store->scratch_path, bytes);
    }
    if (code != 0) {
        TESS_FAIL(TESS_E_IO,
                  "%s: cannot reserve %llu bytes for the rearranged samples: %s; free some space, "
                  "set TMPDIR to another disk, or raise the memory limit",
                  store->scratch_path, (unsigned long long)bytes, strerror(code));
    }
    return TESS_OK;
}

static tess_status map_scratch(tess_ar_store *store)
{
    const size_t bytes = (size_t)store->n_tile * tile_bytes(store);
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, store->scratch_fd, 0);
    if (map == MAP_FAILED) {
        TESS_FAIL(TESS_E_IO, "%s: cannot map %zu bytes: %s", store->scratch_path, bytes,
                  strerror(errno));
    }
    store->tiles = map;
    return TESS_OK;
}

static tess_status place_tiles(tess_ar_store *store, const tess_ar_store_request *request)
{
    TESS_TRY(alloc_delta(store, request->leave_one_out != NULL));
    const uint64_t all_bytes = (uint64_t)store->n_tile * tile_bytes(store);
    const uint64_t delta = (request->leave_one_out ? 2 : 1) * delta_bytes(store);
    const uint64_t rest = request->memory_bytes > delta ? request->memory_bytes - delta : 0;
    if (rest > all_bytes && rest - all_bytes >= tess_ar_pass_bytes(request, 1, false)) {
        store->tiles =
            tess_heap_alloc(&store->ctx->heap, all_bytes, TESS_TAG_TILE, "rearranged samples");
        return store->tiles ? tess_ar_store_pass(store, request, rest - all_bytes) : TESS_E_MEMORY;
    }
    if (rest < tess_ar_pass_bytes(request, 1, true)) {
        TESS_FAIL(TESS_E_LIMIT, "memory limit: one epoch of %lld channels needs %llu bytes",
                  (long long)store->n_chan,
                  (unsigned long long)(delta + tess_ar_pass_bytes(request, 1, true)));
    }
    TESS_TRY(open_scratch(store, request));
    TESS_TRY(reserve(store));
    TESS_TRY(tess_ar_store_pass(store, request, rest));
    if (request->kept_path) {
        TESS_TRY(tess_file_sync(store->scratch_fd, store->scratch_path));
    }
    return map_scratch(store);
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
    TESS_TRY(alloc_delta(store, request->leave_one_out != NULL));
    return map_scratch(store);
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

void tess_ar_store_close(tess_ar_store *store)
{
    if (!store->ctx) {
        return;
    }
    tess_heap *heap = &store->ctx->heap;
    const uint64_t all_bytes = (uint64_t)store->n_tile * tile_bytes(store);
    if (store->tiles && store->scratch_fd >= 0) {
        munmap(store->tiles, all_bytes);
    } else if (store->tiles) {
        tess_heap_free(heap, store->tiles, all_bytes, TESS_TAG_TILE);
    }
    if (store->scratch_fd >= 0) {
        close(store->scratch_fd);
    }
    tess_heap_free(heap, store->delta, delta_bytes(store), TESS_TAG_RESULT);
    tess_heap_free(heap, store->delta_augmented, delta_bytes(store), TESS_TAG_RESULT);
    *store = (tess_ar_store){.scratch_fd = -1};
}

// Pages of some tiles; for giving back only whole ones, so that a neighbour keeps what it shares.
static void tile_pages(const tess_ar_store *store, int64_t first, int64_t n, bool is_release,
                       char **begin, size_t *bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t low = (uintptr_t)(store->tiles + (uint64_t)first * store->tile_items);
    const uintptr_t high = low + (uint64_t)n * tile_bytes(store);
    const uintptr_t from = is_release ? (low + page - 1) & ~(page - 1) : low & ~(page - 1);
    const uintptr_t to = is_release ? high & ~(page - 1) : (high + page - 1) & ~(page - 1);
    *begin = (char *)from;
    *bytes = to > from ? to - from : 0;
}

// Reads the tiles' pages in; by itself a fault on a bad disk would end the process.
static tess_status populate(tess_ar_store *store, int64_t first, int64_t n)
{
    char *begin;
    size_t bytes;
    tile_pages(store, first, n, false, &begin, &bytes);
    while (!store->no_populate && madvise(begin, bytes, MADV_POPULATE_READ) != 0) {
        if (errno == EINVAL || errno == ENOSYS || errno == ENOMEM) {
            store->no_populate = true; // an older kernel: pages come in by ordinary faults
        } else if (errno != EINTR && errno != EAGAIN) {
            TESS_FAIL(TESS_E_IO, "%s: cannot read tile %lld of the rearranged samples: %s",
                      store->scratch_path, (long long)first, strerror(errno));
        }
    }
    return TESS_OK;
}

tess_status tess_ar_store_tiles(tess_ar_store *store, int64_t first, int64_t n,
                                const double **tiles)
{
    *tiles = store->tiles + (uint64_t)first * store->tile_items;
    if (store->scratch_fd < 0 || (first == store->tile_now && n == store->n_tile_now)) {
        return TESS_OK;
    }
    char *begin;
    size_t bytes;
    if (store->tile_now >= 0) {
        tile_pages(store, store->tile_now, store->n_tile_now, true, &begin, &bytes);
        madvise(begin, bytes, MADV_DONTNEED);
    }
    store->tile_now = first;
    store->n_tile_now = n;
    TESS_TRY(populate(store, first, n));
    const int64_t next = first + n;
    if (next < store->n_tile) {
        tile_pages(store, next, n < store->n_tile - next ? n : store->n_tile - next, false, &begin,
                   &bytes);
        madvise(begin, bytes, MADV_WILLNEED);
    }
    return TESS_OK;
}

tess_status tess_ar_store_tile(tess_ar_store *store, int64_t k, const double **tile)
{
    return tess_ar_store_tiles(store, k, 1, tile);
}
