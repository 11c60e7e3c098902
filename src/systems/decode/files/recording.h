// The inside of a recording: the info that callers see and the memory it points into.
#ifndef TESS_SYSTEMS_DECODE_RECORDING_H
#define TESS_SYSTEMS_DECODE_RECORDING_H

#include "base/blocks.h"
#include "runtime/context.h"
#include "tessera/decode/recording.h"

struct tess_decode_recording {
    tess_heap *heap;
    tess_blocks blocks; // everything info points to, allocated with blocks_alloc()
    tess_decode_recording_info info;
    bool has_truth;    // true_position is the file's, not interpolated
    bool is_simulated; // by these settings
    tess_decode_simulate_config simulation;
};

// An empty recording: every struct of the info is initialised, path and format are "". Free with
// tess_decode_recording_close().
TESS_MUST_CHECK tess_status tess_de_recording_new(tess_context *ctx, tess_decode_recording **out);

// Room in the recording for the lists of n_electrode electrodes: counts, pointers to times and to
// marks, all zero. The caller fills them through the pointers returned in lists.
typedef struct tess_de_spike_lists {
    int64_t *n_spike;     // [n_electrode]
    int64_t *n_feature;   // [n_electrode]
    const double **times; // [n_electrode]
    const void **marks;   // [n_electrode]
} tess_de_spike_lists;

TESS_MUST_CHECK tess_status tess_de_recording_spikes(tess_decode_recording *recording,
                                                     tess_decode_spikes *spikes,
                                                     int64_t n_electrode, int32_t mark_dtype,
                                                     tess_de_spike_lists *lists);

#endif
