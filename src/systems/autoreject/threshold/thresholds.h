// The threshold search over a store.
#ifndef TESS_AUTOREJECT_THRESHOLDS_H
#define TESS_AUTOREJECT_THRESHOLDS_H

#include "systems/autoreject/store/store.h"
#include "tessera/autoreject/fit.h"

typedef struct tess_ar_threshold_request {
    tess_ar_store *store;
    const double *leave_one_out; // R [n_chan][n_chan]; NULL: no augmentation
    bool augment_with_copy;      // the original's way with types it cannot predict: rows twice
    int32_t search;              // tess_autoreject_search
    int64_t n_split;
    uint32_t seed;
    uint64_t memory_bytes; // what the search may hold, its result included; 0: no limit. Less
                           // memory: more passes over the tiles, same results
    // Called after each tile of time with all that must be kept to go on from there (one block,
    // same size every time), for checkpoints; NULL: none.
    tess_status (*keep)(void *user, int64_t n_tile_done, const void *state, size_t bytes);
    void *user;
    bool keep_often;     // false: a device need not fetch its sums after each batch of tiles for it
    int64_t *n_tile_all; // told before the first keep(): those of all passes; NULL: unwanted
    const void *resume_state; // of an earlier keep(); NULL: from the start
    size_t resume_bytes;
    int64_t resume_tiles;
} tess_ar_threshold_request;

// Arrays are allocated by the search with the store's context, freed by destroy.
typedef struct tess_ar_threshold_result {
    tess_context *ctx;
    int64_t n_chan;
    double *thresholds;
    // How far the threshold would lie with other epochs and splits (errors.c). NaN for one split.
    double *standard_errors;
    double *objectives;
    int64_t *n_candidate;
    double *candidates; // one channel after another
    double *candidate_objectives;
    int64_t n_all; // sum of n_candidate
} tess_ar_threshold_result;

TESS_MUST_CHECK tess_status tess_ar_search_thresholds(tess_context *ctx,
                                                      const tess_ar_threshold_request *request,
                                                      tess_ar_threshold_result *out);
void tess_ar_threshold_result_destroy(tess_ar_threshold_result *result);

// splits.c: membership of every row in every stratified shuffle split, exactly scikit-learn's.
// is_validation [n_row][n_split]; rows n_class0.. are the second class (n_class0 = n_row: one
// class). train and validation lists, [n_split][n_train] and [n_split][n_validation], may be NULL.
TESS_MUST_CHECK tess_status tess_ar_stratified_splits(tess_context *ctx, int64_t n_row,
                                                      int64_t n_class0, int64_t n_split,
                                                      uint32_t seed, uint8_t *is_validation,
                                                      int64_t *train, int64_t *validation);
// What is wrong with so few rows, before anything is computed.
TESS_MUST_CHECK tess_status tess_ar_check_splits(int64_t n_epoch, bool two_classes);

// process.c: the original's search on a table: initial points, then ten steps of its Gaussian
// process. candidates ascend and may repeat (n_row of them: ranks matter); objectives[i] may be
// inf (skipped). n_initial is 40 for channels, 5 for the global threshold.
// *best is an index of candidates.
TESS_MUST_CHECK tess_status tess_ar_compat_choice(tess_context *ctx, const double *candidates,
                                                  const double *objectives, int64_t n,
                                                  int64_t n_initial, int64_t *best);

#endif
