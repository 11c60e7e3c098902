// What the local search keeps on a device with memory of its own.
#ifndef TESS_AUTOREJECT_LOCAL_DEVICE_H
#define TESS_AUTOREJECT_LOCAL_DEVICE_H

#include "stage/autoreject_local.h"
#include "systems/autoreject/local/bins.h"

typedef struct tess_ar_local_there {
    tess_stage_autoreject_local args; // the pointers of tables and rooms
    const int64_t *epoch;             // [n_repair] there
    tess_resident tables;
    tess_resident weights;
    tess_resident repaired; // [group][n_row][16]
    tess_resident medians;
    tess_resident sums;
    tess_resident sse;
    int64_t *host_begin; // of the tables, on the host
    int32_t *host_epochs;
    int32_t *host_test;
} tess_ar_local_there;

// How many tiles fit beside tables and weights; TESS_E_LIMIT if not one does.
TESS_MUST_CHECK tess_status tess_ar_local_device_group(const tess_ar_local_request *request,
                                                       const tess_ar_bins *bins,
                                                       const tess_ar_repairs *repairs,
                                                       uint64_t weight_bytes, int64_t *group);
TESS_MUST_CHECK tess_status tess_ar_local_device_open(
    tess_blocks *memory, const tess_ar_local_request *request, const tess_ar_bins *bins,
    const tess_ar_repairs *repairs, const int64_t *n_kept, int64_t group, uint64_t weight_bytes,
    tess_ar_local_there *there);
// Accepts one that is zeroed.
void tess_ar_local_device_close(tess_ar_local_there *there);

#endif
