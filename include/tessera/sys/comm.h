/**
 * Several processes that work on one job: what a module that connects them provides.
 *
 * The module tessera-comm-mpi exports tess_module_query with kind "comm", and tess_comm_entry. All
 * ranks make the same calls in the same order, each from one thread at a time.
 */
#ifndef TESSERA_SYS_COMM_H
#define TESSERA_SYS_COMM_H

#include "tessera/context.h"
#include "tessera/sys/module.h"

TESS_BEGIN_DECLS

/** The module's own; one of every context that works with others. */
typedef struct tess_comm_group tess_comm_group;

/** Whom to join. */
typedef struct tess_comm_start {
    uint32_t struct_size;
    int32_t has_fortran;      /* 1: fortran is a handle, as mpi4py's py2f() gives it */
    int64_t fortran;          /* MPI_Fint */
    const void *communicator; /* address of an MPI_Comm, where has_fortran is 0; NULL: the world,
                                 and MPI is started unless somebody has */
} tess_comm_start;

/** Who this process is among the others. */
typedef struct tess_comm_place {
    uint32_t struct_size;
    int32_t rank;
    int32_t n_rank;
    int32_t n_node_rank; /* ranks on this machine, this one among them */
    char library[112];   /* "Open MPI v4.1.4" */
    int32_t node_rank;   /* of this one among those of its machine */
    int32_t reserved;
} tess_comm_place;

typedef struct tess_comm_module {
    uint32_t struct_size;
    uint32_t abi;
    const char *name; /* "mpi" */
    TESS_MUST_CHECK tess_status (*join)(const tess_host *host, const tess_comm_start *start,
                                        tess_comm_place *place, tess_comm_group **out);
    /** All ranks together. MPI itself ends with the process. */
    void (*leave)(tess_comm_group *group);
    /** bytes of every rank, in their order. Waits at most patience_s (negative: for ever) and then
     *  returns TESS_CANCELLED: nothing but abort() may follow. */
    TESS_MUST_CHECK tess_status (*all_gather)(tess_comm_group *group, const void *mine, void *all,
                                              size_t bytes, double patience_s);
    /** The same with bytes[rank] of each. */
    TESS_MUST_CHECK tess_status (*all_gather_v)(tess_comm_group *group, const void *mine, void *all,
                                                const uint64_t *bytes);
    TESS_MUST_CHECK tess_status (*broadcast)(tess_comm_group *group, void *data, uint64_t bytes,
                                             int32_t root);
    /** Ends the processes of the whole job with this exit code. Does not return. */
    void (*abort)(tess_comm_group *group, int code);
    /** As all_gather_v(), but all is of rank 0 alone, which has its own part there; NULL on the
     *  others. */
    TESS_MUST_CHECK tess_status (*gather_v)(tess_comm_group *group, const void *mine, void *all,
                                            const uint64_t *bytes);
} tess_comm_module;

/** Exported by every such module as "tess_comm_entry". */
typedef const tess_comm_module *(*tess_comm_entry_fn)(void);

/**
 * What the environment says of this process: *rank and *n_rank as mpirun, srun and others set them
 * (n_rank 0: started by one of them, which does not say of how many). Returns the name of the
 * variable that said so; NULL: started alone, or TESSERA_COMM=none says to take it so, and *n_rank
 * is 1.
 */
TESS_API const char *tess_comm_launch(int32_t *rank, int32_t *n_rank);

/** As tess_context_leave(), for a failure of the caller's own, of which tess_last_error() knows
 *  nothing: message (UTF-8) is what the other ranks hear. */
TESS_API tess_status tess_context_leave_with(tess_context *ctx, tess_status status,
                                             const char *message);

TESS_END_DECLS

#endif
