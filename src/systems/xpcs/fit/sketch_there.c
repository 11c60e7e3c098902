#include "systems/xpcs/fit/sketch_there.h"

#include "base/status.h"
#include "runtime/device_memory.h"
#include "runtime/stage.h"
#include "systems/xpcs/pass/send.h"

#include <string.h>

// Doubles of the grids of a look: they follow each other in the host's memory, too.
static size_t grid_doubles(const tess_stage_xpcs_pass *call)
{
    return (size_t)tess_xp_grid_doubles(call->n_param, call->tiles->n_frame);
}

static size_t points_bytes(const tess_stage_xpcs_pass *call, int64_t n_set)
{
    return (size_t)n_set * (grid_doubles(call) * sizeof(double) +
                            (size_t)call->tiles->n_angle * sizeof *call->angles);
}

static size_t sums_bytes(const tess_stage_xpcs_pass *call, int64_t n_set)
{
    return (size_t)(n_set * call->n_leaf * call->n_sum) * sizeof(double);
}

static tess_status take_memory(tess_xp_sketch_there *there, const tess_stage_xpcs_pass *call)
{
    const tess_device *device = there->device;
    const size_t records = (size_t)call->tiles->row_offset[call->tiles->n_frame - 1];
    const size_t scratch =
        device->backend->scratch_bytes(device->handle, TESS_STAGE_XPCS_PASS, call);
    const size_t points = points_bytes(call, call->n_set);
    const size_t sums = sums_bytes(call, call->n_set);
    void *pinned = NULL;
    TESS_TRY(tess_xp_send_tiles(device, call->tiles, &there->tables, &there->tiles));
    bool is_used = false;
    TESS_TRY(tess_resident_create_kept(device, 0, records, &there->records, &is_used));
    TESS_TRY(tess_resident_create_kept(device, 0, points, &there->points, &is_used));
    TESS_TRY(tess_resident_create_kept(device, 0, sums, &there->sums, &is_used));
    TESS_TRY(tess_resident_create_kept(device, 0, scratch, &there->scratch, &is_used));
    there->pinned_bytes = points + sums;
    TESS_TRY(tess_device_alloc_kept(device, TESS_SPACE_PINNED, 0, there->pinned_bytes, &pinned,
                                    &is_used));
    there->pinned = pinned;
    return tess_xp_sketch_there_send(there, call->records);
}

tess_status tess_xp_sketch_there_open(tess_device *device, const tess_stage_xpcs_pass *call,
                                      tess_xp_sketch_there *out)
{
    TESS_ASSERT(call->n_set <= TESS_XP_MOST_LOOKS);
    *out = (tess_xp_sketch_there){.device = device};
    const tess_status status = take_memory(out, call);
    if (status != TESS_OK) {
        tess_xp_sketch_there_close(out);
    }
    return status;
}

void tess_xp_sketch_there_close(tess_xp_sketch_there *there)
{
    if (!there->device) {
        return;
    }
    tess_resident *const arrays[] = {&there->records, &there->points, &there->sums,
                                     &there->scratch};
    const bool has_ended = tess_stage_finish(there->device) == TESS_OK;
    tess_resident_free(&there->tables);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if (has_ended) {
            tess_resident_keep(arrays[i], 0);
        }
        tess_resident_free(arrays[i]);
    }
    if (there->pinned) {
        tess_device_keep(there->device, TESS_SPACE_PINNED, 0, there->pinned, there->pinned_bytes);
    }
    *there = (tess_xp_sketch_there){0};
}

tess_status tess_xp_sketch_there_send(tess_xp_sketch_there *there, const unsigned char *records)
{
    return tess_resident_put(&there->records, 0, records, there->records.bytes);
}

tess_status tess_xp_sketch_there_run(tess_xp_sketch_there *there, const tess_stage_xpcs_pass *call)
{
    const size_t n_double = grid_doubles(call);
    const size_t of_grids = (size_t)call->n_set * n_double * sizeof(double);
    const size_t all = points_bytes(call, call->n_set);
    tess_stage_xpcs_pass args = *call;
    memcpy(there->pinned, call->grid[0].diffusion, of_grids);
    memcpy(there->pinned + of_grids, call->angles, all - of_grids);
    TESS_TRY(tess_resident_put(&there->points, 0, there->pinned, all));
    for (int64_t i = 0; i < call->n_set; i++) {
        const double *at = (const double *)there->points.data + (size_t)i * n_double;
        there->grids[i] = tess_xp_grid_at(&call->grid[i], at, call->tiles->n_frame);
    }
    args.tiles = &there->tiles;
    args.grid = there->grids;
    args.angles =
        (const tess_xp_angle *)(const void *)((const char *)there->points.data + of_grids);
    args.records = there->records.data;
    args.sums = there->sums.data;
    args.scratch = there->scratch.data;
    TESS_TRY(tess_stage_start(there->device, TESS_STAGE_XPCS_PASS, &args, sizeof args));
    unsigned char *down = there->pinned + there->pinned_bytes - there->sums.bytes;
    const size_t bytes = sums_bytes(call, call->n_set);
    TESS_TRY(tess_resident_fetch(&there->sums, down, bytes));
    memcpy(call->sums, down, bytes);
    return TESS_OK;
}
