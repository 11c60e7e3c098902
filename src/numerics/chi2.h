// The distribution of chi2.
#ifndef TESS_NUMERICS_CHI2_H
#define TESS_NUMERICS_CHI2_H

// Probability that a sum of dof squared normal deviates is above chi2. 1 for chi2 <= 0; NaN for NaN
// and for dof <= 0.
double tess_chi2_tail(double chi2, double dof);

#endif
