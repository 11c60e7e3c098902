// Votes, repairs and the search for consensus and n_interpolate.
#ifndef TESS_AUTOREJECT_LOCAL_H
#define TESS_AUTOREJECT_LOCAL_H

#include "systems/autoreject/store/store.h"
#include "tessera/autoreject/reject_log.h"

// Fewest channels that a good prediction needs.
enum { TESS_AR_LEAST_SOURCES = 4 };

// labels[e][c] = delta > threshold; counts[e] = number of ones; TESS_STAGE_AUTOREJECT_VOTES over
// arrays of the host.
TESS_MUST_CHECK tess_status tess_ar_votes(tess_device *device, const double *delta,
                                          const double *thresholds, int64_t n_epoch, int64_t n_chan,
                                          int8_t *labels, int64_t *counts);

// Of the channels labelled 1, the n_interpolate with the largest delta (ties: larger index first)
// become 2. Applied again it adds to what is 2 already: the original's carry-over.
void tess_ar_select_repairs(int8_t *labels, const double *delta, int64_t n_epoch, int64_t n_chan,
                            int64_t n_interpolate);

// count >= consensus * n_chan, in double as the original compares.
bool tess_ar_epoch_is_bad(int64_t count, double consensus, int64_t n_chan);

// Fewest channels that the others of an epoch are predicted from; with fewer the epoch is bad. The
// original (its carry-over) repairs from whatever is left.
int64_t tess_ar_least_sources(int32_t rho_mode);

typedef struct tess_ar_local_request {
    tess_ar_store *store;
    tess_ar_repairer *repairer;
    const char *type;      // of the channels, for messages
    const int8_t *labels;  // [n_epoch][n_chan] votes, 0 or 1
    const int64_t *counts; // [n_epoch]
    const double *consensus;
    int64_t n_consensus;
    const int64_t *n_interpolate;
    int64_t n_n_interpolate;
    int32_t rho_mode;
    const uint8_t *folds; // [n_fold][n_epoch] 1 train, 2 test
    int64_t n_fold;
    uint64_t memory_bytes; // what the search may hold beside the store; 0: as much as it wants
    // Checkpoints, as in threshold/thresholds.h.
    tess_status (*keep)(void *user, int64_t n_tile_done, const void *state, size_t bytes);
    void *user;
    const void *resume_state;
    size_t resume_bytes;
    int64_t resume_tiles;
} tess_ar_local_request;

typedef struct tess_ar_local_result {
    double *loss; // [n_consensus][n_n_interpolate][n_fold], the caller's; inf: not admissible
    int64_t consensus_index;
    int64_t n_interpolate_index;
    int64_t
        n_left_out; // (value of n_interpolate, epoch) pairs with too few channels to repair from
} tess_ar_local_result;

// The least tess_ar_local_search() can do with.
uint64_t tess_ar_local_least_bytes(const tess_context *ctx, int64_t n_epoch, int64_t n_chan,
                                   int64_t n_consensus, int64_t n_n_interpolate, int64_t n_fold);

// The table and its first smallest mean. TESS_E_NUMERIC with the rule that removed every cell.
TESS_MUST_CHECK tess_status tess_ar_local_search(tess_context *ctx,
                                                 const tess_ar_local_request *request,
                                                 tess_ar_local_result *result);

// votes.c: n_fold contiguous folds as masks; TESS_E_SHAPE in the original's words when there are
// more folds than epochs.
TESS_MUST_CHECK tess_status tess_ar_contiguous_folds(int64_t n_epoch, int64_t n_fold,
                                                     uint8_t *folds);

#endif
