// Coordinates of a rate amplitude t^exponent + offset in which its posterior is straight.
//
// Data know the rate in the middle of the measurement and its slope there, and much less how it
// bends: amplitude, exponent and offset of equal value and slope lie on a curve that a metric
// cannot follow. With B = amplitude tau^exponent, R = B + offset and S = B exponent, the
// coordinates are
//
//   logit of ln B within what the bounds leave,
//   logit of the exponent within what B leaves, less that of S0 / B,
//   logit of the offset within its bounds, less that of R0 - B,
//
// S0 and R0 those of the fit: the last two are 0 along its curve. There are no edges, and every
// point within the bounds has its coordinates.
#ifndef TESS_XPCS_POSTERIOR_BENT_H
#define TESS_XPCS_POSTERIOR_BENT_H

#include <stdbool.h>

typedef struct tess_xp_bent {
    double lower[3]; // amplitude above 0
    double upper[3];
    double log_tau;
    double value; // R0
    double slope; // S0
} tess_xp_bent;

// theta: amplitude, exponent, offset of the fit. False where the bounds allow no such coordinates.
bool tess_xp_bent_make(const double lower[3], const double upper[3], const double theta[3],
                       double tau, tess_xp_bent *bent);

// theta, its derivatives [coordinate][parameter], and the log of their determinant with its slopes.
typedef struct tess_xp_bent_place {
    double theta[3];
    double jacobian[3][3];
    double log_volume;
    double volume_slope[3];
} tess_xp_bent_place;

void tess_xp_bent_at(const tess_xp_bent *bent, const double u[3], tess_xp_bent_place *out);
// Coordinates of a point; one on a bound, or nearly, is taken for one a thousandth inside.
void tess_xp_bent_of(const tess_xp_bent *bent, const double theta[3], double u[3]);

#endif
