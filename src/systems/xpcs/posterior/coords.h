// Coordinates in which the posterior has no edges: the logit of where a parameter is between its
// bounds, amplitudes by their logarithm, the logarithm of the noise; and the three parameters of a
// rate by those in which it is straight (bent.h), where none of them is fixed.
#ifndef TESS_XPCS_POSTERIOR_COORDS_H
#define TESS_XPCS_POSTERIOR_COORDS_H

#include "systems/xpcs/posterior/bent.h"
#include "systems/xpcs/posterior/density.h"

enum { TESS_XP_MAX_COORD = TESS_XPCS_MAX_PARAM + 1, TESS_XP_MAX_RATE = 3 };

typedef struct tess_xp_coords {
    int64_t n_param;
    int64_t n; // free parameters and the noise
    int64_t index[TESS_XPCS_MAX_PARAM];
    int32_t is_log[TESS_XPCS_MAX_PARAM]; // by index
    double lower[TESS_XPCS_MAX_PARAM];
    double upper[TESS_XPCS_MAX_PARAM];
    double theta[TESS_XPCS_MAX_PARAM]; // values of fixed ones
    // Diffusion and shear, or transport of both components and their velocity.
    int32_t is_bent[TESS_XP_MAX_RATE];
    int64_t first[TESS_XP_MAX_RATE]; // the first of these three coordinates
    tess_xp_bent bent[TESS_XP_MAX_RATE];
    // The original's: x = mid + half tanh((mean + width z - mid) / half) with z ~ N(0, 1) a priori,
    // which takes the place of the density's prior.
    int32_t is_upstream;
    double shift[TESS_XPCS_MAX_PARAM]; // logit = shift + stretch z, by index
    double stretch[TESS_XPCS_MAX_PARAM];
} tess_xp_coords;

void tess_xp_coords_make(const tess_xp_density *density, const double *theta,
                         tess_xp_coords *coords);

// To be called after tess_xp_coords_make(): the original's coordinates and prior.
void tess_xp_coords_make_upstream(const tess_xp_density *density, tess_xp_coords *coords);

// Rates by coordinates in which they are straight; tau: a time in the middle of the measurement,
// slope_sd: errors of amplitude exponent tau^exponent of the rates, inf where unknown.
void tess_xp_coords_bend(const tess_xp_density *density, const double slope_sd[TESS_XP_MAX_RATE],
                         double tau, tess_xp_coords *coords);
// Rates of a model, whose parameters are the first, three by three.
int64_t tess_xp_n_rate(int64_t n_param);

// A point and how it moves with its coordinates.
typedef struct tess_xp_place {
    double theta[TESS_XPCS_MAX_PARAM];
    double s;
    double slope[TESS_XP_MAX_COORD];     // of the parameter, or of s, by its coordinate
    double turn[TESS_XP_MAX_RATE][3][3]; // of a bent rate: by coordinate, of parameter
    double log_volume;                   // log of the determinant of all slopes
    double volume_slope[TESS_XP_MAX_COORD];
    double log_prior; // upstream: of z
    double prior_slope[TESS_XP_MAX_COORD];
} tess_xp_place;

void tess_xp_coords_place(const tess_xp_coords *coords, const double *u, tess_xp_place *out);
// Coordinates of a point; one on a bound is taken for one inside, by the last digits.
void tess_xp_coords_of(const tess_xp_coords *coords, const double *theta, double s, double *u);
// Derivatives of the free parameters by their coordinates, [n - 1][n - 1] by coordinate.
void tess_xp_coords_jacobian(const tess_xp_coords *coords, const tess_xp_place *place,
                             double *jacobian);
// Log likelihood alone, and its gradient [n] by these coordinates.
double tess_xp_coords_likelihood(const tess_xp_coords *coords, const tess_xp_place *place,
                                 const tess_xp_density_value *value, double *gradient);
// Log density and gradient [n] in these coordinates.
double tess_xp_coords_density(const tess_xp_coords *coords, const tess_xp_place *place,
                              const tess_xp_density_value *value, double *gradient);

#endif
