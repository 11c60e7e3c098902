// The file a prediction goes to: one HDF5 file or a folder of .npy files with the same names, laid
// out in full before the first row is computed and filled in place.
//
// name                              axes                  content
// time                              time                  decoding grid, s
// interval                          time                  of intervals: number of the row's
// intervals, interval_start,        intervals             the intervals by time: numbers, limits in
//   interval_end, interval_rows,                          s, how many rows, and the evidence of
//   interval_log_evidence                                 each (NaN: no rows)
// states, environments,             states                names; encoding group number
//   encoding_groups
// discrete_initial,                 states [, next_states]
//   discrete_transition
// state_bins                        state_bins            0, 1, ...: the interior bins of all
// states state_ind, all_index              state_bins            state number; index with
// non-interior bins position | x_position, y_position state_bins            bin centre, NaN for
// states of one bin env<i>_bins, env<i>_is_interior,  env<i>_bins           all bins of environment
// i
//   env<i>_position | env<i>_x_position ...
// env<i>_grid_shape                 env<i>_axes
// env<i>_node_x, env<i>_node_y      env<i>_nodes          of a track graph: its nodes in the plane
// env<i>_edge_from, env<i>_edge_to, env<i>_edges          its corridors: nodes, and where on the
//   env<i>_edge_start                                     line the first of them lies
// true_edge                         time                  the corridor of true_position, -1: none
// true_position | true_x_position.. time                  the animal, in the same coordinates
// acausal_posterior                 time, state_bins
// acausal_state_probabilities       time, states
// causal_..., predictive_...        likewise              where wanted
// log_likelihood                    time, state_bins      where wanted
// most_likely_bin,                  time                  where wanted: the most likely path, into
//   most_likely_state,                                    state_bins; its states; and its places,
//   most_likely_position | ..._x_..                       NaN in states of one bin
// log_evidence                                            scalar
#ifndef TESS_SYSTEMS_DECODE_RESULT_H
#define TESS_SYSTEMS_DECODE_RESULT_H

#include "systems/decode/states/engine.h"
#include "tessera/decode/stream.h"
#include "tessera/sys/format.h"

enum { TESS_DE_RESULT_PATH = 1024, TESS_DE_RESULT_ITEMS = 160 };

// One data set and, once the file is there, how to reach its rows.
typedef struct tess_de_result_item {
    int fd;
    const char *path; // for messages
    uint64_t row_bytes;
    uint64_t offset;
    struct tess_de_result *result;
} tess_de_result_item;

// The intervals that rows belong to.
typedef struct tess_de_result_intervals {
    int64_t n;
    const int64_t *number; // [n] in the table that was given
    double *start;         // [n] s
    double *end;
    int64_t *n_row;              // [n]
    const int64_t *of_row;       // [n_time] number of the row's interval
    const double *true_position; // [n_time][n_dim] of the rows, or NULL: not given
} tess_de_result_intervals;

typedef struct tess_de_result {
    tess_context *ctx;
    const tess_decode_detector *detector;
    const tess_decode_observation *observation;
    int is_folder;
    const tess_format *format;           // of a file
    char path[TESS_DE_RESULT_PATH];      // the final name
    char work_path[TESS_DE_RESULT_PATH]; // what is being written; "" if nothing is
    tess_format_layout layout[TESS_DE_RESULT_ITEMS];
    tess_de_result_item items[TESS_DE_RESULT_ITEMS];
    int64_t n_item;
    int64_t n_true_axis;         // true positions are written as soon as the file is there
    bool has_true_edge;          // likewise, behind them
    const double *true_position; // [T][n_dim] given, or NULL: interpolated
    const double *centers[TESS_DECODE_MAX_DIM]; // [N_s] places of state bins; NULL: no such axis
    void *expand_buffer;                        // [n][N_s] likelihood spread over states
    int64_t expand_rows;
    tess_blocks memory;
} tess_de_result;

// Does a time lie within those of the position?
static inline bool tess_de_is_tracked(const tess_decode_position *position, double time)
{
    return position->n_sample > 1 && time >= position->time[0] &&
           time <= position->time[position->n_sample - 1];
}

// Everything that will be in the result. observation: with the times that are decoded, all or
// those of intervals (else NULL). result_items.c.
TESS_MUST_CHECK tess_status tess_de_result_describe(tess_context *ctx,
                                                    const tess_decode_detector *detector,
                                                    const tess_decode_observation *observation,
                                                    const tess_decode_stream_config *config,
                                                    const tess_de_result_intervals *intervals,
                                                    tess_de_result *result);
void tess_de_result_close(tess_de_result *result);
// 1 if path ends like a folder: no suffix, or a slash.
int tess_de_result_is_folder(const char *path);

// A file of ours for reading and writing, anew or as it is: never what a link leads to.
TESS_MUST_CHECK tess_status tess_de_result_open(const char *path, int is_new, unsigned mode,
                                                int *fd);

// Bytes of data in all.
uint64_t tess_de_result_bytes(const tess_de_result *result);
// Lays everything out under work_path, anew. provenance is JSON.
TESS_MUST_CHECK tess_status tess_de_result_create(tess_de_result *result, const char *work_path,
                                                  const char *provenance);
// Takes up what an earlier process laid out; offsets are those of create().
TESS_MUST_CHECK tess_status tess_de_result_reopen(tess_de_result *result, const char *work_path,
                                                  const uint64_t *offsets);
// Rows of a data set; not wanted (all zero) if there is none of this name.
void tess_de_result_rows(tess_de_result *result, const char *name, tess_de_rows *rows);
// Likewise the most likely path, TESS_I64, from which its states and places are written as well.
void tess_de_result_path(tess_de_result *result, tess_de_rows *rows);
// The whole of a small data set.
TESS_MUST_CHECK tess_status tess_de_result_put(tess_de_result *result, const char *name,
                                               const void *data);
TESS_MUST_CHECK tess_status tess_de_result_sync(tess_de_result *result);
// TESS_E_EXISTS if the folder of this name holds anything but a result: replacing it would take
// that away, too.
TESS_MUST_CHECK tess_status tess_de_result_check_folder(const char *path);
// The folder a path lies in.
void tess_de_folder_of(const char *path, char folder[TESS_DE_RESULT_PATH]);
// Durable under its final name.
TESS_MUST_CHECK tess_status tess_de_result_commit(tess_de_result *result, int overwrite);
// Removes what was not committed.
void tess_de_result_discard(tess_de_result *result);

#endif
