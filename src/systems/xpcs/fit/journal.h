// The checkpoint folder of a fit.
//
//   DIR/lock                      held while a process works here
//   DIR/tessera_xpcs_000017.ckpt  what fit this is, state of the solver, and in the middle of a
//                                 pass how far it has come and its sums so far
#ifndef TESS_XPCS_FIT_JOURNAL_H
#define TESS_XPCS_FIT_JOURNAL_H

#include "base/hash.h"
#include "runtime/checkpoint.h"
#include "systems/xpcs/pass/pass.h"

// What tells this fit from others. Plain bytes, stored as they are. Strategy, threads and chunks
// are left out: they change nothing.
typedef struct tess_xp_identity {
    char version[16];
    char backend[16];
    char settings[1024]; // options of fit and model as text
    tess_hash data;
    tess_hash vectors; // start, bounds, fixed, scales, contrasts and offsets
    int64_t hash_kind;
    int64_t state_bytes;
} tess_xp_identity;

void tess_xp_identity_make(const tess_context *ctx, const tess_xpcs_data *data,
                           const tess_xpcs_model *model, const tess_xpcs_fit_config *config,
                           size_t state_bytes, tess_xp_identity *id);
// TESS_E_MISMATCH that names what differs.
TESS_MUST_CHECK tess_status tess_xp_identity_compare(const tess_xp_identity *found,
                                                     const tess_xp_identity *own, const char *path);

typedef struct tess_xp_journal {
    tess_context *ctx;
    bool is_kept;
    bool is_found; // a checkpoint to go on from; open while true
    tess_checkpoint found;
    tess_xp_identity id;
    char folder[768];
    int lock_fd;
    int64_t number; // of the newest checkpoint
    int64_t keep;
    double every_s;
    int64_t every_iteration;
    int64_t last_iteration;
    int64_t last_save_ns;
    double save_cost_s;
    int64_t n_saved;
    int64_t n_failed; // in a row
    double saved_s;   // all in all
} tess_xp_journal;

// Takes the config's folder, if it names one, and finds the newest checkpoint that is whole. One of
// another fit: TESS_E_MISMATCH with resume 1; with 2 it is removed, with a warning. Without resume
// TESS_E_EXISTS.
TESS_MUST_CHECK tess_status tess_xp_journal_open(tess_context *ctx, const tess_xpcs_data *data,
                                                 const tess_xpcs_model *model,
                                                 const tess_xpcs_fit_config *config,
                                                 size_t state_bytes, tess_xp_journal *journal);
// Where is_found: the state, and where the checkpoint was made in the middle of a pass its sums so
// far; pass->next_leaf is 0 otherwise. Closes what was found.
TESS_MUST_CHECK tess_status tess_xp_journal_restore(tess_xp_journal *journal, void *state,
                                                    tess_xp_pass *pass);
// True when a checkpoint should be written now: by time, by iterations, because somebody asked for
// one, or because the fit is to stop.
bool tess_xp_journal_is_due(const tess_xp_journal *journal, int64_t iteration);
// Writes one. A failure leaves the previous one and is a warning: the fit is worth more.
void tess_xp_journal_save(tess_xp_journal *journal, const void *state, const tess_xp_pass *pass,
                          int64_t iteration);
// The fit is over: removes everything.
void tess_xp_journal_finish(tess_xp_journal *journal);
// Lets go of the folder, leaving it as it is. Accepts one that was never opened, zeroed.
void tess_xp_journal_close(tess_xp_journal *journal);

#endif
