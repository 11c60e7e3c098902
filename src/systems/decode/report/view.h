// A finished result, opened for reading: what scores and reports look at.
//
// Nothing of the length of the result is held: rows come in blocks (block.h), so that a day of
// bins takes no more memory than a minute.
#ifndef TESS_SYSTEMS_DECODE_VIEW_H
#define TESS_SYSTEMS_DECODE_VIEW_H

#include "base/blocks.h"
#include "runtime/context.h"
#include "tessera/decode/stream.h"
#include "tessera/io.h"

#include <stdbool.h>

// Bins without a place, in place_of_bin: those of a state that means the animal's own place, of
// others, and bins off the track, which other programs keep as NaN.
enum { TESS_DE_PLACE_NONE = -1, TESS_DE_PLACE_LOCAL = -2, TESS_DE_PLACE_OUTSIDE = -3 };

// Environments whose places are told apart; states of further ones count as having no place.
enum { TESS_DE_VIEW_ENVIRONMENTS = 8 };

// Places of one environment: states of it that have places share them.
typedef struct tess_de_environment_view {
    char name[64];       // "": the file does not say
    int64_t first_place; // of all places
    int64_t n_place;
} tess_de_environment_view;

// The track that places lie on; view_ways.h.
typedef struct tess_de_track_view tess_de_track_view;

typedef struct tess_de_view {
    tess_context *ctx;
    tess_blocks memory;
    char path[1024];
    bool is_folder;
    int64_t n_file_row; // rows of the file
    int64_t first_row;  // of them looked at: n_time from here
    int64_t n_time;
    double start; // s, time of the first row looked at; 0 if there is none
    double end;   // of the last
    double step;  // s, median distance of rows; 0: fewer than two
    int32_t n_state;
    int32_t n_axis;      // coordinates of a place
    int64_t n_state_bin; // columns of the posterior
    int32_t n_environment;
    tess_de_environment_view environments[TESS_DE_VIEW_ENVIRONMENTS]; // the first: the animal's
    int64_t n_place;                                                  // of all environments
    const char *names; // [n_state][name_bytes], zero-padded
    int64_t name_bytes;
    const int64_t *place_of_bin;               // [n_state_bin]; or one of the above
    const int32_t *state_of_bin;               // [n_state_bin]
    const uint8_t *is_local_state;             // [n_state] named Local
    const uint8_t *has_places;                 // [n_state]
    const double *center[TESS_DECODE_MAX_DIM]; // [n_place]
    double spacing;      // cm, median distance of neighbouring coordinates; NaN: of fewer than two
    double log_evidence; // NaN: not stored
    tess_source *time;   // [n_file_row]
    tess_source *truth[TESS_DECODE_MAX_DIM]; // [n_file_row]; all NULL: not in the file
    tess_source *true_edge;                  // [n_file_row] corridor of truth[0]; NULL: not told
    const tess_de_track_view *track;         // NULL: distances are straight
    const double *true_position;             // [its rows][n_axis] of the recording, else; or NULL
    const double *represented_position;      // likewise, of a simulation
    tess_source *posterior;                  // [n_file_row][n_state_bin]
    tess_source *states;                     // [n_file_row][n_state]
    tess_source *interval; // [n_file_row] number of the row's interval; NULL: all are one sequence
    int64_t n_interval;
    const int64_t *recording_row; // [n_file_row] of the recording's; NULL: the same
    tess_source *path_state; // [n_file_row] state of the most likely path; NULL: not in the file
} tess_de_view;

// What part of a result is looked at: rows that begin in from <= time < to.
typedef struct tess_de_period {
    double from; // s
    double to;
} tess_de_period;

// recording (may be NULL) gives the true position where the result has none, and is borrowed until
// the view is closed; TESS_E_MISMATCH if the result was not decoded from it. period NULL: all.
TESS_MUST_CHECK tess_status tess_de_view_open(tess_context *ctx, const char *path,
                                              const tess_decode_recording *recording,
                                              const tess_de_period *period, tess_de_view *out);
// Time bins of a result, by its header alone.
TESS_MUST_CHECK tess_status tess_de_view_count(tess_context *ctx, const char *path,
                                               int64_t *n_time);
// Safe on a zeroed struct.
void tess_de_view_close(tess_de_view *view);

static inline bool tess_de_view_has_truth(const tess_de_view *view)
{
    return view->truth[0] || view->true_position;
}

// Name of a state, cut to fit.
void tess_de_view_state_name(const tess_de_view *view, int32_t state, char *text, size_t capacity);

// Provenance of the result, JSON for tess_text_free(); *text NULL if there is none.
TESS_MUST_CHECK tess_status tess_de_view_provenance(const tess_de_view *view, char **text);

// Every warning that was said while the result was made, a line each, for tess_text_free(); NULL
// where the file beside the result that keeps them is missing or of another result. warnings.c.
TESS_MUST_CHECK tess_status tess_de_view_warnings(const tess_de_view *view, char **lines);

// --- view_rows.c ---

// Items first.. of the file as doubles, n_item rows of a source of any real or integer type;
// scratch has room for them as they are.
TESS_MUST_CHECK tess_status tess_de_view_read(tess_source *source, int64_t first, int64_t n_item,
                                              void *scratch, double *out);
// The same as they are; and one of these rows as doubles.
TESS_MUST_CHECK tess_status tess_de_view_read_raw(tess_source *source, int64_t first,
                                                  int64_t n_item, void *raw);
void tess_de_view_widen(tess_source *source, const void *raw, int64_t row, double *out);
// Columns of the posterior that are NaN where others are not, outside [n_state_bin].
TESS_MUST_CHECK tess_status tess_de_view_find_outside(tess_de_view *view, uint8_t *outside);
// Finds the rows of the period and their distance; fails where there are none.
TESS_MUST_CHECK tess_status tess_de_view_find_rows(tess_de_view *view,
                                                   const tess_de_period *period);

// --- same_recording.c ---

// TESS_E_MISMATCH if the result was decoded from other times or spikes. Finds recording_row.
TESS_MUST_CHECK tess_status tess_de_view_check_recording(tess_de_view *view,
                                                         const tess_decode_recording *recording);

#endif
