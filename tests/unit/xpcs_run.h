// Stages of xpcs on the device of a context: what a test holds in the host's memory goes up and
// comes down again, so that the same tests serve TESSERA_DEVICE=cuda.
#ifndef TESS_TESTS_XPCS_RUN_H
#define TESS_TESTS_XPCS_RUN_H

#include "runtime/resident.h"
#include "runtime/stage.h"
#include "stage/xpcs.h"
#include "systems/xpcs/store/tiles.h"
#include "unit.h"
#include <string.h>

enum { XP_MOST_ARRAYS = 256 };

typedef struct xp_sent {
    const tess_device *device;
    tess_resident arrays[XP_MOST_ARRAYS];
    int n;
} xp_sent;

static inline const void *xp_send(xp_sent *s, const void *host, size_t bytes)
{
    if (!host) {
        return NULL;
    }
    assert_true(s->n < XP_MOST_ARRAYS);
    tess_resident *array = &s->arrays[s->n++];
    assert_ok(tess_resident_from(s->device, host, bytes, array));
    return array->data;
}

static inline tess_xp_tiles xp_send_tiles(xp_sent *s, const tess_xp_tiles *tiles)
{
    tess_xp_tiles there = *tiles;
    const size_t bytes = (size_t)tiles->n_frame * sizeof(int64_t);
    there.row_tile = xp_send(s, tiles->row_tile, bytes);
    there.row_offset = xp_send(s, tiles->row_offset, bytes);
    return there;
}

static inline tess_xp_grid xp_send_grid(xp_sent *s, const tess_xp_grid *grid, int64_t n_frame)
{
    tess_xp_grid there = *grid;
    const size_t bytes = (size_t)n_frame * sizeof(double);
    there.two = xp_send(s, grid->two, TESS_XP_TWO_ARRAYS * bytes);
    there.diffusion = xp_send(s, grid->diffusion, bytes);
    there.shear = xp_send(s, grid->shear, bytes);
    for (int k = 0; k < 3; k++) {
        there.diffusion_d[k] = xp_send(s, grid->diffusion_d[k], bytes);
        there.shear_d[k] = xp_send(s, grid->shear_d[k], bytes);
    }
    return there;
}

static inline void xp_fetch_and_drop(xp_sent *s, const void *from, void *to, size_t bytes)
{
    for (int k = 0; k < s->n; k++) {
        if (s->arrays[k].data == from) {
            assert_ok(tess_resident_fetch(&s->arrays[k], to, bytes));
        }
    }
    for (int k = 0; k < s->n; k++) {
        tess_resident_free(&s->arrays[k]);
    }
}

static inline size_t xp_record_bytes_of(const tess_xp_tiles *tiles, int64_t first, int64_t n)
{
    return (size_t)(tess_xp_tiles_leaf_offset(tiles, first + n) -
                    tess_xp_tiles_leaf_offset(tiles, first));
}

static inline void xp_run_pass(tess_device *device, const tess_stage_xpcs_pass *a)
{
    xp_sent s = {.device = device};
    tess_stage_xpcs_pass there = *a;
    tess_xp_grid grids[32];
    assert_true(a->n_set <= 32);
    const size_t n_angle = (size_t)a->tiles->n_angle, n_frame = (size_t)a->tiles->n_frame;
    const size_t sum_bytes = (size_t)(a->n_set * a->n_leaf * a->n_sum) * sizeof(double);
    const tess_xp_tiles tiles = xp_send_tiles(&s, a->tiles);
    for (int64_t k = 0; k < a->n_set; k++) {
        grids[k] = xp_send_grid(&s, &a->grid[k], a->tiles->n_frame);
    }
    there.tiles = &tiles;
    there.grid = grids;
    there.angles = xp_send(&s, a->angles, (size_t)a->n_set * n_angle * sizeof *a->angles);
    const int64_t first = a->period > 0 ? 0 : a->first_leaf;
    const int64_t end = tess_xp_leaf_of(a, a->n_leaf - 1) + 1;
    there.records = xp_send(&s, a->records, xp_record_bytes_of(a->tiles, first, end - first));
    there.lag_weight = xp_send(&s, a->lag_weight, n_angle * n_frame * sizeof(double));
    there.frame_weight = xp_send(&s, a->frame_weight, n_frame * sizeof(double));
    memcpy(&there.sums, (const void *[]){xp_send(&s, a->sums, sum_bytes)}, sizeof there.sums);
    tess_resident scratch;
    const size_t bytes =
        device->backend->scratch_bytes(device->handle, TESS_STAGE_XPCS_PASS, &there);
    assert_ok(tess_resident_create(device, bytes, &scratch));
    there.scratch = scratch.data;
    assert_ok(tess_stage_run(device, TESS_STAGE_XPCS_PASS, &there, sizeof there));
    xp_fetch_and_drop(&s, there.sums, a->sums, sum_bytes);
    tess_resident_free(&scratch);
}

static inline void xp_run_model(tess_device *device, const tess_stage_xpcs_model *a)
{
    xp_sent s = {.device = device};
    tess_stage_xpcs_model there = *a;
    const size_t bytes = (size_t)(a->n_row * a->n_frame) * sizeof(double);
    const tess_xp_grid grid = xp_send_grid(&s, a->grid, a->n_frame);
    there.grid = &grid;
    there.angle = xp_send(&s, a->angle, sizeof *a->angle);
    memcpy(&there.out, (const void *[]){xp_send(&s, a->out, bytes)}, sizeof there.out);
    assert_ok(tess_stage_run(device, TESS_STAGE_XPCS_MODEL, &there, sizeof there));
    xp_fetch_and_drop(&s, there.out, a->out, bytes);
}

static inline void xp_run_simulate(tess_device *device, const tess_stage_xpcs_simulate *a)
{
    xp_sent s = {.device = device};
    tess_stage_xpcs_simulate there = *a;
    const size_t n_frame = (size_t)a->tiles->n_frame;
    const size_t bytes = xp_record_bytes_of(a->tiles, a->first_leaf, a->n_leaf);
    const tess_xp_tiles tiles = xp_send_tiles(&s, a->tiles);
    const tess_xp_grid grid = xp_send_grid(&s, a->grid, a->tiles->n_frame);
    there.tiles = &tiles;
    there.grid = &grid;
    there.angles = xp_send(&s, a->angles, (size_t)a->tiles->n_angle * sizeof *a->angles);
    there.is_bad = xp_send(&s, a->is_bad, n_frame);
    memcpy(&there.records, (const void *[]){xp_send(&s, a->records, bytes)}, sizeof there.records);
    assert_ok(tess_stage_run(device, TESS_STAGE_XPCS_SIMULATE, &there, sizeof there));
    xp_fetch_and_drop(&s, there.records, a->records, bytes);
}

static inline void xp_run_reduce(tess_device *device, const tess_stage_xpcs_reduce *a)
{
    xp_sent s = {.device = device};
    tess_stage_xpcs_reduce there = *a;
    const size_t in = (size_t)(a->n_set * a->n_leaf * a->n_sum) * sizeof(double);
    const size_t out = (size_t)(a->n_set * a->n_stretch * a->n_sum) * sizeof(double);
    memcpy(&there.sums, (const void *[]){xp_send(&s, a->sums, in)}, sizeof there.sums);
    memcpy(&there.out, (const void *[]){xp_send(&s, a->out, out)}, sizeof there.out);
    assert_ok(tess_stage_run(device, TESS_STAGE_XPCS_REDUCE, &there, sizeof there));
    xp_fetch_and_drop(&s, there.out, a->out, out);
}

static inline void xp_run_grids(tess_device *device, const tess_stage_xpcs_grids *a)
{
    xp_sent s = {.device = device};
    tess_stage_xpcs_grids there = *a;
    const int64_t n_array = a->n_param == 3 ? 4 : 8;
    const size_t out = (size_t)(a->n_set * n_array * a->n_frame) * sizeof(double);
    there.log_t = xp_send(&s, a->log_t, (size_t)(2 * a->n_time) * sizeof(double));
    there.theta = xp_send(&s, a->theta, (size_t)(a->n_set * a->n_param) * sizeof(double));
    there.frames = xp_send(&s, a->frames, (size_t)a->n_frame * sizeof(int64_t));
    memcpy(&there.grids, (const void *[]){xp_send(&s, a->grids, out)}, sizeof there.grids);
    assert_ok(tess_stage_run(device, TESS_STAGE_XPCS_GRIDS, &there, sizeof there));
    xp_fetch_and_drop(&s, there.grids, a->grids, out);
}

static inline void xp_run_on(tess_device *device, int32_t stage, const void *args, size_t bytes)
{
    if (device->shares_host_memory) {
        assert_ok(tess_stage_run(device, stage, args, bytes));
    } else if (stage == TESS_STAGE_XPCS_PASS) {
        xp_run_pass(device, args);
    } else if (stage == TESS_STAGE_XPCS_MODEL) {
        xp_run_model(device, args);
    } else if (stage == TESS_STAGE_XPCS_SIMULATE) {
        xp_run_simulate(device, args);
    } else if (stage == TESS_STAGE_XPCS_GRIDS) {
        xp_run_grids(device, args);
    } else {
        assert_int_equal(stage, TESS_STAGE_XPCS_REDUCE);
        xp_run_reduce(device, args);
    }
}

static inline void xp_run(tess_context *ctx, int32_t stage, const void *args, size_t bytes)
{
    xp_run_on(ctx->device, stage, args, bytes);
}

#endif
