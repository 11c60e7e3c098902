#include "systems/xpcs/pass/there.h"

#include "base/hash.h"
#include "base/status.h"
#include "runtime/device_memory.h"
#include "runtime/stage.h"
#include "systems/xpcs/pass/send.h"

#include <string.h>

// Leaves of a stage on a device of its own memory: a call is then long enough to hide its start,
// and the sums of its leaves stay few.
enum { DEVICE_LEAVES = 512 };
static const size_t DEVICE_SUMS_BYTES = (size_t)128 << 20;

int64_t tess_xp_there_stretches(int64_t leaves_per_call)
{
    int64_t n = 1;
    for (int64_t length = 1; length < leaves_per_call; length *= 2) {
        n += 2;
    }
    return n;
}

static size_t sums_bytes(const tess_xp_there_setup *setup, int64_t n)
{
    return (size_t)(setup->max_set * n * setup->n_sum) * sizeof(double);
}

static size_t grid_bytes(const tess_xp_there_setup *setup)
{
    return (size_t)tess_xp_grid_doubles(setup->n_param, setup->data->info.n_frame) * sizeof(double);
}

static size_t points_bytes(const tess_xp_there_setup *setup, int64_t n_set)
{
    return (size_t)n_set *
           (grid_bytes(setup) + (size_t)setup->data->info.n_angle * sizeof(tess_xp_angle));
}

// Of a device that has its own memory.
static int64_t call_leaves(const tess_xp_there_setup *setup)
{
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&setup->data->tiles);
    return DEVICE_LEAVES < n_leaf ? DEVICE_LEAVES : n_leaf;
}

static int64_t leaves_of_call(const tess_xp_there_setup *setup)
{
    if (setup->device->shares_host_memory) { // more points take as long with fewer leaves
        const int64_t n = setup->leaves_per_call / setup->max_set;
        return n > 1 ? n : 1;
    }
    int64_t n = call_leaves(setup);
    // Parts of leaves take eight times as much; most of the memory is for the records.
    const uint64_t share = tess_device_left(setup->device) / 40;
    const uint64_t most = share < DEVICE_SUMS_BYTES ? share : DEVICE_SUMS_BYTES;
    while (n > 1 && sums_bytes(setup, n) > most) {
        n = (n + 1) / 2;
    }
    return n;
}

size_t tess_xp_there_bytes(const tess_xp_there_setup *setup)
{
    const int64_t n = leaves_of_call(setup);
    const size_t common = sums_bytes(setup, tess_xp_there_stretches(n)) +
                          (size_t)setup->max_set * sizeof(tess_xp_grid);
    return common + (setup->device->shares_host_memory
                         ? sums_bytes(setup, n)
                         : points_bytes(setup, setup->max_set) +
                               (size_t)tess_xp_tiles_n_leaf(&setup->data->tiles));
}

static uint64_t bytes_of(const tess_xpcs_data *data, int64_t leaf, int64_t end)
{
    return tess_xp_tiles_leaf_offset(&data->tiles, end) -
           tess_xp_tiles_leaf_offset(&data->tiles, leaf);
}

// By which records are found again; part of them has another one.
static uint64_t key_of(const tess_xp_there *there)
{
    const uint64_t key = tess_xp_data_key(there->setup.data);
    if (key == 0 || tess_xp_there_takes_all(there)) {
        return key;
    }
    tess_hash hash = {0};
    tess_hash_mix(&hash, &key, sizeof key);
    tess_hash_mix(&hash, &there->held_leaf, sizeof there->held_leaf);
    tess_hash_mix(&hash, &there->held_end, sizeof there->held_end);
    return hash.low | 1;
}

static tess_status hold(tess_xp_there *there, int64_t leaf, int64_t end)
{
    const tess_xp_there_setup *setup = &there->setup;
    const size_t n_leaf = (size_t)tess_xp_tiles_n_leaf(&setup->data->tiles);
    const uint64_t bytes = bytes_of(setup->data, leaf, end);
    there->held_leaf = leaf;
    there->held_end = end;
    there->is_sent =
        tess_heap_alloc_zero(&there->ctx->heap, n_leaf, TESS_TAG_GENERAL, "leaves on the device");
    if (!there->is_sent) {
        return TESS_E_MEMORY;
    }
    bool is_there = false;
    there->records_key = key_of(there);
    if (there->records_key == 0) {
        return tess_resident_create(setup->device, bytes, &there->records);
    }
    TESS_TRY(tess_resident_create_kept(setup->device, there->records_key, bytes, &there->records,
                                       &is_there));
    memset(there->is_sent + leaf, is_there, (size_t)(end - leaf));
    return TESS_OK;
}

// Room for all records, for those of its own, or for a chunk.
static tess_status take_records(tess_xp_there *there)
{
    const tess_xp_there_setup *setup = &there->setup;
    const tess_xpcs_data *data = setup->data;
    const uint64_t left = tess_device_left(setup->device);
    if (setup->may_hold_all && data->info.bytes <= left) {
        return hold(there, 0, tess_xp_tiles_n_leaf(&data->tiles));
    }
    if (bytes_of(data, setup->own_leaf, setup->own_end) <= left) {
        return hold(there, setup->own_leaf, setup->own_end);
    }
    // No record is longer than the first.
    const uint64_t leaf = tess_xp_tiles_at(&data->tiles, 0).bytes * TESS_STAGE_XPCS_LEAF;
    // Half is left to what else a fit keeps there.
    while (there->most_leaves > 1 && (uint64_t)there->most_leaves * leaf > left / 2) {
        there->most_leaves = (there->most_leaves + 1) / 2;
    }
    const uint64_t bytes = (uint64_t)there->most_leaves * leaf;
    if (bytes > left) {
        return tess_device_too_small(setup->device, "takes for a stretch of two-time correlations",
                                     bytes);
    }
    return tess_resident_create(setup->device, bytes, &there->records);
}

static const tess_xp_grids *grids_of(const tess_xp_there_setup *setup, int64_t set)
{
    return set == 0 ? setup->grids : &setup->more_grids[set - 1];
}

static tess_status bind_grids(tess_xp_there *there)
{
    const tess_xp_there_setup *setup = &there->setup;
    const size_t bytes = (size_t)setup->max_set * sizeof *there->grid;
    there->grid = tess_heap_alloc(&there->ctx->heap, bytes, TESS_TAG_GENERAL, "grids");
    if (!there->grid) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < setup->max_set; k++) {
        const tess_xp_grid *host = &grids_of(setup, k)->grid;
        const size_t at = (size_t)k * grid_bytes(setup) / sizeof(double);
        there->grid[k] = setup->device->shares_host_memory
                             ? *host
                             : tess_xp_grid_at(host, (const double *)there->point.data + at,
                                               setup->data->info.n_frame);
    }
    return TESS_OK;
}

static tess_status take(const tess_device *device, size_t bytes, tess_resident *out)
{
    bool is_used = false;
    return tess_resident_create_kept(device, 0, bytes, out, &is_used);
}

static tess_status take_memory(tess_xp_there *there)
{
    const tess_xp_there_setup *setup = &there->setup;
    const tess_device *device = setup->device;
    const int64_t n_stretch = tess_xp_there_stretches(there->leaves_per_call);
    TESS_TRY(take(device, sums_bytes(setup, there->leaves_per_call), &there->sums));
    TESS_TRY(take(device, sums_bytes(setup, n_stretch), &there->reduced));
    if (device->shares_host_memory) {
        there->tiles = setup->data->tiles;
        there->angles = setup->angles;
        return bind_grids(there);
    }
    const tess_stage_xpcs_pass call = {.tiles = &setup->data->tiles,
                                       .n_set = setup->max_set,
                                       .n_leaf = there->leaves_per_call,
                                       .n_param = (int32_t)setup->n_param};
    const size_t scratch =
        device->backend->scratch_bytes(device->handle, TESS_STAGE_XPCS_PASS, &call);
    TESS_TRY(take(device, scratch, &there->scratch));
    TESS_TRY(tess_xp_send_tiles(device, &setup->data->tiles, &there->tables, &there->tiles));
    const size_t points = points_bytes(setup, setup->max_set);
    TESS_TRY(take(device, points, &there->point));
    TESS_TRY(bind_grids(there));
    there->pinned_bytes = points + sums_bytes(setup, n_stretch);
    void *pinned = NULL;
    bool is_used = false;
    TESS_TRY(tess_device_alloc_kept(device, TESS_SPACE_PINNED, 0, there->pinned_bytes, &pinned,
                                    &is_used));
    there->pinned = pinned;
    return take_records(there);
}

static tess_status send_lags(tess_xp_there *there)
{
    const tess_xp_there_setup *setup = &there->setup;
    const size_t n = (size_t)(setup->data->info.n_angle * setup->data->info.n_frame);
    return setup->lag_weight ? tess_resident_from(setup->device, setup->lag_weight,
                                                  n * sizeof(double), &there->lags)
                             : TESS_OK;
}

tess_status tess_xp_there_open(tess_context *ctx, const tess_xp_there_setup *setup,
                               tess_xp_there *out)
{
    const int64_t n = leaves_of_call(setup);
    *out = (tess_xp_there){.ctx = ctx,
                           .setup = *setup,
                           .leaves_per_call = n,
                           .most_leaves = setup->device->shares_host_memory ? n * setup->max_set
                                                                            : call_leaves(setup)};
    tess_status status = take_memory(out);
    if (status == TESS_OK) {
        status = send_lags(out);
    }
    if (status != TESS_OK) {
        tess_xp_there_close(out);
    }
    return status;
}

// The records of all leaves that it keeps are on the device.
static bool has_all(const tess_xp_there *there)
{
    return there->is_sent && !memchr(there->is_sent + there->held_leaf, 0,
                                     (size_t)(there->held_end - there->held_leaf));
}

bool tess_xp_there_takes_all(const tess_xp_there *there)
{
    return !there->is_sent ||
           there->held_end - there->held_leaf == tess_xp_tiles_n_leaf(&there->setup.data->tiles);
}

const unsigned char *tess_xp_there_base(const tess_xp_there *there)
{
    const uint64_t before = tess_xp_tiles_leaf_offset(&there->setup.data->tiles, there->held_leaf);
    return (const unsigned char *)((uintptr_t)there->records.data - (uintptr_t)before);
}

// The next pass over the same data finds its records there, and others what is of their size.
void tess_xp_there_close(tess_xp_there *there)
{
    if (!there->ctx) {
        return;
    }
    tess_device *device = there->setup.device;
    tess_resident *const arrays[] = {&there->tables, &there->lags, &there->frames};
    tess_resident *const kept[] = {&there->point, &there->sums, &there->scratch, &there->reduced};
    const bool has_ended = tess_stage_finish(device) == TESS_OK;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        tess_resident_free(arrays[i]);
    }
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (has_ended) {
            tess_resident_keep(kept[i], 0);
        }
        tess_resident_free(kept[i]);
    }
    if (has_ended && there->records_key != 0 && has_all(there)) {
        tess_resident_keep(&there->records, there->records_key);
    } else {
        tess_resident_free(&there->records);
    }
    if (there->pinned) {
        tess_device_keep(device, TESS_SPACE_PINNED, 0, there->pinned, there->pinned_bytes);
    }
    tess_heap_free(&there->ctx->heap, there->grid,
                   (size_t)there->setup.max_set * sizeof *there->grid, TESS_TAG_GENERAL);
    tess_heap_free(&there->ctx->heap, there->is_sent,
                   (size_t)tess_xp_tiles_n_leaf(&there->setup.data->tiles), TESS_TAG_GENERAL);
    *there = (tess_xp_there){0};
}

static tess_status send_frames(tess_xp_there *there, int64_t n_set, const double *frame_weight)
{
    const tess_xp_there_setup *setup = &there->setup;
    const size_t bytes = (size_t)(n_set * setup->data->info.n_frame) * sizeof(double);
    const size_t most = bytes / (size_t)n_set * (size_t)setup->max_set;
    if (setup->device->shares_host_memory) {
        return tess_resident_from(setup->device, frame_weight, bytes, &there->frames);
    }
    if (!there->frames.device) {
        TESS_TRY(tess_resident_create(setup->device, most, &there->frames));
    }
    return tess_resident_put(&there->frames, 0, frame_weight, bytes);
}

tess_status tess_xp_there_points(tess_xp_there *there, int64_t n_set, const double *frame_weight)
{
    const tess_xp_there_setup *setup = &there->setup;
    if (frame_weight) {
        TESS_TRY(send_frames(there, n_set, frame_weight));
    }
    if (setup->device->shares_host_memory) {
        return TESS_OK;
    }
    const size_t of_grid = grid_bytes(setup);
    const size_t of_grids = (size_t)n_set * of_grid;
    const size_t bytes = points_bytes(setup, n_set);
    for (int64_t k = 0; k < n_set; k++) {
        memcpy(there->pinned + (size_t)k * of_grid, grids_of(setup, k)->sums, of_grid);
    }
    memcpy(there->pinned + of_grids, setup->angles, bytes - of_grids);
    there->angles =
        (const tess_xp_angle *)(const void *)((const char *)there->point.data + of_grids);
    return tess_resident_put(&there->point, 0, there->pinned, bytes);
}

int64_t tess_xp_there_leaves(const tess_xp_there *there, int64_t n_set)
{
    const int64_t n = there->leaves_per_call * there->setup.max_set / n_set;
    return n < there->most_leaves ? n : there->most_leaves;
}

int64_t tess_xp_there_has(const tess_xp_there *there, int64_t first, int64_t n_leaf)
{
    int64_t n = 0;
    while (there->is_sent && n < n_leaf && there->is_sent[first + n]) {
        n++;
    }
    return n;
}

tess_status tess_xp_there_records(tess_xp_there *there, int64_t first, int64_t n_leaf,
                                  const unsigned char *host, const unsigned char **records)
{
    const tess_xp_tiles *tiles = &there->setup.data->tiles;
    const uint64_t begin = tess_xp_tiles_leaf_offset(tiles, first);
    const uint64_t bytes = tess_xp_tiles_leaf_offset(tiles, first + n_leaf) - begin;
    if (there->setup.device->shares_host_memory) {
        *records = host;
        return TESS_OK;
    }
    const uint64_t at =
        there->is_sent ? begin - tess_xp_tiles_leaf_offset(tiles, there->held_leaf) : 0;
    *records = (const unsigned char *)there->records.data + at;
    if (host) {
        TESS_TRY(tess_resident_put(&there->records, at, host, bytes));
    }
    if (host && there->is_sent) {
        memset(there->is_sent + first, 1, (size_t)n_leaf);
    }
    return TESS_OK;
}

tess_status tess_xp_there_run(tess_xp_there *there, tess_stage_xpcs_pass *pass, int64_t before,
                              double **sums)
{
    tess_device *device = there->setup.device;
    pass->tiles = &there->tiles;
    pass->grid = there->grid;
    pass->angles = there->angles;
    pass->lag_weight = there->lags.data;
    pass->frame_weight = pass->frame_weight ? there->frames.data : NULL;
    pass->sums = there->sums.data;
    pass->scratch = there->scratch.data;
    const tess_stage_xpcs_reduce reduce = {.sums = there->sums.data,
                                           .out = there->reduced.data,
                                           .n_sum = pass->n_sum,
                                           .n_set = pass->n_set,
                                           .n_leaf = pass->n_leaf,
                                           .first = before,
                                           .n_stretch =
                                               tess_xp_count_stretches(before, pass->n_leaf)};
    TESS_TRY(tess_stage_start(device, TESS_STAGE_XPCS_PASS, pass, sizeof *pass));
    TESS_TRY(tess_stage_start(device, TESS_STAGE_XPCS_REDUCE, &reduce, sizeof reduce));
    if (device->shares_host_memory) {
        *sums = there->reduced.data;
        return tess_stage_finish(device);
    }
    const size_t points = points_bytes(&there->setup, there->setup.max_set);
    *sums = (double *)(void *)(there->pinned + points);
    const int64_t n = pass->n_set * reduce.n_stretch * pass->n_sum;
    return tess_resident_fetch(&there->reduced, *sums, (size_t)n * sizeof(double));
}
