// What a fit keeps to go on from (runtime/work.h):
//
//   DIR/autoreject.fit.000001.ckpt  mark, peak-to-peaks, state of the search at work, results and
//                                   notes of what is finished
//   DIR/samples.0.tiles             the rearranged samples of the group at work, where they do not
//                                   fit memory; a file for each group, so that a checkpoint never
//                                   speaks of a file that was written anew
#ifndef TESS_AUTOREJECT_FIT_STATE_H
#define TESS_AUTOREJECT_FIT_STATE_H

#include "runtime/checkpoint.h"
#include "systems/autoreject/fit/setup.h"
#include "systems/autoreject/store/store.h"

typedef enum tess_ar_fit_phase {
    TESS_AR_FIT_NEW = 0,        // nothing of the group is done
    TESS_AR_FIT_READ = 1,       // its samples lie in the file
    TESS_AR_FIT_THRESHOLDS = 2, // in the middle of them
    TESS_AR_FIT_LOCAL = 3       // thresholds are found; in the middle of the local search
} tess_ar_fit_phase;

// How far a fit has come. Plain bytes.
typedef struct tess_ar_fit_mark {
    int64_t group; // those before are finished; all are: the fit is
    int32_t phase;
    int32_t has_file; // the file of samples is complete
    int64_t tiles;    // of the search at work
    int64_t state_bytes;
    int64_t n_delta; // items of delta, as many of delta_augmented if there is one
    int64_t n_note;  // characters of the notes of finished groups
} tess_ar_fit_mark;

typedef struct tess_ar_fit_state {
    const tess_ar_setup *setup;
    tess_autoreject_model *model; // whose types are the results so far
    tess_ar_fit_mark mark;
    const tess_ar_store *store; // of the group at work; NULL: none
    const void *search;         // state of its search; NULL: none
} tess_ar_fit_state;

// Adds a tess_ar_fit_state to a checkpoint.
TESS_MUST_CHECK tess_status tess_ar_fit_state_write(void *self, tess_checkpoint_writer *writer);

// Reads the mark of one into a tess_ar_fit_state; TESS_E_FORMAT if it makes no sense.
TESS_MUST_CHECK tess_status tess_ar_fit_state_check(void *self, const tess_checkpoint *found,
                                                    const char *path);
// Results of a type from a checkpoint into the model; the loss with has_loss.
TESS_MUST_CHECK tess_status tess_ar_fit_state_restore(const tess_ar_fit_state *state,
                                                      const tess_checkpoint *found, int64_t group,
                                                      bool has_loss);
// Notes of finished groups, those of the setup before them.
TESS_MUST_CHECK tess_status tess_ar_fit_state_restore_notes(const tess_ar_fit_state *state,
                                                            const tess_checkpoint *found);

#endif
