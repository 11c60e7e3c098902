// Simulated data: what was made up for every angle.
#ifndef TESS_XPCS_SIMULATE_SIMULATE_H
#define TESS_XPCS_SIMULATE_SIMULATE_H

#include "systems/xpcs/store/store.h"

typedef struct tess_xp_truth {
    const double *theta;    // of the mode
    const double *contrast; // [n_angle] scatter included
    const double *offset;
} tess_xp_truth;

// Of data that tess_xpcs_simulate() made, in memory or not; lives with them.
tess_xp_truth tess_xp_simulated_truth(const tess_xpcs_data *data);

#endif
