// The filter over segments side by side.
#include "base/status.h"
#include "systems/decode/states/hmm_room.h"
#include "systems/decode/states/hmm_there.h"

#include <string.h>

// Rows of the chunk into place, or (is_kept false) into the sink, where they are the worker's.
static tess_status filter_rows(const tess_de_hmm_work *work, int64_t first, int64_t n_row,
                               bool is_kept, int32_t worker, double *predicted)
{
    const tess_hmm_model *m = &work->hmm->model;
    const tess_de_hmm_chunk *chunk = work->chunk;
    const tess_de_hmm_room *room = work->room;
    const int64_t states = first * m->n_state;
    const size_t ll_row = (size_t)m->n_ll * tess_dtype_bytes((tess_dtype)chunk->ll_dtype);
    tess_stage_decode_hmm_filter args = {
        .model = m,
        .scratch = room->scratch + worker * m->n_scratch,
        .n_row = n_row,
        .ll = (const char *)chunk->ll + (size_t)first * ll_row,
        .ll_dtype = chunk->ll_dtype,
        .dtype = chunk->dtype,
        .transition = chunk->transition + first * chunk->transition_stride,
        .transition_stride = chunk->transition_stride,
        .predicted = predicted,
        .filtered = tess_de_hmm_row(work, room->sink, worker * TESS_DE_GUESS_ROWS),
        .log_norm = room->unheard + worker * TESS_DE_GUESS_ROWS};
    if (is_kept) {
        args.filtered = tess_de_hmm_row(work, chunk->filtered, first);
        args.predicted_rows =
            chunk->predicted ? tess_de_hmm_row(work, chunk->predicted, first) : NULL;
        args.causal_states = chunk->causal_states ? chunk->causal_states + states : NULL;
        args.predictive_states =
            chunk->predictive_states ? chunk->predictive_states + states : NULL;
        args.log_norm = room->log_norm + first;
        args.forecasts = tess_de_hmm_forecasts(work, first);
    }
    return tess_stage_run_apart(work->device, TESS_STAGE_DECODE_HMM_FILTER, &args, sizeof args);
}

// Goes through the rows before a segment, from nothing known; their last one is the guess.
static tess_status guess_before(const tess_de_hmm_work *work, int64_t index, int32_t worker,
                                double *predicted)
{
    const tess_de_hmm_room *room = work->room;
    const tess_de_hmm_segment *segment = &room->segments[index];
    const int64_t n_bin = work->hmm->model.n_bin;
    for (int64_t i = 0; i < n_bin; i++) {
        predicted[i] = 1 / (double)n_bin;
    }
    for (int64_t at = segment->first - segment->n_guess; at < segment->first;) {
        const int64_t left = segment->first - at;
        const int64_t n = left < TESS_DE_GUESS_ROWS ? left : TESS_DE_GUESS_ROWS;
        TESS_TRY(filter_rows(work, at, n, false, worker, predicted));
        at += n;
        if (at == segment->first) {
            memcpy(room->guesses + index * n_bin,
                   tess_de_hmm_row(work, room->sink, worker * TESS_DE_GUESS_ROWS + n - 1),
                   work->row_bytes);
        }
    }
    return TESS_OK;
}

static tess_status filter_segment(void *arg, int64_t index, int32_t worker)
{
    const tess_de_hmm_work *work = arg;
    const tess_de_hmm_segment *segment = &work->room->segments[index];
    const int64_t n_bin = work->hmm->model.n_bin;
    double *predicted = work->room->ends + index * n_bin;
    if (segment->is_edge || segment->n_guess == 0) {
        memcpy(predicted, segment->is_edge ? work->initial : work->entering,
               (size_t)n_bin * sizeof *predicted);
    } else {
        TESS_TRY(guess_before(work, index, worker, predicted));
    }
    const int64_t end = segment->first + segment->n_row;
    for (int64_t at = segment->first; at < end; at += TESS_DE_MOST_SEGMENT) {
        const int64_t n = end - at < TESS_DE_MOST_SEGMENT ? end - at : TESS_DE_MOST_SEGMENT;
        TESS_TRY(tess_context_check_cancel(work->ctx));
        TESS_TRY(filter_rows(work, at, n, true, worker, predicted));
    }
    return TESS_OK;
}

// What a row predicts is a function of the row as it is kept: where that comes out as it was, so
// does all that follows.
static tess_status filter_again(const tess_de_hmm_work *work, int64_t index)
{
    const tess_de_hmm_room *room = work->room;
    const tess_de_hmm_segment *segment = &room->segments[index];
    const int64_t n_bin = work->hmm->model.n_bin;
    const int64_t end = segment->first + segment->n_row;
    memcpy(room->again, room->ends + (index - 1) * n_bin, (size_t)n_bin * sizeof *room->again);
    for (int64_t at = segment->first; at < end;) {
        const int64_t n = end - at < TESS_DE_AGAIN_ROWS ? end - at : TESS_DE_AGAIN_ROWS;
        void *last = tess_de_hmm_row(work, work->chunk->filtered, at + n - 1);
        memcpy(room->row, last, work->row_bytes);
        TESS_TRY(filter_rows(work, at, n, true, 0, room->again));
        if (memcmp(room->row, last, work->row_bytes) == 0) {
            return TESS_OK;
        }
        at += n;
    }
    memcpy(room->ends + index * n_bin, room->again, (size_t)n_bin * sizeof *room->again);
    return TESS_OK;
}

static tess_status filter_round(tess_de_hmm_work *work)
{
    const tess_de_hmm_room *room = work->room;
    const int64_t n_bin = work->hmm->model.n_bin;
    TESS_TRY(tess_parallel_for(work->ctx->pool, work->n_segment, filter_segment, work));
    int64_t n_made = 0;
    int64_t n_wrong = 0;
    for (int64_t i = 1; i < work->n_segment; i++) {
        const tess_de_hmm_segment *segment = &room->segments[i];
        n_made += segment->n_guess > 0;
        if (segment->n_guess > 0 &&
            memcmp(room->guesses + i * n_bin,
                   tess_de_hmm_row(work, work->chunk->filtered, segment->first - 1),
                   work->row_bytes) != 0) {
            TESS_TRY(filter_again(work, i));
            n_wrong++;
        }
    }
    tess_de_hmm_note_guesses(&work->hmm->guesses[0], work->n_guess, n_made, n_wrong);
    memcpy(work->entering, room->ends + (work->n_segment - 1) * n_bin,
           (size_t)n_bin * sizeof(double));
    return TESS_OK;
}

// Rows of the chunk that a part is.
static tess_de_hmm_chunk chunk_of(const tess_de_hmm_work *work, const tess_de_hmm_part *part)
{
    const tess_hmm_model *m = &work->hmm->model;
    const tess_de_hmm_chunk *all = work->chunk;
    const int64_t states = part->first * m->n_state;
    const size_t ll_row = (size_t)m->n_ll * tess_dtype_bytes((tess_dtype)all->ll_dtype);
    tess_de_hmm_chunk rows = *all;
    rows.n_row = part->n_row;
    rows.ll = (const char *)all->ll + (size_t)part->first * ll_row;
    rows.transition += part->first * all->transition_stride;
    rows.filtered = tess_de_hmm_row(work, all->filtered, part->first);
    rows.forecasts = tess_de_hmm_forecasts(work, part->first);
    rows.predicted = all->predicted ? tess_de_hmm_row(work, all->predicted, part->first) : NULL;
    rows.causal_states = all->causal_states ? all->causal_states + states : NULL;
    rows.predictive_states = all->predictive_states ? all->predictive_states + states : NULL;
    return rows;
}

static void begin_part(const tess_de_hmm_work *work, const tess_de_hmm_part *part,
                       tess_de_hmm_carry *carry)
{
    if (part->is_start) {
        memcpy(carry->predicted, work->initial,
               (size_t)work->hmm->model.n_bin * sizeof *carry->predicted);
        carry->log_evidence = 0;
    }
}

static tess_status one_by_one(const tess_de_hmm_work *work, tess_de_hmm_part *parts, int64_t n_part,
                              tess_de_hmm_carry *carry)
{
    for (int64_t i = 0; i < n_part; i++) {
        const tess_de_hmm_chunk rows = chunk_of(work, &parts[i]);
        begin_part(work, &parts[i], carry);
        TESS_TRY(tess_de_hmm_filter(work->ctx, work->device, work->hmm, &rows, carry));
        parts[i].log_evidence = carry->log_evidence;
    }
    return TESS_OK;
}

static void note_parts(const double *log_norm, tess_de_hmm_part *parts, int64_t n_part,
                       tess_de_hmm_carry *carry)
{
    for (int64_t i = 0; i < n_part; i++) {
        carry->log_evidence = parts[i].is_start ? 0 : carry->log_evidence;
        tess_de_hmm_note_rows(log_norm + parts[i].first, parts[i].n_row, carry);
        parts[i].log_evidence = carry->log_evidence;
    }
}

static tess_status filter_there(const tess_de_hmm_work *work, tess_de_hmm_part *parts,
                                int64_t n_part, tess_de_hmm_carry *carry)
{
    tess_heap *heap = &work->ctx->heap;
    const size_t bytes = (size_t)work->chunk->n_row * sizeof(double);
    double *log_norm = tess_heap_alloc(heap, bytes, TESS_TAG_SCRATCH, "filter");
    if (!log_norm) {
        return TESS_E_MEMORY;
    }
    const tess_status status =
        tess_de_hmm_filter_there(work->ctx, work->device, work->hmm, work->chunk, parts, n_part,
                                 work->initial, log_norm, carry->predicted);
    if (status == TESS_OK) {
        note_parts(log_norm, parts, n_part, carry);
    }
    tess_heap_free(heap, log_norm, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_de_hmm_filter_parts(tess_context *ctx, tess_device *device, const tess_de_hmm *hmm,
                                     const tess_de_hmm_chunk *chunk, tess_de_hmm_part *parts,
                                     int64_t n_part, const double *initial, tess_de_hmm_room *room,
                                     tess_de_hmm_carry *carry)
{
    tess_de_hmm_work work = {.ctx = ctx,
                             .device = device,
                             .hmm = hmm,
                             .chunk = chunk,
                             .initial = initial,
                             .entering = carry->predicted,
                             .room = room,
                             .row_bytes = (size_t)hmm->model.n_bin *
                                          tess_dtype_bytes((tess_dtype)chunk->dtype)};
    if (!device->shares_host_memory) {
        return filter_there(&work, parts, n_part, carry);
    }
    if (!tess_de_hmm_is_cut(&work, parts, n_part, false)) {
        return one_by_one(&work, parts, n_part, carry);
    }
    TESS_TRY(tess_de_hmm_rounds(&work, parts, n_part, false, filter_round));
    note_parts(room->log_norm, parts, n_part, carry);
    return TESS_OK;
}
