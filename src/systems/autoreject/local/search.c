// The local search: squared errors of every cell, tile by tile, and the choice.
#include "base/status.h"
#include "runtime/comm.h"
#include "runtime/stage.h"
#include "runtime/watch.h"
#include "stage/autoreject_interpolation.h"
#include "systems/autoreject/local/device.h"

#include <math.h>
#include <string.h>

enum { TILE = TESS_AR_TILE, CHANNELS = TESS_STAGE_AUTOREJECT_LOCAL_CHANNELS };
// Tiles are worked on in groups that give enough blocks to share and are not too large.
enum { GROUP_BLOCKS = 32, GROUP_BYTES = 64 << 20 };

typedef struct search {
    tess_context *ctx;
    const tess_ar_local_request *request;
    tess_blocks memory;
    tess_ar_bins bins;
    tess_ar_repairs repairs;
    int64_t n_cell;     // columns * folds * levels
    int64_t n_block;    // of a tile
    int64_t group;      // tiles
    int64_t batch_held; // first repair of the batch that is held; -1: none
    int64_t *n_kept;    // [n_cell]
    double *total;      // [n_cell] squared errors so far
    double *sse;        // [group][n_block][n_cell]
    double *weights;    // [rows of a batch][n_chan]
    double *repaired;   // [group][n_row][TILE]
    char *scratch;      // [worker] of the repairer
    size_t scratch_bytes;
    tess_ar_local_there there; // of a device with memory of its own
} search;

static bool is_apart(const search *s)
{
    return !s->request->store->device->shares_host_memory;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t group_of(int64_t n_tile, int64_t n_block, uint64_t tile_bytes)
{
    const int64_t wished = (GROUP_BLOCKS + n_block - 1) / n_block;
    const int64_t most = (int64_t)(GROUP_BYTES / tile_bytes);
    const int64_t n = least(wished, least(most, n_tile));
    return n > 0 ? n : 1;
}

uint64_t tess_ar_local_least_bytes(const tess_context *ctx, int64_t n_epoch, int64_t n_chan,
                                   int64_t n_consensus, int64_t n_n_interpolate, int64_t n_fold)
{
    const double cells = (double)n_consensus * (double)n_n_interpolate * (double)n_fold;
    const double n_block = (double)((n_chan + CHANNELS - 1) / CHANNELS);
    const double group = n_block < GROUP_BLOCKS ? GROUP_BLOCKS / n_block + 1 : 1;
    const double rows = (double)n_epoch * (double)n_n_interpolate * (double)n_chan;
    const double worker = (double)tess_stage_autoreject_local_scratch(n_epoch, n_fold, n_epoch);
    const double bytes = 8 * (cells * (2 + group * n_block) + worker * ctx->n_thread) +
                         rows * (4 + group * TILE * 8) / 4 + // a quarter of all rows repaired
                         (double)n_epoch * (double)(n_fold + n_chan + 80) + (4 << 20);
    return (uint64_t)bytes;
}

// Rows of the repairs from first on that fit so many bytes of weights.
static int64_t batch_end(const search *s, int64_t first, uint64_t bytes)
{
    const tess_ar_repairs *r = &s->repairs;
    const uint64_t row_bytes = (uint64_t)s->request->store->n_chan * sizeof(double);
    int64_t end = first;
    while (end < r->n_repair &&
           (uint64_t)(r->first[end + 1] - r->first[first]) * row_bytes <= bytes) {
        end++;
    }
    return end > first ? end : least(first + 1, r->n_repair);
}

static uint64_t weight_bytes(const search *s)
{
    const uint64_t limit = s->request->memory_bytes;
    const uint64_t all = (uint64_t)(s->repairs.n_row * s->request->store->n_chan) * sizeof(double);
    const uint64_t least_bytes =
        (uint64_t)(s->repairs.max_bad * s->request->store->n_chan) * sizeof(double);
    if (limit == 0 || all <= limit / 2) {
        return all;
    }
    return least_bytes > limit / 2 ? least_bytes : limit / 2;
}

static tess_status choose_group(search *s)
{
    const tess_ar_store *store = s->request->store;
    if (is_apart(s)) {
        return tess_ar_local_device_group(s->request, &s->bins, &s->repairs, weight_bytes(s),
                                          &s->group);
    }
    s->group = group_of(store->n_tile, s->n_block, store->tile_items * sizeof(double));
    const uint64_t read_bytes = store->scratch_fd >= 0 ? store->tile_items * sizeof(double) : 0;
    const uint64_t repaired_bytes = (uint64_t)(s->repairs.n_row * TILE) * sizeof(double);
    while (s->group > 1 && s->request->memory_bytes > 0 &&
           (uint64_t)s->group * (read_bytes + repaired_bytes) > s->request->memory_bytes / 4) {
        s->group--; // sums are kept by tile: no bit depends on it
    }
    return TESS_OK;
}

static tess_status take_memory(search *s)
{
    s->n_block = (s->request->store->n_chan + CHANNELS - 1) / CHANNELS;
    s->n_cell = s->request->n_n_interpolate * s->request->n_fold * s->bins.n_level;
    TESS_TRY(choose_group(s));
    s->n_kept = tess_blocks_alloc(&s->memory, s->n_cell, sizeof *s->n_kept, "kept epochs");
    s->total = tess_blocks_alloc(&s->memory, s->n_cell, sizeof *s->total, "squared errors");
    s->sse = tess_blocks_alloc(&s->memory, s->group * s->n_block * s->n_cell, sizeof *s->sse,
                               "squared errors");
    if (!s->n_kept || !s->total || !s->sse) {
        return TESS_E_MEMORY;
    }
    s->batch_held = -1;
    if (s->repairs.n_repair == 0) {
        return TESS_OK;
    }
    s->scratch_bytes = tess_ar_repairer_scratch(s->request->repairer, s->repairs.max_bad);
    s->weights = tess_blocks_alloc(&s->memory, 1, weight_bytes(s), "weights of repairs");
    if (!is_apart(s)) {
        s->repaired = tess_blocks_alloc(&s->memory, s->group * s->repairs.n_row * TILE,
                                        sizeof *s->repaired, "repaired samples");
    }
    s->scratch = tess_blocks_alloc(&s->memory, s->ctx->n_thread, s->scratch_bytes + TESS_ALIGN,
                                   "weights of repairs");
    return s->weights && (s->repaired || is_apart(s)) && s->scratch ? TESS_OK : TESS_E_MEMORY;
}

// Weights of MEG repairs are eigenvalue problems: once for every set, before the tiles.
static tess_status prepare(search *s)
{
    const tess_ar_repairs *r = &s->repairs;
    const int64_t n_word = tess_ar_set_words(s->request->store->n_chan);
    if (r->n_repair == 0) {
        return TESS_OK;
    }
    tess_blocks memory;
    tess_blocks_init(&memory, &s->ctx->heap);
    uint64_t *words = tess_blocks_alloc(&memory, r->n_repair * n_word, sizeof *words, "repairs");
    tess_ar_bad_set *sets = tess_blocks_alloc(&memory, r->n_repair, sizeof *sets, "repairs");
    tess_status status = TESS_E_MEMORY;
    if (words && sets) {
        for (int64_t i = 0; i < r->n_repair; i++) {
            uint64_t *set = words + i * n_word;
            for (int64_t k = r->first[i]; k < r->first[i + 1]; k++) {
                set[r->bad[k] / 64] |= UINT64_C(1) << (r->bad[k] % 64);
            }
            sets[i].words = set;
        }
        status = tess_ar_repairer_prepare(s->request->repairer, sets, r->n_repair);
    }
    tess_blocks_free(&memory);
    return status;
}

typedef struct weights_job {
    search *s;
    int64_t first;
} weights_job;

static tess_status weights_block(void *arg, int64_t block, int32_t worker)
{
    const weights_job *job = arg;
    const search *s = job->s;
    const tess_ar_repairs *r = &s->repairs;
    const int64_t i = job->first + block;
    char *scratch = s->scratch + (size_t)worker * (s->scratch_bytes + TESS_ALIGN);
    scratch += (TESS_ALIGN - (uintptr_t)scratch % TESS_ALIGN) % TESS_ALIGN;
    return tess_ar_repairer_weights(
        s->request->repairer, r->bad + r->first[i], r->first[i + 1] - r->first[i], scratch,
        s->weights + (r->first[i] - r->first[job->first]) * s->request->store->n_chan);
}

static tess_status hold_weights(search *s, int64_t first, int64_t end)
{
    if (s->batch_held == first) {
        return TESS_OK;
    }
    tess_span span = tess_span_begin(&s->ctx->tracer, "autoreject.weights");
    weights_job job = {.s = s, .first = first};
    TESS_TRY(tess_parallel_for(s->ctx->pool, end - first, weights_block, &job));
    tess_span_end(&span, 0, 0);
    s->batch_held = first;
    if (!is_apart(s)) {
        return TESS_OK;
    }
    const int64_t n_row = s->repairs.first[end] - s->repairs.first[first];
    return tess_resident_refill(&s->there.weights, s->weights,
                                (size_t)(n_row * s->request->store->n_chan) * sizeof(double));
}

// The repaired rows of a group of tiles, by the weights that are held: repairs first..end-1.
static tess_status repair_batch(search *s, double *x, int64_t n_tile, int64_t first, int64_t end)
{
    const tess_ar_store *store = s->request->store;
    const tess_ar_repairs *r = &s->repairs;
    const int64_t row = r->first[first];
    tess_stage_autoreject_repair args = {.epoch = r->epoch + first,
                                         .first = r->first + first,
                                         .bad = r->bad + row,
                                         .w = s->weights,
                                         .n_repair = end - first,
                                         .n_chan = store->n_chan,
                                         .width = TILE,
                                         .stride_epoch = store->n_chan * TILE,
                                         .stride_chan = TILE,
                                         .n_part = n_tile,
                                         .stride_part = (int64_t)store->tile_items,
                                         .out_stride_part = r->n_row * TILE};
    double *repaired = s->repaired;
    if (is_apart(s)) {
        args.epoch = s->there.epoch + first;
        args.first = s->there.args.first + first;
        args.bad = s->there.args.bad + row;
        args.w = s->there.weights.data;
        repaired = s->there.repaired.data;
    }
    tess_span span = tess_span_begin(&s->ctx->tracer, "autoreject.repair");
    args.x = x;
    args.out = repaired + row * TILE;
    TESS_TRY(tess_stage_run(store->device, TESS_STAGE_AUTOREJECT_REPAIR, &args, sizeof args));
    const double products = (double)(r->first[end] - row) * (double)store->n_chan * TILE;
    tess_span_end(&span, 0, 2 * products * (double)n_tile);
    return TESS_OK;
}

static tess_status repair_tiles(search *s, double *x, int64_t n_tile)
{
    const uint64_t bytes = weight_bytes(s);
    for (int64_t first = 0; first < s->repairs.n_repair;) {
        const int64_t end = batch_end(s, first, bytes);
        TESS_TRY(hold_weights(s, first, end));
        TESS_TRY(repair_batch(s, x, n_tile, first, end));
        first = end;
    }
    return TESS_OK;
}

// The arguments of the stage: tables of the host, or what is on the device.
static tess_stage_autoreject_local local_args(const search *s, const double *x, int64_t n_tile)
{
    const tess_ar_store *store = s->request->store;
    tess_stage_autoreject_local args = s->there.args;
    if (!is_apart(s)) {
        args = (tess_stage_autoreject_local){.repaired = s->repaired,
                                             .first = s->repairs.first,
                                             .bad = s->repairs.bad,
                                             .repair = s->repairs.of_epoch,
                                             .bin = s->bins.bin,
                                             .bin_first = s->bins.bin_first,
                                             .train = s->bins.train,
                                             .test_first = s->bins.test_first,
                                             .test = s->bins.test,
                                             .n_kept = s->n_kept,
                                             .sse = s->sse};
    }
    args.x = x;
    args.n_tile = n_tile;
    args.tile_stride = (int64_t)store->tile_items;
    args.n_epoch = store->n_epoch;
    args.n_chan = store->n_chan;
    args.n_repair = s->repairs.n_repair;
    args.n_column = s->request->n_n_interpolate;
    args.n_bin = s->bins.n_bin;
    args.n_level = s->bins.n_level;
    args.n_fold = s->request->n_fold;
    return args;
}

static tess_status find_errors(search *s, const double *x, int64_t n_tile)
{
    const tess_ar_store *store = s->request->store;
    const tess_stage_autoreject_local args = local_args(s, x, n_tile);
    tess_span span = tess_span_begin(&s->ctx->tracer, "autoreject.local");
    TESS_TRY(tess_stage_run(store->device, TESS_STAGE_AUTOREJECT_LOCAL, &args, sizeof args));
    if (is_apart(s)) {
        const int64_t n = n_tile * s->n_block * s->n_cell;
        TESS_TRY(tess_resident_fetch(&s->there.sse, s->sse, (size_t)n * sizeof *s->sse));
    }
    const double items = (double)store->tile_items * (double)n_tile;
    tess_span_end(&span, items * sizeof(double), items * (double)s->request->n_n_interpolate);
    return TESS_OK;
}

// The errors of tiles in their order, whoever found them.
static void add_errors(search *s, const double *sse, int64_t n_tile)
{
    for (int64_t b = 0; b < n_tile * s->n_block; b++) {
        for (int64_t i = 0; i < s->n_cell; i++) {
            s->total[i] += sse[b * s->n_cell + i];
        }
    }
}

// Tiles that this rank takes of n from done on, whose errors are then in s->sse.
static tess_status work_on(search *s, int64_t done, tess_comm_range own)
{
    const int64_t n = own.end - own.begin;
    double *x = NULL;
    if (n == 0) {
        return TESS_OK;
    }
    TESS_TRY(tess_ar_store_take(s->request->store, done + own.begin, n, &x));
    if (s->repairs.n_repair > 0) {
        TESS_TRY(repair_tiles(s, x, n));
    }
    return find_errors(s, x, n);
}

// Ranks divide the tiles, and all add up the errors of all.
static tess_status work_on_all(search *s, int64_t done, int64_t n)
{
    const tess_comm_range own = tess_comm_share_of(s->ctx, n);
    TESS_TRY(work_on(s, done, own));
    if (tess_comm_size(s->ctx) == 1) {
        add_errors(s, s->sse, n);
        return TESS_OK;
    }
    const size_t bytes = (size_t)((own.end - own.begin) * s->n_block * s->n_cell) * sizeof *s->sse;
    const tess_comm_point at = {"errors of tiles",
                                (uint64_t)(done * s->request->store->n_tile + n)};
    tess_comm_parts parts;
    TESS_TRY(tess_comm_gather(s->ctx, at, TESS_OK, s->sse, bytes, &parts));
    add_errors(s, (const double *)(const void *)parts.data, n);
    tess_comm_parts_free(&parts);
    return TESS_OK;
}

static tess_status go_over_tiles(search *s)
{
    const tess_ar_local_request *q = s->request;
    tess_ar_store *store = q->store;
    const size_t state_bytes = (size_t)s->n_cell * sizeof *s->total;
    int64_t done = 0;
    if (q->resume_state) {
        if (q->resume_bytes != state_bytes || q->resume_tiles < 0 ||
            q->resume_tiles > store->n_tile) {
            TESS_FAIL(TESS_E_FORMAT, "checkpoint: its squared errors are not those of this search");
        }
        memcpy(s->total, q->resume_state, state_bytes);
        done = q->resume_tiles;
    }
    tess_watch progress;
    tess_watch_begin(&progress, s->ctx, "autoreject.local", "tiles", done,
                     (uint64_t)store->n_tile * store->tile_items * sizeof(double),
                     tess_ar_store_strategy(store));
    while (done < store->n_tile) {
        TESS_TRY(tess_watch_poll(&progress, done, store->n_tile));
        const int64_t n = least(s->group * tess_comm_size(s->ctx), store->n_tile - done);
        TESS_TRY(work_on_all(s, done, n));
        done += n;
        if (q->keep) {
            TESS_TRY(q->keep(q->user, done, s->total, state_bytes));
        }
    }
    return tess_watch_poll(&progress, done, store->n_tile);
}

// No cell is left: says which rule removed them.
static tess_status refuse(const search *s)
{
    const tess_ar_local_request *q = s->request;
    int64_t n_rule = 0;
    int64_t n_empty = 0;
    for (int64_t i = 0; i < q->n_consensus; i++) {
        for (int64_t j = 0; j < q->n_n_interpolate; j++) {
            const bool rule = s->bins.limits[s->bins.level_of[i]] <= (double)q->n_interpolate[j];
            n_rule += rule;
            n_empty += !rule;
        }
    }
    TESS_FAIL(
        TESS_E_NUMERIC,
        "consensus, n_interpolate: no pair is admissible for the %lld %s channels: %lld of %lld "
        "have consensus * %lld <= n_interpolate, and %lld keep no epoch in some fold%s; give "
        "larger values of consensus, smaller ones of n_interpolate, look for channels that are "
        "bad throughout, or leave the type out",
        (long long)q->store->n_chan, q->type ? q->type : "given", (long long)n_rule,
        (long long)(n_rule + n_empty), (long long)q->store->n_chan, (long long)n_empty,
        s->repairs.n_left_out > 0
            ? " (epochs with too few channels left to repair the others from do not count)"
            : "");
}

// Row by row: the first of the smallest means.
static tess_status choose(const search *s, tess_ar_local_result *result)
{
    const tess_ar_local_request *q = s->request;
    const double n = (double)q->store->n_chan * (double)q->store->n_time;
    double best = (double)INFINITY;
    result->n_left_out = s->repairs.n_left_out;
    for (int64_t i = 0; i < q->n_consensus; i++) {
        for (int64_t j = 0; j < q->n_n_interpolate; j++) {
            double *loss = result->loss + (i * q->n_n_interpolate + j) * q->n_fold;
            double mean = 0;
            for (int64_t f = 0; f < q->n_fold; f++) {
                const int64_t cell = (j * q->n_fold + f) * s->bins.n_level + s->bins.level_of[i];
                loss[f] = s->n_kept[cell] > 0 ? sqrt(s->total[cell] / n) : (double)INFINITY;
                mean += loss[f];
            }
            mean /= (double)q->n_fold;
            if (mean < best) {
                best = mean;
                result->consensus_index = i;
                result->n_interpolate_index = j;
            }
        }
    }
    return best < (double)INFINITY ? TESS_OK : refuse(s);
}

static tess_status run(search *s, tess_ar_local_result *result)
{
    TESS_TRY(tess_ar_bins_make(&s->memory, s->request, &s->bins));
    TESS_TRY(tess_ar_repairs_make(&s->memory, s->request, &s->bins, &s->repairs));
    TESS_TRY(take_memory(s));
    tess_ar_count_kept(s->request, &s->bins, &s->repairs, s->n_kept);
    TESS_TRY(prepare(s));
    if (is_apart(s)) {
        TESS_TRY(tess_ar_local_device_open(&s->memory, s->request, &s->bins, &s->repairs, s->n_kept,
                                           s->group, weight_bytes(s), &s->there));
    }
    TESS_TRY(go_over_tiles(s));
    return choose(s, result);
}

tess_status tess_ar_local_search(tess_context *ctx, const tess_ar_local_request *request,
                                 tess_ar_local_result *result)
{
    search s = {.ctx = ctx, .request = request};
    tess_blocks_init(&s.memory, &ctx->heap);
    const tess_status status = run(&s, result);
    tess_ar_local_device_close(&s.there);
    tess_blocks_free(&s.memory);
    return status;
}
