// What a point counts in a fit: one over its variance, as the options say.
#ifndef TESS_XPCS_PASS_WEIGHTS_H
#define TESS_XPCS_PASS_WEIGHTS_H

#include "systems/xpcs/store/store.h"
#include "tessera/xpcs/fit.h"

typedef struct tess_xp_weights {
    tess_context *ctx;
    double *block; // everything below, [block_bytes]
    size_t block_bytes;
    double *inverse_variance; // [n_angle]
    double *lag_weight;       // [n_angle][n_frame] by j - i; NULL: 1
    int32_t ignore_sigma;     // the data have a deviation of every point that is not wanted
    int32_t reserved;
} tess_xp_weights;

// By sigma_mode; with shear_weights angles weigh by their cosine with the flow besides.
// TESS_E_NUMERIC where a deviation comes out as 0. angles: as in tess_xp_data_sigma().
TESS_MUST_CHECK tess_status tess_xp_weights_create(tess_context *ctx, tess_xpcs_data *data,
                                                   const tess_xpcs_fit_config *config, double phi0,
                                                   tess_comm_deal angles, tess_xp_weights *out);
void tess_xp_weights_destroy(tess_xp_weights *weights);

#endif
