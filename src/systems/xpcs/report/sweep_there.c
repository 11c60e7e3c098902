#include "systems/xpcs/report/sweep_there.h"

#include "base/status.h"
#include "runtime/budget.h"
#include "runtime/device_memory.h"
#include "runtime/stage.h"
#include "systems/xpcs/model/lend.h"
#include "systems/xpcs/pass/send.h"

#include <string.h>

enum {
    CHUNK_BYTES = 2 << 20,   // of records taken at a time
    DEVICE_BYTES = 32 << 20, // likewise, where a call has to be worth its start
    SHARE = 8,               // of the memory, at most
};

static int64_t leaves_of(const tess_xp_sweep_there *t)
{
    const uint64_t room = tess_budget_room(t->ctx->memory_limit_bytes) / SHARE;
    const uint64_t most = t->device->shares_host_memory ? CHUNK_BYTES : DEVICE_BYTES;
    return tess_xp_leaves_in(t->data, most < room ? most : room);
}

// Room for all records, which may be there already, or for those of a chunk.
static tess_status take_records(tess_xp_sweep_there *t)
{
    const uint64_t bytes = t->data->info.bytes;
    t->key = tess_xp_data_key(t->data);
    t->fits = t->key != 0 && bytes <= tess_device_left(t->device);
    if (t->fits) {
        TESS_TRY(tess_resident_create_kept(t->device, t->key, bytes, &t->records, &t->has_all));
        t->leaves = t->has_all ? tess_xp_tiles_n_leaf(&t->data->tiles) : t->leaves;
        return TESS_OK;
    }
    // No record is longer than the first.
    const uint64_t leaf = tess_xp_tiles_at(&t->data->tiles, 0).bytes * TESS_STAGE_XPCS_LEAF;
    const uint64_t left = tess_device_left(t->device) / 2;
    const int64_t most = (int64_t)(left / leaf);
    t->leaves = t->leaves < most ? t->leaves : most > 1 ? most : 1;
    return tess_resident_create(t->device, (uint64_t)t->leaves * leaf, &t->records);
}

// Bytes of a grid on the device: values need no derivatives, but those of two components lie
// between them.
static size_t grid_bytes(const tess_stage_xpcs_sweep *h)
{
    const int64_t n_array = !h->grid ? 0 : h->grid->two ? TESS_XP_TWO_ARRAYS : 2;
    return (size_t)(n_array * h->tiles->n_frame) * sizeof(double);
}

// To the beginning of the point.
static tess_status send_grid(tess_xp_sweep_there *t)
{
    const tess_stage_xpcs_sweep *h = &t->host;
    const int64_t n_frame = h->tiles->n_frame;
    const size_t bytes = grid_bytes(h);
    const double *at = t->point.data;
    t->grid = (tess_xp_grid){.eps_abs = h->grid->eps_abs};
    t->stage.grid = &t->grid;
    if (h->grid->two) {
        t->grid.two = at;
        t->grid.two_stride = n_frame;
        return tess_resident_put(&t->point, 0, h->grid->two, bytes);
    }
    t->grid.diffusion = at;
    t->grid.shear = h->n_param == 3 ? NULL : at + n_frame;
    TESS_TRY(tess_resident_put(&t->point, 0, h->grid->diffusion, bytes / 2));
    return h->n_param == 3 ? TESS_OK
                           : tess_resident_put(&t->point, bytes / 2, h->grid->shear, bytes / 2);
}

// Grid, angles and sigma by lag, one behind the other.
static tess_status send_point(tess_xp_sweep_there *t)
{
    const tess_stage_xpcs_sweep *h = &t->host;
    const int64_t n_frame = h->tiles->n_frame;
    const int64_t n_angle = h->tiles->n_angle;
    const size_t grid = grid_bytes(h);
    const size_t angles = (size_t)n_angle * sizeof *h->angles;
    const size_t lags = h->lag_sigma ? (size_t)(n_angle * n_frame) * sizeof(double) : 0;
    TESS_TRY(tess_resident_create(t->device, grid + angles + lags, &t->point));
    char *at = t->point.data;
    if (h->grid) {
        TESS_TRY(send_grid(t));
    }
    t->stage.angles = (const tess_xp_angle *)(const void *)(at + grid);
    TESS_TRY(tess_resident_put(&t->point, grid, h->angles, angles));
    if (h->lag_sigma) {
        t->stage.lag_sigma = (const double *)(const void *)(at + grid + angles);
        TESS_TRY(tess_resident_put(&t->point, grid + angles, h->lag_sigma, lags));
    }
    return TESS_OK;
}

static void *const *sums_of(const tess_stage_xpcs_sweep *stage, void *list[4])
{
    list[0] = stage->cells;
    list[1] = stage->lags;
    list[2] = stage->ages;
    list[3] = stage->bars;
    return list;
}

static tess_status send_sums(tess_xp_sweep_there *t)
{
    const tess_stage_xpcs_sweep *h = &t->host;
    void *list[4];
    void *const *host = sums_of(h, list);
    size_t bytes = 0;
    const int64_t n = h->n_angle;
    t->sum_bytes[0] = (size_t)(n * tess_xp_map_cells(h->side)) * sizeof *h->cells;
    t->sum_bytes[1] = (size_t)(n * h->tiles->n_frame) * sizeof *h->lags;
    t->sum_bytes[2] = (size_t)(n * TESS_XP_SWEEP_LAGS * h->n_age) * sizeof *h->ages;
    t->sum_bytes[3] = (size_t)(n * (TESS_XP_SWEEP_BARS + 1)) * sizeof *h->bars;
    for (int i = 0; i < 4; i++) {
        bytes += t->sum_bytes[i];
    }
    TESS_TRY(tess_resident_create(t->device, bytes, &t->sums));
    char *at = t->sums.data;
    t->stage.cells = (tess_xp_cell *)(void *)at;
    t->stage.lags = (tess_xp_sum *)(void *)(at + t->sum_bytes[0]);
    t->stage.ages = (tess_xp_sum *)(void *)(at + t->sum_bytes[0] + t->sum_bytes[1]);
    t->stage.bars = (int64_t *)(void *)(at + bytes - t->sum_bytes[3]);
    size_t used = 0;
    for (int i = 0; i < 4; i++) {
        TESS_TRY(tess_resident_put(&t->sums, used, host[i], t->sum_bytes[i]));
        used += t->sum_bytes[i];
    }
    return TESS_OK;
}

static tess_status open_there(tess_xp_sweep_there *t)
{
    static const int32_t stages[] = {TESS_STAGE_XPCS_SWEEP};
    TESS_TRY(tess_stage_choose(t->ctx, stages, 1, "report", &t->device));
    const int32_t is_two = t->host.grid && t->host.grid->two;
    TESS_TRY(
        tess_xp_device_for(t->ctx, is_two ? TESS_XPCS_TWO_COMPONENT : 0, "report", &t->device));
    t->leaves = leaves_of(t);
    if (!t->device->shares_host_memory) {
        TESS_TRY(tess_xp_send_tiles(t->device, t->host.tiles, &t->tables, &t->tiles));
        t->stage.tiles = &t->tiles;
        TESS_TRY(send_point(t));
        TESS_TRY(send_sums(t));
        TESS_TRY(take_records(t));
    }
    return t->has_all ? TESS_OK
                      : tess_xp_reader_open(t->ctx, t->data, t->leaves, false, &t->reader);
}

tess_status tess_xp_sweep_there_open(tess_context *ctx, tess_xpcs_data *data,
                                     const tess_stage_xpcs_sweep *stage, tess_xp_sweep_there *out)
{
    *out = (tess_xp_sweep_there){.ctx = ctx, .data = data, .host = *stage, .stage = *stage};
    return open_there(out);
}

void tess_xp_sweep_there_close(tess_xp_sweep_there *t)
{
    if (t->reader.data) {
        tess_xp_reader_close(&t->reader);
    }
    if (!t->device || t->device->shares_host_memory) {
        return;
    }
    const bool has_ended = tess_stage_finish(t->device) == TESS_OK;
    if (has_ended && t->fits && t->has_all) {
        tess_resident_keep(&t->records, t->key);
    }
    tess_resident_free(&t->records);
    tess_resident_free(&t->tables);
    tess_resident_free(&t->point);
    tess_resident_free(&t->sums);
}

tess_status tess_xp_sweep_there_add(tess_xp_sweep_there *t, int64_t first, int64_t n_leaf)
{
    const tess_xp_tiles *tiles = t->host.tiles;
    const uint64_t begin = tess_xp_tiles_leaf_offset(tiles, first);
    const uint64_t end = tess_xp_tiles_leaf_offset(tiles, first + n_leaf);
    const unsigned char *host = NULL;
    if (!t->has_all) {
        TESS_TRY(tess_xp_reader_get(&t->reader, first, n_leaf, &host));
    }
    t->stage.first_leaf = first;
    t->stage.n_leaf = n_leaf;
    t->stage.records_at = begin;
    if (t->device->shares_host_memory) {
        t->stage.records = host;
        return tess_stage_run(t->device, TESS_STAGE_XPCS_SWEEP, &t->stage, sizeof t->stage);
    }
    const uint64_t at = t->fits ? begin : 0;
    t->stage.records = (const unsigned char *)t->records.data + at;
    if (host) {
        TESS_TRY(tess_resident_put(&t->records, at, host, end - begin));
    }
    TESS_TRY(tess_stage_start(t->device, TESS_STAGE_XPCS_SWEEP, &t->stage, sizeof t->stage));
    // The host's records, and the room of a chunk, are the next one's.
    TESS_TRY(t->has_all ? TESS_OK : tess_stage_finish(t->device));
    t->has_all = t->has_all || (t->fits && first + n_leaf == tess_xp_tiles_n_leaf(tiles));
    return TESS_OK;
}

tess_status tess_xp_sweep_there_fetch(tess_xp_sweep_there *t)
{
    void *list[4];
    if (t->device->shares_host_memory) {
        return TESS_OK;
    }
    void *const *host = sums_of(&t->host, list);
    TESS_TRY(tess_stage_finish(t->device));
    size_t used = 0;
    for (int i = 0; i < 4; i++) {
        tess_resident part = {.device = t->device,
                              .data = (char *)t->sums.data + used,
                              .bytes = t->sum_bytes[i],
                              .is_borrowed = true};
        TESS_TRY(tess_resident_fetch(&part, host[i], t->sum_bytes[i]));
        used += t->sum_bytes[i];
    }
    return TESS_OK;
}
