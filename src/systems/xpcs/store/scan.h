// A pass over the data, angle by angle, for what is not a stage.
#ifndef TESS_XPCS_STORE_SCAN_H
#define TESS_XPCS_STORE_SCAN_H

#include "systems/xpcs/store/store.h"

// Called for every tile in order, angles at the same time: y [n_column], NaN where ignored.
typedef void (*tess_xp_visit)(void *self, int64_t angle, const tess_xp_tile *tile, const double *y);

// Angles of which one process works out something by scans: those dealt to it. stage: for progress,
// static. Polls cancel; takes a few MiB where records are made or read.
TESS_MUST_CHECK tess_status tess_xp_scan(tess_context *ctx, tess_xpcs_data *data,
                                         tess_comm_deal angles, const char *stage,
                                         tess_xp_visit visit, void *self);
// Memory of the scan itself.
uint64_t tess_xp_scan_bytes(const tess_xpcs_data *data);

#endif
