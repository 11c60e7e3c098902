// A model as the stage of events takes it, and batches of events for it.
#ifndef TESS_SYSTEMS_DECODE_EVENTS_MODEL_H
#define TESS_SYSTEMS_DECODE_EVENTS_MODEL_H

#include "stage/decode_events.h"
#include "systems/decode/events/events.h"
#include "systems/decode/states/fingerprint.h"

// Routes through an environment along which lines are laid: none on a plane.
TESS_MUST_CHECK tess_status tess_de_routes_make(tess_blocks *blocks,
                                                const tess_decode_environment *env,
                                                tess_events_route **routes, int64_t *n_route);

// What stays the same from batch to batch.
typedef struct tess_de_events_model {
    tess_context *ctx;
    tess_device *device;       // of the stage
    tess_device *joint_device; // of the log intensities
    const tess_de_events_input *in;
    const tess_decode_detector *detector;
    const tess_decode_encoding *encoding;
    tess_decode_environment *env;
    const tess_de_ordered *ordered; // [n_electrode]
    double speed;                   // of the shuffles' device, in threads of the host
    double width;                   // of a time bin, s
    double scale;
    tess_events_track track;
    tess_events_states states; // model NULL: bins are decoded alone. added, and transitions that
                               // depend on covariates: of the open batch
    const double *unit_rows;   // [n_electrode][P] of sorted spikes; NULL: rows by spike
    const double *ground;      // [n_electrode][P]
    tess_blocks blocks;
} tess_de_events_model;

TESS_MUST_CHECK tess_status tess_de_events_model_open(tess_context *ctx,
                                                      const tess_de_events_input *in,
                                                      const tess_decode_detector *detector,
                                                      tess_de_events_model *model);
void tess_de_events_model_close(tess_de_events_model *model);

// Some events with their spikes and rows.
typedef struct tess_de_events_batch {
    int64_t n_event;
    const int64_t *index; // [n_event] into the table
    tess_events_event *events;
    int64_t n_time; // of all
    const double *rows;
    int64_t n_row;
    tess_blocks blocks;
} tess_de_events_batch;

// Events index[0..n), n > 0, whose start, end and n_bin are known.
TESS_MUST_CHECK tess_status tess_de_events_batch_open(tess_de_events_model *model,
                                                      const tess_decode_event *table,
                                                      const int64_t *index, int64_t n,
                                                      tess_de_events_batch *batch);
void tess_de_events_batch_close(tess_de_events_batch *batch);
// How many of index[0..n) to take at once, within the memory limit.
TESS_MUST_CHECK tess_status tess_de_events_batch_size(const tess_de_events_model *model,
                                                      const tess_decode_event *table,
                                                      const int64_t *index, int64_t n,
                                                      int64_t n_shuffle, int64_t *count);
// How many of n_shuffle shuffles of these events to make in one call of the stage.
int64_t tess_de_events_batch_shuffles(const tess_de_events_model *model,
                                      const tess_decode_event *table, const int64_t *index,
                                      int64_t n, int64_t n_shuffle);
// covariates.c: whether transitions have what they depend on; the transitions of a batch's bins.
TESS_MUST_CHECK tess_status tess_de_events_check_covariates(const tess_de_events_model *model);
TESS_MUST_CHECK tess_status tess_de_events_transitions(tess_de_events_model *model,
                                                       const tess_decode_event *table,
                                                       tess_de_events_batch *batch);
// What scores and tests are of, as hashes.
void tess_de_events_fingerprint(const tess_de_events_input *in,
                                const tess_decode_detector *detector, tess_de_fingerprint *out);
// The stage's arguments but for kind and results.
tess_stage_decode_events tess_de_events_stage(const tess_de_events_model *model,
                                              const tess_de_events_batch *batch);

#endif
