// Draws and what is told of them.
#ifndef TESS_XPCS_DRAWS_DRAWS_H
#define TESS_XPCS_DRAWS_DRAWS_H

#include "base/blocks.h"
#include "numerics/chain_stats.h"
#include "runtime/context.h"
#include "tessera/warning.h"
#include "tessera/xpcs/diagnostics.h"

// A quantity that was drawn, as the draws hold it: the value of draw i is data[i * stride].
typedef struct tess_xp_quantity {
    const double *data;
    int64_t stride;
} tess_xp_quantity;

// Rows of a diagnosis: parameters, noise, contrasts, offsets.
int64_t tess_xp_draws_rows(const tess_xpcs_posterior_info *draws);
tess_xp_quantity tess_xp_draws_row(const tess_xpcs_posterior_info *draws, int64_t row);
// The parameter that a row is of; n_param: the noise; -1: a contrast, -2: an offset.
int64_t tess_xp_draws_param(const tess_xpcs_posterior_info *draws, int64_t row);
// Its values one after another, [n_chain][n_draw].
void tess_xp_draws_copy(const tess_xpcs_posterior_info *draws, int64_t row, double *x);

// --- prior.c ---

// A prior's mean and standard deviation, its bounds included; NaN where it is not known.
typedef struct tess_xp_prior_moments {
    double mean;
    double sd;
} tess_xp_prior_moments;

tess_xp_prior_moments tess_xp_prior_moments_of(const tess_xpcs_posterior_info *draws,
                                               const tess_xpcs_sample_config *config, int64_t row);
// Its density at x; 0 outside the bounds, NaN where it is not known.
double tess_xp_prior_density(const tess_xpcs_posterior_info *draws,
                             const tess_xpcs_sample_config *config, int64_t row, double x);

// n draws of it, stride apart, by the seed of config; of what is fixed its value.
void tess_xp_prior_draw(const tess_xpcs_posterior_info *draws,
                        const tess_xpcs_sample_config *config, int64_t row, int64_t n,
                        int64_t stride, double *x);

// --- warn.c ---

enum { TESS_XP_WARNINGS_BYTES = 8192 };

// Sentences about a diagnosis whose numbers are complete.
void tess_xp_draws_warn(const tess_xpcs_diagnosis_info *info, int64_t max_depth,
                        char text[TESS_XP_WARNINGS_BYTES]);
// Lines that the sampler has to say, behind them. NULL: none.
void tess_xp_draws_add_warnings(const char *lines, char text[TESS_XP_WARNINGS_BYTES]);

#endif
