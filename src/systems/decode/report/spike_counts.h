// Spikes of a recording, row after row: how many of each electrode, and how many around.
#ifndef TESS_SYSTEMS_DECODE_SPIKE_COUNTS_H
#define TESS_SYSTEMS_DECODE_SPIKE_COUNTS_H

#include "base/blocks.h"
#include "runtime/context.h"
#include "tessera/decode/recording.h"

typedef struct tess_de_spike_counts {
    tess_blocks memory;
    int64_t n_electrode; // 0: nothing is known of spikes
    const double **time; // [n_electrode] ascending
    int64_t *n_spike;    // [n_electrode]
    int64_t *next;       // [n_electrode] the first that no row has had
    int64_t *enter;      // [n_electrode] first behind the rate's window
    int64_t *leave;      // [n_electrode] first in it
    int64_t n_inside;    // of all electrodes
} tess_de_spike_counts;

// observation NULL: none. Its spikes may be in any order and are borrowed.
TESS_MUST_CHECK tess_status tess_de_spike_counts_create(tess_context *ctx,
                                                        const tess_decode_observation *observation,
                                                        tess_de_spike_counts *out);
void tess_de_spike_counts_destroy(tess_de_spike_counts *counts);

// Spikes of each electrode from this time to before end, [n_electrode]. Times rise from call to
// call.
void tess_de_spike_counts_row(tess_de_spike_counts *counts, double begin, double end,
                              double *per_electrode);

// Spikes per second of all electrodes within half_window of a time; times rise from call to call.
double tess_de_spike_counts_rate(tess_de_spike_counts *counts, double time, double half_window);

#endif
