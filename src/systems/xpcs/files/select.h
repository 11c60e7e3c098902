// Which matrices and frames are taken: by q, by angle, by number.
#ifndef TESS_XPCS_FILES_SELECT_H
#define TESS_XPCS_FILES_SELECT_H

#include "base/blocks.h"
#include "base/text.h"
#include "runtime/context.h"
#include "tessera/xpcs/data.h"

#include <stdbool.h>

// What there is to choose from.
typedef struct tess_xp_candidates {
    const char *name; // the file, or the argument: messages begin with it
    int64_t n;
    const double *q;         // [n] 1/Å; NaN: never taken where q selects
    const double *phi;       // [n] degrees, as they are
    const uint8_t *is_valid; // [n]; NULL: all are
    int64_t n_frame;
    double q_tolerance; // fraction of q where the config has none; negative: q does not select
} tess_xp_candidates;

typedef struct tess_xp_selection {
    tess_blocks memory;
    int64_t n;
    const int64_t *index; // [n] among the candidates, rising
    const double *q;      // [n]
    const double *phi;    // [n] degrees in -180..180
    int64_t start_frame;  // resolved, 1-based, inclusive
    int64_t end_frame;
    int64_t n_frame;       // of start..end, t0 included
    int64_t first;         // frames of them that are dropped: 1, or 0 where t0 is kept
    const uint8_t *is_bad; // [n_frame]; NULL: none
    double q_nearest;      // 0 where q does not select
    const char *notes;     // a sentence per line, each ending in a newline; "" if none
    tess_text text;        // of the notes
} tess_xp_selection;

// dt, gap and lists of a config, for files and arrays.
TESS_MUST_CHECK tess_status tess_xp_check_config(const tess_xpcs_data_config *config);

// The config's q, ranges, frames and bad frames. Nothing left, frames that are not there and too
// few angles or frames are errors that say what there is.
TESS_MUST_CHECK tess_status tess_xp_select(tess_context *ctx, const tess_xpcs_data_config *config,
                                           const tess_xp_candidates *candidates,
                                           tess_xp_selection *out);
// Accepts a zeroed one.
void tess_xp_selection_destroy(tess_xp_selection *selection);

// phi mod 360 in -180 (exclusive) to 180.
double tess_xp_normal_phi(double phi);
// In any of the ranges, whose ends are normalised likewise; one with minimum > maximum then wraps
// through 180, one of 360 degrees and more holds every angle. phi is normal.
bool tess_xp_in_ranges(double phi, const tess_xpcs_angle_range *ranges, int64_t n_range);

enum { TESS_XP_SHEAR_CHARS = 256 };
// The warning for laminar flow along phi0 where no angle is within 30 degrees of the flow, or every
// one within 30 degrees of its perpendicular. False: shear shows in these angles.
bool tess_xp_shear_warning(const double *phi, int64_t n_angle, double phi0,
                           char text[TESS_XP_SHEAR_CHARS]);

#endif
