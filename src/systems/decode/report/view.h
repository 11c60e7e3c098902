// A finished result, opened for reading: what scores and reports look at.
#ifndef TESS_SYSTEMS_DECODE_VIEW_H
#define TESS_SYSTEMS_DECODE_VIEW_H

#include "base/blocks.h"
#include "runtime/context.h"
#include "tessera/decode/stream.h"
#include "tessera/io.h"

#include <stdbool.h>

// Bins without a place, in place_of_bin: those of a state that means the animal's own place, and
// of others.
enum { TESS_DE_PLACE_NONE = -1, TESS_DE_PLACE_LOCAL = -2 };

typedef struct tess_de_view {
    tess_context *ctx;
    tess_blocks memory;
    char path[1024];
    bool is_folder;
    int64_t n_time;
    int32_t n_state;
    int32_t n_axis;      // coordinates of a place
    int64_t n_state_bin; // columns of the posterior
    int64_t n_place;     // places: states that have them share them
    const double *time;
    const char *names; // [n_state][name_bytes], zero-padded
    int64_t name_bytes;
    const int64_t *place_of_bin;                    // [n_state_bin]; or one of the above
    const uint8_t *is_local_bin;                    // [n_state_bin] of a state named Local
    const double *center[TESS_DECODE_MAX_DIM];      // [n_place]
    const double *truth[TESS_DECODE_MAX_DIM];       // [n_time]; NULL: not known
    const double *represented[TESS_DECODE_MAX_DIM]; // [n_time] of a simulation; NULL: not known
    double log_evidence;                            // NaN: not stored
    tess_source *posterior;                         // [n_time][n_state_bin]
    tess_source *states;                            // [n_time][n_state]
} tess_de_view;

// recording (may be NULL) gives the true position where the result has none.
TESS_MUST_CHECK tess_status tess_de_view_open(tess_context *ctx, const char *path,
                                              const tess_decode_recording *recording,
                                              tess_de_view *out);
// Bytes that a view and the facts of a result take, by its headers.
TESS_MUST_CHECK tess_status tess_de_view_bytes(tess_context *ctx, const char *path,
                                               uint64_t *bytes);
// Safe on a zeroed struct.
void tess_de_view_close(tess_de_view *view);

// Provenance of the result, JSON for tess_text_free(); *text NULL if there is none.
TESS_MUST_CHECK tess_status tess_de_view_provenance(const tess_de_view *view, char **text);

// Every warning that was said while the result was made, a line each, for tess_text_free(); NULL
// where the file beside the result that keeps them is missing or of another result. warnings.c.
TESS_MUST_CHECK tess_status tess_de_view_warnings(const tess_de_view *view, char **lines);

// Rows of a source as doubles; scratch has room for them.
TESS_MUST_CHECK tess_status tess_de_view_rows(tess_source *source, int64_t first, int64_t n_row,
                                              void *scratch, double *out);

#endif
