// Shuffles of events on a device with its own memory: spikes and rows of a batch go up once, scores
// come down.
//
//   there.c         a device that can, slabs of sequences, stages
//   there_batch.c   what goes up
#ifndef TESS_SYSTEMS_DECODE_EVENTS_THERE_H
#define TESS_SYSTEMS_DECODE_EVENTS_THERE_H

#include "stage/decode_events_there.h"
#include "systems/decode/states/hmm_there.h"

// A batch where the device reads it.
typedef struct tess_de_events_sent {
    tess_resident arrays;
    const tess_events_item *items;      // there
    const tess_events_item *host_items; // the same here
    int64_t n_event;
    int64_t n_time;
    int64_t most_time;
    int64_t most_bins;
    int64_t most_draw; // of a sequence
    const int64_t *bin_first;
    const int32_t *bin_spike;
    const int32_t *spike_electrode;
    const int64_t *spike_row;
    const int32_t *counted_time;
    const uint8_t *is_counted;
    const double *rows;
    const double *summed;
    const double *ground;
    const double *added;
    const double *transition;
    const double *initial;
    const double *centre;
    const double *distance;
    const tess_events_way *ways;
    const tess_events_windows *windows;
    double *own; // [n_time][P]
    tess_blocks blocks;
} tess_de_events_sent;

// args: of the batch, but for kind and results. n_row: of args->rows.
TESS_MUST_CHECK tess_status tess_de_events_send(tess_context *ctx, tess_device *device,
                                                const tess_stage_decode_events *args, int64_t n_row,
                                                tess_de_events_sent *sent);
void tess_de_events_sent_free(tess_de_events_sent *sent);

typedef struct tess_de_events_there tess_de_events_there;

// NULL, and no error: the context's device works in the host's memory, or lacks the stages. hmm
// NULL: bins are decoded alone. hmm stays until this is closed.
TESS_MUST_CHECK tess_status tess_de_events_there_open(tess_context *ctx, const tess_de_hmm *hmm,
                                                      tess_de_events_there **out);
void tess_de_events_there_close(tess_de_events_there *there);
// The next batch; *fits false: its events are too long for the device, the host is to do them.
TESS_MUST_CHECK tess_status tess_de_events_there_bring(tess_de_events_there *there,
                                                       const tess_stage_decode_events *args,
                                                       int64_t n_row, bool *fits);
// The scores of args, whose batch was brought, as TESS_STAGE_DECODE_EVENTS gives them.
TESS_MUST_CHECK tess_status tess_de_events_there_run(tess_de_events_there *there,
                                                     const tess_stage_decode_events *args);

#endif
