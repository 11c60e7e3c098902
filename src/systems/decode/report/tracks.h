// The second pass over a result: its rows as pyramids, for pictures that can be zoomed.
#ifndef TESS_SYSTEMS_DECODE_TRACKS_H
#define TESS_SYSTEMS_DECODE_TRACKS_H

#include "page/pyramid.h"
#include "systems/decode/report/facts.h"
#include "systems/decode/report/spike_counts.h"

// Rows of the pyramid of positions, for each axis.
enum {
    TESS_DE_TRACK_ANIMAL = 0,
    TESS_DE_TRACK_PEAK = 1,
    TESS_DE_TRACK_LOW = 2,
    TESS_DE_TRACK_HIGH = 3,
    TESS_DE_TRACK_ROWS = 4
};

// Lines of a map, at most; more are taken together.
enum { TESS_DE_TRACK_LINES = 300 };

typedef struct tess_de_tracks {
    const tess_de_facts *facts;
    tess_blocks memory;
    tess_de_block block;
    tess_de_digest digest;
    tess_de_spike_counts counts; // of no electrode without a recording
    tess_pyramid states;         // [n_state + 1]: each state, then the non-local probability
    tess_pyramid positions;      // [n_axis][TESS_DE_TRACK_ROWS]
    tess_pyramid speed;          // [1] cm/s
    tess_pyramid rate;           // [1] spikes per second of all electrodes
    tess_pyramid spikes;         // [electrodes, grouped] in a bin
    tess_pyramid maps[TESS_DE_VIEW_ENVIRONMENTS][TESS_DECODE_MAX_DIM]; // [lines, grouped]
    double bright[TESS_DE_VIEW_ENVIRONMENTS][TESS_DECODE_MAX_DIM];     // of the maps' colours
    double most_spikes;                                                // of an electrode in a bin
    double most_rate;
    bool has_all; // single bins everywhere
    int64_t next_column;
    int64_t most_rows; // room of a column
    double *column;
} tess_de_tracks;

// Bytes of the page for all of them; origin: s, 0 of the time axis.
TESS_MUST_CHECK tess_status tess_de_tracks_make(const tess_de_facts *facts,
                                                const tess_decode_report_config *config,
                                                double origin, tess_de_tracks *out);
void tess_de_tracks_destroy(tess_de_tracks *tracks);

// Lines that stand for one in a map of n.
static inline int64_t tess_de_track_group(int64_t n)
{
    return n > TESS_DE_TRACK_LINES ? (n + TESS_DE_TRACK_LINES - 1) / TESS_DE_TRACK_LINES : 1;
}

#endif
