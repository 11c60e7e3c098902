// A joint fit at work: its members, the state that a checkpoint keeps, and what it finds.
//
//   single   every member alone, in the order of q, each from where its neighbour ended
//   screen   costs of the starts that these give
//   fit      trust-region steps from the best
//   finish   Gauss-Newton steps until what is left is far below the errors
//   final    once more there, with the contrasts that belong to it, for the errors
#ifndef TESS_XPCS_JOINT_JOINT_H
#define TESS_XPCS_JOINT_JOINT_H

#include "base/text.h"
#include "numerics/trust_region.h"
#include "runtime/watch.h"
#include "runtime/work.h"
#include "systems/xpcs/fit/newton.h"
#include "systems/xpcs/fit/problem.h"
#include "systems/xpcs/joint/layout.h"

typedef enum tess_xp_joint_phase {
    TESS_XP_JOINT_SINGLE = 0,
    TESS_XP_JOINT_SCREEN = 1,
    TESS_XP_JOINT_FIT = 2,
    TESS_XP_JOINT_FINISH = 3,
    TESS_XP_JOINT_FINAL = 4,
    TESS_XP_JOINT_DONE = 5
} tess_xp_joint_phase;

enum { TESS_XP_JOINT_STARTS = 4 };

struct tess_xpcs_joint {
    tess_context *ctx;
    tess_xpcs_joint_info info; // its pointers lead into what follows
    tess_blocks memory;
    const char *names[TESS_XPCS_MAX_PARAM];
    int32_t ties[TESS_XPCS_MAX_PARAM];
    tess_xpcs_tie_test tests[TESS_XPCS_MAX_PARAM];
    char message[256];
    char identity[33];
    tess_text warnings;

    // The arrays of info, to be filled.
    tess_xpcs_unknown *unknowns;
    double *covariance;
    const char **paths;
    double *q;
    int64_t *first_angle;
    double *theta;
    double *sd;
    double *phi;
    double *contrast;
    double *contrast_sd;
    double *offset;
    double *offset_sd;
    double *chi2;
    double *reduced_chi2;
    double *noise;
    tess_xpcs_result **single;
};

typedef struct tess_xp_member {
    tess_xp_problem problem;
    tess_xp_pass pass;
    tess_xp_reduced reduced; // of the last evaluation
    void *block;
    double *sums;
    double *contrast; // [n_angle] in the state: weigh the Hessian of the next evaluation
} tess_xp_member;

// What comes first in the state; plain bytes.
typedef struct tess_xp_joint_state {
    int64_t phase;
    int64_t index;   // of the start that is screened or fitted
    int64_t n_start; // that there are
    int64_t n_try;   // that are fitted
    int64_t status;  // of the trust region, of the best run
    int64_t is_step; // finish: the evaluation tries a step
    int64_t n_finish;
    int64_t n_rejected;
    int64_t n_evaluation;
    double kept_cost;
    double unsettled; // in errors: what is left where it ended
    double costs[TESS_XP_JOINT_STARTS];
    int64_t order[TESS_XP_JOINT_STARTS];
} tess_xp_joint_state;

typedef struct tess_xp_joint {
    tess_context *ctx;
    tess_device *device;
    tess_xpcs_data *const *data; // [n_member]
    int64_t n_member;
    tess_xpcs_model model; // as given
    tess_xpcs_fit_config config;
    tess_xpcs_joint_config joint;
    tess_blocks memory;
    tess_xp_layout layout;
    double q_ref;
    double *log_ratio; // [n_member]
    int64_t *order;    // [n_member] members by rising q
    int64_t n_single;  // in that order: fitted alone
    tess_xp_member *members;
    double *unit;  // [n_member] the noise of info
    double *lower; // [n_x]
    double *upper;
    tess_xpcs_joint *result;

    // The state: one block.
    void *state;
    size_t state_bytes;
    tess_xp_joint_state *head;
    double *x;        // [n_x] where the next evaluation goes
    double *kept_x;   // [n_x] best so far
    double *gradient; // [n_x] there
    double *hessian;  // [n_x][n_x]
    double *secant;   // [n_x][n_x]
    double *step;     // [n_x]
    double *starts;   // [TESS_XP_JOINT_STARTS][n_x]
    double *contrast; // [n_angle] of all members
    tess_trust *trust;

    // Scratch.
    double *trial_gradient; // [n_x]
    double *trial_hessian;  // [n_x][n_x]
    double *work;           // [n_x (3 n_x + 6)]

    tess_identity id;
    tess_work kept;
    bool is_resumed;
    tess_watch watch;
} tess_xp_joint;

// --- members.c

// What every member must have, their q and order, the layout of the unknowns, room for the result.
TESS_MUST_CHECK tess_status tess_xp_joint_prepare(tess_xp_joint *j);
// Passes over the data of all members; singles are done.
TESS_MUST_CHECK tess_status tess_xp_joint_open(tess_xp_joint *j);
void tess_xp_joint_close(tess_xp_joint *j);
// Between members, member of them evaluated: progress, which is a guess, and cancel.
TESS_MUST_CHECK tess_status tess_xp_joint_poll(tess_xp_joint *j, int64_t member);
// Cost in units of noise, and with want gradient and Hessian, at x, into cost and the trial arrays.
TESS_MUST_CHECK tess_status tess_xp_joint_evaluate(tess_xp_joint *j, int32_t want, double *cost);

// --- starts.c

// Fits the next member alone.
TESS_MUST_CHECK tess_status tess_xp_joint_single(tess_xp_joint *j);
// Starts of the joint fit from the members' own.
void tess_xp_joint_begin(tess_xp_joint *j);

// --- solve.c

// From the state as it is to the end, or to where it is stopped: then the state is that before the
// evaluation.
TESS_MUST_CHECK tess_status tess_xp_joint_solve(tess_xp_joint *j);

// --- state.c

TESS_MUST_CHECK tess_status tess_xp_joint_take_state(tess_xp_joint *j);
TESS_MUST_CHECK tess_status tess_xp_joint_open_work(tess_xp_joint *j);
// When it is due, or at once.
void tess_xp_joint_keep(tess_xp_joint *j, bool is_now);

// --- result.c, errors.c

TESS_MUST_CHECK tess_status tess_xp_joint_result_create(tess_xp_joint *j);
TESS_MUST_CHECK tess_status tess_xp_joint_warn(tess_xpcs_joint *result, tess_warning warning,
                                               const char *format, ...) TESS_PRINTF(3, 4);
// Values, errors, tests and words from the final evaluation.
TESS_MUST_CHECK tess_status tess_xp_joint_conclude(tess_xp_joint *j);
TESS_MUST_CHECK tess_status tess_xp_joint_errors(tess_xp_joint *j);
TESS_MUST_CHECK tess_status tess_xp_joint_tests(tess_xp_joint *j);

#endif
