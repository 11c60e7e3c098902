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
// together with i, in the entry; the consumer takes the noted row if it is for its i, or evaluates
// the spike itself. Both get the same bits. A helper uses a row again when tail has gone past the
// spike it was for, whoever evaluated it.
#ifndef TESS_SYSTEMS_DECODE_ONLINE_H
#define TESS_SYSTEMS_DECODE_ONLINE_H

#include "base/blocks.h"
#include "systems/decode/kde/kde.h"
#include "systems/decode/states/detector.h"
#include "tessera/decode/online.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    ONLINE_HELPER_ROWS = 128, // spikes a helper can be ahead
    ONLINE_MAX_HELPER = 16,
    ONLINE_POSITIONS = 1024, // position samples kept
};

typedef struct online_entry {
    double time;
    _Atomic uint64_t note; // (index + 1) << 8 | row + 1 of the electrode's helper; 0: none
} online_entry;

typedef struct online_ring {
    int64_t n_feature;
    int64_t mask; // capacity - 1
    online_entry *entries;
    _Atomic float *marks; // [capacity][n_feature]; a helper may look while it is overwritten
    int is_deaf;          // no encoding spikes and no absolute floor: its spikes say nothing
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
} online_ring;

// A spike a helper has evaluated.
typedef struct online_row {
    int64_t electrode; // -1: never used
    int64_t index;
} online_row;

typedef struct online_helper {
    struct tess_decode_online *online;
    pthread_t thread;
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
    double scale; // of the ground intensity
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

struct tess_decode_online {
    tess_context *ctx;
    tess_device device; // with a queue of its own: other calls may run beside
    const tess_decode_detector *detector;
    tess_decode_online_config config;
    tess_blocks blocks;
    int64_t n_electrode;
    online_ring *rings;
    online_encoding *encodings;
    int32_t n_encoding;
    int64_t n_value; // of a spike, over all encodings
    // Bins.
    int64_t n_bin;            // closed
    _Atomic double open_from; // left edge of the open bin
    double *predicted;
    double *sums;     // [n_value] of the open bin
    double *order;    // [N_s] scratch
    double *modifier; // [widest block]
    float *values;    // [n_value] of one spike
    float *mark;
    void *spike_scratch;
    void *step_scratch;
    online_slot *history;
    tess_decode_online_stats stats;
    // Positions, one producer.
    int64_t n_dim; // 0: not needed
    online_position *positions;
    _Atomic int64_t n_position;
    const double **distances;  // [n_environment] between interior bins; NULL: not needed
    const int64_t **interiors; // [n_environment] interior number of each bin, -1: none
    // Helpers.
    online_helper *helpers;
    int32_t n_helper;
    atomic_int is_ending;
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

// Values of one spike over all encodings (any thread, with its own scratch).
void tess_de_online_evaluate(const tess_decode_online *online, int64_t electrode, const float *mark,
                             void *scratch, float *values);

// online_helper.c
TESS_MUST_CHECK tess_status tess_de_online_start(tess_decode_online *online);
void tess_de_online_stop(tess_decode_online *online);

// online_credible.c: how many of the largest of n values add up to share of their sum. Reorders x.
int64_t tess_de_credible_size(double *x, int64_t n, double share);

// online_place.c: what position says about a bin's likelihood; ll [n_ll] is changed in place.
TESS_MUST_CHECK tess_status tess_de_online_modify(tess_decode_online *online, double time,
                                                  float *ll);

#endif
