// A Gaussian density of samples at arbitrary places, pair by pair, skipping those too far to count.
#ifndef TESS_SYSTEMS_DECODE_NEARBY_H
#define TESS_SYSTEMS_DECODE_NEARBY_H

#include "base/blocks.h"
#include "systems/decode/density/table.h"

// Samples in buckets over their first two coordinates, rows of buckets one after another.
typedef struct tess_de_nearby {
    int64_t n_dim;
    int64_t n_sample;
    int64_t n[2]; // buckets; n[0] is 1 for one coordinate
    double low[2];
    double width[2]; // cm
    double reach;    // bandwidths
    double std[3];
    double scale;          // of a sum: 1 / (weight of all * norm)
    const int64_t *first;  // [n[0] n[1] + 1]
    const double *place;   // [n_sample][n_dim] by bucket, in bandwidths
    const double *weights; // [n_sample] by bucket
} tess_de_nearby;

// reach: bandwidths beyond which a sample counts nothing.
TESS_MUST_CHECK tess_status tess_de_nearby_build(tess_blocks *blocks,
                                                 const tess_de_table_samples *samples, double reach,
                                                 tess_de_nearby *out);

// The density at a place; 0 without samples. NaN places give NaN.
double tess_de_nearby_density(const tess_de_nearby *nearby, const double *place);

#endif
