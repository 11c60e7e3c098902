// What a prediction or an estimate starts from, as hashes: in its identity, and in the provenance
// of its result.
#ifndef TESS_SYSTEMS_DECODE_FINGERPRINT_H
#define TESS_SYSTEMS_DECODE_FINGERPRINT_H

#include "runtime/identity.h"
#include "systems/decode/states/detector.h"

typedef struct tess_de_fingerprint {
    tess_hash model; // with its parameters as they are now
    tess_hash time;
    tess_hash spikes;
    tess_hash position;
    tess_hash missing;
    tess_hash design;
    int64_t n_time;
    int64_t n_state_bin;
} tess_de_fingerprint;

// design [n_time][n_coefficient] or NULL.
void tess_de_fingerprint_make(const tess_decode_detector *detector,
                              const tess_decode_observation *observation, const double *design,
                              tess_de_fingerprint *out);

void tess_de_fingerprint_add(const tess_de_fingerprint *fingerprint, tess_identity *id);

// Times and marks of all electrodes.
tess_hash tess_de_spikes_hash(const tess_decode_spikes *spikes);

// n values; NULL counts as none.
void tess_de_mix_doubles(tess_hash *hash, const double *values, int64_t n);

#endif
