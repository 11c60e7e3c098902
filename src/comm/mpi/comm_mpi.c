// The module tessera-comm-mpi: bytes between the ranks of a job, by MPI.
//
// It sees the public headers alone, so that it can be built against any MPI without the rest. All
// waiting is by requests that are tested: who waits long sleeps, and leaves the core to ranks and
// threads that compute.
#include "tessera/sys/comm.h"

#include <mpi.h>

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct tess_comm_group {
    const tess_host *host;
    MPI_Comm comm;
    int32_t rank;
    int32_t n_rank;
};

// Of one message; MPI counts with int.
static const uint64_t MOST_BYTES = (uint64_t)1 << 30;
// Answers within this time are waited for without sleeping.
static const double EAGER_S = 1e-3;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static tess_status explain(const tess_host *host, int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return host->fail(host->user, TESS_E_IO, "MPI cannot %s: %.400s", what, text);
}

static tess_status wait_for(const tess_comm_group *group, MPI_Request *request, double patience_s)
{
    const double begin_s = now_s();
    for (;;) {
        int is_done = 0;
        const int code = MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) {
            return explain(group->host, code, "exchange bytes between ranks");
        }
        if (is_done) {
            return TESS_OK;
        }
        const double waited_s = now_s() - begin_s;
        if (patience_s >= 0 && waited_s > patience_s) {
            return TESS_CANCELLED;
        }
        if (waited_s < EAGER_S) {
            sched_yield();
        } else {
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        }
    }
}

// ---- Joining ----------------------------------------------------------------------------------

static void end_mpi(void)
{
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (!is_over) {
        MPI_Finalize();
    }
}

// The library's name up to its first comma or line.
static void name_library(char *out, size_t capacity)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    snprintf(out, capacity, "%.*s", (int)strcspn(text, ",\n"), text);
}

// Handles of one MPI mean nothing to another: who has a communicator has started its MPI.
static tess_status check_library(const tess_host *host, const tess_comm_start *start,
                                 int is_started)
{
    char library[112];
    name_library(library, sizeof library);
#ifdef OPEN_MPI
    if (!strstr(library, "Open MPI")) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "comm: this process has %s, but tessera-comm-mpi was built for Open MPI; "
                          "build it with the mpicc of that MPI",
                          library);
    }
#endif
    if (!is_started && (start->has_fortran || start->communicator)) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "comm: a communicator is given, but %s, which tessera-comm-mpi uses, was "
                          "not started: the communicator is of another MPI library. Build mpi4py "
                          "(or your program) and tessera-comm-mpi with one mpicc",
                          library);
    }
    return TESS_OK;
}

// MPI ends with the process if it was started here; who started it before ends it himself.
static tess_status start_mpi(const tess_host *host, const tess_comm_start *start)
{
    int is_started = 0;
    int is_over = 0;
    int level = 0;
    MPI_Initialized(&is_started);
    MPI_Finalized(&is_over);
    if (is_over) {
        return host->fail(host->user, TESS_E_UNSUPPORTED,
                          "MPI was ended in this process and cannot be started again");
    }
    const tess_status fits = check_library(host, start, is_started);
    if (fits != TESS_OK || is_started) {
        return fits;
    }
    const int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    if (code != MPI_SUCCESS) {
        return explain(host, code, "start");
    }
    atexit(end_mpi);
    return TESS_OK;
}

static MPI_Comm comm_of(const tess_comm_start *start)
{
    if (start->has_fortran) {
        return MPI_Comm_f2c((MPI_Fint)start->fortran);
    }
    return start->communicator ? *(const MPI_Comm *)start->communicator : MPI_COMM_WORLD;
}

static tess_status find_place(const tess_comm_group *group, tess_comm_place *place)
{
    MPI_Comm node = MPI_COMM_NULL;
    int n_node = 1;
    int node_rank = 0;
    const int code =
        MPI_Comm_split_type(group->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    if (code != MPI_SUCCESS) {
        return explain(group->host, code, "tell which ranks share a machine");
    }
    MPI_Comm_size(node, &n_node);
    MPI_Comm_rank(node, &node_rank);
    MPI_Comm_free(&node);
    place->rank = group->rank;
    place->n_rank = group->n_rank;
    place->n_node_rank = n_node;
    place->node_rank = node_rank;
    name_library(place->library, sizeof place->library);
    return TESS_OK;
}

static void leave(tess_comm_group *group)
{
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (!is_over && group->comm != MPI_COMM_NULL) {
        MPI_Comm_free(&group->comm);
    }
    group->host->release(group->host->user, group, sizeof *group);
}

// On a communicator of its own, so that nothing of the caller's is mistaken for ours.
static tess_status join(const tess_host *host, const tess_comm_start *start, tess_comm_place *place,
                        tess_comm_group **out)
{
    const tess_status started = start_mpi(host, start);
    if (started != TESS_OK) {
        return started;
    }
    const MPI_Comm given = comm_of(start);
    if (given == MPI_COMM_NULL) {
        return host->fail(host->user, TESS_E_ARGUMENT, "comm: the communicator is MPI_COMM_NULL");
    }
    tess_comm_group *group = host->alloc(host->user, sizeof *group);
    if (!group) {
        return TESS_E_MEMORY;
    }
    *group = (tess_comm_group){.host = host, .comm = MPI_COMM_NULL};
    const int code = MPI_Comm_dup(given, &group->comm);
    tess_status status = TESS_OK;
    if (code != MPI_SUCCESS) {
        status = explain(host, code, "join the ranks");
    } else {
        int rank = 0;
        int n_rank = 1;
        MPI_Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN);
        MPI_Comm_rank(group->comm, &rank);
        MPI_Comm_size(group->comm, &n_rank);
        group->rank = rank;
        group->n_rank = n_rank;
        status = find_place(group, place);
    }
    if (status != TESS_OK) {
        leave(group);
        return status;
    }
    *out = group;
    return TESS_OK;
}

// ---- Bytes ------------------------------------------------------------------------------------

static tess_status all_gather(tess_comm_group *group, const void *mine, void *all, size_t bytes,
                              double patience_s)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                                    group->comm, &request);
    return code == MPI_SUCCESS ? wait_for(group, &request, patience_s)
                               : explain(group->host, code, "exchange bytes between ranks");
}

static tess_status broadcast(tess_comm_group *group, void *data, uint64_t bytes, int32_t root)
{
    for (uint64_t at = 0; at < bytes; at += MOST_BYTES) {
        const uint64_t left = bytes - at;
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = MPI_Ibcast((char *)data + at, (int)(left < MOST_BYTES ? left : MOST_BYTES),
                                    MPI_BYTE, root, group->comm, &request);
        const tess_status status = code == MPI_SUCCESS
                                       ? wait_for(group, &request, -1)
                                       : explain(group->host, code, "send bytes to all ranks");
        if (status != TESS_OK) {
            return status;
        }
    }
    return TESS_OK;
}

// What no single message holds goes from rank to rank.
static tess_status gather_large(tess_comm_group *group, const void *mine, void *all,
                                const uint64_t *bytes)
{
    char *at = all;
    for (int32_t rank = 0; rank < group->n_rank; at += bytes[rank++]) {
        if (rank == group->rank) {
            memcpy(at, mine, bytes[rank]);
        }
        const tess_status status = broadcast(group, at, bytes[rank], rank);
        if (status != TESS_OK) {
            return status;
        }
    }
    return TESS_OK;
}

static tess_status start_gather(const tess_comm_group *group, const void *mine, void *all,
                                const int *counts, const int *offsets, bool is_for_all,
                                MPI_Request *request)
{
    const int own = counts[group->rank];
    const int code = is_for_all
                         ? MPI_Iallgatherv(mine, own, MPI_BYTE, all, counts, offsets, MPI_BYTE,
                                           group->comm, request)
                         : MPI_Igatherv(group->rank == 0 ? MPI_IN_PLACE : mine, own, MPI_BYTE, all,
                                        counts, offsets, MPI_BYTE, 0, group->comm, request);
    return code == MPI_SUCCESS ? TESS_OK
                               : explain(group->host, code, "exchange bytes between ranks");
}

static uint64_t add_up(const tess_comm_group *group, const uint64_t *bytes)
{
    uint64_t total = 0;
    for (int32_t rank = 0; rank < group->n_rank; rank++) {
        total += bytes[rank];
    }
    return total;
}

// At most MOST_BYTES of all ranks together.
static tess_status gather_small(const tess_comm_group *group, const void *mine, void *all,
                                const uint64_t *bytes, bool is_for_all)
{
    const tess_host *host = group->host;
    const size_t list_bytes = 2 * (size_t)group->n_rank * sizeof(int);
    int *counts = host->alloc(host->user, list_bytes);
    if (!counts) {
        return TESS_E_MEMORY;
    }
    int *offsets = counts + group->n_rank;
    for (int32_t rank = 0; rank < group->n_rank; rank++) {
        counts[rank] = (int)bytes[rank];
        offsets[rank] = rank == 0 ? 0 : offsets[rank - 1] + counts[rank - 1];
    }
    MPI_Request request = MPI_REQUEST_NULL;
    tess_status status = start_gather(group, mine, all, counts, offsets, is_for_all, &request);
    if (status == TESS_OK) {
        status = wait_for(group, &request, -1);
    }
    host->release(host->user, counts, list_bytes);
    return status;
}

static tess_status all_gather_v(tess_comm_group *group, const void *mine, void *all,
                                const uint64_t *bytes)
{
    return add_up(group, bytes) > MOST_BYTES ? gather_large(group, mine, all, bytes)
                                             : gather_small(group, mine, all, bytes, true);
}

// Bytes of one rank for rank 0, in pieces that a message holds.
static tess_status send_first(const tess_comm_group *group, const void *mine, void *to,
                              uint64_t bytes, int32_t from)
{
    for (uint64_t at = 0; at < bytes; at += MOST_BYTES) {
        const int n = (int)(bytes - at < MOST_BYTES ? bytes - at : MOST_BYTES);
        MPI_Request request = MPI_REQUEST_NULL;
        const int code =
            group->rank == 0
                ? MPI_Irecv((char *)to + at, n, MPI_BYTE, from, 0, group->comm, &request)
                : MPI_Isend((const char *)mine + at, n, MPI_BYTE, 0, 0, group->comm, &request);
        const tess_status status = code == MPI_SUCCESS
                                       ? wait_for(group, &request, -1)
                                       : explain(group->host, code, "send bytes to rank 0");
        if (status != TESS_OK) {
            return status;
        }
    }
    return TESS_OK;
}

static tess_status gather_v(tess_comm_group *group, const void *mine, void *all,
                            const uint64_t *bytes)
{
    if (add_up(group, bytes) <= MOST_BYTES) {
        return gather_small(group, mine, all, bytes, false);
    }
    char *at = all;
    for (int32_t rank = 0; rank < group->n_rank; rank++) {
        if (rank > 0 && (group->rank == 0 || group->rank == rank)) {
            const tess_status status = send_first(group, mine, at, bytes[rank], rank);
            if (status != TESS_OK) {
                return status;
            }
        }
        at = at ? at + bytes[rank] : NULL;
    }
    return TESS_OK;
}

static void abort_all(tess_comm_group *group, int code)
{
    MPI_Abort(group->comm, code);
    _Exit(code);
}

TESS_API const tess_comm_module *tess_comm_entry(void);
TESS_API const tess_module_info *tess_module_query(void);

const tess_comm_module *tess_comm_entry(void)
{
    static const tess_comm_module table = {.struct_size = sizeof table,
                                           .abi = TESS_MODULE_ABI,
                                           .name = "mpi",
                                           .join = join,
                                           .leave = leave,
                                           .all_gather = all_gather,
                                           .all_gather_v = all_gather_v,
                                           .gather_v = gather_v,
                                           .broadcast = broadcast,
                                           .abort = abort_all};
    return &table;
}

const tess_module_info *tess_module_query(void)
{
    static char library[112];
    static tess_module_info info = {.abi = TESS_MODULE_ABI,
                                    .kind = "comm",
                                    .name = "mpi",
                                    .version = TESS_VERSION,
                                    .built_with = library};
    name_library(library, sizeof library);
    return &info;
}
