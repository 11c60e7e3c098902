// The inside of the online decoder.
//
// Three kinds of threads, none of which ever waits for another:
//
//   producers   one per electrode; put spikes into that electrode's ring
//   consumer    one; closes bins: takes what the rings hold of a bin, electrode by electrode
//   helpers     evaluate spikes that wait in the rings, ahead of the consumer
//
// Index i of a ring counts all spikes ever put there. The producer alone moves head, the consumer
// alone moves tail. A helper writes a spike's values into a row of its own and then notes the row,
// together with i and the model's version, in the entry; the consumer takes the noted row if it is
// for its i and version, or evaluates the spike itself. Both get the same bits. A helper uses a row
// again when tail has gone past the spike it was for, whoever evaluated it, or when the model has
// changed; then it evaluates what waits once more.
#ifndef TESS_SYSTEMS_DECODE_ONLINE_H
#define TESS_SYSTEMS_DECODE_ONLINE_H

#include "base/blocks.h"
#include "systems/decode/states/detector.h"
#include "tessera/decode/online.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    ONLINE_HELPER_ROWS = 128, // spikes a helper can be ahead
    ONLINE_MAX_HELPER = 16,
    ONLINE_POSITIONS = 1024,    // position samples kept
    ONLINE_MOST_AVERAGE = 1024, // bins that a trigger's mean is over
};

typedef struct online_entry {
    double time;
    _Atomic uint64_t note; // online_note(); 0: none
} online_entry;

typedef struct online_ring {
    int64_t n_feature;
    int64_t mask; // capacity - 1
    online_entry *entries;
    _Atomic float *marks; // [capacity][n_feature]; a helper may look while it is overwritten
    int is_deaf;          // no encoding spikes and no absolute floor: its spikes say nothing.
                          // Where the model learns, it knows.
    // The producer's.
    _Alignas(64) _Atomic int64_t head;
    double last_time;
    float *last_mark;
    int has_last;
    _Atomic int64_t n_late;
    _Atomic int64_t n_duplicate;
    _Atomic int64_t n_dropped;
    // The consumer's.
    _Alignas(64) _Atomic int64_t tail;
    int64_t n_late_seen;
    // The helper's.
    _Alignas(64) int64_t next;
    int64_t next_version; // of the model that spikes before next were evaluated with
} online_ring;

// A spike a helper has evaluated.
typedef struct online_row {
    int64_t electrode; // -1: never used
    int64_t index;
    int64_t version; // of the model
} online_row;

typedef struct online_helper {
    struct tess_decode_online *online;
    pthread_t thread;
    _Atomic int64_t version_in_use; // of the model it looks at, + 1; 0: it looks at none
    int has_thread;
    int32_t number;
    void *scratch;
    float *mark;
    float *values; // [ONLINE_HELPER_ROWS][n_value]
    online_row rows[ONLINE_HELPER_ROWS];
} online_helper;

// A distinct encoding model and where its values lie in a spike's row.
typedef struct online_encoding {
    const tess_decode_encoding *encoding;
    int64_t first;
    int64_t n_bin;
    double scale;         // of the ground intensity
    const double *ground; // [n_bin]
    // Of the open bin, for a Local state of one bin.
    int32_t has_local;
    int32_t is_lost; // the animal was not tracked at one of its spikes: nothing is said
    double local_sum;
    double local_ground;
    double row_place[TESS_DECODE_MAX_DIM];
} online_encoding;

typedef struct online_position {
    double time;
    double at[TESS_DECODE_MAX_DIM];
} online_position;

typedef struct online_slot {
    tess_decode_online_bin bin;
    double *posterior;
    double *states;
    float *ll;
} online_slot;

typedef struct online_trigger {
    tess_decode_online_trigger settings; // call NULL: none
    int64_t *bins;                       // [N_s]
    double *mass;                        // [ONLINE_MOST_AVERAGE] ring of n_average
    int64_t n_mass;
    double quiet_until_s;
    tess_decode_online_trigger_stats stats;
} online_trigger;

struct tess_decode_online {
    tess_context *ctx;
    tess_device device; // with a queue of its own: other calls may run beside
    tess_device host;   // the CPU, likewise
    const tess_decode_detector *detector;
    tess_decode_online_config config;
    tess_blocks blocks;
    int64_t n_electrode;
    online_ring *rings;
    online_encoding *encodings;
    int32_t n_encoding;
    int64_t n_value; // of a spike, over all encodings
    // Bins.
    int64_t n_bin;      // closed
    int64_t first_kept; // bins before were never closed here
    online_trigger triggers[TESS_DECODE_ONLINE_TRIGGERS];
    _Atomic double open_from; // left edge of the open bin
    double *predicted;
    double *sums;     // [n_value] of the open bin
    double *order;    // [N_s] scratch
    double *modifier; // [widest block]
    float *values;    // [n_value] of one spike
    float *mark;
    void *spike_scratch;
    double *transition; // [n_state][n_state] of the open bin, where it depends on covariates
    void *step_scratch;
    online_slot *history;
    tess_decode_online_stats stats;
    // Positions, one producer.
    int64_t n_dim;        // 0: not needed
    int32_t has_local;    // a Local state of one bin
    int32_t has_position; // of the open bin; else nothing is known of the animal there
    online_position *positions;
    _Atomic int64_t n_position;
    const double **distances;  // [n_environment] between interior bins; NULL: not needed
    const int64_t **interiors; // [n_environment] interior number of each bin, -1: none
    // Helpers.
    online_helper *helpers;
    int32_t n_helper;
    atomic_int is_ending;
    atomic_int is_paused;           // everything is about to change
    _Atomic int64_t version;        // of the model; the consumer's
    struct online_learner *learner; // NULL: the model stays as it is
};

// Copies a mark into or out of a ring. Release and acquire: who reads what was written over an old
// mark sees, afterwards, that tail had gone past it.
static inline void online_store_mark(_Atomic float *to, const float *from, int64_t n)
{
    for (int64_t f = 0; f < n; f++) {
        atomic_store_explicit(&to[f], from[f], memory_order_release);
    }
}

static inline void online_load_mark(float *to, const _Atomic float *from, int64_t n)
{
    for (int64_t f = 0; f < n; f++) {
        to[f] = atomic_load_explicit(&from[f], memory_order_acquire);
    }
}

// online_push.c: TESS_E_ARGUMENT if it is not a spike of the model.
TESS_MUST_CHECK tess_status tess_de_online_check_spike(const tess_decode_online *online,
                                                       double time, int64_t electrode,
                                                       const float *mark, int64_t n_feature);

// A row (0 to 254) with the values of spike index for a version of the model.
static inline uint64_t online_note(int64_t index, int64_t version, int64_t row)
{
    return (uint64_t)(index + 1) << 24 | ((uint64_t)version & 0xffff) << 8 | (uint64_t)(row + 1);
}

// Values of one spike over all encodings (any thread, with its own scratch), and whether there are
// any.
void tess_de_online_evaluate(const tess_decode_online *online, int64_t version, int64_t electrode,
                             const float *mark, void *scratch, float *values);
int tess_de_online_is_deaf(const tess_decode_online *online, int64_t version, int64_t electrode);

// online_advance.c: the bin of a histogram of latencies.
int tess_de_latency_bin(double seconds);

// online_trigger.c: forgets what bins said; after a bin, which began to be closed at begin_ns.
void tess_de_online_rewind_triggers(tess_decode_online *online);
void tess_de_online_trigger(tess_decode_online *online, const online_slot *slot, double now,
                            int64_t begin_ns);

// online_helper.c. pause: helpers look at nothing until is_paused is 0 again; each finishes its
// spike first.
void tess_de_online_pause(tess_decode_online *online);
TESS_MUST_CHECK tess_status tess_de_online_start(tess_decode_online *online);
void tess_de_online_stop(tess_decode_online *online);

// online_credible.c: how many of the largest of n values add up to share of their sum. Reorders x.
int64_t tess_de_credible_size(double *x, int64_t n, double share);

// online_local.c: one-bin Local states. The row's place when a bin is opened; a waiting spike,
// number index of its electrode, that the bin takes.
TESS_MUST_CHECK tess_status tess_de_online_local_row(tess_decode_online *online, double time);
TESS_MUST_CHECK tess_status tess_de_online_local_spike(tess_decode_online *online,
                                                       int64_t electrode, int64_t index,
                                                       double time);
// The encoding of a block of columns.
online_encoding *tess_de_online_encoding(const tess_decode_online *online,
                                         const tess_de_columns *block);

// online_place.c: the raw position [n_dim] at a time; *is_known 0 if there are no two samples yet.
TESS_MUST_CHECK tess_status tess_de_online_position(const tess_decode_online *online, double time,
                                                    double *raw, int *is_known);
// What position says about a bin's likelihood; ll [n_ll] is changed in place.
TESS_MUST_CHECK tess_status tess_de_online_modify(tess_decode_online *online, double time,
                                                  float *ll);

#endif
