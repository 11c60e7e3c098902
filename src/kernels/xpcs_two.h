// What the xpcs kernels of two components share, and sums over a model with any derivatives.
#ifndef TESS_KERNELS_XPCS_TWO_H
#define TESS_KERNELS_XPCS_TWO_H

#include "kernels/xpcs.h"

enum {
    TESS_XP_TWO_N_PARAM = 14,
    TESS_XP_DENSE_MAX = 16, // derivatives at most
    // S1 Sf Sff Sy Syy Sfy, P, Q, R, and the upper triangle of the products by rows.
    TESS_XP_DENSE_SUMS = 6 + 3 * TESS_XP_DENSE_MAX + TESS_XP_DENSE_MAX * (TESS_XP_DENSE_MAX + 1) / 2
};

// Arrays over frames, stride apart, in the order of stage/xpcs.h, and a run of pairs.
typedef struct tess_xp_two_source {
    const double *grid;
    size_t stride;
    double eps; // integrals are sqrt(d^2 + eps)
    double w2;  // q^2 / 2
    size_t row;
    size_t column; // on either side of the row
    size_t n;
    int has_derivatives;
} tess_xp_two_source;

// The factors of a run that all angles of equal q share; 0 from n on.
typedef struct tess_xp_two_pairs {
    double x[TESS_XP_ROW]; // field of the reference
    double y[TESS_XP_ROW]; // of the sample
    double way[TESS_XP_ROW];
    // Derivatives of x and of y by rates, of the way by the velocity's, of x and y by f0 to f3.
    double x_rate[3][TESS_XP_ROW];
    double y_rate[3][TESS_XP_ROW];
    double way_rate[3][TESS_XP_ROW];
    double x_mixing[4][TESS_XP_ROW];
    double y_mixing[4][TESS_XP_ROW];
} tess_xp_two_pairs;

// A model's derivatives by its parameters.
typedef struct tess_xp_slopes {
    double j[TESS_XP_DENSE_MAX][TESS_XP_ROW];
} tess_xp_slopes;

#endif
