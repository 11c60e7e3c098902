// Elementary functions with the same bits on every machine. libm's choose their instructions by
// processor, so a resumed fit could differ between nodes of a cluster. Within 0.8 ulp.
#ifndef TESS_NUMERICS_ELEMENTARY_H
#define TESS_NUMERICS_ELEMENTARY_H

#include "stage/power.h"

// ln(x), x finite and > 0, to about 1e-17 of it.
tess_parts tess_log_parts(double x);

// x^exponent, given ln(x). Infinity and 0 beyond the range of numbers, NaN for a NaN exponent.
double tess_power(tess_parts log_x, double exponent);

// Of an angle in degrees; exactly 0, 1 or -1 at multiples of 90.
void tess_sin_cos_degrees(double degrees, double *sine, double *cosine);

#endif
