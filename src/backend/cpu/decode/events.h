// What the files of the events' stage share: a worker's memory, and the steps of one sequence.
#ifndef TESS_BACKEND_CPU_DECODE_EVENTS_H
#define TESS_BACKEND_CPU_DECODE_EVENTS_H

#include "backend/cpu/decode/stages.h"
#include "base/blocks.h"
#include "stage/decode_events.h"

// Memory that grows with what an event asks for.
typedef struct events_buffer {
    void *items;
    size_t bytes;
} events_buffer;

// Windows around the points of a route that lines meet, of events of one length: items low..high-1
// of a row of prefix sums. A line meets bin k at h (m + j / (T - 1)); windows that are the same for
// neighbouring j are one class.
typedef struct events_windows {
    int64_t n_time;    // T they are of; 0: none yet
    int64_t n_point;   // m = 0..n_point-1 lie on the route
    int64_t n_class;   // 0: too many to be kept
    int32_t *class_of; // [T - 1] of j
    int32_t *n_on;     // [n_class] points that do with this j
    int32_t *low;      // [n_class][n_point]
    int32_t *high;     // [n_class][n_point]
    int32_t *run;      // [n_class][2] of each: where its longest run begins, and its pairs
    int32_t *bin_low;  // [n_bin] around the route's bins
    int32_t *bin_high; // [n_bin]
    events_buffer memory;
} events_windows;

// One worker's.
typedef struct events_room {
    tess_backend_device *device;
    const tess_stage_decode_events *args;
    tess_blocks blocks;
    uint32_t *draws;         // [most of time bins, electrodes, spikes]
    int64_t *order;          // likewise
    double *own_likelihood;  // [T][P] of the event as it is
    double *own_posterior;   // [T][P] likewise, of bins decoded alone
    double *likelihood;      // [T][P] of the shuffle
    double *posterior;       // [T][P] likewise
    double *place;           // [P]
    int64_t *time;           // [T] counted bins
    const double **row;      // [T] posterior of each of them
    int64_t *best;           // [T] most likely place of each
    double *route_rows;      // [T][P] posterior of a route's bins
    double *route_place;     // [P]
    double *sums;            // [T]
    double *masses;          // [T] medians
    double *halves;          // [2 P]
    double *prefix;          // [T][P + 1]
    const double **line_row; // [T]
    int64_t *line_shift;     // [T]
    int64_t *line_items;     // [T]
    int64_t *line_rest;      // [T] j
    events_windows *windows; // [n_route]
    events_buffer line_table;
    const double *table_items; // whose rows have zeros around them: table_rows of table_width
    int64_t table_rows;
    int64_t table_width;
    events_buffer bounds;
    // With states:
    double *state_likelihood; // [T][n_ll]
    double *smoothed;         // [T][N_s]
    double *predicted;        // [N_s]
    double *log_norm;         // [T]
    double *state_rows;       // [T][n_state]
    double *scratch;
    double *ahead;
    double *lanes;
    double log_evidence;
} events_room;

// At least bytes of memory; what was in it is lost. NULL with the message recorded.
void *tess_cpu_events_grow(events_room *room, events_buffer *buffer, size_t bytes);

// --- events_shuffle.c ---

// Draws 0..n-1 of a shuffle of an event into room->draws.
void tess_cpu_events_draw(events_room *room, const tess_events_event *event, int64_t shuffle,
                          int64_t n);
// room->order: a permutation of 0..n-1 from the draws at first..
void tess_cpu_events_permute(events_room *room, int64_t first, int64_t n);
// ll [T][P] of an event, its spikes shuffled as kind says; columns and times are as they are.
void tess_cpu_events_likelihood(events_room *room, const tess_events_event *event, int64_t shuffle,
                                double *ll);
// out[t][(p + shift) mod P] = in[t][p], each row by a shift of its own.
void tess_cpu_events_rotate(events_room *room, const tess_events_event *event, int64_t shuffle,
                            const double *in, double *out);

// --- events_states.c ---

// Posterior [T][P] of all states with places, normalised, by filter and smoother over ll [T][P];
// moved: the row of ll that stands at each bin, NULL: its own. Bins in which these states hold half
// go to room->time and room->row.
TESS_MUST_CHECK tess_status tess_cpu_events_states(events_room *room,
                                                   const tess_events_event *event, const double *ll,
                                                   const int64_t *moved, int64_t *n_counted);

// --- events_score.c ---

// Scores [N_SCORE] of n counted bins room->time with posteriors room->row. line may be NULL.
TESS_MUST_CHECK tess_status tess_cpu_events_score(events_room *room, const tess_events_event *event,
                                                  int64_t n, double *scores,
                                                  tess_events_line *line);

// --- events_line.c ---

// The largest mean mass along a line of any route; line (NULL: not wanted) is which.
TESS_MUST_CHECK tess_status tess_cpu_events_line(events_room *room, int64_t n_time, int64_t n,
                                                 double *score, tess_events_line *line);

// --- events_table.c ---

// The posteriors of counted bins 0..n-1 over a route's bins, into room->route_rows.
void tess_cpu_events_gather(events_room *room, const tess_events_route *route, int64_t n);

#endif
