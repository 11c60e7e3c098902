// Tiles of files that hold the samples as they are worked on: every thread reads the piece it works
// on next by itself, into a buffer that is still in its cache when the kernels come.
#ifndef TESS_RUNTIME_RUN_PIECES_H
#define TESS_RUNTIME_RUN_PIECES_H

#include "runtime/plan.h"

typedef struct tess_run_pieces {
    tess_context *ctx; // NULL: tiles are not read this way
    const tess_device *device;
    const tess_plan *plan;
    tess_source *source;
    tess_backend_queue **queues; // [n_thread]
    char *buffers;               // [n_thread][piece_bytes]
    size_t piece_bytes;
} tess_run_pieces;

// Items of a piece, and what the pieces of all threads take.
int64_t tess_run_piece_items(uint64_t item_bytes);
uint64_t tess_run_pieces_bytes(const tess_context *ctx, uint64_t item_bytes);

// Takes the memory where the plan says so. On failure close() is still due.
TESS_MUST_CHECK tess_status tess_run_pieces_open(tess_context *ctx, const tess_plan *plan,
                                                 tess_source *source, tess_run_pieces *out);
void tess_run_pieces_close(tess_run_pieces *pieces);

// Reads and computes items first..first+count-1; out is dense.
TESS_MUST_CHECK tess_status tess_run_pieces_compute(tess_run_pieces *pieces, int64_t first,
                                                    int64_t count, void *out);

#endif
