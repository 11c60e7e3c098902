// How well the rates of a fit are known at every time.
#ifndef TESS_XPCS_REPORT_BANDS_H
#define TESS_XPCS_REPORT_BANDS_H

#include "tessera/xpcs/result.h"

#include <stdbool.h>

// The rate's standard deviation at times t [n] in s, sd [n], by the covariance of its amplitude,
// exponent and offset: first order, so a straight line where the likelihood may be curved. which: 0
// transport, 1 shear. 0 where the rate is at its floor. False where one of the three is
// unidentified: no band can be drawn.
bool tess_xp_rate_sd(const tess_xpcs_result_info *info, int which, const double *t, int64_t n,
                     double *sd);

#endif
