// The checkpoint folder of a streamed prediction.
//
//   DIR/lock                        held while a process works here
//   DIR/decode.predict.000001.ckpt  how far it got, replaced atomically
//   DIR/partial.h5 or DIR/partial   the result so far
//   DIR/filtered.rows               filtered rows, where the result has no room for them
//
// The checkpoint holds the predicted vector at the first row of every finished chunk. Rows of the
// result are durable before a checkpoint speaks of them. On the way back filtered rows are replaced
// by smoothed ones in place; the hash of every chunk's filtered rows tells a later process which
// chunks have been replaced since the checkpoint, wholly or in part, and those it filters again
// from their vector. So whatever instant the process dies at, going on gives the same bytes.
#ifndef TESS_SYSTEMS_DECODE_STREAM_JOURNAL_H
#define TESS_SYSTEMS_DECODE_STREAM_JOURNAL_H

#include "systems/decode/stream/result.h"
#include "systems/decode/stream/stream_identity.h"

typedef struct tess_de_mark {
    int64_t is_backward;
    int64_t chunk; // next to do
    int64_t chunk_rows;
    int64_t n_chunk;
    int64_t n_item; // data sets of the result
    double log_evidence;
    int64_t n_row;
    int64_t n_impossible;
    int64_t first_impossible;
    tess_decode_likelihood_report report;
} tess_de_mark;

typedef struct tess_de_journal {
    tess_context *ctx;
    int lock_fd; // -1: there is no checkpoint folder
    char folder[768];
    char path[1024]; // of the checkpoint
    int is_found;    // an earlier run's checkpoint is there
    tess_de_mark mark;
} tess_de_journal;

// Takes the folder and reads how far an earlier run got. TESS_E_MISMATCH if it is another
// computation's, TESS_E_EXISTS if one is there and resume is not set.
TESS_MUST_CHECK tess_status tess_de_journal_open(tess_context *ctx, const char *folder,
                                                 const tess_de_identity *id, int resume,
                                                 tess_de_journal *journal);
// The vectors and hashes of the earlier run into the engine, offsets of the result's data sets.
TESS_MUST_CHECK tess_status tess_de_journal_restore(const tess_de_journal *journal,
                                                    tess_de_engine *engine, uint64_t *offsets,
                                                    int64_t n_item);
// The result must be durable already. meta is JSON.
TESS_MUST_CHECK tess_status tess_de_journal_save(tess_de_journal *journal,
                                                 const tess_de_identity *id,
                                                 const tess_de_mark *mark,
                                                 const tess_de_engine *engine,
                                                 const tess_de_result *result, const char *meta);
// The result has its name: nothing is needed any more.
void tess_de_journal_finish(tess_de_journal *journal);
void tess_de_journal_close(tess_de_journal *journal);

#endif
