// The device's side of a pass: records, grids and sums where its stages reach them.
//
// A device that works on the host's memory takes what lies there. Another one gets the records of
// every leaf once, when they are first needed, and keeps them if they all fit; else a chunk after
// the other. What belongs to a point of the parameters goes up in one copy, and few sums come down.
#ifndef TESS_XPCS_PASS_THERE_H
#define TESS_XPCS_PASS_THERE_H

#include "runtime/resident.h"
#include "systems/xpcs/model/grids.h"
#include "systems/xpcs/store/store.h"

typedef struct tess_xp_there_setup {
    tess_device *device;
    const tess_xpcs_data *data;
    int64_t max_set;                 // points of the parameters in one pass
    const tess_xp_grids *grids;      // where those of the first point are filled
    const tess_xp_grids *more_grids; // [max_set - 1] and those of the others
    const tess_xp_angle *angles;     // [max_set][n_angle] likewise
    const double *lag_weight;        // [n_angle][n_frame] or NULL
    int64_t leaves_per_chunk;        // of the host's records, at most
    int64_t leaves_per_call;         // of a stage on the host at one point: cancel is heard in time
    int64_t n_sum;
    int64_t n_param;
    // Leaves whose records stay on a device with memory of its own, if they fit: all of them where
    // that is allowed, else those that are its own.
    bool may_hold_all;
    int64_t own_leaf;
    int64_t own_end;
} tess_xp_there_setup;

typedef struct tess_xp_there {
    tess_context *ctx;
    tess_xp_there_setup setup;
    int64_t leaves_per_call; // of a stage at max_set points, so many sums have room
    int64_t most_leaves;     // of a stage at fewer points
    tess_xp_tiles tiles;     // whose arrays the device reaches
    tess_xp_grid *grid;      // [max_set]
    const tess_xp_angle *angles;
    tess_resident tables;
    tess_resident records; // all of them, or room for a chunk
    tess_resident lags;
    tess_resident frames;
    tess_resident point; // grids and angles
    tess_resident sums;  // [max_set][leaves_per_call][n_sum]
    tess_resident scratch;
    tess_resident reduced; // [max_set][stretches][n_sum]
    unsigned char *pinned; // of the host: point on its way up, then reduced on its way down
    size_t pinned_bytes;
    uint8_t *is_sent;  // [n_leaf] whether records are there; NULL: they do not fit
    int64_t held_leaf; // then there is room for those from this one on
    int64_t held_end;
    uint64_t records_key; // by which they are found again, once all are there
} tess_xp_there;

// Most stretches that leaves of one call can make up: as many to the longest as from it.
int64_t tess_xp_there_stretches(int64_t leaves_per_call);
// Bytes of the host's memory, and of a device's own besides the records.
size_t tess_xp_there_bytes(const tess_xp_there_setup *setup);

TESS_MUST_CHECK tess_status tess_xp_there_open(tess_context *ctx, const tess_xp_there_setup *setup,
                                               tess_xp_there *out);
void tess_xp_there_close(tess_xp_there *there);

// The grids and angles of the setup's first n_set points as they are now, and weights of frames
// [n_set][n_frame] (NULL: none).
TESS_MUST_CHECK tess_status tess_xp_there_points(tess_xp_there *there, int64_t n_set,
                                                 const double *frame_weight);

// Leaves that a call at n_set points may take: as many sums in all as one at max_set points has.
int64_t tess_xp_there_leaves(const tess_xp_there *there, int64_t n_set);
// Whether it can take any leaf: it has room for all, or keeps none.
bool tess_xp_there_takes_all(const tess_xp_there *there);
// The records that it keeps, as if those of all leaves lay there.
const unsigned char *tess_xp_there_base(const tess_xp_there *there);
// Leaves from first on whose records need not be given: they are there.
int64_t tess_xp_there_has(const tess_xp_there *there, int64_t first, int64_t n_leaf);
// Records of leaves, from the host's (NULL: they are there), as the device reaches them.
TESS_MUST_CHECK tess_status tess_xp_there_records(tess_xp_there *there, int64_t first,
                                                  int64_t n_leaf, const unsigned char *host,
                                                  const unsigned char **records);

// Runs the pass and brings down the sums of its stretches, [n_set][stretches][n_sum] in *sums, used
// up by the next call. pass: what the stage does, without what lies on the device; before: leaves
// that were summed before these.
TESS_MUST_CHECK tess_status tess_xp_there_run(tess_xp_there *there, tess_stage_xpcs_pass *pass,
                                              int64_t before, double **sums);

#endif
