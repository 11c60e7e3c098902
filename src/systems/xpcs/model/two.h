// Two components: a reference and a sample that moves past it, whose fields interfere.
#ifndef TESS_XPCS_MODEL_TWO_H
#define TESS_XPCS_MODEL_TWO_H

#include "systems/xpcs/model/grids.h"

// Where a parameter lies.
enum {
    TESS_XP_D0_REF = 0,
    TESS_XP_D0_SAMPLE = 3,
    TESS_XP_V0 = 6,
    TESS_XP_F0 = 9,
    TESS_XP_F1,
    TESS_XP_F2,
    TESS_XP_F3,
    TESS_XP_PHI0_HET
};

// Rates of one frame: of reference and sample, not below 0, and the velocity.
typedef struct tess_xp_two_rates {
    double reference;
    double sample;
    double velocity;
    double fraction; // of the sample
} tess_xp_two_rates;

tess_xp_two_rates tess_xp_two_rates_at(double t, tess_parts log_t, const double *theta);

// f0 exp(-f1 f2), which f0 and f2 enter as.
double tess_xp_two_product(const double *theta);
// Whether components have changed places from theta a to b: transport at time t, in the middle.
bool tess_xp_two_is_exchanged(const double *a, const double *b, double t);

// The arrays of a grid at theta; the same bits on every instruction set.
void tess_xp_two_fill(tess_xp_grids *grids, double dt_s, const double *theta);
void tess_xp_two_angle(tess_xp_angle *angle, const double *theta, double phi, double q);

// M between frames i < j, and if jacobian is not NULL its derivatives.
double tess_xp_two_at(const tess_xp_grid *grid, const tess_xp_angle *angle, int64_t i, int64_t j,
                      double *jacobian);

#endif
