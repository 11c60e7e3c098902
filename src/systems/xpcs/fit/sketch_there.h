// A sketch on a device of its own memory: many points of the parameters in one call.
#ifndef TESS_XPCS_FIT_SKETCH_THERE_H
#define TESS_XPCS_FIT_SKETCH_THERE_H

#include "numerics/elementary.h"
#include "runtime/resident.h"
#include "stage/xpcs.h"

enum { TESS_XP_MOST_LOOKS = 64 };

// One copy up and one down per call, through pinned memory.
typedef struct tess_xp_sketch_there {
    tess_device *device; // NULL: none
    tess_xp_tiles tiles; // whose arrays lie there
    tess_xp_grid grids[TESS_XP_MOST_LOOKS];
    tess_resident tables;
    tess_resident records;
    tess_resident points;      // angles, then parameters, of all looks
    tess_resident grid_values; // that are found there
    tess_resident log_t;
    tess_resident frames;
    int64_t n_time;
    tess_resident sums;
    tess_resident scratch;
    unsigned char *pinned;
    size_t pinned_bytes;
} tess_xp_sketch_there;

// Times that the model's integrals go over, and which of them are chosen.
typedef struct tess_xp_sketch_times {
    const tess_parts *log_t; // [n_time]
    int64_t n_time;
    const int64_t *frames;
} tess_xp_sketch_times;

// call: of most looks, with the host's arrays. Records are sent, and times.
TESS_MUST_CHECK tess_status tess_xp_sketch_there_open(tess_device *device,
                                                      const tess_stage_xpcs_pass *call,
                                                      const tess_xp_sketch_times *times,
                                                      tess_xp_sketch_there *out);
void tess_xp_sketch_there_close(tess_xp_sketch_there *there);
// The stage with the host's angles at some parameters, whose grids are made there; *sums: valid
// until the next call.
TESS_MUST_CHECK tess_status tess_xp_sketch_there_run(tess_xp_sketch_there *there,
                                                     const tess_stage_xpcs_pass *call,
                                                     const double *const *thetas, double **sums);
// Other records, when nothing runs.
TESS_MUST_CHECK tess_status tess_xp_sketch_there_send(tess_xp_sketch_there *there,
                                                      const unsigned char *records);

#endif
