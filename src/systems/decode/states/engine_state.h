// An engine's state in a checkpoint.
//
// It holds the predicted vector at the first row of every finished chunk, from which the chunk can
// be filtered again. On the way back filtered rows may be replaced by smoothed ones in place; the
// hash of every chunk's filtered rows tells a later process which chunks have been replaced since
// the checkpoint, wholly or in part, and those it makes again. So whatever instant the process dies
// at, going on gives the same bits.
#ifndef TESS_SYSTEMS_DECODE_ENGINE_STATE_H
#define TESS_SYSTEMS_DECODE_ENGINE_STATE_H

#include "runtime/checkpoint.h"
#include "systems/decode/states/engine.h"

typedef struct tess_de_mark {
    tess_de_position at;
    int64_t chunk_rows;
    int64_t n_chunk;
    double log_evidence;
    int64_t n_row;
    int64_t n_impossible;
    int64_t first_impossible;
    int64_t path_at;
    tess_decode_likelihood_report report;
} tess_de_mark;

// Of an engine that is_checked. Names "mark", "predict", "next", "bounds", "hashes", "sequence" and
// "ends" are taken.
TESS_MUST_CHECK tess_status tess_de_engine_write(const tess_de_engine *engine,
                                                 tess_checkpoint_writer *writer);

// How far the earlier engine was; TESS_E_FORMAT if that makes no sense for n_time rows.
TESS_MUST_CHECK tess_status tess_de_mark_read(const tess_checkpoint *found, const char *path,
                                              int64_t n_time, tess_de_mark *mark);
// Into an engine made with the mark's chunk_rows.
TESS_MUST_CHECK tess_status tess_de_engine_restore(tess_de_engine *engine,
                                                   const tess_checkpoint *found,
                                                   const tess_de_mark *mark);

#endif
