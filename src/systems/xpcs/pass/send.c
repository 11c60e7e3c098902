#include "systems/xpcs/pass/send.h"

#include "base/status.h"
#include "tessera/xpcs/model.h"

tess_status tess_xp_send_tiles(const tess_device *device, const tess_xp_tiles *tiles,
                               tess_resident *tables, tess_xp_tiles *out)
{
    const size_t bytes = (size_t)tiles->n_frame * sizeof(int64_t);
    TESS_TRY(tess_resident_create(device, 2 * bytes, tables));
    TESS_TRY(tess_resident_put(tables, 0, tiles->row_tile, bytes));
    TESS_TRY(tess_resident_put(tables, bytes, tiles->row_offset, bytes));
    *out = *tiles;
    out->row_tile = tables->data;
    out->row_offset = out->row_tile + tiles->n_frame;
    return TESS_OK;
}

int64_t tess_xp_grid_doubles(int64_t n_param, int64_t n_frame)
{
    return tess_xp_grid_arrays(n_param) * n_frame;
}

tess_xp_grid tess_xp_grid_at(const tess_xp_grid *host, const double *at, int64_t n_frame)
{
    tess_xp_grid grid = *host;
    grid.two = host->two ? at : NULL;
    grid.diffusion = at;
    grid.shear = host->shear ? at + 4 * n_frame : NULL;
    for (int64_t k = 0; k < 3; k++) {
        grid.diffusion_d[k] = at + (1 + k) * n_frame;
        grid.shear_d[k] = host->shear ? at + (5 + k) * n_frame : NULL;
    }
    return grid;
}
