// The tile pipeline: a reader fills tile k+1 while tile k is computed and tile k-1 is written.
//
// Three threads, one slot each in flight; the caller's thread computes. Which thread did what never
// shows in a result: every step gets its tile number, and steps of one kind run in tile order.
#ifndef TESS_RUNTIME_PIPELINE_H
#define TESS_RUNTIME_PIPELINE_H

#include "tessera/base.h"

typedef struct tess_pipeline {
    void *self;
    int64_t n_tile;
    int32_t n_slot;
    // Each handles tile t in slot t % n_slot. read and write run on threads of their own.
    tess_status (*read)(void *self, int64_t tile, int32_t slot);
    tess_status (*compute)(void *self, int64_t tile, int32_t slot);
    tess_status (*write)(void *self, int64_t tile, int32_t slot);
    // Before each tile, on the caller's thread; anything but TESS_OK stops: what was computed is
    // still written.
    tess_status (*poll)(void *self, int64_t tile);
    int64_t read_wait_ns; // out: the caller's thread waited for input
} tess_pipeline;

// Returns the first failure of the lowest tile; TESS_CANCELLED if poll said so.
TESS_MUST_CHECK tess_status tess_pipeline_run(tess_pipeline *pipeline);

#endif
