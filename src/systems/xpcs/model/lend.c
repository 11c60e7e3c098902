#include "systems/xpcs/model/lend.h"

#include "base/status.h"
#include "runtime/resident.h"
#include "runtime/stage.h"
#include "runtime/upload.h"
#include "tessera/xpcs/model.h"

tess_status tess_xp_device_for(tess_context *ctx, int32_t mode, const char *what,
                               tess_device **device)
{
    static const int32_t stages[] = {TESS_STAGE_XPCS_TWO};
    return mode == TESS_XPCS_TWO_COMPONENT && *device != &ctx->cpu
               ? tess_stage_choose(ctx, stages, 1, what, device)
               : TESS_OK;
}

// The integrals alone: values need no derivatives. Those of two components lie between them.
static tess_xp_grid send_grid(tess_upload *up, const tess_xp_grid *grid, int64_t n_frame,
                              int32_t n_param)
{
    if (grid->two) {
        const int64_t n = TESS_XP_TWO_ARRAYS * n_frame;
        return (tess_xp_grid){.eps_abs = grid->eps_abs,
                              .two = tess_upload_add(up, grid->two, n, sizeof(double)),
                              .two_stride = n_frame};
    }
    const int64_t n_shear = n_param == 3 ? 0 : n_frame;
    return (tess_xp_grid){.eps_abs = grid->eps_abs,
                          .diffusion =
                              tess_upload_add(up, grid->diffusion, n_frame, sizeof(double)),
                          .shear = tess_upload_add(up, grid->shear, n_shear, sizeof(double))};
}

// A stage whose arguments are sent; its result comes from out into the host's memory.
static tess_status run(tess_device *device, int32_t stage, const void *args, size_t args_bytes,
                       const tess_resident *out, void *host)
{
    TESS_TRY(tess_stage_start(device, stage, args, args_bytes));
    return tess_resident_fetch(out, host, out->bytes);
}

tess_status tess_xp_model_on(tess_device *device, const tess_stage_xpcs_model *args)
{
    if (device->shares_host_memory) {
        const int32_t stage = args->grid->two ? TESS_STAGE_XPCS_TWO : TESS_STAGE_XPCS_MODEL;
        return tess_stage_run(device, stage, args, sizeof *args);
    }
    tess_resident sent = {0};
    tess_resident out = {0};
    tess_upload up = {.into = &sent};
    tess_stage_xpcs_model there = *args;
    tess_xp_grid grid;
    tess_status status = TESS_OK;
    for (int round = 0; round < 2 && status == TESS_OK; round++) {
        grid = send_grid(&up, args->grid, args->n_frame, args->n_param);
        there.angle = tess_upload_add(&up, args->angle, 1, sizeof *args->angle);
        status = round == 0 ? tess_upload_begin(&up, device) : tess_upload_end(&up);
    }
    if (status == TESS_OK) {
        status = tess_resident_create(device,
                                      (size_t)(args->n_row * args->n_frame) * sizeof(double), &out);
    }
    if (status == TESS_OK) {
        there.grid = &grid;
        there.out = out.data;
        status = run(device, TESS_STAGE_XPCS_MODEL, &there, sizeof there, &out, args->out);
    }
    tess_resident_free(&out);
    tess_resident_free(&sent);
    return status;
}

tess_status tess_xp_simulate_on(tess_device *device, const tess_stage_xpcs_simulate *args,
                                uint64_t record_bytes)
{
    if (device->shares_host_memory) {
        return tess_stage_run(device, TESS_STAGE_XPCS_SIMULATE, args, sizeof *args);
    }
    const int64_t n_frame = args->tiles->n_frame;
    tess_resident sent = {0};
    tess_resident out = {0};
    tess_upload up = {.into = &sent};
    tess_stage_xpcs_simulate there = *args;
    tess_xp_tiles tiles = *args->tiles;
    tess_xp_grid grid;
    tess_status status = TESS_OK;
    for (int round = 0; round < 2 && status == TESS_OK; round++) {
        grid = send_grid(&up, args->grid, n_frame, args->n_param);
        tiles.row_offset =
            tess_upload_add(&up, args->tiles->row_offset, n_frame, sizeof *tiles.row_offset);
        there.angles =
            tess_upload_add(&up, args->angles, args->tiles->n_angle, sizeof *args->angles);
        there.is_bad = tess_upload_add(&up, args->is_bad, args->is_bad ? n_frame : 0, 1);
        status = round == 0 ? tess_upload_begin(&up, device) : tess_upload_end(&up);
    }
    if (status == TESS_OK) {
        status = tess_resident_create(device, (size_t)record_bytes, &out);
    }
    if (status == TESS_OK) {
        tiles.row_tile = NULL; // places of tiles are found by their numbers
        there.grid = &grid;
        there.tiles = &tiles;
        there.records = out.data;
        status = run(device, TESS_STAGE_XPCS_SIMULATE, &there, sizeof there, &out, args->records);
    }
    tess_resident_free(&out);
    tess_resident_free(&sent);
    return status;
}
