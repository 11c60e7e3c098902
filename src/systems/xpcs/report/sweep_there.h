// The device's side of a sweep: records, the model and sums where its stage reaches them.
//
// A device of its own memory finds the records of the fit before where they were kept, and takes
// them in one call; else it gets them chunk after chunk, and keeps them if they all fit.
#ifndef TESS_XPCS_REPORT_SWEEP_THERE_H
#define TESS_XPCS_REPORT_SWEEP_THERE_H

#include "runtime/resident.h"
#include "stage/xpcs_sweep.h"
#include "systems/xpcs/store/store.h"

typedef struct tess_xp_sweep_there {
    tess_context *ctx;
    tess_device *device;
    tess_xpcs_data *data;
    tess_stage_xpcs_sweep host;  // arrays of the host
    tess_stage_xpcs_sweep stage; // arrays that the device reaches
    tess_xp_tiles tiles;
    tess_xp_grid grid;
    int64_t leaves; // of a call
    bool has_all;   // records need not be read
    uint64_t key;   // by which records are kept
    bool fits;
    tess_xp_reader reader;
    tess_resident tables;
    tess_resident records;
    tess_resident point; // grid, angles and sigma by lag
    tess_resident sums;  // cells, lags, ages and bars
    size_t sum_bytes[4];
} tess_xp_sweep_there;

// stage: arrays of the host, sums cleared.
TESS_MUST_CHECK tess_status tess_xp_sweep_there_open(tess_context *ctx, tess_xpcs_data *data,
                                                     const tess_stage_xpcs_sweep *stage,
                                                     tess_xp_sweep_there *out);
// Accepts one that could not be opened.
void tess_xp_sweep_there_close(tess_xp_sweep_there *there);
// Adds leaves in order, up to leaves of them.
TESS_MUST_CHECK tess_status tess_xp_sweep_there_add(tess_xp_sweep_there *there, int64_t first,
                                                    int64_t n_leaf);
// The sums into the host's arrays.
TESS_MUST_CHECK tess_status tess_xp_sweep_there_fetch(tess_xp_sweep_there *there);

#endif
