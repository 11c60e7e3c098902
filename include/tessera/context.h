/** The context: threads, memory, device, log, progress and cancel of everything done with it. */
#ifndef TESSERA_CONTEXT_H
#define TESSERA_CONTEXT_H

#include "tessera/base.h"
#include "tessera/sys/allocator.h"

TESS_BEGIN_DECLS

typedef struct tess_context tess_context;

/** A snapshot given to the progress callback. Lives until the callback returns. */
typedef struct tess_progress {
    uint32_t struct_size;
    int32_t strategy;  /* tess_strategy */
    const char *stage; /* "autoreject.ptp" */
    const char *unit;  /* what done and total count: "epochs" */
    int64_t done;
    int64_t total;
    uint64_t done_bytes;   /* input bytes worked on so far */
    double elapsed_s;      /* of this run, without what a resumed run had done before */
    double remaining_s;    /* estimate; negative while unknown */
    uint64_t memory_bytes; /* heap of the context now */
    double effective;      /* sampling: independent draws that those so far are worth, of the
                              parameter with the fewest; negative: not known, or no sampling */
} tess_progress;

/** Called on the thread that called the library, at most every 50 ms and once at the end of a run.
 *  A non-zero return cancels. Work too small to watch (arrays under 8 MiB) makes no call. */
typedef int (*tess_progress_fn)(void *user, const tess_progress *progress);

/** All fields may stay as tess_context_config_init() leaves them. Strings are copied. */
typedef struct tess_context_config {
    uint32_t struct_size;
    int32_t n_thread;            /* 0: TESSERA_NUM_THREADS, OMP_NUM_THREADS,
                                    SLURM_CPUS_PER_TASK, else all cores this process may use */
    uint64_t memory_limit_bytes; /* 0: TESSERA_MEMORY_LIMIT, else 80 % of memory (cgroup aware) */
    const char *isa;             /* NULL: TESSERA_ISA, else the best this CPU has */
    const char *device;          /* NULL: TESSERA_DEVICE, "cpu"; "cuda", "cuda:0,cuda:1", "auto" */
    const tess_allocator *allocator; /* NULL: the C library's; copied */
    tess_log_fn log;                 /* NULL: silent */
    void *log_user;
    tess_progress_fn progress; /* NULL: none */
    void *progress_user;
    int32_t log_level;        /* tess_log_level; default TESS_LOG_WARNING */
    int32_t profile;          /* 1: keep span totals for tess_context_profile_text() */
    const char *trace_path;   /* non-NULL: Chrome trace written by tess_context_trace_write(), or if
                                 that is never called by tess_context_destroy() */
    const char *command_line; /* what was typed, for the provenance of outputs; NULL: none */
    const char *command;      /* the words of it that decide the result, as a JSON array, by which
                                 'tessera rerun' does it again; NULL: none */
    uint64_t device_memory_limit_bytes; /* of a GPU's own memory; 0: TESSERA_DEVICE_MEMORY_LIMIT,
                                           else what the driver has free, less a reserve */
    const char *comm;         /* NULL, "none": this process alone; "mpi": with the others of MPI's
                                 world, "mpi:HANDLE": of the communicator with that Fortran handle;
                                 "auto": as TESSERA_COMM says, else mpi where mpirun or srun
                                 started several processes. All ranks then make the same calls. */
    const void *communicator; /* with "mpi": address of an MPI_Comm; NULL: the world */
} tess_context_config;

TESS_API void tess_context_config_init(tess_context_config *config, size_t struct_size);

/** Creates a context. config may be NULL. Threads start at the first parallel call. */
TESS_API TESS_MUST_CHECK tess_status tess_context_create(const tess_context_config *config,
                                                         tess_context **out);
TESS_API void tess_context_destroy(tess_context *ctx);

/** Asks whatever runs on ctx to stop at its next tile. Safe in signal handlers and on any thread.
 *  Stays set until tess_context_cancel_clear(). */
TESS_API void tess_context_cancel(tess_context *ctx);
TESS_API void tess_context_cancel_clear(tess_context *ctx);

/** Asks a run that keeps checkpoints to write one soon and go on. Safe in signal handlers and on
 *  any thread. */
TESS_API void tess_context_checkpoint(tess_context *ctx);

/**
 * The end of a job of several ranks, which all of them reach: waits for the others. status: how
 * this rank has fared. Returns how the job has: TESS_OK if all went well, else the status and
 * message of a rank that failed, on every rank. Where the others are not to be reached within a few
 * seconds a failure is returned as it came, and tess_context_abort() ends them. With one rank
 * returns status.
 */
TESS_API tess_status tess_context_leave(tess_context *ctx, tess_status status);

/** Whether the other ranks could not be reached: they know nothing of a failure here. */
TESS_API int tess_context_is_lost(const tess_context *ctx);

/** Ends the processes of all ranks with this exit code, and does not return; with one rank does
 *  nothing. For a failure that the other ranks have not heard of. */
TESS_API void tess_context_abort(tess_context *ctx, int code);

/** What was decided at creation, and why. */
typedef struct tess_context_info {
    uint32_t struct_size;
    int32_t n_thread;
    uint64_t memory_limit_bytes;
    const char *n_thread_origin;            /* "TESSERA_NUM_THREADS", "cpu affinity" ... */
    const char *memory_limit_origin;        /* "option", "cgroup", "80 % of RAM" ... */
    const char *isa;                        /* "avx512" */
    const char *device;                     /* "cpu", "cuda:0", "cuda:0,cuda:1" */
    const char *device_reason;              /* why this one */
    uint64_t device_memory_limit_bytes;     /* of a device's own memory; 0: it has none */
    const char *device_memory_limit_origin; /* "option", "free memory less a reserve" ...; NULL */
    int32_t rank;                           /* of this process among n_rank that work together */
    int32_t n_rank;                         /* 1: alone */
    const char *comm;                       /* "Open MPI v4.1.4"; NULL: nothing connects them */
} tess_context_info;

TESS_API TESS_MUST_CHECK tess_status tess_context_get_info(const tess_context *ctx,
                                                           tess_context_info *info,
                                                           size_t struct_size);

/** Heap bytes held through the context now and at most so far. */
TESS_API void tess_context_memory(const tess_context *ctx, uint64_t *now_bytes,
                                  uint64_t *peak_bytes);

/**
 * The table of spans (calls, seconds, GB/s, GFLOP/s, share of the measured peak), as text.
 * Measures the peak first when the context was created with profile = 1. The string belongs to
 * the context. Empty when profile = 0.
 */
TESS_API TESS_MUST_CHECK tess_status tess_context_profile_text(tess_context *ctx,
                                                               const char **text);

/** Writes the trace now (and again at destroy). No-op without a trace_path. */
TESS_API TESS_MUST_CHECK tess_status tess_context_trace_write(tess_context *ctx);

TESS_END_DECLS

#endif
