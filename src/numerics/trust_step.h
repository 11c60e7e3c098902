// One step of the trust-region reflective method on a quadratic model, bounds respected.
#ifndef TESS_NUMERICS_TRUST_STEP_H
#define TESS_NUMERICS_TRUST_STEP_H

#include <stdbool.h>
#include <stdint.h>

// The model at x in scaled ("hat") variables s = d s_hat: 0.5 s_hat^T B s_hat + g_hat^T s_hat.
typedef struct tess_trust_model {
    int64_t n;
    const double *x;
    const double *lower;
    const double *upper;
    const double *d;       // [n]
    const double *g_hat;   // [n]
    const double *b;       // B [n][n]
    const double *values;  // eigenvalues of B, none negative
    const double *vectors; // [n][n], a row each
    const double *product; // [n] vectors times g_hat
    double theta;          // how far towards a bound a step may go
} tess_trust_model;

// Chooses a step within the radius: step and step_hat [n]; *alpha is the damping of the last step
// and becomes that of this one. work [3 n]. Returns the reduction that the model predicts.
double tess_trust_step(const tess_trust_model *model, double radius, double *alpha, double *step,
                       double *step_hat, double *work);

#endif
