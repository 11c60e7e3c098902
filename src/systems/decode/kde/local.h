// What the local likelihood of the clusterless KDE keeps; made by the first local call.
#ifndef TESS_SYSTEMS_DECODE_LOCAL_H
#define TESS_SYSTEMS_DECODE_LOCAL_H

#include "systems/decode/decode.h"
#include "systems/decode/density/field.h"

// Encoding spikes of one electrode as points: marks, then places, in sqrt(2) bandwidths.
typedef struct tess_de_points {
    int64_t n;
    int64_t n_feature;
    double *centre; // [n_feature + n_dim]
    double *scale;
    void *x;       // [n_feature + n_dim][n]
    void *bias;    // [n] log weights; NULL: all 0
    double offset; // log intensity = offset + log sum - log occupancy
} tess_de_points;

struct tess_de_local {
    tess_blocks blocks;
    int32_t dtype;
    int64_t n_dim;
    tess_de_field occupancy;
    tess_de_field ground;       // sum over electrodes of mean rate * place density
    tess_de_points *electrodes; // clusterless
    tess_de_field *units;       // sorted spikes: place density of each
};

// The encoding's, made if there is none yet. Any thread.
TESS_MUST_CHECK tess_status tess_de_local_get(tess_context *ctx,
                                              const tess_decode_encoding *encoding,
                                              const struct tess_de_local **out);
// kde_spike.c: expected spikes at a place, as tess_de_single_ops has it.
TESS_MUST_CHECK tess_status tess_de_local_ground(tess_context *ctx,
                                                 const tess_decode_encoding *encoding,
                                                 const double *place, void *scratch, double *value);
void tess_de_local_free(tess_heap *heap, struct tess_de_local *local);

#endif
