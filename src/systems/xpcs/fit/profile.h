// The profile of the cost along one parameter, all others at their best: where it reaches a level,
// or where it is least. A machine that asks for evaluations, all of it plain bytes.
//
// With the Hessian of every evaluation the next point is where the level is by the quadratic model,
// the others following along it (Venzon and Moolgavkar 1988) as the rates bend; where they come to
// lie off the bottom they are put back to it first.
#ifndef TESS_XPCS_FIT_PROFILE_H
#define TESS_XPCS_FIT_PROFILE_H

#include "systems/xpcs/fit/problem.h"

enum { TESS_XP_PROFILE_MAX = TESS_XPCS_MAX_PARAM };

typedef enum tess_xp_profile_status {
    TESS_XP_PROFILE_AT_WORK = 0,
    TESS_XP_PROFILE_FOUND = 1,
    TESS_XP_PROFILE_AT_BOUND = 2, // the level is not reached within the bounds
    TESS_XP_PROFILE_LOWER = 3,    // x is below what was taken for the minimum
    TESS_XP_PROFILE_LOST = 4      // the valley could not be followed
} tess_xp_profile_status;

typedef struct tess_xp_profile {
    int64_t n;
    int64_t k;        // the parameter
    double direction; // -1, 1
    double least;     // cost at the minimum
    double level;     // cost that is looked for
    double unit;      // half of chi2's variance: costs closer than a small part of it are the same
    double x[TESS_XP_PROFILE_MAX]; // where an evaluation is wanted, then the end
    double lower[TESS_XP_PROFILE_MAX];
    double upper[TESS_XP_PROFILE_MAX];
    double origin; // x[k] of the minimum
    // The best point of the present x[k], and the step from it that x tries.
    double base[TESS_XP_PROFILE_MAX];
    double base_cost;
    double move[TESS_XP_PROFILE_MAX];
    double inside;  // x[k] known to be below the level
    double outside; // and above it; infinite: none
    double promise; // what the step to the bottom should bring
    double damping; // of such steps: where residuals bend the valley they are too long
    double reach;   // of the last step of x[k] that was good, twice
    double cost;    // of the profile at the end
    int64_t n_look;
    int32_t n_short;   // steps in a row that were not taken
    int32_t is_moving; // x[k] changes with the step
    int32_t status;
    int32_t reserved;
} tess_xp_profile;

// A minimum: parameters, cost, gradient (not 0 where one is at a bound) and Hessian.
typedef struct tess_xp_bottom {
    const tess_xp_problem *problem;
    const double *x; // [n_free]
    const double *lower;
    const double *upper;
    const double *gradient;
    const double *hessian;
    double cost;
    double unit; // half of chi2's variance
} tess_xp_bottom;

// From the minimum towards where the profile is higher by rise. x[k] is then where that would be if
// the cost were a parabola. May be over at once.
void tess_xp_profile_begin(tess_xp_profile *profile, const tess_xp_bottom *bottom, int64_t k,
                           double direction, double rise);
// Takes the evaluation at x. False: it is over.
bool tess_xp_profile_next(tess_xp_profile *profile, const tess_xp_problem *problem, double cost,
                          const double *gradient, const double *hessian);

#endif
