// Which ranges of a run's output are in its spool, with a hash of each: what a resume verifies.
#ifndef TESS_RUNTIME_RUN_TILES_H
#define TESS_RUNTIME_RUN_TILES_H

#include "base/hash.h"
#include "runtime/checkpoint.h"
#include "runtime/plan.h"
#include "runtime/spool.h"

typedef struct tess_run_tile {
    int64_t first;
    int64_t count;
    tess_hash hash;
} tess_run_tile;

typedef struct tess_run_tiles {
    tess_heap *heap;
    tess_run_tile *tiles;
    int64_t n;
    int64_t capacity;
} tess_run_tiles;

void tess_run_tiles_init(tess_run_tiles *tiles, tess_heap *heap);
void tess_run_tiles_free(tess_run_tiles *tiles);

// Remembers a range that is now in the spool. Ranges come in order.
TESS_MUST_CHECK tess_status tess_run_tiles_note(tess_run_tiles *tiles, int64_t first, int64_t count,
                                                const void *data, uint64_t item_bytes);
// The first item that is not in the spool.
int64_t tess_run_tiles_end(const tess_run_tiles *tiles);

TESS_MUST_CHECK tess_status tess_run_tiles_save(const tess_run_tiles *tiles,
                                                tess_checkpoint_writer *writer);
// Takes over a checkpoint's list; TESS_E_FORMAT if it is not one of n_item items in order.
TESS_MUST_CHECK tess_status tess_run_tiles_load(tess_run_tiles *tiles,
                                                const tess_checkpoint *checkpoint, int64_t n_item,
                                                const char *path);
// Every range must be in the spool unchanged: TESS_E_MISMATCH.
TESS_MUST_CHECK tess_status tess_run_tiles_verify(const tess_run_tiles *tiles,
                                                  const tess_spool *spool);

#endif
