// Coordinates of a rate amplitude t^exponent + offset in which its posterior is straight.
//
// Data know the rate in the middle of the measurement and its slope there, and much less how it
// bends: amplitude, exponent and offset of equal value and slope lie on a curve that a metric
// cannot follow. It leads to amplitudes without end as the exponent goes to 0, where the rate is
// a logarithm, and gets as narrow in the exponent as the amplitude gets large. With
// B = amplitude tau^exponent, R = B + offset and S = B exponent, the coordinates are
//
//   logit of R within what the bounds leave,
//   how far ln B is below what R and the bounds of the offset leave, by a logarithm near it,
//   logit of the exponent within what B leaves, less that of S0 / B, times sqrt(1 + (B / b)^2),
//
// S0 that of the fit: along its curve the first stays and the last is 0, and both are equally wide
// everywhere, the last because dS = B d(exponent). b: where an error of S as large as the fit's is
// all of the exponent's range. There are no edges, and every point within the bounds has its
// coordinates.
#ifndef TESS_XPCS_POSTERIOR_BENT_H
#define TESS_XPCS_POSTERIOR_BENT_H

#include <stdbool.h>

typedef struct tess_xp_bent {
    double lower[3]; // amplitude above 0
    double upper[3];
    double log_tau;
    double slope;  // S0
    double narrow; // b
} tess_xp_bent;

// theta: amplitude, exponent, offset of the fit; slope_sd: error of S, inf to leave the last
// coordinate as it is. False where the bounds allow no such coordinates.
bool tess_xp_bent_make(const double lower[3], const double upper[3], const double theta[3],
                       double slope_sd, double tau, tess_xp_bent *bent);

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
