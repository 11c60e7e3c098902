// The inside of a context. Created by src/tessera.c, which knows the built-in parts.
#ifndef TESS_RUNTIME_CONTEXT_H
#define TESS_RUNTIME_CONTEXT_H

#include "base/cpu.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/span.h"
#include "runtime/errand.h"
#include "runtime/pool.h"
#include "tessera/context.h"
#include "tessera/device.h"
#include "tessera/sys/backend.h"
#include "tessera/sys/format.h"

#include <stdatomic.h>

enum { TESS_MAX_BACKENDS = 4, TESS_MAX_FORMATS = 16, TESS_MAX_ISAS = 8, TESS_MAX_GROUP = 16 };

// What is linked in.
typedef struct tess_builtins {
    const tess_backend *const *backends; // [0] is the CPU
    int32_t n_backend;
    int32_t n_format;
    const tess_format *const *formats;
} tess_builtins;

// A backend that was asked for: there, or not there for a reason.
typedef struct tess_backend_slot {
    char name[16];
    const tess_backend *table; // NULL: not there
    char why_not[512];
} tess_backend_slot;

// Memory of a device that waits for its next user.
typedef struct tess_device_kept {
    void *data;
    size_t bytes;
    tess_space space;
    uint64_t key; // of what is in it; 0: nothing
} tess_device_kept;

enum { TESS_MAX_KEPT = 24 };

// What a context may take of a device's own memory, and has taken.
typedef struct tess_device_budget {
    uint64_t limit_bytes;
    const char *origin; // static text
    _Atomic(uint64_t) used_bytes;
    _Atomic(uint64_t) kept_bytes; // of those: given back when they are needed
    pthread_mutex_t mutex;        // of what follows
    int32_t n_kept;
    tess_device_kept kept[TESS_MAX_KEPT]; // the one given last is the last
} tess_device_budget;

// An open device.
typedef struct tess_device {
    const tess_backend *backend;
    tess_backend_device *handle;
    tess_backend_queue *queue;   // for one-shot calls
    tess_backend_queue *adopted; // over the caller's stream that came last; NULL: none did
    void *adopted_stream;
    tess_device_info info;
    bool shares_host_memory;    // stages take host pointers; no copies
    int32_t member;             // among the context's devices (runtime/group.h)
    tess_device_budget *budget; // of its own; NULL: memory is the host's
} tess_device;

struct tess_context {
    tess_heap heap;
    tess_log log;
    tess_tracer tracer;
    tess_machine machine;
    tess_pool *pool;
    tess_host host;
    tess_progress_fn progress;
    void *progress_user;
    atomic_int cancelled;
    atomic_int checkpoint_wanted; // what keeps checkpoints writes one soon and clears this

    int32_t n_thread;
    const char *n_thread_origin;
    uint64_t memory_limit_bytes;
    const char *memory_limit_origin;
    bool memory_limit_is_set;          // by somebody, not derived from the machine
    char wanted_isa[16];               // "": the best
    const char *isa;                   // set by the CPU backend
    tess_isa_info isas[TESS_MAX_ISAS]; // likewise
    int32_t n_isa;
    char device_reason[192];
    bool device_is_auto; // found, not asked for
    bool is_beside;      // made by tess_context_create_beside()
    bool profile;
    char *profile_text;
    size_t profile_bytes;
    char *trace_path;
    bool trace_is_written; // by the caller, who heard of failures
    char *command_line;
    char *command; // a JSON array of words

    tess_backend_slot backends[TESS_MAX_BACKENDS];
    int32_t n_backend;
    const tess_format *formats[TESS_MAX_FORMATS];
    int32_t n_format;

    tess_device_budget device_budget;
    tess_device cpu;
    tess_device other; // handle NULL: the CPU is the device
    struct {           // a device that another thread opens
        tess_errand errand;
        tess_device device;
        char id[48];
    } opening;
    tess_device *device;      // the chosen one
    struct tess_group *group; // runtime/group.h, and others beside it; NULL: it is alone
    struct tess_comm *comm;   // runtime/comm.h; NULL: this process is alone
};

TESS_MUST_CHECK tess_status tess_context_create_with(const tess_context_config *config,
                                                     const tess_builtins *builtins,
                                                     tess_context **out);

// Another context with the same built-in parts and instruction set, for work that goes on beside
// this one's: so many threads (at least 1) and bytes of its own, and of this one's devices the one
// of that number, modulo how many there are. What it logs goes to log (NULL: nowhere) at the same
// level. Pages made with it say nothing of the run (when, on what), by
// which those of the same study would differ.
TESS_MUST_CHECK tess_status tess_context_create_beside(const tess_context *ctx, int32_t n_thread,
                                                       uint64_t memory_limit_bytes, int64_t number,
                                                       tess_log_fn log, void *log_user,
                                                       tess_context **out);

// TESS_CANCELLED once tess_context_cancel() was called.
TESS_MUST_CHECK tess_status tess_context_check_cancel(tess_context *ctx);

#endif
