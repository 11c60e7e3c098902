// The journal of a run: its checkpoint folder.
//
//   DIR/lock            held while a process works here; names its pid and host
//   DIR/spool.npy       the output so far
//   DIR/<name>.000017.ckpt   cursor, hashes of the written tiles, identity of the run
#ifndef TESS_RUNTIME_JOURNAL_H
#define TESS_RUNTIME_JOURNAL_H

#include "base/hash.h"
#include "runtime/plan.h"
#include "runtime/sink.h"

// A written range of the output and its hash: what resume verifies.
typedef struct tess_journal_tile {
    int64_t first;
    int64_t count;
    tess_hash hash;
} tess_journal_tile;

typedef struct tess_journal {
    tess_context *ctx;
    const tess_plan *plan;
    tess_hash fingerprint; // of the source
    char folder[768];
    int lock_fd;    // -1: none
    int64_t number; // of the newest checkpoint
    int64_t keep;
    int64_t n_failed; // failures in a row
    tess_journal_tile *tiles;
    int64_t n_tile;
    int64_t tile_capacity;
    char newest[1024]; // path, "" if none
} tess_journal;

// Takes the folder. With resume: *done is where to go on (0: nothing to resume) and the sink holds
// what was done; a checkpoint of another run is TESS_E_MISMATCH naming what differs. Without: an
// unfinished run's checkpoint there is TESS_E_EXISTS.
TESS_MUST_CHECK tess_status tess_journal_open(tess_context *ctx, const tess_plan *plan,
                                              tess_hash fingerprint, const char *folder, int resume,
                                              int64_t keep, tess_sink *sink, tess_journal *journal,
                                              int64_t *done);

// Remembers a range that is now in the spool. Ranges come in order.
TESS_MUST_CHECK tess_status tess_journal_note(tess_journal *journal, int64_t first, int64_t count,
                                              const void *data);

// Writes a checkpoint; meta is JSON. A failure leaves the previous one and is only reported after
// three in a row.
TESS_MUST_CHECK tess_status tess_journal_save(tess_journal *journal, tess_sink *sink,
                                              const char *meta);

// Removes what a finished run left in a folder.
TESS_MUST_CHECK tess_status tess_journal_clear(tess_context *ctx, const tess_plan *plan,
                                               const char *folder);

// The run is over and its result has its name: removes everything.
void tess_journal_finish(tess_journal *journal);
// Lets go of the folder, leaving it as it is.
void tess_journal_close(tess_journal *journal);

#endif
