// How many channels and splits a pass takes, and the memory of the search.
#include "base/status.h"
#include "systems/autoreject/threshold/search.h"

#include <string.h>

// Small tiles are worked on several at a time: calls cost less, and they still lie in the cache.
static const uint64_t BATCH_BYTES = 4 << 20;

// Bytes per worker inside a stage: the rows of a channel, those that validate rounded, medians.
static uint64_t worker_bytes(const ar_search *search)
{
    const uint64_t n_row = (uint64_t)search->n_row;
    const uint64_t n_item = n_row + n_row / 4 + (uint64_t)search->request->n_split;
    uint64_t bytes = n_item * TESS_AR_TILE * sizeof(double) + 1024;
    if (search->request->search == TESS_AUTOREJECT_SEARCH_COMPAT) {
        const uint64_t process = tess_ar_compat_bytes(search->n_row) + n_row * sizeof(double);
        bytes = bytes > process ? bytes : process;
    }
    return bytes;
}

static uint64_t fixed_bytes(const ar_search *search)
{
    const uint64_t n_row = (uint64_t)search->n_row;
    const uint64_t per_row = sizeof(int32_t) + 4 * sizeof(double); // the result's two among them
    const uint64_t disturbed =
        (uint64_t)(search->n_chan * AR_N_REPLICATE * search->n_point) * sizeof(double);
    return (uint64_t)search->n_chan * n_row * per_row + disturbed + n_row * 2 * sizeof(double) +
           (uint64_t)search->ctx->n_thread * worker_bytes(search) + 4096;
}

static uint64_t limit_of(const ar_search *search)
{
    const uint64_t bytes = search->request->memory_bytes;
    return bytes > 0 ? bytes : UINT64_MAX / 2;
}

// One tile at a time where each is to be kept, read, or memory is short.
static int64_t choose_batch(const ar_search *search)
{
    const tess_ar_store *store = search->store;
    const uint64_t limit = limit_of(search);
    const uint64_t curves = (uint64_t)(search->chan_group * search->split_group) *
                            (uint64_t)(search->n_train + search->n_word) * sizeof(double);
    const uint64_t used = fixed_bytes(search) + curves +
                          (uint64_t)(search->split_group * search->n_row) + BATCH_BYTES;
    const uint64_t fit = BATCH_BYTES / (store->tile_items * sizeof(double));
    if (search->request->keep || store->scratch_fd >= 0 || fit < 2 || limit < used) {
        return 1;
    }
    return fit < (uint64_t)store->n_tile ? (int64_t)fit : store->n_tile;
}

static tess_status choose_groups(ar_search *search)
{
    const tess_ar_threshold_request *request = search->request;
    const uint64_t n_split = (uint64_t)request->n_split;
    const uint64_t curve = (uint64_t)(search->n_train + search->n_word) * sizeof(double);
    const uint64_t mark = (uint64_t)search->n_row;
    const uint64_t channel = request->leave_one_out && !search->store->predicted
                                 ? (uint64_t)search->store->n_epoch * TESS_AR_TILE * sizeof(double)
                                 : 0;
    const uint64_t fixed = fixed_bytes(search);
    const uint64_t least = fixed + channel + curve + mark;
    const uint64_t limit = limit_of(search);
    if (limit < least) {
        TESS_FAIL(TESS_E_LIMIT,
                  "memory limit: the threshold search of %lld rows and %lld channels may hold %llu "
                  "bytes and needs at least %llu; raise the limit or use fewer threads",
                  (long long)search->n_row, (long long)search->n_chan, (unsigned long long)limit,
                  (unsigned long long)least);
    }
    const uint64_t left = limit - fixed;
    if (left >= channel + n_split * (curve + mark)) {
        const uint64_t fit = (left - n_split * mark) / (channel + n_split * curve);
        const uint64_t n_pass = ((uint64_t)search->n_chan + fit - 1) / fit;
        search->split_group = request->n_split;
        search->chan_group = (int64_t)(((uint64_t)search->n_chan + n_pass - 1) / n_pass);
    } else {
        const uint64_t fit = (left - channel) / (curve + mark);
        const uint64_t n_pass = (n_split + fit - 1) / fit;
        search->split_group = (int64_t)((n_split + n_pass - 1) / n_pass);
        search->chan_group = 1;
    }
    return TESS_OK;
}

// A resumed search keeps the groups it had: what is kept is laid out by them.
static tess_status resume_groups(ar_search *search)
{
    const tess_ar_threshold_request *request = search->request;
    ar_state state;
    if (request->resume_bytes < sizeof state) {
        TESS_FAIL(TESS_E_MISMATCH, "checkpoint: %zu bytes are no state of a threshold search",
                  request->resume_bytes);
    }
    memcpy(&state, request->resume_state, sizeof state);
    if (state.n_row != search->n_row || state.n_chan != search->n_chan ||
        state.n_split != request->n_split || state.n_tile != search->store->n_tile ||
        state.chan_group < 1 || state.chan_group > search->n_chan || state.split_group < 1 ||
        state.split_group > request->n_split) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "checkpoint: its threshold search has %lld rows, %lld channels and %lld splits, "
                  "this one %lld, %lld and %lld; remove the checkpoint to start again",
                  (long long)state.n_row, (long long)state.n_chan, (long long)state.n_split,
                  (long long)search->n_row, (long long)search->n_chan, (long long)request->n_split);
    }
    search->chan_group = state.chan_group;
    search->split_group = state.split_group;
    return TESS_OK;
}

static tess_status take_memory(ar_search *search)
{
    const size_t n_row = (size_t)search->n_row;
    const size_t n_item = (size_t)search->n_chan * n_row;
    const size_t n_train = (size_t)search->n_train;
    const size_t chan_group = (size_t)search->chan_group;
    const size_t n_curve = chan_group * (size_t)search->split_group;
    const size_t n_disturbed = (size_t)(search->n_chan * AR_N_REPLICATE * search->n_point);
    const size_t n_augmented =
        search->request->leave_one_out && !search->store->predicted &&
                !tess_ar_search_is_apart(search)
            ? chan_group * (size_t)search->batch * (size_t)search->store->n_epoch * TESS_AR_TILE
            : 0;
    const size_t bytes[] = {n_item * sizeof *search->order,
                            n_item * sizeof *search->sorted,
                            n_train * sizeof *search->inverse,
                            n_row * sizeof *search->rows,
                            (size_t)search->split_group * n_row,
                            n_curve * (size_t)search->n_word * sizeof *search->validation,
                            n_augmented * sizeof *search->augmented,
                            sizeof *search->state +
                                (n_item + n_disturbed + n_curve * n_train) * sizeof(double)};
    enum { N_PART = sizeof bytes / sizeof *bytes };
    void *parts[N_PART];
    for (int k = 0; k < N_PART; k++) {
        search->memory_bytes += tess_arena_cost(bytes[k]);
    }
    tess_heap *heap = &search->ctx->heap;
    search->memory =
        tess_heap_alloc_zero(heap, search->memory_bytes, TESS_TAG_SCRATCH, "threshold search");
    if (!search->memory) {
        return TESS_E_MEMORY;
    }
    tess_arena arena;
    tess_arena_open(&arena, search->memory, search->memory_bytes, false);
    for (int k = 0; k < N_PART; k++) {
        parts[k] = tess_arena_take(&arena, bytes[k]);
    }
    search->order = parts[0];
    search->sorted = parts[1];
    search->inverse = parts[2];
    search->rows = parts[3];
    search->marks = parts[4];
    search->validation = parts[5];
    search->augmented = parts[6];
    search->state = parts[7];
    search->state_bytes = bytes[7];
    search->sums = (double *)(search->state + 1);
    search->disturbed = search->sums + n_item;
    search->sse = search->disturbed + n_disturbed;
    return TESS_OK;
}

static tess_status fill_state(ar_search *search)
{
    const tess_ar_threshold_request *request = search->request;
    if (request->resume_state) {
        if (request->resume_bytes != search->state_bytes) {
            TESS_FAIL(TESS_E_MISMATCH,
                      "checkpoint: the state of the threshold search has %zu bytes instead of %zu; "
                      "remove the checkpoint to start again",
                      request->resume_bytes, search->state_bytes);
        }
        memcpy(search->state, request->resume_state, search->state_bytes);
        return TESS_OK;
    }
    *search->state = (ar_state){.n_row = search->n_row,
                                .n_chan = search->n_chan,
                                .n_split = request->n_split,
                                .n_tile = search->store->n_tile,
                                .chan_group = search->chan_group,
                                .split_group = search->split_group};
    return TESS_OK;
}

tess_status tess_ar_search_open(tess_context *ctx, const tess_ar_threshold_request *request,
                                ar_search *search)
{
    tess_ar_store *store = request->store;
    const bool is_augmented = request->leave_one_out || request->augment_with_copy;
    int64_t n_validation = 0;
    *search = (ar_search){.ctx = ctx, .request = request, .store = store, .n_chan = store->n_chan};
    TESS_TRY(tess_ar_check_splits(store->n_epoch, is_augmented));
    if (store->n_epoch > INT32_MAX / 2) {
        TESS_FAIL(TESS_E_SHAPE, "epochs: the threshold search takes up to %d, but there are %lld",
                  INT32_MAX / 2, (long long)store->n_epoch);
    }
    search->n_row = is_augmented ? 2 * store->n_epoch : store->n_epoch;
    search->n_word = (search->n_row + 63) / 64;
    search->n_point = tess_ar_error_points(request->search, search->n_row);
    tess_ar_split_sizes(search->n_row, &search->n_train, &n_validation);
    TESS_TRY(request->resume_state ? resume_groups(search) : choose_groups(search));
    if (tess_ar_search_is_apart(search)) {
        TESS_TRY(tess_ar_device_batch(search, &search->batch));
    } else {
        search->batch = choose_batch(search);
    }
    TESS_TRY(take_memory(search));
    for (int64_t k = 0; k < search->n_train; k++) {
        search->inverse[k] = 1 / (double)(k + 1);
    }
    return fill_state(search);
}

void tess_ar_search_close(ar_search *search)
{
    tess_ar_device_close(search);
    if (search->memory) {
        tess_heap_free(&search->ctx->heap, search->memory, search->memory_bytes, TESS_TAG_SCRATCH);
    }
    search->memory = NULL;
}
