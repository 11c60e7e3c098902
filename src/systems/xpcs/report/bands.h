// How well the rates of a fit are known at every time.
#ifndef TESS_XPCS_REPORT_BANDS_H
#define TESS_XPCS_REPORT_BANDS_H

#include "tessera/xpcs/result.h"

#include <stdbool.h>

// The covariance of the others holds such a parameter where it is, and its own variance is that of
// a fit without the bound, beside which no covariance stands: together they make no band.
bool tess_xp_is_at_bound(const tess_xpcs_result_info *info, int64_t param);

// The rate's standard deviation at times t [n] in s, sd [n], by the covariance of its amplitude,
// exponent and offset, those at a bound held there: first order, so a straight line where the
// likelihood may be curved. which: 0 transport, 1 shear. 0 where the rate is at its floor. False
// where one of the three is unidentified: no band can be drawn.
bool tess_xp_rate_sd(const tess_xpcs_result_info *info, int which, const double *t, int64_t n,
                     double *sd);

#endif
