// The ranks of a job: processes that run the same program on the same arguments, each on its part.
//
// Control is replicated. Every rank takes the same decisions from the same numbers, so what ranks
// exchange is what only some of them know: sums of their parts, and what rank 0 read from a
// checkpoint. All calls below are made by all ranks, in the same order, from one thread.
//
// Every call brings the ranks' statuses along. A rank that failed, or was told to stop, says so by
// its next call, whichever it is; then the call fails on all ranks alike, with that status and its
// message. A rank whose failure nobody comes to hear within a few seconds ends the job.
//
// With one rank every call returns at once, and its data are the result.
#ifndef TESS_RUNTIME_COMM_H
#define TESS_RUNTIME_COMM_H

#include "runtime/context.h"
#include "tessera/sys/comm.h"

// The module's file, and the variable that names it outright.
#define TESS_COMM_MODULE "tessera-comm-mpi.so"
#define TESS_COMM_VARIABLE "TESSERA_MPI_PLUGIN"

typedef struct tess_comm {
    const tess_comm_module *module;
    tess_comm_group *group;
    tess_comm_place place;
    bool is_lost;     // others did not come: no call can follow
    bool is_leaving;  // by tess_context_leave()
    bool has_left;    // this rank, or another one
    int64_t begin_ns; // when the ranks met
    int64_t n_call;
    uint64_t bytes;    // that other ranks sent
    double wait_s;     // until the last rank came
    double exchange_s; // from then on
} tess_comm;

static inline int32_t tess_comm_rank(const tess_context *ctx)
{
    return ctx->comm ? ctx->comm->place.rank : 0;
}

static inline int32_t tess_comm_size(const tess_context *ctx)
{
    return ctx->comm ? ctx->comm->place.n_rank : 1;
}

// Rank 0 alone writes files and speaks.
static inline bool tess_comm_is_first(const tess_context *ctx)
{
    return tess_comm_rank(ctx) == 0;
}

// The share of a rank of n things that are numbered: [begin, end), in the order of ranks.
typedef struct tess_comm_range {
    int64_t begin;
    int64_t end;
} tess_comm_range;

tess_comm_range tess_comm_share_of(const tess_context *ctx, int64_t n);

// What every rank brought, in the order of ranks.
typedef struct tess_comm_parts {
    tess_context *ctx;
    unsigned char *data;
    size_t data_bytes;
    uint64_t *offset; // [n_rank + 1]
} tess_comm_parts;

// Where a call stands in the program, so that ranks that have come apart fail rather than take one
// thing for another. name: static. detail: a number that must be the same on all ranks.
typedef struct tess_comm_point {
    const char *name;
    uint64_t detail;
} tess_comm_point;

// Bytes of every rank. status: how this rank has fared so far; bytes of ranks that failed are not
// looked at.
TESS_MUST_CHECK tess_status tess_comm_gather(tess_context *ctx, tess_comm_point at,
                                             tess_status status, const void *mine, size_t bytes,
                                             tess_comm_parts *out);
// The same for rank 0 alone, behind each other in all [total bytes of all ranks]; NULL on the
// others. What rank 0 has lies there already.
TESS_MUST_CHECK tess_status tess_comm_gather_first(tess_context *ctx, tess_comm_point at,
                                                   tess_status status, const void *mine,
                                                   size_t bytes, void *all, size_t total);
void tess_comm_parts_free(tess_comm_parts *parts);

// Of things that are numbered those of a process: first, first + step, ...
typedef struct tess_comm_deal {
    int64_t first;
    int64_t step; // 1: all of them, every rank for itself
} tess_comm_deal;

static inline tess_comm_deal tess_comm_deal_of(const tess_context *ctx, bool is_divided)
{
    return is_divided ? (tess_comm_deal){tess_comm_rank(ctx), tess_comm_size(ctx)}
                      : (tess_comm_deal){0, 1};
}

// How many of n things it is.
static inline int64_t tess_comm_count_dealt(tess_comm_deal deal, int64_t n)
{
    return n > deal.first ? (n - deal.first + deal.step - 1) / deal.step : 0;
}

// Of n items every rank has worked out those dealt to it; afterwards every rank has all.
TESS_MUST_CHECK tess_status tess_comm_share_dealt(tess_context *ctx, tess_comm_point at,
                                                  tess_comm_deal deal, tess_status status,
                                                  void *items, size_t item_bytes, int64_t n);

// Rank 0's bytes for all; as many on every rank.
TESS_MUST_CHECK tess_status tess_comm_broadcast(tess_context *ctx, tess_comm_point at,
                                                tess_status status, void *data, size_t bytes);

// TESS_OK once all ranks have come and none has failed.
TESS_MUST_CHECK tess_status tess_comm_agree(tess_context *ctx, tess_comm_point at,
                                            tess_status status);

// ---- For the context ---------------------------------------------------------------------------

// comm as in tess_context_config. Leaves ctx->comm NULL where this process is alone.
TESS_MUST_CHECK tess_status tess_comm_open(tess_context *ctx, const char *comm,
                                           const void *communicator);
// status: of what this rank set up alone. What must be alike is: version, instruction set and kind
// of device, else it is an error; and the memory limit, which becomes the least of all.
TESS_MUST_CHECK tess_status tess_comm_settle(tess_context *ctx, tess_status status);
void tess_comm_close(tess_context *ctx);

#endif
