// The likelihood of rows that several ranks divide.
//
// Rank 0 has the engine. When it needs rows it says which; every rank computes its share of them,
// and rank 0 puts them together. Nothing else is divided: filter and smoother go from row to row.
// Where all ranks want the results all have engines, which come to the same rows together.
#include "systems/decode/states/engine_ranks.h"

#include "base/status.h"
#include "runtime/comm.h"
#include "systems/decode/states/engine_devices.h"

#include <string.h>

// Rows that are asked for; count 0: no more.
typedef struct request {
    int64_t first;
    int64_t count;
} request;

// A rank's share: the report of its rows, then the rows.
typedef struct share {
    tess_comm_range rows; // of those asked for
    size_t row_bytes;
    size_t bytes;
    unsigned char *memory;
} share;

static const tess_comm_point ASK = {"rows of a prediction", 0};

static size_t bytes_of_row(const tess_de_engine *e, int64_t width)
{
    return (size_t)width * tess_dtype_bytes((tess_dtype)e->desc.detector->dtype);
}

uint64_t tess_de_ranks_row_bytes(const tess_de_engine *e)
{
    return tess_de_is_divided(e) ? 2 * bytes_of_row(e, e->desc.detector->info.n_ll) : 0;
}

// scratch: as for tess_de_devices_compute().
static tess_status compute_share(tess_de_engine *e, request ask, void *scratch, share *own)
{
    *own = (share){.rows = tess_comm_share_of(e->ctx, ask.count),
                   .row_bytes = bytes_of_row(e, e->desc.detector->info.n_ll)};
    const int64_t n = own->rows.end - own->rows.begin;
    tess_decode_likelihood_report report = {.struct_size = sizeof report};
    own->bytes = sizeof report + (size_t)n * own->row_bytes;
    own->memory = tess_heap_alloc(&e->ctx->heap, own->bytes, TESS_TAG_SCRATCH, "rows of this rank");
    if (!own->memory) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_de_devices_compute(e, ask.first + own->rows.begin, n, &report, scratch,
                                     own->memory + sizeof report));
    memcpy(own->memory, &report, sizeof report);
    return TESS_OK;
}

static tess_status exchange(tess_de_engine *e, request ask, void *scratch, tess_comm_parts *parts)
{
    share own;
    const tess_status status = compute_share(e, ask, scratch, &own);
    const tess_comm_point at = {"likelihood of rows", (uint64_t)ask.first};
    const tess_status agreed =
        tess_comm_gather_first(e->ctx, at, status, own.memory, own.memory ? own.bytes : 0, parts);
    tess_heap_free(&e->ctx->heap, own.memory, own.bytes, TESS_TAG_SCRATCH);
    return agreed;
}

// Shares in the order of ranks are rows in their order.
static void put_together(const tess_de_engine *e, const tess_comm_parts *parts,
                         tess_decode_likelihood_report *report, unsigned char *ll)
{
    for (int32_t rank = 0; rank < tess_comm_size(e->ctx); rank++) {
        tess_decode_likelihood_report add;
        const unsigned char *from = parts->data + parts->offset[rank];
        const size_t bytes = (size_t)(parts->offset[rank + 1] - parts->offset[rank]) - sizeof add;
        if (bytes > 0) {
            memcpy(&add, from, sizeof add);
            tess_de_add_report(&add, report);
            memcpy(ll, from + sizeof add, bytes);
            ll += bytes;
        }
    }
}

tess_status tess_de_ranks_likelihood(tess_de_engine *e, int64_t first, int64_t count,
                                     tess_decode_likelihood_report *report, void *scratch, void *ll)
{
    request ask = {first, count};
    tess_comm_parts parts;
    tess_status status = tess_comm_broadcast(e->ctx, ASK, TESS_OK, &ask, sizeof ask);
    if (status == TESS_OK && (ask.first != first || ask.count != count)) {
        const tess_status other =
            tess_error_set(TESS_E_MISMATCH,
                           "the ranks have come apart: one is at time %lld, rank 0 "
                           "at %lld; give all the same threads and memory limit",
                           (long long)first, (long long)ask.first);
        status = tess_comm_agree(e->ctx, ASK, other);
    } else if (status == TESS_OK) {
        status = exchange(e, ask, scratch, &parts);
    }
    if (status != TESS_OK) {
        e->ranks_know = true;
        return status;
    }
    put_together(e, &parts, report, ll);
    tess_comm_parts_free(&parts);
    return TESS_OK;
}

static tess_status serve_one(tess_de_engine *e, request ask)
{
    const tess_comm_range own = tess_comm_share_of(e->ctx, ask.count);
    const size_t bytes =
        (size_t)(own.end - own.begin + 1) * bytes_of_row(e, e->desc.detector->info.n_ll);
    tess_comm_parts parts;
    void *scratch = tess_heap_alloc(&e->ctx->heap, bytes, TESS_TAG_SCRATCH, "rows of this rank");
    if (!scratch) { // what it is for is not reached then
        return tess_comm_agree(e->ctx, (tess_comm_point){"no memory for rows", 0}, TESS_E_MEMORY);
    }
    const tess_status status = exchange(e, ask, scratch, &parts);
    tess_heap_free(&e->ctx->heap, scratch, bytes, TESS_TAG_SCRATCH);
    if (status == TESS_OK) {
        tess_comm_parts_free(&parts);
    }
    return status;
}

tess_status tess_de_ranks_serve(tess_context *ctx, tess_de_engine *e, tess_status status)
{
    for (;;) {
        request ask = {0, 0};
        TESS_TRY(tess_comm_broadcast(ctx, ASK, status, &ask, sizeof ask));
        if (ask.count == 0) {
            return TESS_OK;
        }
        TESS_TRY(serve_one(e, ask));
    }
}

tess_status tess_de_ranks_dismiss(tess_context *ctx, const tess_de_engine *e, tess_status status)
{
    request ask = {0, 0};
    if (tess_comm_size(ctx) == 1 || (e && e->ranks_know)) {
        return status;
    }
    return tess_comm_broadcast(ctx, ASK, status, &ask, sizeof ask);
}
