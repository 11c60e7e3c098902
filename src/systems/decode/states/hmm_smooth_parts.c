// The smoother over segments side by side, the last one first.
#include "base/status.h"
#include "systems/decode/states/hmm_room.h"
#include "systems/decode/states/hmm_there.h"

#include <string.h>

// Rows [n_row][N_s] in place, which are those of the chunk from first on.
static tess_status smooth_rows(const tess_de_hmm_work *work, int64_t first, int64_t n_row,
                               void *rows, bool is_last, bool is_kept, int32_t worker, double *next)
{
    const tess_hmm_model *m = &work->hmm->model;
    const tess_de_hmm_chunk *chunk = work->chunk;
    const tess_de_hmm_room *room = work->room;
    const int64_t n_ahead = tess_hmm_ahead_items(m, TESS_DE_AGAIN_ROWS);
    const tess_stage_decode_hmm_smooth args = {
        .model = m,
        .scratch = room->scratch + worker * m->n_scratch,
        .n_row = n_row,
        .dtype = chunk->dtype,
        .is_last = is_last,
        .transition = chunk->transition + first * chunk->transition_stride,
        .transition_stride = chunk->transition_stride,
        .filtered = rows,
        .next = next,
        .acausal_states =
            is_kept && chunk->acausal_states ? chunk->acausal_states + first * m->n_state : NULL,
        .ahead = room->ahead + worker * n_ahead,
        .lanes = room->lane + worker * m->n_scratch,
        .n_lane = 1,
        .forecasts = tess_de_hmm_forecasts(work, first)};
    return tess_stage_run_apart(work->device, TESS_STAGE_DECODE_HMM_SMOOTH, &args, sizeof args);
}

// Goes through copies of the rows behind a segment, as if they were the last ones.
static tess_status guess_behind(void *arg, int64_t index, int32_t worker)
{
    const tess_de_hmm_work *work = arg;
    const tess_de_hmm_room *room = work->room;
    const tess_de_hmm_segment *segment = &room->segments[index];
    const int64_t begin = segment->first + segment->n_row;
    char *sink = tess_de_hmm_row(work, room->sink, worker * TESS_DE_GUESS_ROWS);
    double *next = room->guesses + index * work->hmm->model.n_bin;
    for (int64_t end = begin + segment->n_guess; end > begin;) {
        const int64_t n = end - begin < TESS_DE_GUESS_ROWS ? end - begin : TESS_DE_GUESS_ROWS;
        const bool is_last = end == begin + segment->n_guess;
        memcpy(sink, tess_de_hmm_row(work, work->chunk->filtered, end - n),
               (size_t)n * work->row_bytes);
        TESS_TRY(smooth_rows(work, end - n, n, sink, is_last, false, worker, next));
        end -= n;
    }
    return TESS_OK;
}

static tess_status smooth_segment(void *arg, int64_t index, int32_t worker)
{
    const tess_de_hmm_work *work = arg;
    const tess_de_hmm_room *room = work->room;
    const tess_de_hmm_segment *segment = &room->segments[index];
    const int64_t n_bin = work->hmm->model.n_bin;
    double *next = room->ends + index * n_bin;
    const double *begins = segment->n_guess > 0 ? room->guesses + index * n_bin : work->entering;
    memcpy(next, begins, (size_t)n_bin * sizeof *next);
    for (int64_t end = segment->first + segment->n_row; end > segment->first;) {
        const int64_t left = end - segment->first;
        const int64_t n = left < TESS_DE_AGAIN_ROWS ? left : TESS_DE_AGAIN_ROWS;
        void *rows = tess_de_hmm_row(work, work->chunk->filtered, end - n);
        const bool is_last = segment->is_edge && end == segment->first + segment->n_row;
        if (segment->n_guess > 0) { // while they are at hand
            memcpy(tess_de_hmm_row(work, room->spare, end - n), rows, (size_t)n * work->row_bytes);
        }
        TESS_TRY(tess_context_check_cancel(work->ctx));
        TESS_TRY(smooth_rows(work, end - n, n, rows, is_last, true, worker, next));
        end -= n;
    }
    return TESS_OK;
}

// From the filtered rows once more, up to the row that comes out as it was.
static tess_status smooth_again(const tess_de_hmm_work *work, int64_t index)
{
    const tess_de_hmm_room *room = work->room;
    const tess_de_hmm_segment *segment = &room->segments[index];
    const int64_t n_bin = work->hmm->model.n_bin;
    memcpy(room->again, room->ends + (index - 1) * n_bin, (size_t)n_bin * sizeof *room->again);
    for (int64_t end = segment->first + segment->n_row; end > segment->first;) {
        const int64_t left = end - segment->first;
        const int64_t n = left < TESS_DE_AGAIN_ROWS ? left : TESS_DE_AGAIN_ROWS;
        void *rows = tess_de_hmm_row(work, work->chunk->filtered, end - n);
        memcpy(room->row, rows, work->row_bytes);
        memcpy(rows, tess_de_hmm_row(work, room->spare, end - n), (size_t)n * work->row_bytes);
        TESS_TRY(smooth_rows(work, end - n, n, rows, false, true, 0, room->again));
        if (memcmp(room->row, rows, work->row_bytes) == 0) {
            return TESS_OK;
        }
        end -= n;
    }
    memcpy(room->ends + index * n_bin, room->again, (size_t)n_bin * sizeof *room->again);
    return TESS_OK;
}

// All guesses come first: segments take the rows away that they are made from.
static tess_status smooth_round(tess_de_hmm_work *work)
{
    const tess_de_hmm_room *room = work->room;
    const int64_t n_bin = work->hmm->model.n_bin;
    const size_t vector = (size_t)n_bin * sizeof(double);
    TESS_TRY(tess_parallel_for(work->ctx->pool, work->n_segment, guess_behind, work));
    TESS_TRY(tess_parallel_for(work->ctx->pool, work->n_segment, smooth_segment, work));
    int64_t n_made = 0;
    int64_t n_wrong = 0;
    for (int64_t i = 1; i < work->n_segment; i++) {
        n_made += room->segments[i].n_guess > 0;
        if (room->segments[i].n_guess > 0 &&
            memcmp(room->guesses + i * n_bin, room->ends + (i - 1) * n_bin, vector) != 0) {
            TESS_TRY(smooth_again(work, i));
            n_wrong++;
        }
    }
    tess_de_hmm_note_guesses(&work->hmm->guesses[1], work->n_guess, n_made, n_wrong);
    memcpy(work->entering, room->ends + (work->n_segment - 1) * n_bin, vector);
    return TESS_OK;
}

static tess_status one_by_one(const tess_de_hmm_work *work, const tess_de_hmm_part *parts,
                              int64_t n_part, double *next)
{
    const tess_de_hmm_chunk *all = work->chunk;
    for (int64_t i = n_part - 1; i >= 0; i--) {
        const tess_de_hmm_part *part = &parts[i];
        tess_de_hmm_chunk rows = *all;
        rows.n_row = part->n_row;
        rows.transition += part->first * all->transition_stride;
        rows.filtered = tess_de_hmm_row(work, all->filtered, part->first);
        rows.forecasts = tess_de_hmm_forecasts(work, part->first);
        rows.acausal_states = all->acausal_states
                                  ? all->acausal_states + part->first * work->hmm->model.n_state
                                  : NULL;
        TESS_TRY(tess_de_hmm_smooth(work->ctx, work->device, work->hmm, &rows, part->is_end, next));
    }
    return TESS_OK;
}

tess_status tess_de_hmm_smooth_parts(tess_context *ctx, tess_device *device, const tess_de_hmm *hmm,
                                     const tess_de_hmm_chunk *chunk, const tess_de_hmm_part *parts,
                                     int64_t n_part, tess_de_hmm_room *room, double *next)
{
    if (!device->shares_host_memory) {
        return tess_de_hmm_smooth_there(ctx, device, hmm, chunk, parts, n_part, next);
    }
    tess_de_hmm_work work = {.ctx = ctx,
                             .device = device,
                             .hmm = hmm,
                             .chunk = chunk,
                             .entering = next,
                             .room = room,
                             .row_bytes = (size_t)hmm->model.n_bin *
                                          tess_dtype_bytes((tess_dtype)chunk->dtype)};
    return tess_de_hmm_is_cut(&work, parts, n_part, true)
               ? tess_de_hmm_rounds(&work, parts, n_part, true, smooth_round)
               : one_by_one(&work, parts, n_part, next);
}
