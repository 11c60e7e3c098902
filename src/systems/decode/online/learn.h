// A model that learns while it decodes.
//
// learn.c          what comes in: checks, the wait for a spike's position, the speed gate
// learn_refresh.c  when what was learned becomes what is decoded with
// learn_work.c     the work for that, in small steps
// learn_keep.c     what is kept: the policies, and the sums of place kernels that follow
// learn_store.c    kept spikes as the likelihood's stage wants them
// learn_create.c   everything it will ever need
//
// There are two models: spikes are decoded with one of them, number version & 1, while the next is
// made of the other. What comes in goes into logs; at a refresh the consumer orders a model of all
// that they hold, and at the refresh after that it goes over to it, between two bins. Meanwhile
// helpers do the steps, or the consumer a few per bin where there are none. Which lessons a bin is
// decoded with is so decided by the calls alone, not by who was how fast.
//
// Owners: logs' heads and what waits are the consumer's; sums, slots and the model that is made
// belong to who holds is_held; orders, and the logs up to them, change hands with n_ordered, the
// finished model with n_done.
#ifndef TESS_SYSTEMS_DECODE_LEARN_H
#define TESS_SYSTEMS_DECODE_LEARN_H

#include "systems/decode/kde/kde_grid.h"
#include "systems/decode/online/exact_sum.h"
#include "systems/decode/online/online.h"

#include <stdbool.h>

// A spike of an electrode's log.
typedef struct learn_item {
    int64_t slot;     // it got when it was kept; -1: none
    int64_t n_sample; // seen before it
    double place[TESS_DECODE_MAX_DIM];
} learn_item;

// Spikes of an electrode as the stage reads them, as far as they can be written.
typedef struct learn_store {
    int64_t n_feature;
    int64_t n_stored;
    int32_t *at;    // [capacity] index of each slot's spike; -1: none
    int32_t *slot;  // [capacity] slot of each index
    int32_t *start; // [n_cell + 1]
    int32_t *cell;
    int32_t *cell_first;
    double *centre;
    const double *scale;
    double *marks;
    double *place;
    float *marks_f32;
    float *t;
    float *base;
    float *kernel;
    double *offset;
    float *offset_f32;
} learn_store;

// What spikes are decoded with.
typedef struct learn_model {
    tess_kde_model stage;
    tess_kde_electrode *electrodes; // [n_electrode] pointing to the stores
    learn_store *stores;            // [n_electrode]
    double *occupancy;              // [P]
    double *log_occupancy;
    double *intensity;
    double *log_field;  // sorted: [n_electrode][P]
    double *mean_rates; // [n_electrode]
    int64_t *n_spike;   // [n_electrode]
    int32_t *is_deaf;   // [n_electrode] its spikes say nothing
    int64_t n_sample;   // kept, and seen
    int64_t n_sample_seen;
    int64_t n_full; // spikes that found no room
} learn_model;

typedef struct learn_electrode {
    int64_t n_feature;
    int64_t n_kept;
    int64_t n_counted;    // spikes of the stretch that the rate is of
    int64_t sample_first; // position samples seen before that stretch
    int64_t sample_end;   // and at its end; -1: it goes on
    double *slot_place;   // [capacity][n_dim]
    int64_t *slot_sample; // [capacity] position samples seen when it came
    exact_sum *sums;      // [P] of place kernels
    double *scale;        // [n_feature] of marks
    double last_time;
    // Spikes that wait for a position sample: a ring.
    int64_t head;
    int64_t tail;
    double *wait_time;
    float *wait_mark;
    // Spikes that have their place: a ring, numbered from the first that ever came. The model that
    // is not decoded with lacks those from first on; those from fresh on are in none; the one that
    // was ordered is to have all before due.
    int64_t n_item;
    int64_t first;
    int64_t fresh;
    int64_t due;
    learn_item *items; // [log_capacity]
    float *item_mark;
} learn_electrode;

typedef struct learn_sample {
    double time;
    double at[TESS_DECODE_MAX_DIM];
    int32_t is_learned;
    int32_t reserved;
} learn_sample;

enum { LEARN_HISTORY = 1024 }; // position samples that a late spike can still be placed between

struct online_learner {
    const tess_decode_encoding *encoding;
    const tess_decode_environment_info *env;
    int32_t policy;
    int32_t is_frozen;
    int32_t is_sorted;
    int32_t is_changed; // since the last order
    int32_t has_next;   // a model was ordered and is not decoded with yet
    int64_t capacity;
    int64_t log_capacity;
    int64_t n_bin;
    int64_t n_dim; // of places
    int64_t n_electrode;
    int64_t max_wait;
    learn_electrode *electrodes;
    double *bin_place; // [n_dim][P] scaled
    double place_scale[TESS_DECODE_MAX_DIM];
    double log_norm; // of the place kernel
    // Position samples.
    int64_t sample_capacity; // 0: they need not be kept
    int64_t n_sample_kept;
    int64_t n_sample_seen;
    int64_t n_full;
    double *sample_place; // [sample_capacity][n_dim]
    exact_sum *sums;      // [P]
    learn_sample *history;
    int64_t n_history;
    double next_refresh_s;
    tess_decode_online_learn_stats stats;
    // Position samples that are not kept yet, a ring, and how many ever came.
    double *log_place; // [log_capacity][n_dim]
    int64_t n_sample_told;
    int64_t sample_first;
    int64_t sample_due;
    // The models, and the order at hand.
    tess_kde_bound single;
    kde_plan plan;
    learn_model models[2];
    _Atomic int64_t n_ordered;
    _Atomic int64_t n_done;
    atomic_int is_held;
    int64_t n_left;   // steps
    int64_t phase;    // 0: samples, 1: occupancy, then 2 + electrode
    int64_t progress; // of the electrode: its next item
};
typedef struct online_learner online_learner;

TESS_MUST_CHECK tess_status tess_de_learn_create(tess_decode_online *online);

// learn_keep.c: a sample or a spike that passed every check. Returns the spike's slot, -1: not
// kept.
void tess_de_learn_keep_sample(online_learner *learner, uint64_t seed, const double *place);
int64_t tess_de_learn_keep_spike(online_learner *learner, uint64_t seed, int64_t electrode,
                                 int64_t n_sample_seen, const double *place);

// learn_store.c: puts a spike into a model's arrays; what the slot had before goes. Slots are
// filled one after another.
void tess_de_learn_store(const online_learner *learner, learn_model *model, int64_t electrode,
                         int64_t slot, const double *place, const float *mark);
void tess_de_learn_show_cells(const online_learner *learner, learn_model *model, int64_t electrode);

// learn_work.c: one step towards the model that was ordered, by any thread. False: nothing to do,
// or not now.
bool tess_de_learn_step(tess_decode_online *online);

// learn_refresh.c, the consumer's.
void tess_de_learn_after_bin(tess_decode_online *online, double end_s);
// Goes over to all that was learned.
void tess_de_learn_refresh(tess_decode_online *online);
// The same, and has both models learn it: the logs are free again.
void tess_de_learn_empty_logs(tess_decode_online *online);
// Until nobody works on what was learned.
void tess_de_learn_finish(tess_decode_online *online);

// The model of a version.
static inline learn_model *learn_model_of(online_learner *learner, int64_t version)
{
    return &learner->models[version & 1];
}

#endif
