// Importance weights whose tail is smoothed by a Pareto distribution (Vehtari, Simpson, Gelman,
// Yao, Gabry 2024), and its shape k: below 0.7 the weights can be trusted.
#ifndef TESS_NUMERICS_PARETO_H
#define TESS_NUMERICS_PARETO_H

#include <stdint.h>

// log_weight [n], in any scale, becomes the smoothed and normalised one (its exponentials add up to
// 1). scratch [2 n]. Returns k; inf where there are too few.
double tess_pareto_smooth(double *log_weight, int64_t n, double *scratch);

#endif
