/** Plans and runs: how a long computation is cut into tiles, watched, stopped and resumed. */
#ifndef TESSERA_RUN_H
#define TESSERA_RUN_H

#include "tessera/context.h"
#include "tessera/io.h"
#include "tessera/param.h"

TESS_BEGIN_DECLS

/** How the data meet the memory budget. Names are shared by all systems. */
typedef enum tess_strategy {
    TESS_STRATEGY_STANDARD = 0, /* everything at once: one tile */
    TESS_STRATEGY_LARGE = 1,    /* everything fits the budget, cut into tiles */
    TESS_STRATEGY_CHUNKED = 2,  /* input larger than the budget, read piece by piece */
    TESS_STRATEGY_STREAMING = 3 /* read through buffers, constant memory */
} tess_strategy;

/** "STANDARD" and so on. */
TESS_API const char *tess_strategy_name(tess_strategy strategy);

/** What a plan decided. */
typedef struct tess_plan_info {
    uint32_t struct_size;
    int32_t strategy; /* tess_strategy */
    int64_t n_item;   /* items of the first axis */
    int64_t items_per_tile;
    int64_t n_tile;
    int64_t n_slot;        /* tiles in flight: read, compute, write */
    uint64_t tile_bytes;   /* input bytes of a whole tile */
    uint64_t memory_bytes; /* everything the run will hold, process overhead included */
    uint64_t limit_bytes;
    char reason[192]; /* "4.00 GiB of input exceed the 256.0 MiB limit; ..." */
} tess_plan_info;

/** Immutable answer to "how", for given shapes, budget and settings. Shareable between threads. */
typedef struct tess_plan tess_plan;

/** Lives with the plan. */
TESS_API const tess_plan_info *tess_plan_get_info(const tess_plan *plan);
TESS_API void tess_plan_destroy(tess_plan *plan);

/** A plan bound to a context, a source and a sink. One caller at a time. */
typedef struct tess_run tess_run;

typedef struct tess_run_config {
    uint32_t struct_size;
    int32_t resume;             /* 1: continue from checkpoint_dir if it holds this run's
                                   checkpoint; start afresh if it holds none */
    const char *checkpoint_dir; /* NULL: no checkpoints; created if missing */
    double checkpoint_every_s;  /* default 60; 0: after every tile */
    int64_t keep_checkpoints;   /* newest kept; default 2 */
    const char *command_line;   /* for provenance; NULL: the context's */
} tess_run_config;

TESS_API void tess_run_config_init(tess_run_config *config, size_t struct_size);

/** plan, source and sink are borrowed until destroy; config may be NULL and is copied. */
TESS_API TESS_MUST_CHECK tess_status tess_run_create(tess_context *ctx, const tess_plan *plan,
                                                     tess_source *source, tess_sink *sink,
                                                     const tess_run_config *config, tess_run **out);

/**
 * Runs to the end and commits the sink. TESS_CANCELLED after tess_context_cancel() or a callback
 * that said stop: finished tiles are in the checkpoint, if there is one.
 */
TESS_API TESS_MUST_CHECK tess_status tess_run_execute(tess_run *run);

/**
 * Whether the file at path is already the complete result of this very computation: same input,
 * settings and version, as its provenance says. Then what a killed run may have left in
 * checkpoint_dir (may be NULL) is removed. For callers that resume and find the output there.
 */
TESS_API TESS_MUST_CHECK tess_status tess_run_is_finished(tess_context *ctx, const tess_plan *plan,
                                                          tess_source *source, const char *path,
                                                          const char *checkpoint_dir,
                                                          int *finished);

typedef struct tess_run_report {
    uint32_t struct_size;
    int32_t resumed;    /* 1: started from a checkpoint */
    int64_t first_item; /* where this execution began */
    int64_t items_done; /* finished in all, earlier executions included */
    double elapsed_s;
    double read_wait_s; /* compute waited for input */
    uint64_t peak_heap_bytes;
    int64_t n_checkpoint;       /* written by this execution */
    double checkpoint_s;        /* time spent writing them */
    char checkpoint_path[1024]; /* newest one, "" if none */
} tess_run_report;

TESS_API TESS_MUST_CHECK tess_status tess_run_get_report(const tess_run *run,
                                                         tess_run_report *report,
                                                         size_t struct_size);

/** Provenance of the run as JSON; the string belongs to the run. Never NULL. Not while it
 *  executes. */
TESS_API const char *tess_run_provenance(const tess_run *run);
TESS_API void tess_run_destroy(tess_run *run);

/** What a checkpoint file says of itself, as JSON for tess_text_free(); checks every checksum. */
TESS_API TESS_MUST_CHECK tess_status tess_checkpoint_describe(tess_context *ctx, const char *path,
                                                              char **text);

/**
 * Removes the checkpoints in a folder and what lies there with them: for callers that asked a
 * computation to leave them (keep_finished) until its results were written. TESS_E_LOCKED while a
 * run is at work there. The folder itself goes too unless other files are in it.
 */
TESS_API TESS_MUST_CHECK tess_status tess_checkpoint_clear(tess_context *ctx, const char *folder);

TESS_END_DECLS

#endif
