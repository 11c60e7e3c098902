#include "runtime/comm.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"

#include <string.h>

// How long a rank that failed waits for somebody to hear of it.
static const double PATIENCE_S = 5;

enum { WANTS_STOP = 1, WANTS_CHECKPOINT = 2, LEAVES = 4 };

// What every rank says in every call, before any data.
typedef struct head {
    uint64_t at;    // where it is in the program
    uint64_t bytes; // that follow: data, or where it failed its message
    int32_t status;
    int32_t wants;
} head;

// A call of this rank: its head, those of all, and how many bytes each will send.
typedef struct call {
    tess_context *ctx;
    tess_comm *comm;
    tess_comm_point at;
    head own;
    head *heads;     // [n_rank]
    uint64_t *bytes; // [n_rank]
    size_t block_bytes;
} call;

tess_comm_range tess_comm_share_of(const tess_context *ctx, int64_t n)
{
    const int64_t rank = tess_comm_rank(ctx);
    const int64_t size = tess_comm_size(ctx);
    const int64_t each = n / size;
    const int64_t rest = n % size; // the first so many take one more
    const int64_t begin = rank * each + (rank < rest ? rank : rest);
    return (tess_comm_range){begin, begin + each + (rank < rest)};
}

static uint64_t hash_of(tess_comm_point at)
{
    tess_hash hash = {0};
    tess_hash_mix(&hash, at.name, strlen(at.name));
    tess_hash_mix(&hash, &at.detail, sizeof at.detail);
    return hash.low ^ hash.high;
}

static int32_t wants_of(tess_context *ctx)
{
    return (atomic_load(&ctx->cancelled) ? WANTS_STOP : 0) |
           (atomic_load(&ctx->checkpoint_wanted) ? WANTS_CHECKPOINT : 0) |
           (ctx->comm->is_leaving ? LEAVES : 0);
}

static tess_status begin_call(tess_context *ctx, tess_comm_point at, tess_status status,
                              size_t bytes, call *c)
{
    const size_t n = (size_t)tess_comm_size(ctx);
    const bool has_failed = status != TESS_OK;
    *c = (call){.ctx = ctx, .comm = ctx->comm, .at = at};
    c->block_bytes = n * (sizeof *c->heads + sizeof *c->bytes);
    c->heads = tess_heap_alloc_zero(&ctx->heap, c->block_bytes, TESS_TAG_GENERAL, "ranks");
    if (!c->heads) {
        return TESS_E_MEMORY;
    }
    c->bytes = (uint64_t *)(void *)(c->heads + n);
    c->own = (head){.at = hash_of(at),
                    .bytes = has_failed ? strlen(tess_last_error()) : bytes,
                    .status = (int32_t)status,
                    .wants = wants_of(ctx)};
    return TESS_OK;
}

static void end_call(call *c)
{
    tess_heap_free(&c->ctx->heap, c->heads, c->block_bytes, TESS_TAG_GENERAL);
}

// ---- Failures ---------------------------------------------------------------------------------

// The rank whose failure is told: the first that failed, else the first that was stopped; -1: none.
static int32_t find_failed(const call *c)
{
    int32_t stopped = -1;
    for (int32_t k = 0; k < c->comm->place.n_rank; k++) {
        const int32_t status = c->heads[k].status;
        if (status != (int32_t)TESS_OK && status != (int32_t)TESS_CANCELLED) {
            return k;
        }
        if (status == (int32_t)TESS_CANCELLED && stopped < 0) {
            stopped = k;
        }
    }
    return stopped;
}

// The message of that rank becomes everybody's. Where all failed alike no rank is named.
static tess_status tell_failure(call *c, int32_t failed)
{
    const int32_t n_rank = c->comm->place.n_rank;
    bool is_alike = true;
    uint64_t total = 0;
    uint64_t before = 0;
    for (int32_t k = 0; k < n_rank; k++) {
        c->bytes[k] = c->heads[k].status != (int32_t)TESS_OK ? c->heads[k].bytes : 0;
        before += k < failed ? c->bytes[k] : 0;
        total += c->bytes[k];
        is_alike = is_alike && c->heads[k].status == c->heads[failed].status;
    }
    char own[TESS_MESSAGE_BYTES];
    tess_error_copy_out(own);
    char *all = tess_heap_alloc_zero(&c->ctx->heap, total + 1, TESS_TAG_GENERAL, "messages");
    if (!all) {
        return TESS_E_MEMORY;
    }
    tess_status status = c->comm->module->all_gather_v(c->comm->group, own, all, c->bytes);
    if (status == TESS_OK) {
        const int n = (int)c->bytes[failed];
        status = (tess_status)c->heads[failed].status;
        if (is_alike || failed == 0) {
            tess_error_set(status, "%.*s", n, all + before);
        } else {
            tess_error_set(status, "rank %d of %d: %.*s", failed, n_rank, n, all + before);
        }
    }
    tess_heap_free(&c->ctx->heap, all, total + 1, TESS_TAG_GENERAL);
    return status;
}

// What one rank was told all of them do: stop, or keep what there is.
static void share_wishes(const call *c)
{
    int32_t wants = 0;
    for (int32_t k = 0; k < c->comm->place.n_rank; k++) {
        wants |= c->heads[k].wants;
    }
    if (wants & WANTS_STOP) {
        atomic_store(&c->ctx->cancelled, 1);
    }
    if (wants & WANTS_CHECKPOINT) {
        atomic_store(&c->ctx->checkpoint_wanted, 1);
    }
    if (wants & LEAVES) { // it has failed, or all do: nobody is left to meet
        c->comm->has_left = true;
    }
}

// The heads of all ranks. TESS_OK: all are here, and none has failed.
static tess_status meet(call *c)
{
    tess_comm *comm = c->comm;
    const tess_status own = (tess_status)c->own.status;
    if (comm->is_lost || comm->has_left) {
        return own != TESS_OK ? own
                              : tess_error_set(TESS_E_IO, "the other ranks cannot be reached");
    }
    char message[TESS_MESSAGE_BYTES];
    tess_error_copy_out(message);
    tess_span span = tess_span_begin(&c->ctx->tracer, "comm.wait");
    const int64_t begin_ns = tess_now_ns();
    // Who was stopped waits for the others, who come to where they can be told.
    const double patience_s = own == TESS_OK || own == TESS_CANCELLED ? -1 : PATIENCE_S;
    const tess_status status =
        comm->module->all_gather(comm->group, &c->own, c->heads, sizeof c->own, patience_s);
    comm->wait_s += (double)(tess_now_ns() - begin_ns) * 1e-9;
    comm->n_call++;
    tess_span_end(&span, 0, 0);
    if (status != TESS_OK) {
        comm->is_lost = true;
        if (own != TESS_OK) { // nobody came to hear of it: what happened here counts
            tess_error_copy_in(message);
            return own;
        }
        return status;
    }
    tess_error_copy_in(message);
    share_wishes(c);
    const int32_t failed = find_failed(c);
    if (failed >= 0) {
        return tell_failure(c, failed);
    }
    for (int32_t k = 1; k < comm->place.n_rank; k++) {
        if (c->heads[k].at != c->heads[0].at) {
            TESS_FAIL(TESS_E_MISMATCH,
                      "the ranks have come apart: at %s rank %d is not where rank 0 is; start all "
                      "with the same arguments, files and environment",
                      c->at.name, (int)k);
        }
    }
    return TESS_OK;
}

// ---- Calls ------------------------------------------------------------------------------------

tess_status tess_comm_agree(tess_context *ctx, tess_comm_point at, tess_status status)
{
    if (tess_comm_size(ctx) == 1) {
        return status;
    }
    call c;
    TESS_TRY(begin_call(ctx, at, status, 0, &c));
    const tess_status agreed = meet(&c);
    end_call(&c);
    return agreed;
}

// Who exchanges data spends time on that beside waiting.
static void count(call *c, int64_t begin_ns, tess_span *span, uint64_t bytes)
{
    c->comm->exchange_s += (double)(tess_now_ns() - begin_ns) * 1e-9;
    c->comm->bytes += bytes;
    tess_span_end(span, (double)bytes, 0);
}

tess_status tess_comm_broadcast(tess_context *ctx, tess_comm_point at, tess_status status,
                                void *data, size_t bytes)
{
    if (tess_comm_size(ctx) == 1) {
        return status;
    }
    call c;
    TESS_TRY(begin_call(ctx, at, status, bytes, &c));
    tess_status agreed = meet(&c);
    if (agreed == TESS_OK && c.heads[0].bytes != bytes) {
        agreed = tess_error_set(TESS_E_MISMATCH,
                                "the ranks have come apart: at %s rank 0 has %llu "
                                "bytes, this one expects %zu",
                                at.name, (unsigned long long)c.heads[0].bytes, bytes);
    }
    if (agreed == TESS_OK) {
        tess_span span = tess_span_begin(&ctx->tracer, "comm.exchange");
        const int64_t begin_ns = tess_now_ns();
        agreed = c.comm->module->broadcast(c.comm->group, data, bytes, 0);
        count(&c, begin_ns, &span, bytes);
    }
    end_call(&c);
    return agreed;
}

static tess_status take_parts(tess_context *ctx, const uint64_t *bytes, tess_comm_parts *out)
{
    const int32_t n_rank = tess_comm_size(ctx);
    *out = (tess_comm_parts){.ctx = ctx};
    out->offset = tess_heap_alloc_zero(&ctx->heap, (size_t)(n_rank + 1) * sizeof *out->offset,
                                       TESS_TAG_GENERAL, "parts of ranks");
    if (!out->offset) {
        return TESS_E_MEMORY;
    }
    for (int32_t k = 0; k < n_rank; k++) {
        out->offset[k + 1] = out->offset[k] + bytes[k];
    }
    out->data_bytes = (size_t)out->offset[n_rank];
    out->data =
        tess_heap_alloc(&ctx->heap, out->data_bytes + 1, TESS_TAG_GENERAL, "parts of ranks");
    if (!out->data) {
        tess_comm_parts_free(out);
        return TESS_E_MEMORY;
    }
    return TESS_OK;
}

void tess_comm_parts_free(tess_comm_parts *parts)
{
    if (!parts->ctx) {
        return;
    }
    tess_heap *heap = &parts->ctx->heap;
    tess_heap_free(heap, parts->data, parts->data_bytes + 1, TESS_TAG_GENERAL);
    tess_heap_free(heap, parts->offset,
                   (size_t)(tess_comm_size(parts->ctx) + 1) * sizeof *parts->offset,
                   TESS_TAG_GENERAL);
    *parts = (tess_comm_parts){0};
}

static uint64_t count_bytes(const call *c)
{
    uint64_t total = 0;
    for (int32_t k = 0; k < c->comm->place.n_rank; k++) {
        c->bytes[k] = c->heads[k].bytes;
        total += c->bytes[k];
    }
    return total;
}

static tess_status exchange(call *c, const void *mine, tess_comm_parts *out)
{
    (void)count_bytes(c);
    TESS_TRY(take_parts(c->ctx, c->bytes, out));
    tess_span span = tess_span_begin(&c->ctx->tracer, "comm.exchange");
    const int64_t begin_ns = tess_now_ns();
    const tess_status status =
        c->comm->module->all_gather_v(c->comm->group, mine, out->data, c->bytes);
    count(c, begin_ns, &span, out->data_bytes);
    if (status != TESS_OK) {
        tess_comm_parts_free(out);
    }
    return status;
}

tess_status tess_comm_gather(tess_context *ctx, tess_comm_point at, tess_status status,
                             const void *mine, size_t bytes, tess_comm_parts *out)
{
    *out = (tess_comm_parts){0};
    if (tess_comm_size(ctx) == 1) {
        const uint64_t own = bytes;
        TESS_TRY(status);
        TESS_TRY(take_parts(ctx, &own, out));
        memcpy(out->data, mine, bytes);
        return TESS_OK;
    }
    call c;
    TESS_TRY(begin_call(ctx, at, status, bytes, &c));
    tess_status agreed = meet(&c);
    if (agreed == TESS_OK) {
        agreed = exchange(&c, mine, out);
    }
    end_call(&c);
    return agreed;
}

static tess_status exchange_first(call *c, const void *mine, void *all, size_t total)
{
    const uint64_t bytes = count_bytes(c);
    if (bytes != total) { // on every rank alike
        TESS_FAIL(TESS_E_INTERNAL, "%s: the ranks have %llu bytes, expected %zu", c->at.name,
                  (unsigned long long)bytes, total);
    }
    tess_span span = tess_span_begin(&c->ctx->tracer, "comm.exchange");
    const int64_t begin_ns = tess_now_ns();
    const tess_status status = c->comm->module->gather_v(c->comm->group, mine, all, c->bytes);
    count(c, begin_ns, &span, bytes);
    return status;
}

tess_status tess_comm_gather_first(tess_context *ctx, tess_comm_point at, tess_status status,
                                   const void *mine, size_t bytes, void *all, size_t total)
{
    if (tess_comm_size(ctx) == 1) {
        return status;
    }
    call c;
    TESS_TRY(begin_call(ctx, at, status, bytes, &c));
    tess_status agreed = meet(&c);
    if (agreed == TESS_OK) {
        agreed = exchange_first(&c, mine, all, total);
    }
    end_call(&c);
    return agreed;
}
