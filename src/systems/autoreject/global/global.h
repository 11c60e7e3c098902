// The global objective: what its files share.
#ifndef TESS_AUTOREJECT_GLOBAL_H
#define TESS_AUTOREJECT_GLOBAL_H

#include "runtime/watch.h"
#include "systems/autoreject/store/store.h"
#include "tessera/autoreject/global.h"

// Squared errors of every fold when its training part keeps its 1, 2, ... smallest epochs.
typedef struct global_curves {
    tess_context *ctx;
    int64_t n_epoch;
    int64_t n_fold;
    int64_t n_value; // of an epoch: channels times samples
    double *peaks;   // [n_epoch] largest peak-to-peak of an epoch's channels, ascending
    int32_t *order;  // [n_epoch] the epochs in that order
    uint8_t *folds;  // [n_fold][n_epoch] in that order: 1 trains, 2 tests
    int64_t *first;  // [n_fold + 1] where a fold begins in test and train
    double *inverse; // [n_epoch]
    int64_t n_group; // of channels, each with errors of its own until they are added
    double *test;    // [n_group][first[n_fold]]; [0] is their sum in the end
    double *train;   // likewise; NULL: not wanted
    void *memory;    // all of them
    size_t memory_bytes;
} global_curves;

typedef struct global_request {
    tess_device *device; // of tess_ar_global_device()
    tess_autoreject_epochs *epochs;
    const int64_t *channels;
    int64_t n_chan;
    int64_t decim;
    const uint8_t *folds; // [n_fold][n_epoch]
    int64_t n_fold;
    bool want_train;
} global_request;

// curves.c
TESS_MUST_CHECK tess_status tess_ar_global_curves(tess_context *ctx, const global_request *request,
                                                  global_curves *out);
void tess_ar_global_release(global_curves *curves);
// Loss of a fold that keeps its n_kept smallest training epochs; infinity for none. errors:
// curves->test or train.
double tess_ar_global_loss(const global_curves *curves, const double *errors, int64_t fold,
                           int64_t n_kept);

// device.c: adds the errors of all tiles on a device with memory of its own.
TESS_MUST_CHECK tess_status tess_ar_global_tiles_there(tess_ar_store *store, global_curves *curves,
                                                       tess_watch *progress);

// check.c
// what: for messages.
TESS_MUST_CHECK tess_status tess_ar_global_device(tess_context *ctx, const char *what,
                                                  tess_device **device);
TESS_MUST_CHECK tess_status tess_ar_global_check(const tess_autoreject_epochs *epochs,
                                                 const int64_t *channels, int64_t n_channel,
                                                 const tess_autoreject_global_config *given,
                                                 tess_autoreject_global_config *config);
TESS_MUST_CHECK tess_status tess_ar_global_check_folds(const uint8_t *folds, int64_t n_fold,
                                                       int64_t n_epoch);
TESS_MUST_CHECK tess_status tess_ar_global_check_thresholds(const double *thresholds,
                                                            int64_t n_threshold);

// decimate.c: every decim-th sample of other epochs, which must outlive it.
TESS_MUST_CHECK tess_status tess_ar_decimate(tess_context *ctx, tess_autoreject_epochs *epochs,
                                             int64_t decim, tess_autoreject_epochs **out);

#endif
