// Rates as cubic splines on even knots, and what is believed of their coefficients before the data.
#ifndef TESS_XPCS_RATES_BASIS_H
#define TESS_XPCS_RATES_BASIS_H

#include "base/blocks.h"
#include "tessera/xpcs/rates.h"

enum {
    TESS_XP_RATES_LEAST_KNOTS = 4,
    TESS_XP_RATES_MOST_KNOTS = 100,
    TESS_XP_RATES_MOST_BASIS = TESS_XP_RATES_MOST_KNOTS + 2
};

// The unknowns z of a rate. smooth: the coefficients themselves. monotone: the first one, and the
// logarithms of how far each of the others lies beyond the one before.
typedef struct tess_xp_spline {
    int64_t n; // n_knot + 2 coefficients
    int64_t n_knot;
    int64_t n_frame;
    int32_t shape;
    int32_t is_log; // the spline is the logarithm of the rate
    double sign;    // monotone: 1 rises, -1 falls
    double scale;   // of a rate that is no logarithm: its unit
    // A priori: differences of z are normal with variance 1 / lambda, two means of z, with rows of
    // null, normal of their own.
    double *difference; // [n - 2][n]
    double *null;       // [2][n]
    double mean[2];
    double sd[2];
    double *penalty;     // [n][n] difference' difference
    double *weak;        // [n][n] the precision of the means
    double *centre;      // [n] prior mean of z
    double log_constant; // log determinant of lambda penalty + weak, less (n - 2) ln lambda
    double *value;       // [n_frame][n] of the splines at the frames
    double *knot;        // [n_knot][n] at the knots
} tess_xp_spline;

// x [n_frame] rising: the axis. mean, sd: of the spline in the middle, and of its change from the
// first to the last frame; monotone: the latter is its size.
TESS_MUST_CHECK tess_status tess_xp_spline_create(tess_blocks *memory, const double *x,
                                                  int64_t n_frame, int64_t n_knot, int32_t shape,
                                                  const double mean[2], const double sd[2],
                                                  tess_xp_spline *out);
// Coefficients c [n], and their derivatives by z, slope [n][n] (NULL: not wanted).
void tess_xp_spline_coefficients(const tess_xp_spline *spline, const double *z, double *c,
                                 double *slope);
// Unknowns whose spline is near to values y [n_frame].
TESS_MUST_CHECK tess_status tess_xp_spline_start(tess_blocks *memory, const tess_xp_spline *spline,
                                                 const double *y, double *z);
// Rates [n_frame] at z.
void tess_xp_spline_rates(const tess_xp_spline *spline, const double *z, double *rate);
// The integrals C [n_frame] by trapezoids of unit steps, and with basis [n_frame][n] their
// derivatives by z.
void tess_xp_spline_integrals(const tess_xp_spline *spline, const double *z, double *integral,
                              double *basis);
// The derivatives of the spline itself (not of a rate) by z where row [n] has its values: out [n].
void tess_xp_spline_row(const tess_xp_spline *spline, const double *slope, const double *row,
                        double *out);

#endif
