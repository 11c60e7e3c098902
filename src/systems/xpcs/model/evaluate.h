// What the public evaluations of the model share.
#ifndef TESS_XPCS_MODEL_EVALUATE_H
#define TESS_XPCS_MODEL_EVALUATE_H

#include "systems/xpcs/model/grids.h"

// A model at theta on a grid of frames, everything checked.
typedef struct tess_xp_evaluation {
    tess_xpcs_model model;
    tess_xp_grids grids;
    tess_xpcs_angles angles;
} tess_xp_evaluation;

// angles may be NULL where none are needed.
TESS_MUST_CHECK tess_status tess_xp_evaluation_open(tess_context *ctx, const tess_xpcs_model *model,
                                                    const tess_xpcs_angles *angles,
                                                    const double *theta, int64_t n_frame,
                                                    tess_xp_evaluation *out);
void tess_xp_evaluation_close(tess_context *ctx, tess_xp_evaluation *evaluation);

// Constants of an angle with its contrast and offset; the other fields are 0.
tess_xp_angle tess_xp_evaluation_angle(const tess_xp_evaluation *evaluation, const double *theta,
                                       int64_t angle);

#endif
