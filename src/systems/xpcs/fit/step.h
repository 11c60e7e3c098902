// The state of a fit, and what its phases share: the run at work, from the sums of one pass to
// where the next goes.
#ifndef TESS_XPCS_FIT_STEP_H
#define TESS_XPCS_FIT_STEP_H

#include "numerics/trust_region.h"
#include "systems/xpcs/fit/intervals.h"
#include "systems/xpcs/fit/problem.h"

typedef enum tess_xp_phase {
    TESS_XP_PHASE_GUESS = 0,
    TESS_XP_PHASE_SCREEN = 1,
    TESS_XP_PHASE_FIT = 2,
    TESS_XP_PHASE_REFINE = 3,
    TESS_XP_PHASE_ROBUST = 4,
    TESS_XP_PHASE_FINISH = 5,
    TESS_XP_PHASE_BOOTSTRAP = 6,
    TESS_XP_PHASE_PROFILE = 7,
    TESS_XP_PHASE_DONE = 8
} tess_xp_phase;

enum { TESS_XP_MAX_TRACE = 1024 };

// Besides those of tess_trust_view.
enum { TESS_XP_STALLED = -2 }; // no gradient at the start

// What was tried after failures.
enum {
    TESS_XP_TRIED_DEFAULT = 1, // the default start
    TESS_XP_TRIED_SEARCH = 2,  // a Latin hypercube
    TESS_XP_TRIED_WIDE = 4     // likewise, on all points: there are many minima
};

// A start and where it led.
typedef struct tess_xp_candidate {
    double theta[TESS_XPCS_MAX_PARAM];
    double end[TESS_XPCS_MAX_PARAM];
    double sd[TESS_XPCS_MAX_PARAM]; // there; 0: unknown
    double cost;                    // at theta, then at the end
    int32_t status;
    int32_t is_fitted;
    int32_t is_part; // the cost is that of part of the data, scaled up
    int32_t reserved;
    int64_t group;     // of ends on part of the data that are alike; -1: none
    int64_t n_scouted; // starts on a sketch that led here; 0: it is a start itself
} tess_xp_candidate;

// One of several runs that share passes over the data: replicates of a bootstrap, ends of
// profiles. What they find does not depend on each other, nor on how many go at a time.
typedef struct tess_xp_lane {
    int64_t index; // replicate, or which end; -1: none
    int32_t want;
    int32_t status;
    int32_t is_lower; // the profile fell below the minimum, and waits for those before it
    int32_t reserved;
    double kept_cost;
    double gradient_norm;
    tess_xp_profile profile;
} tess_xp_lane;

// What comes first in the state.
typedef struct tess_xp_state {
    int32_t phase;
    int32_t want;     // of the next pass
    int32_t is_mixed; // likewise
    int32_t tried;
    int32_t status;  // of the run at work, then of the fit: trust region's, or TESS_XP_STALLED
    int32_t is_step; // finish: the pass tries a step
    int32_t final_status;
    int32_t is_coarse; // the pass takes part of the data
    int64_t index;     // of the phase: candidate in order, or replicate
    int64_t n_candidate;
    int64_t n_order;
    int64_t best; // candidate
    int64_t n_finish;
    int64_t n_rejected; // finish: steps in a row
    int64_t n_pass;     // over all points
    int64_t n_coarse;   // over part of them
    int64_t nfev;
    int64_t n_iteration;
    int64_t n_trace;
    int64_t n_basin;
    int64_t n_return;   // to steps of the trust region from what was taken for the end
    int64_t first_lane; // of the next pass
    int64_t n_begun;    // lanes: of replicates, or of ends
    double gradient_norm;
    double kept_cost;
    double final_cost;
    double chi2;      // without loss, at the end
    double unsettled; // by which it would still fall as the last step has it
} tess_xp_state;

typedef struct tess_xp_engine tess_xp_engine;
struct tess_xp_engine {
    tess_context *ctx;
    tess_xp_problem *problem;
    tess_xp_pass *pass;
    size_t state_bytes;
    void *state;
    // After every pass, and between the stretches of one; its failure ends the run. NULL: none.
    tess_status (*checkpoint)(void *self, tess_xp_engine *engine, bool is_mid_pass);
    void *self;

    // Parts of the state. From lane to trust and kept: those of the lane at work.
    tess_xp_state *head;
    tess_xp_lane *lane;
    double *theta;    // [n_param] where the next pass goes
    double *contrast; // [n_angle]
    double *offset;
    double *kept_theta; // [n_param] the best so far of the run at work
    double *run_theta;  // [n_param] where it began
    double *x;        // [n_x] likewise: unknowns of the scaling where they are explicit, free theta
    double *gradient; // [n_x] there
    double *hessian;  // [n_x][n_x]
    double *secant;   // [n_x][n_x] finish: what the Hessian lacks, as steps have shown
    double *step;     // [n_x] finish: the one that is tried
    double *final_sums;  // [n_sum] of the last pass before a bootstrap
    double *final_theta; // [n_param]
    tess_xp_candidate *candidates;
    int64_t *order; // candidates to fit
    tess_xpcs_trace *trace;
    tess_xpcs_basin *basins;
    double *basin_sd;  // [max_candidate][TESS_XPCS_MAX_PARAM]; 0: unknown
    double *bootstrap; // [n_bootstrap][n_param]; NaN: a refit that failed
    tess_xp_intervals *intervals;
    tess_trust *trust;
    tess_xp_reduced kept;
    void *kept_block;
    tess_xp_reduced final; // at the optimum
    // Errors with noise frames, NULL until they are known; no part of the state.
    tess_xpcs_result *noisy;
    void *final_block;
    size_t reduced_bytes;

    int64_t max_candidate;
    int64_t max_x;
    int64_t n_lane;
    size_t lane_bytes;
    unsigned char *lanes; // [n_lane][lane_bytes]
    int64_t every; // part of the leaves that a coarse pass takes: the first of so many; 0: none
    int64_t group;

    // Scratch, nothing of it outlives a pass.
    void *scratch;
    size_t scratch_bytes;
    double *all_sums;       // [pass->max_set][n_sum]
    double *sums;           // [n_sum] of them: the lane's
    double *trial_gradient; // [max_x]
    double *trial_hessian;
    double *lower; // [max_x]
    double *upper;
    double *x_scale;
    double *work;         // [max_x] and [max_x][max_x]
    double *frame_weight; // [pass->max_set][n_frame]
    double *keys;         // [max_candidate]
    int64_t *ranks;       // [2 max_candidate]
    tess_xp_reduced trial;
    void *trial_block;
};

// Parameters of the run at work: with explicit scaling its unknowns come first.
bool tess_xp_step_is_robust(const tess_xp_engine *engine);
int64_t tess_xp_step_n_x(const tess_xp_engine *engine);
// Standard deviations squared per unit of inverse Hessian: chi2 / dof as far as it is known.
double tess_xp_step_variance(const tess_xp_engine *engine);
// Half of that with what the caller said of sigma and counting: what chi2 of 1 is in costs, at the
// end of the fit.
double tess_xp_step_unit(const tess_xp_engine *engine);
// Cost, gradient and Hessian of the pass's sums by x, into trial.
void tess_xp_step_evaluate(tess_xp_engine *engine, double *cost);
// The trial becomes what is kept. Contrasts weigh the next Hessian.
void tess_xp_step_keep(tess_xp_engine *engine, double cost);
void tess_xp_step_weigh(tess_xp_engine *engine, const double *contrast);
// Bounds and scales of x, and x itself at theta and, where they are explicit, contrast and offset.
TESS_MUST_CHECK tess_status tess_xp_step_lay_out(tess_xp_engine *engine, const double *theta);
// Sets theta, contrast and offset of the next pass.
void tess_xp_step_aim(tess_xp_engine *engine, const double *x);
// Bends the step from x so that it follows the valleys of the rates.
void tess_xp_step_bend(const tess_xp_engine *engine, const double *x, double *step);
// Sets them to the trust region's next trial, bent.
void tess_xp_step_aim_trial(tess_xp_engine *engine);
// Begins a run at theta, and at contrast and offset where they are explicit.
TESS_MUST_CHECK tess_status tess_xp_step_begin_run(tess_xp_engine *engine, const double *theta);
void tess_xp_step_note(tess_xp_engine *engine, double cost, double gradient_norm, double step_norm,
                       double radius, int is_accepted);

#endif
