// The likelihood of rows that several ranks divide.
//
// Rank 0 has the engine. When it needs rows it says which; every rank computes its share of them,
// and rank 0 puts them together. Nothing else is divided: filter and smoother go from row to row.
// Where all ranks want the results all have engines, which come to the same rows together, and rank
// 0 sends them to all.
#include "systems/decode/states/engine_ranks.h"

#include "base/status.h"
#include "runtime/comm.h"
#include "systems/decode/states/engine_devices.h"
#include "systems/decode/store/inputs.h"

#include <string.h>

// Rows that are asked for; count 0: no more.
typedef struct request {
    int64_t first;
    int64_t count;
} request;

// Where a rank that serves computes its share, kept from one request to the next.
typedef struct room {
    void *memory; // scratch, then rows
    size_t bytes;
} room;

static const tess_comm_point ASK = {"rows of a prediction", 0};

static size_t bytes_of_row(const tess_de_engine *e, int64_t width)
{
    return (size_t)width * tess_dtype_bytes((tess_dtype)e->desc.detector->dtype);
}

// Spikes and rows before one of the rows that are decoded, as work: marks of a spike are compared
// with those of all training spikes, others only choose what is added.
static double work_before(const tess_de_engine *e, int64_t row)
{
    const tess_decode_observation *o = e->desc.observation;
    const double row_work = o->spikes.n_feature ? 0.125 : 1;
    const int64_t at = e->sequences.first[0] + row;
    int64_t n_spike = 0;
    for (int64_t i = 0; i < o->spikes.n_electrode; i++) {
        n_spike += at < o->n_time
                       ? tess_de_first_from(o->spikes.times[i], o->spikes.n_spike[i], o->time[at])
                       : o->spikes.n_spike[i];
    }
    return (double)n_spike + row_work * (double)row;
}

// This rank's share of the rows: about as much work for each. Every rank finds the same ends,
// whatever the spikes are. Many sequences are many places to look at: of those rows are counted.
static tess_comm_range share_of(const tess_de_engine *e, request ask)
{
    if (e->sequences.n > 1) {
        return tess_comm_share_of(e->ctx, ask.count);
    }
    const int64_t n_rank = tess_comm_size(e->ctx);
    const int64_t end = ask.first + ask.count;
    const double before = work_before(e, ask.first);
    const double all = work_before(e, end) - before;
    tess_comm_range own = {ask.first, ask.first};
    for (int64_t rank = 0; rank <= tess_comm_rank(e->ctx); rank++) {
        const double wanted = before + all * (double)(rank + 1) / (double)n_rank;
        int64_t high = end;
        own.begin = own.end;
        while (own.end < high && rank + 1 < n_rank) { // the first row not before it
            const int64_t middle = own.end + (high - own.end) / 2;
            if (work_before(e, middle) < wanted) {
                own.end = middle + 1;
            } else {
                high = middle;
            }
        }
    }
    own.end = tess_comm_rank(e->ctx) + 1 == n_rank ? end : own.end;
    return (tess_comm_range){own.begin - ask.first, own.end - ask.first};
}

// What a rank tells of its rows.
typedef struct told {
    tess_decode_likelihood_report report;
    int64_t n_row;
} told;

// This rank's share into rows, with scratch as for tess_de_devices_compute(); then on rank 0, whose
// share comes first, all of them. Whoever wants a report has that of all.
static tess_status exchange(tess_de_engine *e, request ask, tess_comm_range own, void *scratch,
                            void *rows, tess_decode_likelihood_report *report)
{
    const size_t row_bytes = bytes_of_row(e, e->desc.detector->info.n_ll);
    const bool is_first = tess_comm_is_first(e->ctx);
    told add = {.report = {.struct_size = sizeof add.report}, .n_row = own.end - own.begin};
    const size_t own_bytes = (size_t)add.n_row * row_bytes;
    const tess_comm_point at = {"likelihood of rows", (uint64_t)ask.first};
    const tess_status status =
        tess_de_devices_compute(e, ask.first + own.begin, add.n_row, &add.report, scratch, rows);
    tess_comm_parts parts;
    TESS_TRY(tess_comm_gather(e->ctx, at, status, &add, sizeof add, &parts));
    for (int32_t rank = 0; report && rank < tess_comm_size(e->ctx); rank++) {
        memcpy(&add, parts.data + parts.offset[rank], sizeof add);
        if (add.n_row > 0) {
            tess_de_add_report(&add.report, report);
        }
    }
    tess_comm_parts_free(&parts);
    return tess_comm_gather_first(e->ctx, at, TESS_OK, rows, own_bytes, is_first ? rows : NULL,
                                  (size_t)ask.count * row_bytes);
}

tess_status tess_de_ranks_likelihood(tess_de_engine *e, int64_t first, int64_t count,
                                     tess_decode_likelihood_report *report, void *scratch, void *ll)
{
    request ask = {first, count};
    tess_status status = tess_comm_broadcast(e->ctx, ASK, TESS_OK, &ask, sizeof ask);
    if (status == TESS_OK && (ask.first != first || ask.count != count)) {
        const tess_status other = tess_error_set(
            TESS_E_MISMATCH,
            "the ranks have come apart: rank 0 is at %lld time bins from bin %lld, "
            "this one at %lld from %lld; give all the same arguments, threads and "
            "memory limit",
            (long long)ask.count, (long long)ask.first, (long long)count, (long long)first);
        status = tess_comm_agree(e->ctx, ASK, other);
    } else if (status == TESS_OK) {
        status = exchange(e, ask, share_of(e, ask), scratch, ll, report);
    }
    if (status == TESS_OK && e->desc.is_for_all_ranks) {
        const tess_comm_point at = {"likelihood for all", (uint64_t)first};
        status = tess_comm_broadcast(e->ctx, at, TESS_OK, ll,
                                     (size_t)count * bytes_of_row(e, e->desc.detector->info.n_ll));
    }
    e->ranks_know = status != TESS_OK;
    return status;
}

static void *room_for(tess_de_engine *e, room *r, size_t bytes)
{
    if (bytes > r->bytes) {
        tess_heap_free(&e->ctx->heap, r->memory, r->bytes, TESS_TAG_SCRATCH);
        r->memory = tess_heap_alloc(&e->ctx->heap, bytes, TESS_TAG_SCRATCH, "rows of this rank");
        r->bytes = r->memory ? bytes : 0;
    }
    return r->memory;
}

static tess_status serve_one(tess_de_engine *e, request ask, room *r)
{
    const tess_comm_range own = share_of(e, ask);
    const size_t bytes =
        (size_t)(own.end - own.begin + 1) * bytes_of_row(e, e->desc.detector->info.n_ll);
    unsigned char *memory = room_for(e, r, 2 * bytes);
    if (!memory) { // what it is for is not reached then
        return tess_comm_agree(e->ctx, (tess_comm_point){"no memory for rows", 0}, TESS_E_MEMORY);
    }
    return exchange(e, ask, own, memory, memory + bytes, NULL);
}

static tess_status serve_all(tess_context *ctx, tess_de_engine *e, tess_status status, room *r)
{
    for (;;) {
        request ask = {0, 0};
        TESS_TRY(tess_comm_broadcast(ctx, ASK, status, &ask, sizeof ask));
        if (ask.count == 0) {
            return TESS_OK;
        }
        TESS_TRY(serve_one(e, ask, r));
    }
}

tess_status tess_de_ranks_serve(tess_context *ctx, tess_de_engine *e, tess_status status)
{
    room r = {0};
    const tess_status served = serve_all(ctx, e, status, &r);
    tess_heap_free(&ctx->heap, r.memory, r.bytes, TESS_TAG_SCRATCH);
    return served;
}

tess_status tess_de_ranks_dismiss(tess_context *ctx, const tess_de_engine *e, tess_status status)
{
    request ask = {0, 0};
    if (tess_comm_size(ctx) == 1 || (e && e->ranks_know)) {
        return status;
    }
    return tess_comm_broadcast(ctx, ASK, status, &ask, sizeof ask);
}
