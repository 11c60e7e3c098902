// The parts of the report of draws.
#ifndef TESS_XPCS_REPORT_DRAWS_PAGE_H
#define TESS_XPCS_REPORT_DRAWS_PAGE_H

#include "page/figure.h"
#include "systems/xpcs/draws/files.h"

enum { TESS_XP_SHOWN = 1000 }; // draws of a line or cloud at most: more are not told apart

typedef struct tess_xp_draws_page {
    tess_html html;
    const tess_xp_draws *d;
    tess_xpcs_data *data;
    const tess_xpcs_model *model;
    tess_blocks memory;
    tess_chain_room room;
    double *x;      // [n_chain][n_draw] one quantity
    double *y;      // another
    double *shown;  // [8][TESS_XP_SHOWN] lines of figures
    int64_t n_main; // rows that are drawn in full: parameters and noise
} tess_xp_draws_page;

// draws_chains.c: traces beside densities, ranks, autocorrelation, growth, energy.
void tess_xp_draws_traces(tess_xp_draws_page *page);
void tess_xp_draws_ranks(tess_xp_draws_page *page);
void tess_xp_draws_mixing(tess_xp_draws_page *page);
void tess_xp_draws_energy(tess_xp_draws_page *page);

// draws_shapes.c: parameters by the fit, pairs, angles.
void tess_xp_draws_forest(tess_xp_draws_page *page);
void tess_xp_draws_pairs(tess_xp_draws_page *page);

// draws_bands.c: rates over time and cuts of the model with what the draws leave open.
TESS_MUST_CHECK tess_status tess_xp_draws_rates(tess_xp_draws_page *page);
TESS_MUST_CHECK tess_status tess_xp_draws_cuts(tess_xp_draws_page *page);

#endif
