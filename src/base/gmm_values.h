// A mixture's log intensities of marks at every bin, and the host's way to them.
//
// With the covariance's factor [A 0; B C] (marks first) and a = A^-1 (m - mean of marks), a
// component at a given mark is a Gaussian over places with mean (mean of places + B a) and factor
// C: only that is left to do at every bin.
#ifndef TESS_BASE_GMM_VALUES_H
#define TESS_BASE_GMM_VALUES_H

#include <math.h>
#include <stdint.h>

// Terms so far below the largest change no digit of a sum.
#define TESS_GMM_NEGLIGIBLE 45.0

// An electrode's mixture over marks and places, and the bins. Arrays are the device's.
typedef struct tess_gmm_bins {
    int64_t n_component; // 0: never heard, every value is on the floor
    int64_t n_feature;
    int64_t n_dim;          // of places
    const double *mean;     // [n_component][n_feature + n_dim]
    const double *factor;   // [n_component][n_feature + n_dim][n_feature + n_dim]
    const double *log_norm; // [n_component]
    int64_t n_bin;
    const double *centre;        // [n_bin][n_dim]
    const double *log_occupancy; // [n_bin]
    double log_rate;
    double floor; // lowest value...
    double below; // ... and how far below a mark's best bin; infinity: no such bound
} tess_gmm_bins;

// The lowest value of a mark whose best bin has most.
static inline double tess_gmm_floor(const tess_gmm_bins *b, double most)
{
    return isinf(b->below) || most - b->below < b->floor ? b->floor : most - b->below;
}

// What one mark takes: exponents, terms, conditional means, a point.
static inline int64_t tess_gmm_scratch_items(const tess_gmm_bins *b)
{
    return b->n_component * (2 + b->n_dim) + b->n_feature + 1;
}

// One mark at every bin; returns how many are on the floor.
int64_t tess_gmm_values(const tess_gmm_bins *bins, const double *mark, double *scratch,
                        double *values);

#endif
