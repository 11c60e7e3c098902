// Which epochs are added up together in the local search, and the repairs of each column.
#ifndef TESS_AUTOREJECT_LOCAL_BINS_H
#define TESS_AUTOREJECT_LOCAL_BINS_H

#include "base/blocks.h"
#include "systems/autoreject/local/local.h"

typedef struct tess_ar_bins {
    // Levels: the distinct consensus * n_chan, ascending. An epoch is kept from its level on.
    int64_t n_level;
    double *limits;     // [n_level]
    int64_t *level_of;  // [n_consensus]
    int64_t *level;     // [n_epoch]; n_level: never kept
    int64_t *bin;       // [n_epoch]; -1: never kept
    int64_t *bin_first; // [n_level + 1]
    int64_t *bin_epoch; // [n_bin] any epoch of the bin
    int64_t n_bin;
    uint8_t *train;      // [n_fold][n_bin]
    int64_t *test_first; // [n_fold + 1]
    int64_t *test;
    int64_t max_test;
} tess_ar_bins;

TESS_MUST_CHECK tess_status tess_ar_bins_make(tess_blocks *memory,
                                              const tess_ar_local_request *request,
                                              tess_ar_bins *bins);

// The repairs of every column (value of n_interpolate), each set once.
typedef struct tess_ar_repairs {
    int64_t n_repair;
    int64_t n_row; // first[n_repair]
    int64_t max_bad;
    int64_t *epoch;     // [n_repair]
    int64_t *first;     // [n_repair + 1]
    int32_t *bad;       // [n_row] ascending within a repair
    int64_t *of_epoch;  // [n_column][n_epoch] repair; -1: none; -2: left out
    int64_t n_left_out; // (column, epoch) pairs with too few sources
} tess_ar_repairs;

TESS_MUST_CHECK tess_status tess_ar_repairs_make(tess_blocks *memory,
                                                 const tess_ar_local_request *request,
                                                 const tess_ar_bins *bins,
                                                 tess_ar_repairs *repairs);

// Epochs in the sum of (column, fold, level); 0 where the cell is not admissible.
void tess_ar_count_kept(const tess_ar_local_request *request, const tess_ar_bins *bins,
                        const tess_ar_repairs *repairs, int64_t *n_kept);

#endif
