// An engine made, run from chunk to chunk, and ended.
#include "systems/decode/states/engine.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

static size_t item_bytes(int32_t dtype)
{
    return dtype == TESS_F64 ? sizeof(double) : sizeof(float);
}

// Filtered rows stay where they are written anyway, if that place has their type.
static const tess_de_rows *choose_keep(const tess_de_engine *e)
{
    const int32_t dtype = e->desc.detector->dtype;
    if (!tess_de_engine_smooths(e)) {
        return NULL;
    }
    if (e->desc.causal.dtype == dtype && !e->desc.causal.there) {
        return &e->desc.causal;
    }
    if (e->desc.acausal.dtype == dtype && !e->desc.acausal.there) {
        return &e->desc.acausal;
    }
    return e->desc.kept.dtype == dtype ? &e->desc.kept : NULL;
}

// The observation with the times that are decoded, for what is told of the animal at them.
static tess_decode_observation decoded_rows(const tess_de_engine_desc *desc)
{
    tess_decode_observation decoded = *desc->observation;
    if (desc->sequences.n > 0) {
        decoded.n_time = desc->sequences.begin[desc->sequences.n];
        decoded.time = desc->sequences.time;
    }
    return decoded;
}

static tess_status check_desc(const tess_de_engine_desc *desc)
{
    const tess_decode_observation *o = desc->observation;
    if (o->n_time < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "time: is empty; at least one row is needed");
    }
    const tess_de_sequences *rows = &desc->sequences;
    const int64_t n_row = rows->n > 0 ? rows->begin[rows->n] : o->n_time;
    if (desc->n_chunk < 0 || desc->n_chunk > n_row) {
        TESS_FAIL(TESS_E_RANGE, "n_chunk is %lld; 1 to %lld (the rows) or 0 is allowed",
                  (long long)desc->n_chunk, (long long)n_row);
    }
    if (desc->detector->info.n_coefficient > 0 && !desc->design) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "design: is NULL, but the transitions depend on covariates; pass [%lld][%lld]",
                  (long long)o->n_time, (long long)desc->detector->info.n_coefficient);
    }
    if (desc->given_ll.dtype == 0) {
        const tess_decode_observation decoded = decoded_rows(desc);
        TESS_TRY(tess_de_check_animal(desc->detector, &decoded));
    }
    return TESS_OK;
}

// Adds the stages of a list that are not there yet.
static int64_t add_stages(int32_t *stages, int64_t n, const int32_t *more, int64_t n_more)
{
    for (int64_t k = 0; k < n_more; k++) {
        bool is_new = true;
        for (int64_t i = 0; i < n; i++) {
            is_new &= stages[i] != more[k];
        }
        if (is_new) {
            stages[n++] = more[k];
        }
    }
    return n;
}

tess_status tess_de_engine_device(tess_context *ctx, const tess_decode_detector *detector,
                                  tess_device **device)
{
    int32_t stages[16] = {0}; // decode has fewer
    int64_t n = 0;
    for (int64_t i = 0; i < detector->n_encoding; i++) {
        const tess_decode_encoding *encoding = detector->encodings[i];
        if (encoding) {
            n = add_stages(stages, n, encoding->ops->stages, encoding->ops->n_stage);
        }
    }
    TESS_TRY(tess_stage_choose(ctx, stages, n, "decoding", device));
    if (n == 0) {
        *device = &ctx->cpu;
    }
    return TESS_OK;
}

tess_status tess_de_engine_plan(tess_context *ctx, const tess_de_engine_desc *desc,
                                tess_de_engine *engine)
{
    TESS_TRY(check_desc(desc));
    memset(engine, 0, sizeof *engine);
    engine->ctx = ctx;
    engine->desc = *desc;
    engine->sequences = desc->sequences;
    engine->n_time = desc->sequences.n > 0 ? desc->sequences.begin[desc->sequences.n]
                                           : desc->observation->n_time;
    if (desc->sequences.n == 0) {
        engine->one[2] = engine->n_time;
        engine->sequences = (tess_de_sequences){.n = 1,
                                                .first = engine->one,
                                                .begin = engine->one + 1,
                                                .time = desc->observation->time};
    }
    engine->keep = choose_keep(engine);
    const bool stays = tess_de_engine_has_results_there(desc);
    engine->states =
        tess_de_rows_device(ctx, desc->detector->hmm, stays ? INT64_MAX : engine->n_time);
    if (stays && engine->states->shares_host_memory) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "results cannot stay on '%s', which does not filter this model; ask for them in "
                  "host memory",
                  ctx->device->info.id);
    }
    if (desc->device && desc->device != engine->states) {
        tess_log_write(&ctx->log, TESS_LOG_INFO,
                       "likelihoods on %s; filter and smoother on %s, in parts side by side",
                       desc->device->info.id, engine->states->info.id);
    }
    TESS_TRY(tess_de_engine_choose(engine));
    if (desc->ll.there && !engine->there.has_ll) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "log_likelihood cannot stay on '%s', which does not make it; ask for it in host "
                  "memory",
                  ctx->device->info.id);
    }
    return TESS_OK;
}

// Pages cost more than what is written to them: of buffers as large as the recording all threads
// take their share.
enum { CLEARED_BYTES = 4 << 20 };

typedef struct clearing {
    char *begin;
    size_t bytes;
} clearing;

static tess_status clear_part(void *self, int64_t part, int32_t worker)
{
    (void)worker;
    const clearing *c = self;
    const size_t at = (size_t)part * CLEARED_BYTES;
    memset(c->begin + at, 0, c->bytes - at < CLEARED_BYTES ? c->bytes - at : CLEARED_BYTES);
    return TESS_OK;
}

// The same for what is written before it is read: the system clears what is new.
static tess_status touch_part(void *self, int64_t part, int32_t worker)
{
    (void)worker;
    enum { PAGE_BYTES = 4096 };
    const clearing *c = self;
    const size_t end = (size_t)(part + 1) * CLEARED_BYTES;
    for (size_t at = (size_t)part * CLEARED_BYTES; at < end && at < c->bytes; at += PAGE_BYTES) {
        c->begin[at] = 0;
    }
    return TESS_OK;
}

static tess_status take_room(tess_de_engine *e, int64_t n, size_t item, tess_block_fn prepare,
                             void **out)
{
    *out = tess_blocks_alloc_raw(&e->memory, n, item, "rows of a chunk");
    if (!*out) {
        return TESS_E_MEMORY;
    }
    clearing all = {*out, (size_t)n * item};
    return tess_parallel_for(
        e->ctx->pool, (int64_t)((all.bytes + CLEARED_BYTES - 1) / CLEARED_BYTES), prepare, &all);
}

static tess_status take_memory(tess_de_engine *e)
{
    const tess_decode_detector *d = e->desc.detector;
    const int64_t rows = e->chunk_rows;
    const int64_t n_slot = e->n_slot;
    const int64_t beyond = n_slot * (e->needs.path ? rows + 1 : rows); // it looks one row ahead
    const int64_t n_bin = d->info.n_state_bin;
    const int64_t n_state = d->info.n_state;
    const size_t item = item_bytes(d->dtype);
    struct {
        void **at;
        int64_t n;
        size_t item;
    } wanted[] = {
        {(void **)&e->carry.predicted, n_bin, sizeof(double)},
        {(void **)&e->next, n_bin, sizeof(double)},
        {(void **)&e->again, n_bin, sizeof(double)},
        {(void **)&e->before, n_bin, sizeof(double)},
        {&e->ll_buffer, e->needs.ll ? beyond * d->info.n_ll : 0,
         item_bytes(e->desc.given_ll.dtype != 0 ? e->desc.given_ll.dtype : d->dtype)},
        {&e->row_buffer, e->needs.rows ? beyond * n_bin : 0, item},
        {&e->predicted_buffer, e->needs.predicted ? beyond * n_bin : 0, item},
        {(void **)&e->states_buffer, n_slot * 3 * rows * n_state, sizeof(double)},
        {&e->ahead.scratch, tess_de_engine_is_ahead(e) && n_slot > 1 ? rows * d->info.n_ll : 0,
         item},
        {(void **)&e->transition_buffer, e->needs.transition ? rows * n_state * n_state : 0,
         sizeof(double)},
        {&e->convert_buffer,
         tess_de_engine_writes(&e->desc) ? TESS_DE_CONVERT_BYTES / 8 + n_bin : 0, sizeof(double)},
        {(void **)&e->boundaries, e->needs.boundaries ? e->n_chunk * n_bin : 0, sizeof(double)},
        {(void **)&e->kept_hash, e->desc.is_checked ? e->n_chunk : 0, sizeof(tess_hash)},
        {&e->desc.kept.memory, e->needs.kept ? e->n_time * n_bin : 0, item},
        {(void **)&e->evidence, e->sequences.n, sizeof(double)},
        {(void **)&e->has_forecast, e->n_chunk, 1},
        {(void **)&e->path.ends, e->needs.path ? (e->n_chunk + 1) * n_bin : 0, sizeof(double)},
        {(void **)&e->path.scores, e->needs.path ? rows * n_bin : 0, sizeof(double)},
        {(void **)&e->path.rows, e->needs.path && !e->desc.path.memory ? rows : 0, sizeof(int64_t)},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (wanted[i].n > 0) {
            TESS_TRY(take_room(e, wanted[i].n, wanted[i].item, clear_part, wanted[i].at));
        }
    }
    if (e->needs.forecasts) {
        TESS_TRY(take_room(e, e->n_time * tess_de_hmm_forecast_items(d->hmm), sizeof(double),
                           touch_part, (void **)&e->forecasts));
    }
    TESS_TRY(tess_de_engine_take_there(e));
    if (e->needs.parts) {
        TESS_TRY(tess_de_hmm_room_create(e->ctx, d->hmm, d->dtype, rows, tess_de_engine_smooths(e),
                                         &e->room));
    }
    if (e->needs.path) {
        TESS_TRY(tess_de_path_create(e->ctx, d->hmm, &e->path.model));
    }
    return e->path.model && e->sequences.n >= TESS_DE_SEQUENCES_THAT_PAY
               ? tess_de_path_there_make(e->ctx, e->path.model, d->initial, &e->path.there)
               : TESS_OK;
}

tess_status tess_de_engine_create(tess_context *ctx, const tess_de_engine_desc *desc,
                                  tess_de_engine **out)
{
    *out = NULL;
    tess_de_engine *engine =
        tess_heap_alloc_zero(&ctx->heap, sizeof *engine, TESS_TAG_PLAN, "decoding engine");
    if (!engine) {
        return TESS_E_MEMORY;
    }
    tess_status status = tess_de_engine_prepare(ctx, desc);
    if (status == TESS_OK) {
        status = tess_de_engine_plan(ctx, desc, engine);
    }
    engine->ctx = ctx;
    tess_blocks_init(&engine->memory, &ctx->heap);
    if (status == TESS_OK) {
        status = take_memory(engine);
    }
    if (status == TESS_OK && tess_de_engine_has_paths_there(engine)) {
        memset(&engine->desc.kept_ll, 0, sizeof engine->desc.kept_ll); // nobody reads it
    }
    if (status == TESS_OK && engine->needs.kept) {
        tess_de_rows_of_memory(engine->desc.kept.memory, desc->detector->dtype,
                               desc->detector->info.n_state_bin, &engine->desc.kept);
        engine->keep = &engine->desc.kept;
    }
    if (status != TESS_OK) {
        tess_de_engine_destroy(engine);
        return status;
    }
    if (desc->given_ll.dtype == 0) {
        const tess_decode_observation decoded = decoded_rows(desc);
        tess_de_warn_animal(ctx, desc->detector, &decoded);
    }
    engine->has_nan =
        desc->given_ll.dtype == 0 && tess_de_has_untracked(&desc->observation->position);
    tess_de_engine_rewind(engine);
    *out = engine;
    return TESS_OK;
}

void tess_de_engine_destroy(tess_de_engine *engine)
{
    if (engine) {
        tess_de_engine_drop(engine);
        tess_de_engine_free_there(engine);
        tess_de_path_there_free(engine->path.there);
        tess_de_path_destroy(engine->path.model);
        tess_de_hmm_room_destroy(engine->room);
        tess_blocks_free(&engine->memory);
        tess_heap_free(&engine->ctx->heap, engine, sizeof *engine, TESS_TAG_PLAN);
    }
}

void tess_de_engine_rewind(tess_de_engine *engine)
{
    const tess_decode_detector *d = engine->desc.detector;
    engine->at = (tess_de_position){.pass = 0, .chunk = 0};
    engine->ahead.chunk = -1;
    memset(engine->has_forecast, 0, (size_t)engine->n_chunk);
    memcpy(engine->carry.predicted, d->initial, (size_t)d->info.n_state_bin * sizeof(double));
    engine->carry.log_evidence = 0;
    engine->carry.n_row = 0;
    engine->carry.n_impossible = 0;
    engine->carry.first_impossible = -1;
    engine->report = (tess_decode_likelihood_report){.struct_size = sizeof engine->report};
}

void tess_de_engine_reuse_likelihood(tess_de_engine *engine)
{
    engine->desc.given_ll = engine->desc.ll;
    memset(&engine->desc.ll, 0, sizeof engine->desc.ll);
}

double tess_de_engine_evidence(const tess_de_engine *engine)
{
    double sum = 0;
    for (int64_t k = 0; k < engine->sequences.n; k++) {
        sum += engine->evidence[k];
    }
    return sum;
}

// Passes over the rows: forward, back to smooth or to score, forward along the path.
static int64_t n_pass(const tess_de_engine *e)
{
    return e->desc.path.dtype != 0 ? 3 : tess_de_engine_smooths(e) ? 2 : 1;
}

// Rows of the present pass before engine->at.
static int64_t rows_done(const tess_de_engine *e)
{
    const bool is_back = e->at.pass == TESS_DE_BACKWARD;
    const int64_t rows = (e->at.chunk + (is_back ? 1 : 0)) * e->chunk_rows;
    const int64_t before = rows < e->n_time ? rows : e->n_time;
    return is_back ? e->n_time - before : before;
}

double tess_de_engine_done(const tess_de_engine *engine)
{
    const double rows = (double)rows_done(engine) / (double)engine->n_time;
    return ((double)engine->at.pass + rows) / (double)n_pass(engine);
}

static void move_on(tess_de_engine *e)
{
    e->at.chunk += e->at.pass == TESS_DE_BACKWARD ? -1 : 1;
    if (e->at.pass == TESS_DE_FORWARD && e->at.chunk == e->n_chunk && n_pass(e) > 1) {
        e->at = (tess_de_position){.pass = TESS_DE_BACKWARD, .chunk = e->n_chunk - 1};
    } else if (e->at.pass == TESS_DE_BACKWARD && e->at.chunk < 0 && n_pass(e) > 2) {
        e->at = (tess_de_position){.pass = TESS_DE_TRACE, .chunk = 0};
    }
}

// The chunk at hand, or nothing of it: where it fails, what carries on is as before.
static tess_status step(tess_de_engine *e)
{
    const tess_de_hmm_carry carry = e->carry;
    const tess_decode_likelihood_report report = e->report;
    const int64_t path_at = e->path.at;
    double *carried = e->at.pass == TESS_DE_BACKWARD ? e->next : e->carry.predicted;
    const size_t bytes = (size_t)e->desc.detector->info.n_state_bin * sizeof *carried;
    memcpy(e->before, carried, bytes);
    const tess_status status = tess_de_engine_pass(e);
    if (status != TESS_OK) {
        e->carry = carry;
        e->report = report;
        e->path.at = path_at;
        memcpy(carried, e->before, bytes);
        return status;
    }
    move_on(e);
    return TESS_OK;
}

static void watch_pass(tess_de_engine *e)
{
    const tess_decode_detector *d = e->desc.detector;
    static const char *const names[] = {"decode.likelihood", "decode.smooth", "decode.path"};
    tess_watch_begin(&e->watch, e->ctx, names[e->at.pass], "rows", rows_done(e),
                     (uint64_t)e->n_time * (uint64_t)d->info.n_state_bin * item_bytes(d->dtype),
                     e->n_chunk > 1 ? TESS_STRATEGY_LARGE : TESS_STRATEGY_STANDARD);
}

static tess_status run(tess_de_engine *engine, void (*after_chunk)(void *self), void *self)
{
    const tess_de_position *at = &engine->at;
    while (at->chunk >= 0 && at->chunk < engine->n_chunk) {
        const int64_t pass = at->pass;
        watch_pass(engine);
        while (at->pass == pass && at->chunk >= 0 && at->chunk < engine->n_chunk) {
            TESS_TRY(tess_watch_poll(&engine->watch, rows_done(engine), engine->n_time));
            TESS_TRY(step(engine));
            if (after_chunk) {
                after_chunk(self);
            }
        }
        TESS_TRY(tess_de_engine_settle(engine)); // the next pass may read what this one stored
        TESS_TRY(tess_watch_poll(&engine->watch, engine->n_time, engine->n_time));
    }
    return TESS_OK;
}

tess_status tess_de_engine_run(tess_de_engine *engine, void (*after_chunk)(void *self), void *self)
{
    const tess_status status = run(engine, after_chunk, self);
    if (status != TESS_OK) {
        tess_de_engine_drop(engine);
    }
    return status;
}
