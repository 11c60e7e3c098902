// Effective numbers of draws, for progress.
#ifndef TESS_XPCS_POSTERIOR_ESS_H
#define TESS_XPCS_POSTERIOR_ESS_H

#include <stdint.h>

typedef struct tess_xp_draws {
    const double *values;
    int64_t stride; // between draws, in items
    int64_t chain_stride;
    int64_t n_chain;
    int64_t n_draw; // of each
} tess_xp_draws;

// By Geyer's initial positive sequence of the autocorrelations over all chains; n_draw >= 4.
double tess_xp_ess(const tess_xp_draws *draws);

#endif
