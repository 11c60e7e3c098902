// Quantiles of distributions, to about 1e-14 of them.
#ifndef TESS_NUMERICS_QUANTILES_H
#define TESS_NUMERICS_QUANTILES_H

// Of the standard normal; -inf at 0, inf at 1, NaN outside.
double tess_normal_quantile(double p);

// Of the beta distribution, a and b > 0; NaN for a p outside [0, 1] or other a and b.
double tess_beta_quantile(double p, double a, double b);

// Share of the beta distribution below x.
double tess_beta_below(double x, double a, double b);

#endif
