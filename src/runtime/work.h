// The work of anything long: its checkpoint folder, and when and how something is kept there.
//
//   DIR/lock                     held while a process works here; names its pid and host
//   DIR/<name>.000017.ckpt       which computation this is, how far it has come, and its state
//   DIR/...                      further files of the computation, such as its output so far
//
// Every long computation goes the same way:
//
//   tess_work_open(ctx, &config, &id, &work)        takes the folder; work.is_found: go on
//   ... tess_work_is_due(&work, false)              between two steps
//         tess_work_save(&work, 0.43, write, self)  state that a later process can go on from
//   ... the result gets its name ...
//   tess_work_end(&work)                            only then: removes the checkpoints
//   tess_work_close(&work)                          whatever happened
//
// A checkpoint is due by time, by SIGUSR1 and when the run is to stop. One that cannot be written
// is a warning: the one before stands, and the computation is worth more than its checkpoint.
#ifndef TESS_RUNTIME_WORK_H
#define TESS_RUNTIME_WORK_H

#include "runtime/checkpoint.h"
#include "runtime/identity.h"

typedef struct tess_work_config {
    const char *name;   // "decode.predict": of the checkpoints; static
    const char *what;   // "run", "fit": in messages; static
    const char *folder; // NULL: nothing is kept, and every call is free
    int32_t resume; // 0: a checkpoint there is TESS_E_EXISTS; 1: go on with it; 2: the same, but
                    // one of another computation is removed, with a warning
    double every_s; // between checkpoints; 0: whenever there is a chance
    int64_t keep;   // newest checkpoints that stay; 1 where files beside them are overwritten: a
                    // new one then takes the name of the old
    bool is_of_one; // one rank works here; the others do not open it
    const char *const *files; // names of further files in the folder, NULL at the end; static
    // Whether a checkpoint of this computation makes sense; TESS_E_FORMAT: the one before is tried,
    // and after the last the work begins afresh unless it has further files. May be NULL.
    tess_status (*check)(void *self, const tess_checkpoint *found, const char *path);
    void *self;
} tess_work_config;

typedef struct tess_work {
    tess_context *ctx;
    tess_work_config config; // folder is not used after opening
    const tess_identity *id;
    char folder[768];
    char newest[1024]; // path of the newest checkpoint, "" if there is none
    int lock_fd;       // -1: nothing is kept
    int64_t number;    // of the newest checkpoint
    bool is_found;     // there is one to go on from, in found
    tess_checkpoint found;
    int64_t last_save_ns;
    double save_cost_s; // of the last one
    int64_t n_saved;
    double saved_s;   // all in all
    int64_t n_failed; // in a row
} tess_work;

// id is borrowed until the work is closed. A checkpoint of another computation is TESS_E_MISMATCH
// naming what differs.
TESS_MUST_CHECK tess_status tess_work_open(tess_context *ctx, const tess_work_config *config,
                                           const tess_identity *id, tess_work *work);

static inline bool tess_work_is_kept(const tess_work *work)
{
    return work->lock_fd >= 0;
}

// Path of a further file of the folder. It is ours to write: what bears its name and is a link or
// no plain file is refused by tess_work_open().
void tess_work_path(const tess_work *work, const char *name, char path[1024]);

// True when a checkpoint should be written now. is_milestone: one is worth while though its time
// has not yet come. Never more than one hundredth of the time goes into checkpoints.
bool tess_work_is_due(tess_work *work, bool is_milestone);

// Adds the state of the computation by tess_checkpoint_add(); names "meta", "identity", "done" and
// "files" are taken. What the state speaks of must be on the disk before.
typedef tess_status (*tess_work_write_fn)(void *self, tess_checkpoint_writer *writer);

// done: 0 to 1, how much of the whole.
void tess_work_save(tess_work *work, double done, tess_work_write_fn write, void *self);

// What was found is of no more use: its memory is given back.
void tess_work_forget(tess_work *work);

// The result has its name: removes everything. The folder stays if the user keeps other things
// there.
void tess_work_end(tess_work *work);

// Lets go of the folder, leaving it as it is. Accepts a zeroed one.
void tess_work_close(tess_work *work);

// Whether what has this path is already the complete result of the computation, as its provenance
// says: left by a run that was killed after naming it. Then what else that run may have left, in
// folder (may be NULL) too, is removed. Asked before the work is opened.
TESS_MUST_CHECK tess_status tess_work_is_finished(tess_context *ctx, const tess_identity *id,
                                                  const char *path, const char *folder,
                                                  int *finished);

#endif
