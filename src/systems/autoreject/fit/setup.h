// What a fit works with, checked before anything is computed.
#ifndef TESS_AUTOREJECT_FIT_SETUP_H
#define TESS_AUTOREJECT_FIT_SETUP_H

#include "systems/autoreject/result/model.h"

typedef struct tess_ar_setup {
    tess_context *ctx;
    tess_device *device;
    tess_autoreject_epochs *epochs;
    tess_autoreject_fit_config config;
    bool thresholds_only;
    tess_blocks memory;
    int64_t *channels; // [n_pick] of all groups, one after another
    int64_t *picks;    // [n_pick] ascending
    int64_t n_pick;
    tess_ar_group groups[TESS_AUTOREJECT_N_SOLVABLE];
    int64_t n_group;
    double *consensus;
    int64_t n_consensus;
    int64_t *n_interpolate;
    int64_t n_n_interpolate;
    uint8_t *folds; // [n_fold][n_epoch]
    int64_t n_fold;
} tess_ar_setup;

// Reads config (NULL: defaults) and checks everything. Notes go to the model, which may be NULL.
TESS_MUST_CHECK tess_status tess_ar_setup_make(tess_context *ctx, tess_autoreject_epochs *epochs,
                                               const tess_autoreject_fit_config *config,
                                               bool thresholds_only, tess_autoreject_model *model,
                                               tess_ar_setup *setup);
void tess_ar_setup_free(tess_ar_setup *setup);

// True if the channels of a group can be predicted from each other.
bool tess_ar_setup_predicts(const tess_ar_group *group);
// True if its threshold search has rows beside those of the epochs.
bool tess_ar_setup_is_augmented(const tess_ar_setup *setup, const tess_ar_group *group);

// How a group is held within the memory limit.
typedef struct tess_ar_memory_plan {
    bool is_file;           // the rearranged samples lie in a scratch file
    bool keeps_predictions; // of every channel from the others: as many bytes again
    uint64_t sample_bytes;  // of the samples
    uint64_t store_bytes;   // what the store may hold, buffers of its pass included
    uint64_t search_bytes;  // what a search may hold beside it
    uint64_t least_bytes;   // the smallest limit that would do
    uint64_t used_bytes;    // what is expected to be held at most
} tess_ar_memory_plan;

// TESS_E_LIMIT naming the smallest limit.
TESS_MUST_CHECK tess_status tess_ar_plan_memory(const tess_ar_setup *setup, int64_t group,
                                                tess_ar_memory_plan *plan);

// Sentences about samples that a person should know of: scale, flat channels.
void tess_ar_note_samples(const tess_ar_setup *setup, int64_t group, const double *delta,
                          tess_autoreject_model *model);

#endif
