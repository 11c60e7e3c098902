// Plans: tiles within a budget. A system fills in what one tile does.
#ifndef TESS_RUNTIME_PLAN_H
#define TESS_RUNTIME_PLAN_H

#include "runtime/context.h"
#include "tessera/run.h"

// One tile, ready to be computed. Pointers are reachable by the plan's device.
typedef struct tess_tile {
    int64_t first; // first item
    int64_t count;
    tess_array in;       // [count][...]; data NULL when the plan has no source
    void *out;           // dense [count][...] of the plan's output
    tess_device *device; // in the tile's own queue
} tess_tile;

typedef struct tess_plan_ops {
    const char *name;      // "autoreject.ptp": section, checkpoint and span name
    const char *unit;      // what an item is: "epochs"
    const int32_t *stages; // it is made of, NULL: code of its own, on the CPU
    int64_t n_stage;
    // Puts the tile's stages into its device's queue.
    tess_status (*compute)(const tess_plan *plan, tess_context *ctx, const tess_tile *tile);
    // After the tile is in host memory, on the writer's thread, before it is written. May be NULL.
    tess_status (*inspect)(const tess_plan *plan, tess_context *ctx, int64_t first, int64_t count,
                           const void *out);
} tess_plan_ops;

enum { TESS_PLAN_SYSTEM_BYTES = 256, TESS_SETTINGS_BYTES = 512 };

struct tess_plan {
    tess_heap *heap;
    tess_plan_info info;
    const tess_plan_ops *ops;
    bool is_on_cpu; // whatever the context's device is
    tess_array in;  // shape and dtype of the whole input; rank 0 and dtype 0 without a source
    tess_array out; // shape and dtype of the whole output
    uint64_t in_item_bytes; // of one item of the first axis
    uint64_t out_item_bytes;
    bool has_pieces; // threads read what they work on (run_pieces.h): tiles have no input of their
                     // own
    char settings[TESS_SETTINGS_BYTES]; // "nonfinite=propagate": what changes the answer
    const tess_param_table *table;      // of the settings; NULL: there are none
    union {                             // the system's own constants
        unsigned char bytes[TESS_PLAN_SYSTEM_BYTES];
        int64_t align;
    } system;
};

// What the planner needs to know.
typedef struct tess_plan_request {
    const tess_plan_ops *ops;
    const tess_source *source; // NULL: the tiles are made from nothing (simulation)
    tess_array out;            // shape and dtype of the whole output; out.shape[0] = items
    int64_t items_per_tile;    // 0: choose
    uint64_t fixed_bytes;      // held during the whole run besides tiles
} tess_plan_request;

// Chooses strategy and tiles. TESS_E_LIMIT names the smallest limit that would do.
TESS_MUST_CHECK tess_status tess_plan_create(tess_context *ctx, const tess_plan_request *request,
                                             tess_plan **out);

// Where the tiles are computed.
static inline tess_device *tess_plan_device(const tess_plan *plan, tess_context *ctx)
{
    return plan->is_on_cpu ? &ctx->cpu : ctx->device;
}

// Writes the settings of a config struct into the plan, for checkpoints and provenance. Parameters
// listed in skip ("|tile_epochs|") change no result and are left out.
void tess_plan_set_settings(tess_plan *plan, const tess_param_table *table, const void *config,
                            const char *skip);

#endif
