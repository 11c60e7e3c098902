// Likelihood, filter and smoother over chunks of rows.
#include "systems/decode/states/engine.h"

#include "base/clock.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

static size_t item_bytes(int32_t dtype)
{
    return dtype == TESS_F64 ? sizeof(double) : sizeof(float);
}

static double seconds_since(int64_t begin_ns)
{
    return (double)(tess_now_ns() - begin_ns) * 1e-9;
}

// Filtered rows stay where they are written anyway, if that place has their type.
static const tess_de_rows *choose_keep(const tess_de_engine *e)
{
    const int32_t dtype = e->desc.detector->dtype;
    if (!tess_de_engine_smooths(e)) {
        return NULL;
    }
    if (e->desc.causal.dtype == dtype) {
        return &e->desc.causal;
    }
    if (e->desc.acausal.dtype == dtype) {
        return &e->desc.acausal;
    }
    return e->desc.kept.dtype == dtype ? &e->desc.kept : NULL;
}

static tess_status check_desc(tess_context *ctx, const tess_de_engine_desc *desc)
{
    const tess_decode_observation *o = desc->observation;
    if (o->n_time < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "time: is empty; at least one row is needed");
    }
    if (desc->n_chunk < 0 || desc->n_chunk > o->n_time) {
        TESS_FAIL(TESS_E_RANGE, "n_chunk is %lld; 1 to %lld (the rows) or 0 is allowed",
                  (long long)desc->n_chunk, (long long)o->n_time);
    }
    if (desc->detector->info.n_coefficient > 0 && !desc->design) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "design: is NULL, but the transitions depend on covariates; pass [%lld][%lld]",
                  (long long)o->n_time, (long long)desc->detector->info.n_coefficient);
    }
    if (desc->given_ll.dtype == 0) {
        TESS_TRY(tess_de_check_animal(ctx, desc->detector, o));
    }
    return TESS_OK;
}

static int any_nan(const tess_decode_position *position)
{
    for (int64_t i = 0; i < position->n_sample * position->n_dim; i++) {
        if (isnan(position->position[i])) {
            return 1;
        }
    }
    return 0;
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
    int32_t stages[16]; // decode has fewer
    int64_t n = add_stages(stages, 0, tess_de_hmm_stages, 2);
    for (int64_t i = 0; i < detector->n_encoding; i++) {
        const tess_decode_encoding *encoding = detector->encodings[i];
        if (encoding) {
            n = add_stages(stages, n, encoding->ops->stages, encoding->ops->n_stage);
        }
    }
    return tess_stage_choose(ctx, stages, n, "decoding", device);
}

tess_status tess_de_engine_plan(tess_context *ctx, const tess_de_engine_desc *desc,
                                tess_de_engine *engine)
{
    TESS_TRY(check_desc(ctx, desc));
    memset(engine, 0, sizeof *engine);
    engine->ctx = ctx;
    engine->desc = *desc;
    engine->n_time = desc->observation->n_time;
    engine->keep = choose_keep(engine);
    return tess_de_engine_choose(engine);
}

static tess_status take_memory(tess_de_engine *e)
{
    const tess_decode_detector *d = e->desc.detector;
    const int64_t rows = e->chunk_rows;
    const int64_t n_bin = d->info.n_state_bin;
    const int64_t n_state = d->info.n_state;
    const size_t item = item_bytes(d->dtype);
    const char *what = "rows of a chunk";
    tess_blocks *m = &e->memory;
    struct {
        void **at;
        int64_t n;
        size_t item;
    } wanted[] = {
        {(void **)&e->carry.predicted, n_bin, sizeof(double)},
        {(void **)&e->next, n_bin, sizeof(double)},
        {(void **)&e->again, n_bin, sizeof(double)},
        {(void **)&e->before, n_bin, sizeof(double)},
        {&e->ll_buffer, e->needs.ll ? rows * d->info.n_ll : 0,
         item_bytes(e->desc.given_ll.dtype != 0 ? e->desc.given_ll.dtype : d->dtype)},
        {&e->row_buffer, e->needs.rows ? rows * n_bin : 0, item},
        {&e->predicted_buffer, e->needs.predicted ? rows * n_bin : 0, item},
        {(void **)&e->states_buffer, 3 * rows * n_state, sizeof(double)},
        {(void **)&e->transition_buffer, e->needs.transition ? rows * n_state * n_state : 0,
         sizeof(double)},
        {&e->convert_buffer, TESS_DE_CONVERT_BYTES / 8 + n_bin, sizeof(double)},
        {(void **)&e->boundaries, e->needs.boundaries ? e->n_chunk * n_bin : 0, sizeof(double)},
        {(void **)&e->kept_hash, e->desc.is_checked ? e->n_chunk : 0, sizeof(tess_hash)},
        {&e->desc.kept.memory, e->needs.kept ? e->n_time * n_bin : 0, item},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (wanted[i].n > 0) {
            *wanted[i].at = tess_blocks_alloc(m, wanted[i].n, wanted[i].item, what);
            if (!*wanted[i].at) {
                return TESS_E_MEMORY;
            }
        }
    }
    return TESS_OK;
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
    tess_status status = tess_de_engine_plan(ctx, desc, engine);
    engine->ctx = ctx;
    tess_blocks_init(&engine->memory, &ctx->heap);
    if (status == TESS_OK) {
        status = take_memory(engine);
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
    engine->has_nan = desc->given_ll.dtype == 0 && any_nan(&desc->observation->position);
    tess_de_engine_rewind(engine);
    *out = engine;
    return TESS_OK;
}

void tess_de_engine_destroy(tess_de_engine *engine)
{
    if (engine) {
        tess_blocks_free(&engine->memory);
        tess_heap_free(&engine->ctx->heap, engine, sizeof *engine, TESS_TAG_PLAN);
    }
}

void tess_de_engine_rewind(tess_de_engine *engine)
{
    const tess_decode_detector *d = engine->desc.detector;
    engine->at = (tess_de_position){.is_backward = 0, .chunk = 0};
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

static void chunk_range(const tess_de_engine *e, int64_t chunk, int64_t *first, int64_t *count)
{
    *first = chunk * e->chunk_rows;
    const int64_t left = e->n_time - *first;
    *count = left < e->chunk_rows ? left : e->chunk_rows;
}

// Where rows of the detector's type can be worked on: in place, or in a buffer.
static void *work_rows(const tess_de_engine *e, const tess_de_rows *rows, int64_t first)
{
    const int32_t dtype = e->desc.detector->dtype;
    if (rows && rows->memory && rows->dtype == dtype) {
        return (char *)rows->memory + (size_t)(first * rows->width) * item_bytes(dtype);
    }
    return e->row_buffer;
}

// NULL: not wanted.
static void *work_predicted(const tess_de_engine *e, int64_t first)
{
    const tess_de_rows *rows = &e->desc.predictive;
    return rows->dtype == 0 || e->needs.predicted ? e->predicted_buffer : work_rows(e, rows, first);
}

static double *state_rows(const tess_de_engine *e, const tess_de_rows *rows, int64_t first,
                          int which)
{
    if (rows->memory && rows->dtype == TESS_F64) {
        return (double *)rows->memory + first * rows->width;
    }
    return rows->dtype != 0
               ? e->states_buffer + which * e->chunk_rows * e->desc.detector->info.n_state
               : NULL;
}

// Likelihood of a chunk into chunk->ll. filtered has room for scratch.
static tess_status bring_likelihood(tess_de_engine *e, int64_t first, int64_t count,
                                    tess_decode_likelihood_report *report, tess_de_hmm_chunk *chunk)
{
    const tess_de_rows *given = &e->desc.given_ll;
    const tess_de_rows *wanted = &e->desc.ll;
    const int32_t dtype = e->desc.detector->dtype;
    const int64_t begin_ns = tess_now_ns();
    if (given->dtype != 0) {
        chunk->ll_dtype = given->dtype;
        chunk->ll = e->ll_buffer;
        if (given->memory) {
            chunk->ll =
                (char *)given->memory + (size_t)(first * given->width) * item_bytes(given->dtype);
            return TESS_OK;
        }
        TESS_TRY(tess_de_rows_load(given, first, count, e->ll_buffer));
        e->store_s += seconds_since(begin_ns);
        return TESS_OK;
    }
    void *ll = e->ll_buffer;
    if (wanted->memory && wanted->dtype == dtype) {
        ll = (char *)wanted->memory + (size_t)(first * wanted->width) * item_bytes(dtype);
    }
    chunk->ll = ll;
    chunk->ll_dtype = dtype;
    tess_span span = tess_span_begin(&e->ctx->tracer, "decode.likelihood");
    TESS_TRY(tess_de_likelihood_rows(e->ctx, e->desc.device, e->desc.detector, e->desc.observation,
                                     e->has_nan, first, count, ll, chunk->filtered, report));
    tess_span_end(&span, 0, 0);
    e->likelihood_s += seconds_since(begin_ns);
    return TESS_OK;
}

static void bring_transition(tess_de_engine *e, int64_t first, int64_t count,
                             tess_de_hmm_chunk *chunk)
{
    const tess_decode_detector *d = e->desc.detector;
    chunk->transition = d->discrete_transition;
    chunk->transition_stride = 0;
    if (e->transition_buffer) {
        tess_de_transition_rows(d, e->desc.design, first, count, e->transition_buffer);
        chunk->transition = e->transition_buffer;
        chunk->transition_stride = (int64_t)d->info.n_state * d->info.n_state;
    }
}

static tess_status filter(tess_de_engine *e, const tess_de_hmm_chunk *chunk,
                          tess_de_hmm_carry *carry)
{
    const int64_t begin_ns = tess_now_ns();
    tess_span span = tess_span_begin(&e->ctx->tracer, "decode.filter");
    TESS_TRY(tess_de_hmm_filter(e->ctx, e->desc.device, e->desc.detector->hmm, chunk, carry));
    tess_span_end(&span, 0, 0);
    e->filter_s += seconds_since(begin_ns);
    return TESS_OK;
}

static tess_hash hash_rows(const tess_de_engine *e, const void *rows, int64_t count)
{
    const tess_decode_detector *d = e->desc.detector;
    return tess_hash_bytes(tess_hash_default(), rows,
                           (size_t)(count * d->info.n_state_bin) * item_bytes(d->dtype));
}

// What a forward step made, to where it is wanted.
static tess_status store_forward(tess_de_engine *e, int64_t first, const tess_de_hmm_chunk *chunk)
{
    const tess_de_engine_desc *desc = &e->desc;
    const int32_t dtype = desc->detector->dtype;
    const int64_t n = chunk->n_row;
    const int64_t begin_ns = tess_now_ns();
    TESS_TRY(tess_de_rows_store(e, &desc->ll, first, n, chunk->ll, chunk->ll_dtype));
    TESS_TRY(tess_de_rows_store(e, &desc->causal, first, n, chunk->filtered, dtype));
    TESS_TRY(tess_de_rows_store(e, &desc->predictive, first, n, chunk->predicted, dtype));
    TESS_TRY(tess_de_rows_store(e, &desc->causal_states, first, n, chunk->causal_states, TESS_F64));
    TESS_TRY(tess_de_rows_store(e, &desc->predictive_states, first, n, chunk->predictive_states,
                                TESS_F64));
    if (e->keep && e->keep != &desc->causal) {
        TESS_TRY(tess_de_rows_store(e, e->keep, first, n, chunk->filtered, dtype));
    }
    e->store_s += seconds_since(begin_ns);
    return TESS_OK;
}

static tess_status forward(tess_de_engine *engine, int64_t chunk)
{
    const tess_decode_detector *d = engine->desc.detector;
    int64_t first;
    int64_t count;
    chunk_range(engine, chunk, &first, &count);
    const tess_de_rows *target = engine->keep ? engine->keep : &engine->desc.causal;
    tess_de_hmm_chunk work = {
        .n_row = count,
        .dtype = d->dtype,
        .filtered = work_rows(engine, target, first),
        .predicted = work_predicted(engine, first),
        .causal_states = state_rows(engine, &engine->desc.causal_states, first, 0),
        .predictive_states = state_rows(engine, &engine->desc.predictive_states, first, 1)};
    if (engine->boundaries) {
        memcpy(engine->boundaries + chunk * d->info.n_state_bin, engine->carry.predicted,
               (size_t)d->info.n_state_bin * sizeof(double));
    }
    TESS_TRY(bring_likelihood(engine, first, count, &engine->report, &work));
    TESS_TRY(tess_context_check_cancel(engine->ctx));
    if (engine->desc.likelihood_only) {
        engine->carry.log_evidence = (double)NAN;
        return store_forward(engine, first, &work);
    }
    bring_transition(engine, first, count, &work);
    TESS_TRY(filter(engine, &work, &engine->carry));
    if (engine->kept_hash) {
        engine->kept_hash[chunk] = hash_rows(engine, work.filtered, count);
    }
    return store_forward(engine, first, &work);
}

// The filtered rows of a chunk once more, from the vector noted at its first row.
static tess_status make_again(tess_de_engine *e, int64_t chunk, int64_t first,
                              tess_de_hmm_chunk *work)
{
    const int64_t n_bin = e->desc.detector->info.n_state_bin;
    tess_decode_likelihood_report counted = {.struct_size = sizeof counted};
    tess_de_hmm_carry carry = {.predicted = e->again, .n_row = first, .first_impossible = -1};
    memcpy(e->again, e->boundaries + chunk * n_bin, (size_t)n_bin * sizeof(double));
    TESS_TRY(bring_likelihood(e, first, work->n_row, &counted, work));
    TESS_TRY(filter(e, work, &carry));
    e->n_recomputed++;
    if (e->keep && e->keep == &e->desc.causal) { // damaged where it is a result
        return tess_de_rows_store(e, e->keep, first, work->n_row, work->filtered, work->dtype);
    }
    return TESS_OK;
}

static tess_status bring_filtered(tess_de_engine *e, int64_t chunk, int64_t first,
                                  tess_de_hmm_chunk *work)
{
    if (!e->keep) {
        return make_again(e, chunk, first, work);
    }
    const int64_t begin_ns = tess_now_ns();
    TESS_TRY(tess_de_rows_load(e->keep, first, work->n_row, work->filtered));
    e->store_s += seconds_since(begin_ns);
    if (e->kept_hash &&
        !tess_hash_equal(e->kept_hash[chunk], hash_rows(e, work->filtered, work->n_row))) {
        return make_again(e, chunk, first, work);
    }
    return TESS_OK;
}

static tess_status backward(tess_de_engine *engine, int64_t chunk)
{
    const tess_de_engine_desc *desc = &engine->desc;
    const tess_decode_detector *d = desc->detector;
    int64_t first;
    int64_t count;
    chunk_range(engine, chunk, &first, &count);
    tess_de_hmm_chunk work = {
        .n_row = count, .dtype = d->dtype, .filtered = work_rows(engine, &desc->acausal, first)};
    bring_transition(engine, first, count, &work);
    TESS_TRY(bring_filtered(engine, chunk, first, &work));
    work.acausal_states = state_rows(engine, &desc->acausal_states, first, 2);
    int64_t begin_ns = tess_now_ns();
    tess_span span = tess_span_begin(&engine->ctx->tracer, "decode.smooth");
    TESS_TRY(tess_de_hmm_smooth(engine->ctx, desc->device, d->hmm, &work,
                                chunk == engine->n_chunk - 1, engine->next));
    tess_span_end(&span, 0, 0);
    engine->smoother_s += seconds_since(begin_ns);
    begin_ns = tess_now_ns();
    TESS_TRY(tess_de_rows_store(engine, &desc->acausal, first, count, work.filtered, d->dtype));
    TESS_TRY(tess_de_rows_store(engine, &desc->acausal_states, first, count, work.acausal_states,
                                TESS_F64));
    engine->store_s += seconds_since(begin_ns);
    return TESS_OK;
}

// Rows of the present pass before engine->at.
static int64_t rows_done(const tess_de_engine *e)
{
    const int64_t rows = (e->at.chunk + e->at.is_backward) * e->chunk_rows;
    const int64_t before = rows < e->n_time ? rows : e->n_time;
    return e->at.is_backward ? e->n_time - before : before;
}

double tess_de_engine_done(const tess_de_engine *engine)
{
    const double n_pass = tess_de_engine_smooths(engine) ? 2 : 1;
    const double rows = (double)rows_done(engine) / (double)engine->n_time;
    return ((double)engine->at.is_backward + rows) / n_pass;
}

// The chunk at hand, or nothing of it: where it fails, what carries on is as before.
static tess_status step(tess_de_engine *e)
{
    const tess_de_hmm_carry carry = e->carry;
    const tess_decode_likelihood_report report = e->report;
    double *carried = e->at.is_backward ? e->next : e->carry.predicted;
    const size_t bytes = (size_t)e->desc.detector->info.n_state_bin * sizeof *carried;
    memcpy(e->before, carried, bytes);
    const tess_status status =
        e->at.is_backward ? backward(e, e->at.chunk) : forward(e, e->at.chunk);
    if (status != TESS_OK) {
        e->carry = carry;
        e->report = report;
        memcpy(carried, e->before, bytes);
        return status;
    }
    e->at.chunk += e->at.is_backward ? -1 : 1;
    if (e->at.chunk == e->n_chunk && tess_de_engine_smooths(e)) {
        e->at = (tess_de_position){.is_backward = 1, .chunk = e->n_chunk - 1};
    }
    return TESS_OK;
}

static void watch_pass(tess_de_engine *e)
{
    const tess_decode_detector *d = e->desc.detector;
    tess_watch_begin(&e->watch, e->ctx, e->at.is_backward ? "decode.smooth" : "decode.likelihood",
                     "rows", rows_done(e),
                     (uint64_t)e->n_time * (uint64_t)d->info.n_state_bin * item_bytes(d->dtype),
                     e->n_chunk > 1 ? TESS_STRATEGY_LARGE : TESS_STRATEGY_STANDARD);
}

tess_status tess_de_engine_run(tess_de_engine *engine, void (*after_chunk)(void *self), void *self)
{
    const tess_de_position *at = &engine->at;
    while (at->chunk >= 0 && at->chunk < engine->n_chunk) {
        const int64_t pass = at->is_backward;
        watch_pass(engine);
        while (at->is_backward == pass && at->chunk >= 0 && at->chunk < engine->n_chunk) {
            TESS_TRY(tess_watch_poll(&engine->watch, rows_done(engine), engine->n_time));
            TESS_TRY(step(engine));
            if (after_chunk) {
                after_chunk(self);
            }
        }
        TESS_TRY(tess_watch_poll(&engine->watch, engine->n_time, engine->n_time));
    }
    return TESS_OK;
}
