// Gauss-Newton steps at the end of a fit, judged by the gradient: of one data set or of several.
#ifndef TESS_XPCS_FIT_NEWTON_H
#define TESS_XPCS_FIT_NEWTON_H

#include <stdbool.h>
#include <stdint.h>

// Where a step begins. The caller's arrays.
typedef struct tess_xp_newton {
    int64_t n;
    double variance;    // of a unit of inverse Hessian: what errors are
    int64_t n_rejected; // steps in a row that were not taken
    const double *x;    // [n]
    const double *lower;
    const double *upper;
    const double *gradient; // [n]
    const double *hessian;  // [n][n]
    double *secant;         // [n][n] what the Hessian lacks, as steps have shown
    double *step;           // [n]
    double *trial_gradient; // [n] used up by a plan; where the last step went, for learning
    double *trial_hessian;  // [n][n] likewise
    double *work;           // [n (n + 6)]
} tess_xp_newton;

typedef struct tess_xp_newton_plan {
    double size;   // in errors
    bool has_snap; // a parameter goes onto its bound
} tess_xp_newton_plan;

// When a fit is at its end.
static const double tess_xp_small_step = 1e-6;  // of the errors: no further step is worth a pass
static const double tess_xp_large_step = 10;    // of the errors: not near a minimum
static const double tess_xp_settled_step = 0.1; // of the errors: what may be left where it ends
static const double tess_xp_same_cost = 1e-12;  // relative: cannot tell points apart
enum { TESS_XP_MOST_STEPS = 40, TESS_XP_MOST_REJECTED = 6 };

// The step from x, within the bounds; parameters that press against one go onto it.
tess_xp_newton_plan tess_xp_newton_make(const tess_xp_newton *newton);

// How the gradient changed along the step, taken or not, is what the Hessian there should give:
// trial_gradient and trial_hessian are those of where it led.
void tess_xp_newton_learn(const tess_xp_newton *newton);

#endif
