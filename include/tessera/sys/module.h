/**
 * Modules: heavy dependencies (CUDA) live in shared objects opened on demand.
 *
 * A module is one file, <name>.so, that exports tess_module_query and one entry of its kind
 * (sys/backend.h). Everything it needs from the library arrives in tess_host, so
 * a module links nothing of ours. Modules are never unloaded.
 */
#ifndef TESSERA_SYS_MODULE_H
#define TESSERA_SYS_MODULE_H

#include "tessera/base.h"

TESS_BEGIN_DECLS

/** Raised whenever a table or struct that crosses the boundary changes. */
#define TESS_MODULE_ABI 4

/** Part block of a job that was cut into several. */
typedef tess_status (*tess_job_fn)(void *arg, int64_t block);

/** Services of the library for modules and formats. Never NULL entries. */
typedef struct tess_host {
    uint32_t struct_size;
    uint32_t abi;
    void *user; /* pass back as the first argument */
    /** Records the message for a person on this thread and returns status. */
    tess_status (*fail)(void *user, tess_status status, const char *format, ...) TESS_PRINTF(3, 4);
    /** Memory from the context's allocator, 64-byte aligned; NULL after recording a message. */
    void *(*alloc)(void *user, size_t bytes);
    void (*release)(void *user, void *ptr, size_t bytes);
    void (*log)(void *user, tess_log_level level, const char *format, ...) TESS_PRINTF(3, 4);
    uint64_t memory_limit_bytes; /* of the context */
    int32_t n_thread;            /* of the context */
    int32_t reserved;
    /** Runs job for blocks 0..n_block-1, on the context's threads where they are free, and returns
     *  when all are done. The failure of the lowest block wins; its message is on this thread. */
    tess_status (*share)(void *user, int64_t n_block, tess_job_fn job, void *arg);
} tess_host;

typedef struct tess_module_info {
    uint32_t abi; /* TESS_MODULE_ABI the module was built with */
    uint32_t reserved;
    const char *kind;       /* "backend" or "format" */
    const char *name;       /* "cuda" */
    const char *version;    /* TESS_VERSION the module was built with */
    const char *built_with; /* "CUDA 13.0, sm_90" */
} tess_module_info;

/** Exported by every module as "tess_module_query". Must work without any device or driver. */
typedef const tess_module_info *(*tess_module_query_fn)(void);

TESS_END_DECLS

#endif
