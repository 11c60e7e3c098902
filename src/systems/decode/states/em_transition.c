// The M-step of the discrete transitions.
#include "systems/decode/states/em.h"

// A prediction that small says nothing about where its state came from.
static const double LEAST_PREDICTION = 1e-8;
static const double LEAST_ALPHA = 1e-10;

double tess_de_em_joint(double transition, double causal, double acausal, double predictive)
{
    return predictive > LEAST_PREDICTION ? transition * causal * acausal / predictive : 0;
}

void tess_de_em_prior(int32_t n_state, int32_t row, double concentration, const double *stickiness,
                      double weight, double total, double *alpha, double *prior)
{
    double sum = 0;
    for (int32_t j = 0; j < n_state; j++) {
        alpha[j] = concentration + (j == row && stickiness ? stickiness[row] : 0);
        alpha[j] = alpha[j] > LEAST_ALPHA ? alpha[j] : LEAST_ALPHA;
        prior[j] = alpha[j] - 1;
        sum += prior[j];
    }
    for (int32_t j = 0; j < n_state && weight > 0; j++) {
        prior[j] = sum != 0 ? weight * total * prior[j] / sum : 0;
    }
}

// A new row from expected counts: the mode of its posterior.
static void update_row(int32_t n_state, double *alpha, const double *prior, double *row)
{
    double sum = 0;
    double alpha_sum = 0;
    for (int32_t j = 0; j < n_state; j++) {
        row[j] += prior[j];
        row[j] = row[j] > 0 ? row[j] : 0;
        sum += row[j];
        alpha_sum += alpha[j];
    }
    for (int32_t j = 0; j < n_state; j++) {
        row[j] = sum > 0 ? row[j] / sum : alpha[j] / alpha_sum;
    }
}

// Expected transitions, in one pass over the rows: each sum has its terms in their order.
static void count_transitions(int32_t n_state, int64_t n_row, const double *causal,
                              const double *predictive, const double *acausal,
                              const double *transition, double *counts)
{
    for (int32_t k = 0; k < n_state * n_state; k++) {
        counts[k] = 0;
    }
    for (int64_t t = 0; t + 1 < n_row; t++) {
        const double *from = causal + t * n_state;
        const double *to = acausal + (t + 1) * n_state;
        const double *predicted = predictive + (t + 1) * n_state;
        for (int32_t i = 0; i < n_state; i++) {
            for (int32_t j = 0; j < n_state; j++) {
                counts[i * n_state + j] +=
                    tess_de_em_joint(transition[i * n_state + j], from[i], to[j], predicted[j]);
            }
        }
    }
}

void tess_de_em_transition(int32_t n_state, int64_t n_row, const double *causal,
                           const double *predictive, const double *acausal, double concentration,
                           const double *stickiness, const double *prior_weight,
                           const uint8_t *frozen, double *transition)
{
    double all[TESS_DE_MAX_STATE * TESS_DE_MAX_STATE];
    double alpha[TESS_DE_MAX_STATE];
    double prior[TESS_DE_MAX_STATE];
    count_transitions(n_state, n_row, causal, predictive, acausal, transition, all);
    for (int32_t i = 0; i < n_state; i++) {
        if (frozen && frozen[i]) {
            continue;
        }
        double *row = transition + (int64_t)i * n_state;
        double *counts = all + (int64_t)i * n_state;
        double total = 0;
        for (int32_t j = 0; j < n_state; j++) {
            total += counts[j];
        }
        tess_de_em_prior(n_state, i, concentration, stickiness, prior_weight ? prior_weight[i] : 0,
                         total, alpha, prior);
        update_row(n_state, alpha, prior, counts);
        for (int32_t j = 0; j < n_state; j++) {
            row[j] = counts[j];
        }
    }
}
