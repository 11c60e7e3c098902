// Which unknowns a joint fit has, and what they say of a member's parameters.
#ifndef TESS_XPCS_JOINT_LAYOUT_H
#define TESS_XPCS_JOINT_LAYOUT_H

#include "base/blocks.h"
#include "tessera/xpcs/joint.h"

// Parameter k of member m is x[value[k] + (EACH ? m : 0)], times ratio[m]^x[value[k] + 1] for a
// power; or fixed[k] where value[k] is -1.
typedef struct tess_xp_layout {
    int64_t n_member;
    int64_t n_param;
    int64_t n_x;
    int32_t ties[TESS_XPCS_MAX_PARAM];
    int64_t value[TESS_XPCS_MAX_PARAM];
    double fixed[TESS_XPCS_MAX_PARAM];
    const double *log_ratio; // [n_member] ln(q / q_ref)
} tess_xp_layout;

// Counts the unknowns. fixed [n_param]: NaN where a parameter is free.
void tess_xp_layout_make(tess_xp_layout *layout, int64_t n_member, int64_t n_param,
                         const int32_t *ties, const double *fixed, const double *log_ratio);

// The unknown's parameter, member and kind.
tess_xpcs_unknown tess_xp_layout_unknown(const tess_xp_layout *layout, int64_t i);

// The parameters of a member at x.
void tess_xp_layout_theta(const tess_xp_layout *layout, const double *x, int64_t member,
                          double *theta);

// Unknowns that parameter k of a member depends on, at most 2, and its derivatives by them. Returns
// their number.
int64_t tess_xp_layout_slope(const tess_xp_layout *layout, const double *x, int64_t member,
                             int64_t k, int64_t at[2], double slope[2]);

// Adds a member's gradient [n_param] and Hessian [n_param][n_param], times scale, to those by x.
void tess_xp_layout_gather(const tess_xp_layout *layout, const double *x, int64_t member,
                           const double *gradient, const double *hessian, double scale,
                           double *gradient_x, double *hessian_x);

#endif
