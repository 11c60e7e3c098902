// Stages of decode's events on devices with their own memory: many sequences, each a shuffle of an
// event, side by side. Rows of all of them follow each other: what is shuffled becomes rows of log
// likelihoods (mix), which the filter and smoother of decode_hmm.h take as runs, and what comes out
// becomes posteriors and scores (judge).
#ifndef TESS_STAGE_DECODE_EVENTS_THERE_H
#define TESS_STAGE_DECODE_EVENTS_THERE_H

#include "stage/decode_events.h"

enum {
    TESS_STAGE_DECODE_EVENTS_MIX = 0x0542,
    TESS_STAGE_DECODE_EVENTS_JUDGE = 0x0543,
};

enum {
    TESS_EVENTS_MOST_BLOCKS = 16, // of columns that are places, and states that have places
    TESS_EVENTS_MOST_TIME = 2048, // bins of an event
    TESS_EVENTS_MOST_BINS = 65535 // of a route
};

// An event: its time bins and spikes are those of the batch from first on.
typedef struct tess_events_item {
    uint32_t key;
    int32_t n_time;
    int64_t first_time;
    int64_t first_spike;
    int32_t n_spike;
    int32_t n_counted; // where bins are decoded alone: those with a spike
    int64_t windows;   // of its length: the first of n_route tess_events_windows
} tess_events_item;

// A shuffle of an event.
typedef struct tess_events_sequence {
    int64_t event;
    int64_t shuffle;
    int64_t first_row;  // of all sequences' rows
    int64_t first_draw; // of what is drawn for them
} tess_events_sequence;

typedef struct tess_stage_decode_events_mix {
    int32_t kind;
    int32_t is_alone; // bins are decoded alone: only those that count change places
    uint64_t seed;
    const tess_events_item *events;
    const tess_events_sequence *sequences; // [n_sequence]
    int64_t n_sequence;
    int64_t most_time; // of an event
    int64_t n_place;   // P
    int64_t n_electrode;
    double scale;
    const int64_t *bin_first;       // [times of the batch + 1] into bin_spike
    const int32_t *bin_spike;       // [spikes of the batch] by time bin, as the list has them
    const int32_t *spike_electrode; // [spikes of the batch]
    const int64_t *spike_row;       // likewise, into rows
    const int32_t *counted_time;    // [times of the batch] of each event, the bins that count
    const double *rows;             // [*][P]
    const double *summed;           // [P]
    const double *ground;           // [n_electrode][P]
    const double *own;              // [times of the batch][P] of events as they are
    int64_t n_ll;                   // columns of a row
    int32_t n_block;
    int32_t reserved;
    int64_t block_first[TESS_EVENTS_MOST_BLOCKS]; // columns that are the places
    const double *added;                          // [times of the batch][n_ll] or NULL
    const double *transition; // [times of the batch][n_pair], if they are not always the same
    int64_t n_pair;           // 0: they are
    int32_t *draws;           // room, by sequences' first_draw
    double *base;             // room [n_sequence][P], of fields
    double *ll;               // [n_row][n_ll] out
    double *transition_rows;  // [n_row][n_pair] out
} tess_stage_decode_events_mix;

// Windows around the points of a route that lines meet: bins low..high-1 as low + 65536 high. A
// line meets bin k at h (m + j / (T - 1)); windows that are the same for neighbouring j are one
// class.
typedef struct tess_events_windows {
    int64_t n_point;         // m = 0..n_point-1 lie on the route
    int64_t most_slope;      // |D|
    const int32_t *class_of; // [T - 1] of j, 1 at least
    const int32_t *n_on;     // [n_class] points that do with this j
    const uint32_t *window;  // [n_class][n_point]
} tess_events_windows;

// A route on the device.
typedef struct tess_events_way {
    int64_t n_bin;
    const int32_t *bin;         // [n_bin]
    const double *u;            // [n_bin]
    const uint32_t *bin_window; // [n_bin] around their centres
    double length;
    int64_t last; // of 2 i + D
} tess_events_way;

typedef struct tess_stage_decode_events_judge {
    const tess_events_item *events;
    const tess_events_sequence *sequences; // [n_sequence]
    int64_t n_sequence;
    int64_t n_row;
    int64_t most_time;
    int64_t most_bins;  // of a route; 0: there is none
    int64_t n_place;    // P
    const double *rows; // [n_row][n_column] smoothed, or log likelihoods of bins decoded alone
    int64_t n_column;
    int32_t n_state; // that have places; 0: bins are decoded alone
    int32_t n_route;
    int32_t state_first[TESS_EVENTS_MOST_BLOCKS]; // of the columns of each
    const uint8_t *is_counted;                    // [times of the batch] of bins decoded alone
    const tess_events_way *routes;                // [n_route]
    const tess_events_windows *windows;           // by events' windows
    const double *centre;                         // [P] or NULL
    const double *distance;                       // [P][P] or NULL
    double extent;
    double bin_s;
    int64_t min_bins;
    double *posterior; // room [n_row][P]
    uint8_t *counted;  // room [n_row]
    double *prefix;    // room [n_row][most_bins + 1], or NULL where scratch_bytes() is 0
    double *scores;    // [n_sequence][N_SCORE] out
} tess_stage_decode_events_judge;

#endif
