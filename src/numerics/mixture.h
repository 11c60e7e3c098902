// Mixtures of Gaussians with full covariances, fitted by expectation maximisation.
#ifndef TESS_NUMERICS_MIXTURE_H
#define TESS_NUMERICS_MIXTURE_H

#include "runtime/context.h"

typedef struct tess_mixture_config {
    int64_t n_component; // at most as many as points
    int64_t max_iterations;
    double tolerance; // gain of the mean log likelihood that ends the iterations
    double ridge;     // added to the diagonal of every covariance
    uint64_t seed;
    uint32_t stream; // same seed, another start
} tess_mixture_config;

typedef struct tess_mixture {
    int64_t n_component; // 0: no points, density 0
    int64_t n_dim;
    double *mean;     // [n_component][n_dim]
    double *factor;   // [n_component][n_dim][n_dim] lower Cholesky factors of the covariances
    double *log_norm; // [n_component] log weight and log of the Gaussian's factor
    double mean_log_likelihood; // of the points before the last step
    int64_t n_iteration;
    int32_t converged;
    int32_t reserved;
    // Its own.
    tess_heap *heap;
    size_t bytes;
} tess_mixture;

// Fits points [n][n_dim]. The start is k-means++ with a few rounds of k-means, in units of each
// coordinate's spread. Same bits for any number of threads. Free with tess_mixture_free().
TESS_MUST_CHECK tess_status tess_mixture_fit(tess_context *ctx, const double *points, int64_t n,
                                             int64_t n_dim, const tess_mixture_config *config,
                                             tess_mixture *out);
void tess_mixture_free(tess_mixture *mixture); // a zeroed one too

// log density at a point; scratch [n_component + n_dim].
double tess_mixture_log(const tess_mixture *mixture, const double *point, double *scratch);

// log of the sum of exp(x[0..n)); -inf for n = 0.
double tess_log_sum_exp(const double *x, int64_t n);

// mixture_start.c: component of every point to begin with.
void tess_mixture_start(const double *points, int64_t n, int64_t n_dim, int64_t n_component,
                        const tess_mixture_config *config, double *distance, double *centres,
                        int64_t *label);

#endif
