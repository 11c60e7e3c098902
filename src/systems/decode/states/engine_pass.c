// One pass over one chunk: likelihood and filter, smoother, path.
#include "systems/decode/states/engine.h"

#include "base/clock.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

static double seconds_since(int64_t begin_ns)
{
    return (double)(tess_now_ns() - begin_ns) * 1e-9;
}

// Where rows of the detector's type can be worked on: in place, or in a buffer.
static void *work_rows(const tess_de_engine *e, const tess_de_rows *rows, int64_t first)
{
    const tess_decode_detector *d = e->desc.detector;
    const size_t row_bytes = (size_t)d->info.n_state_bin * tess_dtype_bytes((tess_dtype)d->dtype);
    if (rows && rows->memory && rows->dtype == d->dtype) {
        return (char *)rows->memory + (size_t)first * row_bytes;
    }
    return tess_de_engine_slot(e, e->row_buffer, first, row_bytes);
}

// NULL: not wanted.
static void *work_predicted(const tess_de_engine *e, int64_t first)
{
    const tess_de_rows *rows = &e->desc.predictive;
    const tess_decode_detector *d = e->desc.detector;
    return !tess_de_rows_are_here(rows) || e->needs.predicted
               ? tess_de_engine_slot(e, e->predicted_buffer, first,
                                     (size_t)d->info.n_state_bin *
                                         tess_dtype_bytes((tess_dtype)d->dtype))
               : work_rows(e, rows, first);
}

static double *state_rows(const tess_de_engine *e, const tess_de_rows *rows, int64_t first,
                          int which)
{
    if (rows->memory && rows->dtype == TESS_F64) {
        return (double *)rows->memory + first * rows->width;
    }
    const int64_t slot = first / e->chunk_rows % e->n_slot;
    return tess_de_rows_are_here(rows) ? e->states_buffer + (3 * slot + which) * e->chunk_rows *
                                                                e->desc.detector->info.n_state
                                       : NULL;
}

// Transitions of a chunk, sequence by sequence.
static void bring_transition(tess_de_engine *e, int64_t first, int64_t count,
                             tess_de_hmm_chunk *chunk)
{
    const tess_decode_detector *d = e->desc.detector;
    const int64_t n_pair = (int64_t)d->info.n_state * d->info.n_state;
    const int64_t end = first + count;
    chunk->transition = d->discrete_transition;
    chunk->transition_stride = 0;
    for (int64_t at = first; e->transition_buffer && at < end;) {
        const tess_de_piece piece = tess_de_piece_at(&e->sequences, at, first, end);
        tess_de_transition_rows(d, e->desc.design,
                                e->sequences.first[piece.sequence] + piece.offset, piece.n_row,
                                e->transition_buffer + (at - first) * n_pair);
        chunk->transition = e->transition_buffer;
        chunk->transition_stride = n_pair;
        at += piece.n_row;
    }
}

// The sequences of a chunk's rows first..end-1; *parts is to be freed by free_parts().
static tess_status find_parts(const tess_de_engine *e, int64_t first, int64_t end, int64_t *n,
                              tess_de_hmm_part **parts)
{
    *n = 0;
    for (int64_t at = first; at < end; (*n)++) {
        at += tess_de_piece_at(&e->sequences, at, first, end).n_row;
    }
    *parts = tess_heap_alloc(&e->ctx->heap, (size_t)*n * sizeof **parts, TESS_TAG_SCRATCH,
                             "sequences of a chunk");
    if (!*parts) {
        return TESS_E_MEMORY;
    }
    for (int64_t at = first, i = 0; at < end; i++) {
        const tess_de_piece piece = tess_de_piece_at(&e->sequences, at, first, end);
        (*parts)[i] = (tess_de_hmm_part){.first = at - first,
                                         .n_row = piece.n_row,
                                         .is_start = piece.is_start,
                                         .is_end = piece.is_end};
        at += piece.n_row;
    }
    return TESS_OK;
}

static void free_parts(const tess_de_engine *e, tess_de_hmm_part *parts, int64_t n)
{
    tess_heap_free(&e->ctx->heap, parts, (size_t)n * sizeof *parts, TESS_TAG_SCRATCH);
}

static tess_status filter(tess_de_engine *e, int64_t first, const tess_de_hmm_chunk *chunk,
                          tess_de_hmm_carry *carry)
{
    const tess_decode_detector *d = e->desc.detector;
    const int64_t end = first + chunk->n_row;
    const int64_t begin_ns = tess_now_ns();
    tess_de_hmm_part *parts;
    int64_t n_part;
    tess_span span = tess_span_begin(&e->ctx->tracer, "decode.filter");
    TESS_TRY(find_parts(e, first, end, &n_part, &parts));
    const tess_status status = tess_de_hmm_filter_parts(e->ctx, e->states, d->hmm, chunk, parts,
                                                        n_part, d->initial, e->room, carry);
    for (int64_t i = 0; i < n_part && carry == &e->carry; i++) {
        const int64_t row = first + parts[i].first;
        e->evidence[tess_de_piece_at(&e->sequences, row, first, end).sequence] =
            parts[i].log_evidence;
    }
    free_parts(e, parts, n_part);
    tess_span_end(&span, 0, 0);
    e->filter_s += seconds_since(begin_ns);
    return status;
}

static tess_status smooth(tess_de_engine *e, int64_t first, const tess_de_hmm_chunk *chunk)
{
    const int64_t begin_ns = tess_now_ns();
    tess_de_hmm_part *parts;
    int64_t n_part;
    tess_span span = tess_span_begin(&e->ctx->tracer, "decode.smooth");
    TESS_TRY(find_parts(e, first, first + chunk->n_row, &n_part, &parts));
    const tess_status status = tess_de_hmm_smooth_parts(e->ctx, e->states, e->desc.detector->hmm,
                                                        chunk, parts, n_part, e->room, e->next);
    free_parts(e, parts, n_part);
    tess_span_end(&span, 0, 0);
    e->smoother_s += seconds_since(begin_ns);
    return status;
}

static tess_hash hash_rows(const tess_de_engine *e, const void *rows, int64_t count)
{
    const tess_decode_detector *d = e->desc.detector;
    return tess_hash_bytes(tess_hash_default(), rows,
                           (size_t)(count * d->info.n_state_bin) *
                               tess_dtype_bytes((tess_dtype)d->dtype));
}

// What the filter predicts from a chunk's rows, where it is kept for the smoother.
static double *forecasts_of(const tess_de_engine *e, int64_t first)
{
    double *rows = e->forecasts;
    return rows ? rows + first * tess_de_hmm_forecast_items(e->desc.detector->hmm) : NULL;
}

// Where filtered rows go; NULL: they stay on the device, and nobody wants them here.
static void *forward_rows(const tess_de_engine *e, int64_t first)
{
    const tess_de_rows *causal = &e->desc.causal;
    if (e->there.has_filtered) {
        return tess_de_rows_are_here(causal) ? work_rows(e, causal, first) : NULL;
    }
    return work_rows(e, e->keep ? e->keep : causal, first);
}

// Where smoothed rows go, from filtered ones that are there or elsewhere; NULL likewise.
static void *backward_rows(const tess_de_engine *e, int64_t first)
{
    const tess_de_rows *acausal = &e->desc.acausal;
    if (e->there.has_filtered) {
        return tess_de_rows_are_here(acausal) ? work_rows(e, acausal, first) : NULL;
    }
    // Rows held for this are smoothed where they are.
    return work_rows(e, e->needs.kept ? e->keep : acausal, first);
}

static tess_status forward(tess_de_engine *engine, int64_t chunk)
{
    const tess_decode_detector *d = engine->desc.detector;
    int64_t first;
    int64_t count;
    tess_de_engine_range(engine, chunk, &first, &count);
    tess_de_hmm_chunk work = {
        .n_row = count,
        .dtype = d->dtype,
        .there = tess_de_engine_rows_there(engine, first),
        .filtered = forward_rows(engine, first),
        .predicted = work_predicted(engine, first),
        .forecasts = forecasts_of(engine, first),
        .causal_states = state_rows(engine, &engine->desc.causal_states, first, 0),
        .predictive_states = state_rows(engine, &engine->desc.predictive_states, first, 1)};
    if (engine->boundaries) {
        memcpy(engine->boundaries + chunk * d->info.n_state_bin, engine->carry.predicted,
               (size_t)d->info.n_state_bin * sizeof(double));
    }
    void *scratch = work.filtered ? work.filtered : work_rows(engine, NULL, first);
    TESS_TRY(tess_de_engine_fetch(engine, chunk, scratch, &work));
    TESS_TRY(tess_context_check_cancel(engine->ctx));
    if (engine->desc.likelihood_only) {
        engine->evidence[0] = (double)NAN;
        return tess_de_engine_store(engine, TESS_DE_FORWARD, first, &work);
    }
    bring_transition(engine, first, count, &work);
    TESS_TRY(filter(engine, first, &work, &engine->carry));
    engine->has_forecast[chunk] = work.forecasts != NULL;
    if (engine->kept_hash) {
        engine->kept_hash[chunk] = hash_rows(engine, work.filtered, count);
    }
    return tess_de_engine_store(engine, TESS_DE_FORWARD, first, &work);
}

// The filtered rows of a chunk once more, from the vector noted at its first row.
static tess_status make_again(tess_de_engine *e, int64_t chunk, int64_t first,
                              tess_de_hmm_chunk *work)
{
    const int64_t n_bin = e->desc.detector->info.n_state_bin;
    tess_decode_likelihood_report counted = {.struct_size = sizeof counted};
    tess_de_hmm_carry carry = {.predicted = e->again, .n_row = first, .first_impossible = -1};
    memcpy(e->again, e->boundaries + chunk * n_bin, (size_t)n_bin * sizeof(double));
    TESS_TRY(tess_de_engine_likelihood(e, first, work->n_row, &counted, work->filtered, work));
    TESS_TRY(filter(e, first, work, &carry));
    e->n_recomputed++;
    if (e->keep && e->keep == &e->desc.causal) { // damaged where it is a result
        return tess_de_rows_store(e, e->keep, first, work->n_row, work->filtered, work->dtype);
    }
    return TESS_OK;
}

static tess_status bring_filtered(tess_de_engine *e, int64_t chunk, int64_t first,
                                  tess_de_hmm_chunk *work)
{
    if (e->there.has_filtered) {
        return TESS_OK;
    }
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

static tess_status smooth_chunk(tess_de_engine *engine, int64_t chunk, int64_t first, int64_t count)
{
    const tess_de_engine_desc *desc = &engine->desc;
    const tess_decode_detector *d = desc->detector;
    tess_de_hmm_chunk work = {.n_row = count,
                              .dtype = d->dtype,
                              .there = tess_de_engine_rows_there(engine, first),
                              .filtered = backward_rows(engine, first)};
    void *target = work.filtered;
    bring_transition(engine, first, count, &work);
    TESS_TRY(bring_filtered(engine, chunk, first, &work));
    work.forecasts = engine->has_forecast[chunk] ? forecasts_of(engine, first) : NULL;
    work.acausal_states = state_rows(engine, &desc->acausal_states, first, 2);
    work.filtered = engine->there.sends_rows ? NULL : target; // it comes down when it is stored
    TESS_TRY(smooth(engine, first, &work));
    work.filtered = target;
    return tess_de_engine_store(engine, TESS_DE_BACKWARD, first, &work);
}

static tess_status backward(tess_de_engine *engine, int64_t chunk)
{
    int64_t first;
    int64_t count;
    tess_de_engine_range(engine, chunk, &first, &count);
    if (tess_de_engine_smooths(engine)) {
        TESS_TRY(smooth_chunk(engine, chunk, first, count));
    }
    return engine->path.model ? tess_de_engine_score(engine, chunk, first, count) : TESS_OK;
}

static tess_status trace(tess_de_engine *engine, int64_t chunk)
{
    int64_t first;
    int64_t count;
    tess_de_engine_range(engine, chunk, &first, &count);
    return tess_de_engine_trace(engine, chunk, first, count);
}

tess_status tess_de_engine_pass(tess_de_engine *engine)
{
    switch (engine->at.pass) {
    case TESS_DE_FORWARD:
        return forward(engine, engine->at.chunk);
    case TESS_DE_BACKWARD:
        return backward(engine, engine->at.chunk);
    default:
        return trace(engine, engine->at.chunk);
    }
}
