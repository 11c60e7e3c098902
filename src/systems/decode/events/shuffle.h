// A test under way: events by batches, every batch by all kinds of shuffles, one after the other.
// What is kept are the kinds that are done: an event of seconds takes minutes by each.
//
//   shuffle.c           batches, kinds, the stage
//   shuffle_ranks.c     shuffles that several ranks divide
//   shuffle_tables.c    what comes of the shuffles: p, q, shares, how scores spread
//   shuffle_work.c      checkpoints: what a stopped test goes on from
#ifndef TESS_SYSTEMS_DECODE_EVENTS_SHUFFLE_H
#define TESS_SYSTEMS_DECODE_EVENTS_SHUFFLE_H

#include "runtime/watch.h"
#include "runtime/work.h"
#include "systems/decode/events/model.h"
#include "systems/decode/events/there.h"

// What is done: some events by all kinds, and those of the batch under way by some.
typedef struct tess_de_shuffle_position {
    int64_t n_event; // scored events whose batch is done
    int64_t n_batch; // of the batch under way; 0: none
    int64_t n_kind;  // kinds that it is done by
} tess_de_shuffle_position;

typedef struct tess_de_shuffle {
    tess_de_events_model model;
    tess_de_events_there *there; // NULL: shuffles are the host's
    bool is_there;               // the batch under way
    tess_decode_events *events;
    int64_t *index; // [n] scored events
    int64_t n;
    int64_t n_event; // of the table
    int64_t n_shuffle;
    double *p; // [n_kind][n_event][N_SCORE]
    double *q;
    double *median;
    double *high;
    double *statistics; // or NULL
    tess_decode_event_share *shares;
    tess_de_spread *spreads; // [n_kind][N_SCORE] of the batch under way
    tess_de_shuffle_position at;
    int64_t n_kept; // shuffles of what is in a checkpoint, as tess_de_shuffle_done() counts
    tess_watch watch;
    int64_t n_told; // shuffles done; an own part of several ranks stands for all of them
    tess_identity id;
    tess_work work;
} tess_de_shuffle;

// --- shuffle_tables.c ---

TESS_MUST_CHECK tess_status tess_de_shuffle_alloc(tess_de_shuffle *test);
// p and what the shuffles looked like, of one score of one event. values [n_shuffle] is
// overwritten; at: where it goes.
void tess_de_shuffle_judge(const tess_de_shuffle *test, int64_t at, int32_t kind, int score,
                           double observed, double *values);
// A batch is done by a kind: its spreads join those of all.
void tess_de_shuffle_join(tess_de_shuffle *test, int32_t kind);
// q and shares, after the last batch.
TESS_MUST_CHECK tess_status tess_de_shuffle_finish(tess_de_shuffle *test);

// --- shuffle_ranks.c ---

// The batch that rank 0 chose: what fits differs from machine to machine.
TESS_MUST_CHECK tess_status tess_de_shuffle_agree(tess_de_shuffle *test, tess_status status);
// scores [n_event][n_shuffle][N_SCORE], of which each rank has its share of the shuffles: all of
// them. status: how this rank fared.
TESS_MUST_CHECK tess_status tess_de_shuffle_gather(const tess_de_shuffle *test, int64_t n_event,
                                                   tess_status status, double *scores);

// --- shuffle_work.c ---

// Takes the folder, and up what was found there.
TESS_MUST_CHECK tess_status tess_de_shuffle_open_work(tess_de_shuffle *test);
// Shuffles of what is done.
int64_t tess_de_shuffle_done(const tess_de_shuffle *test);
// Keeps what is done, where that is due.
void tess_de_shuffle_keep(tess_de_shuffle *test);
// After the last batch. The folder stays, finished, where the caller wants to save first.
void tess_de_shuffle_end_work(tess_de_shuffle *test);
void tess_de_shuffle_close_work(tess_de_shuffle *test);

#endif
