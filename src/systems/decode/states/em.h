// The M-steps of expectation maximisation.
#ifndef TESS_SYSTEMS_DECODE_EM_H
#define TESS_SYSTEMS_DECODE_EM_H

#include "systems/decode/states/hmm.h"

enum { TESS_DE_MAX_STATE = 64 };

// Expected number of steps from one discrete state to another between two rows.
double tess_de_em_joint(double transition, double causal, double acausal, double predictive);

// alpha [n_state] of a row's Dirichlet prior, and what it adds to the row's counts: alpha - 1, or,
// with a weight, that share of the row's total count.
void tess_de_em_prior(int32_t n_state, int32_t row, double concentration, const double *stickiness,
                      double weight, double total, double *alpha, double *prior);

// Marginals of all rows and the prior: what an M-step starts from.
typedef struct tess_de_em_step {
    int32_t n_state;
    int64_t n_row;
    const double *causal;     // [n_row][S]
    const double *predictive; // [n_row][S]
    const double *acausal;    // [n_row][S]
    double concentration;
    const double *stickiness;   // [S] or NULL
    const double *prior_weight; // [S] or NULL
    const uint8_t *frozen;      // [S] or NULL
    int64_t n_coefficient;
    const double *design;  // [n_row][n_coefficient], the first column is the intercept
    double regularization; // of the squared coefficients but the intercept's
} tess_de_em_step;

// New coefficients [n_coefficient][S][S-1] of covariate-dependent transitions: for every row of
// the transition the minimum over them of
//     - sum over t, j of (joint[t][j] + prior[j] / n) log softmax[t][j] / n + penalty.
// Rows whose search fails keep theirs; *n_failed says how many.
TESS_MUST_CHECK tess_status tess_de_em_coefficients(tess_context *ctx, const tess_de_em_step *step,
                                                    double *coefficients, int32_t *n_failed);

#endif
