// 95 % intervals of the physical parameters.
#ifndef TESS_XPCS_FIT_INTERVALS_H
#define TESS_XPCS_FIT_INTERVALS_H

#include "systems/xpcs/fit/profile.h"
#include "tessera/xpcs/model.h"

static const double tess_xp_deviations = 1.959963984540054; // of a two-sided interval of 95 %
static const double tess_xp_one_sided = 1.6448536269514722; // of a one-sided one

// Plain bytes, part of a fit's state.
typedef struct tess_xp_intervals {
    double ends[TESS_XPCS_MAX_PARAM][2]; // NaN: not known
    // Errors over those of points that are independent: chi2 rises by its square for one of theirs.
    double stretch[TESS_XPCS_MAX_PARAM];
    int32_t kind[TESS_XPCS_MAX_PARAM];      // tess_xpcs_interval
    int32_t is_wanted[TESS_XPCS_MAX_PARAM]; // from the profile
    int32_t is_bent[TESS_XPCS_MAX_PARAM];
    int32_t is_lost[TESS_XPCS_MAX_PARAM];    // the profile could not be followed to an end
    int64_t n_pass[2 * TESS_XPCS_MAX_PARAM]; // evaluations of every end
} tess_xp_intervals;

#endif
