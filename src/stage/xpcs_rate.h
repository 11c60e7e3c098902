// A rate amplitude t^exponent + offset, not below the floor of 1e-10: the same bits on CPU and GPU.
#ifndef TESS_STAGE_XPCS_RATE_H
#define TESS_STAGE_XPCS_RATE_H

#include "stage/power.h"

#include <stdbool.h>

#define TESS_XP_RATE_FLOOR 1e-10

typedef struct tess_xp_rate {
    double value;
    double power;    // t^exponent
    bool is_floored; // derivatives are 0
} tess_xp_rate;

TESS_ANYWHERE tess_xp_rate tess_xp_rate_of(tess_parts log_t,
                                           const double *amplitude_exponent_offset)
{
    tess_xp_rate rate;
    rate.power = tess_power_inline(log_t, amplitude_exponent_offset[1]);
    rate.value = amplitude_exponent_offset[0] * rate.power + amplitude_exponent_offset[2];
    // NaN is not floored: it has to show.
    rate.is_floored = rate.value <= TESS_XP_RATE_FLOOR;
    if (rate.is_floored) {
        rate.value = TESS_XP_RATE_FLOOR;
    }
    return rate;
}

// The rate and its derivatives by amplitude, exponent and offset.
TESS_ANYWHERE void tess_xp_rate_terms(tess_parts log_t, const double *theta, double terms[4])
{
    const tess_xp_rate rate = tess_xp_rate_of(log_t, theta);
    const double mask = rate.is_floored ? 0 : 1;
    terms[0] = rate.value;
    terms[1] = mask * rate.power;
    terms[2] = mask * theta[0] * rate.power * log_t.high;
    terms[3] = mask;
}

#endif
