// The stage of decode's events: posteriors of short sequences, their scores, and the same of
// shuffled ones.
//
// An event is a sequence of its own. Each spike is a row of log intensities over the P places,
// computed once; a shuffle moves or rotates such rows, decodes again and scores what comes out.
// Everything is f64 and a function of (event, shuffle) alone, whatever the order of the work.
#ifndef TESS_STAGE_DECODE_EVENTS_H
#define TESS_STAGE_DECODE_EVENTS_H

#include "stage/decode_hmm.h"

enum { TESS_STAGE_DECODE_EVENTS = 0x0541 };

// What is shuffled; the number is the last word of the random counter.
enum {
    TESS_EVENTS_AS_THEY_ARE = 0,
    TESS_EVENTS_COLUMN = 1, // each time bin rotated by a shift of its own
    TESS_EVENTS_FIELD = 2,  // each electrode's intensities rotated
    TESS_EVENTS_TIME = 3,   // time bins permuted
    TESS_EVENTS_MARKS = 4,  // marks permuted among the spikes of each electrode
    TESS_EVENTS_SPIKES = 5, // electrodes and marks permuted among all spikes
    TESS_EVENTS_UNITS = 6,  // encodings permuted among all units
};

// Scores of an event, in this order.
enum {
    TESS_EVENTS_CORRELATION,
    TESS_EVENTS_LINE_FIT,
    TESS_EVENTS_DISTANCE,
    TESS_EVENTS_NET_DISTANCE,
    TESS_EVENTS_MAX_JUMP,
    TESS_EVENTS_COVERAGE,
    TESS_EVENTS_SHARPNESS,
    TESS_EVENTS_SPEED,
    TESS_EVENTS_N_SCORE
};

// A way through the track along which lines are laid.
typedef struct tess_events_route {
    int64_t n_bin;
    const int32_t *bin; // [n_bin] places in order of u
    const double *u;    // [n_bin] of their centres, cm from the route's start, rising
    double length;      // L
    double step;        // h: half the mean width of its bins
} tess_events_route;

typedef struct tess_events_track {
    int64_t n_place; // P
    int64_t n_route; // 0: a plane, without lines and correlation
    const tess_events_route *routes;
    const double *centre;   // [P]: distances are differences; NULL: they are in the table
    const double *distance; // [P][P]
    double extent;          // the largest distance
    double band;            // cm on either side of a line
    double max_velocity;    // cm/s
} tess_events_track;

// An event's decoded bins and the spikes in them, by electrode and then by time.
typedef struct tess_events_event {
    uint32_t key;       // of the random numbers: its row in the table of events
    int32_t n_time;     // T
    int64_t first_time; // of the batch's time bins
    int64_t n_spike;
    const int32_t *bin;       // [n_spike]
    const int32_t *electrode; // [n_spike]
    const int64_t *row;       // [n_spike] into rows
} tess_events_event;

// The line of the largest mass: y_k = h (i + D k / (T - 1)). route -1: none.
typedef struct tess_events_line {
    int64_t route;
    int64_t slope;  // D
    int64_t offset; // i
} tess_events_line;

// A state-space model over the places; NULL in the stage: each bin is decoded alone.
typedef struct tess_events_states {
    const tess_hmm_model *model;
    const double *transition;  // [n_state][n_state], or of every time bin of the batch
    int64_t transition_stride; // from time bin to time bin; 0: always the same
    const double *initial;     // [N_s]
    int64_t n_block;
    const int64_t *block_first; // [n_block] columns of a row of log likelihoods that are the places
    const double *added; // [times of the batch][n_ll]: what does not come from places, of every
                         // column
} tess_events_states;

typedef struct tess_stage_decode_events {
    const tess_events_track *track;
    const tess_events_states *states;
    const tess_events_event *events;
    int64_t n_event;
    int64_t n_electrode;
    double bin_s;         // w
    double scale;         // of the ground intensity
    int64_t min_bins;     // with fewer counted bins there are no scores
    const double *rows;   // [*][P] log intensities
    const double *summed; // [P] ground intensity of all electrodes
    const double *ground; // [n_electrode][P] of each; NULL but for fields
    int32_t kind;
    int32_t reserved;
    uint64_t seed;
    int64_t first_shuffle;
    int64_t n_shuffle; // 1 as they are
    double *scores;    // [n_event][n_shuffle][N_SCORE] out; NaN: not defined
    // As they are, and NULL where not wanted:
    int64_t *n_counted;      // [n_event] out
    tess_events_line *lines; // [n_event] out
    int32_t *ends;           // [n_event][2] out: most likely place at the first and last counted
                             // bin; -1: none is counted
    double *log_evidence;    // [n_event] out, of the states
    double *jump_evidence;   // [n_event] out: sum over t of ln((1/P) sum_p exp(ll[t][p]))
    // Of the first shuffle, by time bins of the batch, and NULL where not wanted:
    double *posterior;      // [times of the batch][P] out
    uint8_t *counted;       // [times of the batch] out
    double *log_likelihood; // [times of the batch][P] out: before states
    double *state_rows;     // [times of the batch][n_state] out
} tess_stage_decode_events;

#endif
