// What every pass on a device of its own memory sends there: tiles, and where grids lie.
#ifndef TESS_XPCS_PASS_SEND_H
#define TESS_XPCS_PASS_SEND_H

#include "runtime/resident.h"
#include "stage/xpcs.h"

// Frames and leaves of the tiles; *out: the tiles with arrays that the device reaches, which lie in
// tables.
TESS_MUST_CHECK tess_status tess_xp_send_tiles(const tess_device *device,
                                               const tess_xp_tiles *tiles, tess_resident *tables,
                                               tess_xp_tiles *out);

// Doubles of the arrays of a grid, which follow each other.
int64_t tess_xp_grid_doubles(int64_t n_param, int64_t n_frame);
// The grid of a point whose arrays lie at an address of the device, in the order of the host's.
tess_xp_grid tess_xp_grid_at(const tess_xp_grid *host, const double *at, int64_t n_frame);

#endif
