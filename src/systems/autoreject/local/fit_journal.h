// The checkpoint folder of a fit.
//
//   DIR/lock                        held while a process works here
//   DIR/samples.tiles               the rearranged samples of the group at work, where they do not
//                                   fit memory
//   DIR/autoreject.fit.000001.ckpt  identity, mark, peak-to-peaks, state of the search at work,
//                                   results of what is finished
#ifndef TESS_AUTOREJECT_LOCAL_FIT_JOURNAL_H
#define TESS_AUTOREJECT_LOCAL_FIT_JOURNAL_H

#include "base/hash.h"
#include "runtime/checkpoint.h"
#include "systems/autoreject/local/setup.h"
#include "systems/autoreject/store/store.h"

// Plain bytes, stored as they are.
typedef struct tess_ar_fit_identity {
    char version[16];
    char backend[16];
    char settings[256];
    tess_hash samples;
    tess_hash sensors;
    tess_hash grids;
    tess_hash folds;
    int64_t n_epoch;
    int64_t n_pick;
    int64_t n_time;
    int64_t hash_kind;
} tess_ar_fit_identity;

typedef enum tess_ar_fit_phase {
    TESS_AR_FIT_NEW = 0,        // nothing of the group is done
    TESS_AR_FIT_READ = 1,       // its samples lie in the file
    TESS_AR_FIT_THRESHOLDS = 2, // in the middle of them
    TESS_AR_FIT_LOCAL = 3       // thresholds are found; in the middle of the local search
} tess_ar_fit_phase;

// How far a fit has come. Plain bytes.
typedef struct tess_ar_fit_mark {
    int64_t group; // those before are finished
    int32_t phase;
    int32_t has_file; // samples.tiles is complete
    int64_t tiles;    // of the search at work
    int64_t state_bytes;
    int64_t n_delta; // items of delta, as many of delta_augmented if there is one
    int64_t has_augmented;
} tess_ar_fit_mark;

typedef struct tess_ar_fit_journal {
    tess_context *ctx;
    const tess_ar_setup *setup;
    const tess_autoreject_model *model; // whose types are the results so far
    bool is_kept;
    char folder[768];
    char path[1024];
    char samples_path[1024];
    int lock_fd;
    tess_ar_fit_identity id;
    bool is_found;
    tess_checkpoint found; // open while is_found
    tess_ar_fit_mark mark; // of it
    int64_t last_save_ns;
    double save_cost_s;
    int64_t n_failed;
} tess_ar_fit_journal;

// Takes the folder of the setup's config, if it has one. What is found there is of this very fit:
// TESS_E_MISMATCH naming what differs, TESS_E_EXISTS without resume.
TESS_MUST_CHECK tess_status tess_ar_fit_journal_open(tess_context *ctx, const tess_ar_setup *setup,
                                                     const tess_autoreject_model *model,
                                                     tess_ar_fit_journal *journal);
// Results of a type from what was found into the model; the loss with has_loss.
TESS_MUST_CHECK tess_status tess_ar_fit_journal_restore(tess_ar_fit_journal *journal, int64_t group,
                                                        bool has_loss,
                                                        tess_autoreject_model *model);
// True when a checkpoint should be written now: by time, or because the run is to stop.
bool tess_ar_fit_journal_is_due(const tess_ar_fit_journal *journal);
// Writes one. state may be NULL; store NULL: none at work. A failure is an error only the third
// time in a row.
TESS_MUST_CHECK tess_status tess_ar_fit_journal_save(tess_ar_fit_journal *journal,
                                                     tess_ar_fit_mark mark,
                                                     const tess_ar_store *store, const void *state);
// What was found is of no more use.
void tess_ar_fit_journal_forget(tess_ar_fit_journal *journal);
// The fit is over: removes everything.
void tess_ar_fit_journal_finish(tess_ar_fit_journal *journal);
// Lets go of the folder, leaving it as it is.
void tess_ar_fit_journal_close(tess_ar_fit_journal *journal);

#endif
