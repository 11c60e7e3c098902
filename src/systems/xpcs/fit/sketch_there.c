#include "systems/xpcs/fit/sketch_there.h"

#include "base/status.h"
#include "runtime/device_memory.h"
#include "runtime/stage.h"
#include "systems/xpcs/pass/send.h"

#include <string.h>

static size_t grid_doubles(const tess_stage_xpcs_pass *call)
{
    return (size_t)tess_xp_grid_doubles(call->n_param, call->tiles->n_frame);
}

static size_t grids_bytes(const tess_stage_xpcs_pass *call, int64_t n_set)
{
    return (size_t)n_set * grid_doubles(call) * sizeof(double);
}

static size_t angles_bytes(const tess_stage_xpcs_pass *call, int64_t n_set)
{
    return (size_t)(n_set * call->tiles->n_angle) * sizeof *call->angles;
}

// What goes up for a call: angles, then parameters.
static size_t sent_bytes(const tess_stage_xpcs_pass *call, int64_t n_set)
{
    return angles_bytes(call, n_set) + (size_t)(n_set * call->n_param) * sizeof(double);
}

static size_t sums_bytes(const tess_stage_xpcs_pass *call, int64_t n_set)
{
    return (size_t)(n_set * call->n_leaf * call->n_sum) * sizeof(double);
}

static tess_status take_memory(tess_xp_sketch_there *there, const tess_stage_xpcs_pass *call,
                               const tess_xp_sketch_times *times)
{
    const tess_device *device = there->device;
    const size_t records = (size_t)call->tiles->row_offset[call->tiles->n_frame - 1];
    const size_t scratch =
        device->backend->scratch_bytes(device->handle, TESS_STAGE_XPCS_PASS, call);
    const size_t sent = sent_bytes(call, call->n_set);
    const size_t sums = sums_bytes(call, call->n_set);
    void *pinned = NULL;
    TESS_TRY(tess_xp_send_tiles(device, call->tiles, &there->tables, &there->tiles));
    bool is_used = false;
    TESS_TRY(tess_resident_create_kept(device, 0, records, &there->records, &is_used));
    TESS_TRY(tess_resident_create_kept(device, 0, grids_bytes(call, call->n_set),
                                       &there->grid_values, &is_used));
    TESS_TRY(tess_resident_create_kept(device, 0, sent, &there->points, &is_used));
    TESS_TRY(tess_resident_create_kept(device, 0, sums, &there->sums, &is_used));
    TESS_TRY(tess_resident_create_kept(device, 0, scratch, &there->scratch, &is_used));
    there->pinned_bytes = sent + sums;
    TESS_TRY(tess_device_alloc_kept(device, TESS_SPACE_PINNED, 0, there->pinned_bytes, &pinned,
                                    &is_used));
    there->pinned = pinned;
    TESS_TRY(tess_resident_from(device, times->log_t, (size_t)times->n_time * sizeof *times->log_t,
                                &there->log_t));
    TESS_TRY(tess_resident_from(device, times->frames,
                                (size_t)call->tiles->n_frame * sizeof *times->frames,
                                &there->frames));
    there->n_time = times->n_time;
    for (int64_t i = 0; i < call->n_set; i++) {
        const double *at = (const double *)there->grid_values.data + (size_t)i * grid_doubles(call);
        there->grids[i] = tess_xp_grid_at(&call->grid[i], at, call->tiles->n_frame);
    }
    return tess_xp_sketch_there_send(there, call->records);
}

tess_status tess_xp_sketch_there_open(tess_device *device, const tess_stage_xpcs_pass *call,
                                      const tess_xp_sketch_times *times, tess_xp_sketch_there *out)
{
    TESS_ASSERT(call->n_set <= TESS_XP_MOST_LOOKS);
    *out = (tess_xp_sketch_there){.device = device};
    const tess_status status = take_memory(out, call, times);
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
    tess_resident *const arrays[] = {&there->records, &there->points, &there->grid_values,
                                     &there->sums, &there->scratch};
    const bool has_ended = tess_stage_finish(there->device) == TESS_OK;
    tess_resident_free(&there->tables);
    tess_resident_free(&there->log_t);
    tess_resident_free(&there->frames);
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

tess_status tess_xp_sketch_there_run(tess_xp_sketch_there *there, const tess_stage_xpcs_pass *call,
                                     const double *const *thetas, double **sums)
{
    const size_t of_angles = angles_bytes(call, call->n_set);
    const size_t of_theta = (size_t)call->n_param * sizeof(double);
    memcpy(there->pinned, call->angles, of_angles);
    for (int64_t i = 0; i < call->n_set; i++) {
        memcpy(there->pinned + of_angles + (size_t)i * of_theta, thetas[i], of_theta);
    }
    TESS_TRY(tess_resident_put(&there->points, 0, there->pinned, sent_bytes(call, call->n_set)));
    const char *sent = there->points.data;
    const tess_stage_xpcs_grids grids = {.log_t = there->log_t.data,
                                         .theta = (const double *)(const void *)(sent + of_angles),
                                         .frames = there->frames.data,
                                         .grids = there->grid_values.data,
                                         .n_time = there->n_time,
                                         .n_frame = call->tiles->n_frame,
                                         .n_set = call->n_set,
                                         .n_param = call->n_param};
    TESS_TRY(tess_stage_start(there->device, TESS_STAGE_XPCS_GRIDS, &grids, sizeof grids));
    tess_stage_xpcs_pass args = *call;
    args.tiles = &there->tiles;
    args.grid = there->grids;
    args.angles = (const tess_xp_angle *)(const void *)sent;
    args.records = there->records.data;
    args.sums = there->sums.data;
    args.scratch = there->scratch.data;
    TESS_TRY(tess_stage_start(there->device, TESS_STAGE_XPCS_PASS, &args, sizeof args));
    unsigned char *down = there->pinned + there->pinned_bytes - there->sums.bytes;
    *sums = (double *)(void *)down;
    return tess_resident_fetch(&there->sums, down, sums_bytes(call, call->n_set));
}
