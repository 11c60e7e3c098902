// What a model is given: mode, kernel, time between frames, gap; parameters and angles.
#ifndef TESS_XPCS_SETTINGS_CONSTANTS_H
#define TESS_XPCS_SETTINGS_CONSTANTS_H

#include "runtime/context.h"
#include "tessera/xpcs/data.h"
#include "tessera/xpcs/model.h"

// A caller's constants as this version knows them, checked.
TESS_MUST_CHECK tess_status tess_xp_constants_read(const tess_xpcs_model *given,
                                                   tess_xpcs_model *model);
// The same for data: dt and gap where they are 0, and keep_t0, are the data's.
TESS_MUST_CHECK tess_status tess_xp_constants_for_data(const tess_xpcs_model *given,
                                                       const tess_xpcs_data_info *info,
                                                       tess_xpcs_model *model);
// mode, kernel, dt and, for laminar flow, gap; messages say how to give them.
TESS_MUST_CHECK tess_status tess_xp_constants_check(const tess_xpcs_model *model);
TESS_MUST_CHECK tess_status tess_xp_theta_check(const tess_xpcs_model *model, const double *theta);
// q > 0 and phi, both finite.
TESS_MUST_CHECK tess_status tess_xp_angles_check(const double *phi, const double *q,
                                                 int64_t n_angle);
// Lines in the log about constants that are legal but odd.
void tess_xp_constants_warn(tess_context *ctx, const tess_xpcs_model *model, const double *q,
                            int64_t n_angle);

#endif
