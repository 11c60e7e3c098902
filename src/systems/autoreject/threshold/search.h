// The inside of the threshold search.
#ifndef TESS_AUTOREJECT_SEARCH_H
#define TESS_AUTOREJECT_SEARCH_H

#include "systems/autoreject/threshold/splits.h"
#include "systems/autoreject/threshold/thresholds.h"

// Replicates of a curve that its standard error is taken from, and points of each at most.
// The original's search begins with quantiles and the largest.
enum { AR_N_REPLICATE = 32, AR_MOST_POINTS = 256, AR_N_QUANTILE = 41 };

// What must be kept to go on: this, then sums, disturbed and sse (below) in one block.
typedef struct ar_state {
    int64_t n_row;
    int64_t n_chan;
    int64_t n_split;
    int64_t n_tile;
    int64_t chan_group; // of the passes
    int64_t split_group;
    int64_t reserved[2];
} ar_state;

// The same on a device with memory of its own; of no use on the CPU.
typedef struct ar_there {
    tess_resident order;
    tess_resident inverse;
    tess_resident validation;
    tess_resident members;      // i32 [split_group][n_row - n_train] rows that validate
    tess_resident member_first; // i64 [split_group + 1]
    tess_resident sse;          // [chan_group][split_group][n_train]
    tess_resident medians;      // of a batch
    tess_resident errors;       // of a batch
    tess_resident augmented;    // of a batch
    tess_resident w;
    bool is_fresh; // sse holds nothing yet
} ar_there;

// Passes over the tiles are made for a group of splits and a group of channels each, as large as
// memory allows: all at once if it does.
typedef struct ar_search {
    tess_context *ctx;
    const tess_ar_threshold_request *request;
    tess_ar_store *store;
    int64_t n_row; // epochs, and as many predicted ones
    int64_t n_chan;
    int64_t n_train;
    int64_t n_word; // of the bits of a split
    int64_t chan_group;
    int64_t split_group;
    int64_t batch; // tiles that are worked on at a time

    void *memory; // one block for everything below
    size_t memory_bytes;
    int32_t *order;       // [n_chan][n_row] rows by rising peak-to-peak
    double *sorted;       // [n_chan][n_row] those peak-to-peaks
    double *inverse;      // [n_train] 1, 1/2, ...
    int64_t *rows;        // [n_row] a split as lists
    uint8_t *marks;       // [split_group][n_row] 1: validates
    uint64_t *validation; // [chan_group][split_group][n_word] the same in the channel's order
    double *augmented;    // [chan_group][batch][n_epoch][16]; NULL
    ar_state *state;
    size_t state_bytes;
    double *sums;      // [n_chan][n_row] of the loss at every candidate, over the splits done
    double *disturbed; // [n_chan][AR_N_REPLICATE][n_point] the same with random signs
    int64_t n_point;
    double *sse; // [chan_group][split_group][n_train]
    ar_there there;
} ar_search;

static inline bool tess_ar_search_is_apart(const ar_search *search)
{
    return !search->store->device->shares_host_memory;
}

// plan.c: groups and memory. TESS_E_LIMIT names the least that would do.
TESS_MUST_CHECK tess_status tess_ar_search_open(tess_context *ctx,
                                                const tess_ar_threshold_request *request,
                                                ar_search *search);
void tess_ar_search_close(ar_search *search);

// device.c: the search on a device with memory of its own. How many tiles are worked on at a time;
// TESS_E_LIMIT if it cannot hold one.
TESS_MUST_CHECK tess_status tess_ar_device_batch(const ar_search *search, int64_t *batch);
// After the rows are in order.
TESS_MUST_CHECK tess_status tess_ar_device_open(ar_search *search);
void tess_ar_device_close(ar_search *search);
// A pass over so many channels and splits, whose bits are set; is_resumed: sse holds tiles already.
TESS_MUST_CHECK tess_status tess_ar_device_begin(ar_search *search, int64_t n_chan, int64_t n_split,
                                                 bool is_resumed);
TESS_MUST_CHECK tess_status tess_ar_device_tiles(ar_search *search, int64_t first, int64_t n_tile,
                                                 int64_t first_chan, int64_t n_chan,
                                                 int64_t n_split);
// Squared errors of the tiles so far, to search->sse.
TESS_MUST_CHECK tess_status tess_ar_device_fetch(ar_search *search, int64_t n_chan);

// losses.c: adds the losses of n_split splits, the first of which is number first_split, for the
// channels of a group after its last tile.
TESS_MUST_CHECK tess_status tess_ar_add_losses(ar_search *search, int64_t first_chan,
                                               int64_t n_chan, int64_t first_split,
                                               int64_t n_split);
// ranks.c: the losses of a pass (its number, for all ranks the same) over channels of which each
// rank has added up its share. Only where there are several.
TESS_MUST_CHECK tess_status tess_ar_ranks_losses(ar_search *search, int64_t number,
                                                 int64_t first_chan, int64_t n_chan);
// A pass that one process began goes on with this rank's channels, from the first of them on.
void tess_ar_ranks_resume(const ar_search *search, int64_t first);
// errors.c: points of a curve of so many candidates, by what the search looks at.
int64_t tess_ar_error_points(int32_t search, int64_t n_candidate);
// Adds the losses of a split at every candidate to the replicates of a channel.
void tess_ar_errors_add(const ar_search *search, const double *losses, int64_t n_candidate,
                        int64_t split, double *disturbed);
// Of the threshold at the smallest of the objectives; NaN for one split.
double tess_ar_standard_error(const ar_search *search, const double *candidates,
                              const double *objectives, int64_t n_candidate,
                              const double *disturbed);
// choice.c: from sums to thresholds.
TESS_MUST_CHECK tess_status tess_ar_choose(ar_search *search, tess_ar_threshold_result *out);

// process.c: the smallest objective among the initial points, and the bytes compat_choice takes.
int64_t tess_ar_grid_choice(const double *objectives, int64_t n, int64_t n_initial);
size_t tess_ar_compat_bytes(int64_t n);

#endif
