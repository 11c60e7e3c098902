// How large a recording is, from the headers of its data sets alone.
#ifndef TESS_SYSTEMS_DECODE_RECORDING_SIZE_H
#define TESS_SYSTEMS_DECODE_RECORDING_SIZE_H

#include "runtime/bundle.h"

#include <stdbool.h>

typedef struct tess_de_recording_size {
    uint64_t bytes; // that the recording holds once it is open
    // What a model is fitted to.
    uint64_t n_sample;
    uint64_t n_dim;
    uint64_t n_place_dim; // 1 on a track
    bool is_selected;     // by flags or weights: not all of it is learnt from
    uint64_t n_spike;
    uint64_t n_mark;     // values of all spikes
    uint64_t mark_bytes; // of one value
    uint64_t n_time;     // rows to be decoded
} tess_de_recording_size;

// Data sets that are missing or of the wrong shape count 0: reading them explains it.
void tess_de_size_recording(const tess_bundle *bundle, tess_de_recording_size *out);

#endif
