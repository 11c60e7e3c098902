// The fitted model, row by row: what files and pictures put beside the measurement.
#ifndef TESS_XPCS_RESULT_FITTED_H
#define TESS_XPCS_RESULT_FITTED_H

#include "systems/xpcs/model/grids.h"
#include "tessera/xpcs/result.h"

typedef struct tess_xp_fitted {
    tess_context *ctx;
    tess_device *device;
    const tess_xpcs_result_info *info;
    tess_xpcs_model model; // with what the fit took from the file
    tess_xp_grids grids;
} tess_xp_fitted;

// TESS_E_SHAPE if the data are not those of the result. model is copied, info borrowed.
TESS_MUST_CHECK tess_status tess_xp_fitted_open(tess_context *ctx,
                                                const tess_xpcs_result_info *info,
                                                const tess_xpcs_data *data,
                                                const tess_xpcs_model *model, tess_xp_fitted *out);
// Safe on a zeroed struct.
void tess_xp_fitted_close(tess_xp_fitted *fitted);

// M [count][n_frame] of rows first..first+count-1, without contrast and offset; 1 on the diagonal.
TESS_MUST_CHECK tess_status tess_xp_fitted_rows(const tess_xp_fitted *fitted, int64_t angle,
                                                int64_t first, int64_t count, double *m);
// The same on the CPU, whatever the device, by any thread of a parallel call.
TESS_MUST_CHECK tess_status tess_xp_fitted_rows_here(const tess_xp_fitted *fitted, int64_t angle,
                                                     int64_t first, int64_t count, double *m);

#endif
