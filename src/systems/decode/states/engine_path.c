// The most likely path over chunks: scores on the way back, bins on the way forward again.
//
// Scores cross from chunk to chunk only where a sequence does. On the way back those of each
// chunk's first row are kept; the rest are made again when the path comes by.
#include "systems/decode/states/engine.h"

#include "base/status.h"

#include <string.h>

// The likelihood of a piece's rows and of the row that follows it in its sequence.
static tess_status bring_rows(tess_de_engine *e, const tess_de_piece *piece,
                              tess_de_hmm_chunk *chunk)
{
    const tess_decode_detector *d = e->desc.detector;
    const int64_t n_row = piece->is_end ? piece->n_row : piece->n_row + 1;
    const tess_de_rows *kept = e->desc.ll.memory ? &e->desc.ll : &e->desc.kept_ll;
    tess_decode_likelihood_report counted = {.struct_size = sizeof counted};
    chunk->n_row = piece->n_row;
    chunk->dtype = d->dtype;
    if (e->desc.given_ll.dtype != 0 || kept->dtype != d->dtype) {
        return tess_de_engine_likelihood(e, piece->first, n_row, &counted, e->row_buffer, chunk);
    }
    const size_t row_bytes = (size_t)kept->width * tess_dtype_bytes((tess_dtype)kept->dtype);
    void *room = tess_de_engine_slot(e, e->ll_buffer, piece->first, row_bytes);
    chunk->ll_dtype = kept->dtype;
    chunk->ll = room;
    if (kept->memory) {
        chunk->ll = (const char *)kept->memory + (size_t)piece->first * row_bytes;
        return TESS_OK;
    }
    return tess_de_rows_load(kept, piece->first, n_row, room);
}

// Transitions of a piece's rows; shift 1: those that lead to them, of which its sequence's first
// row has none.
static void bring_transition(tess_de_engine *e, const tess_de_piece *piece, int64_t shift,
                             tess_de_hmm_chunk *chunk)
{
    const tess_decode_detector *d = e->desc.detector;
    const int64_t n_pair = (int64_t)d->info.n_state * d->info.n_state;
    const int64_t skip = shift > 0 && piece->is_start ? 1 : 0;
    chunk->transition = d->discrete_transition;
    chunk->transition_stride = 0;
    if (e->transition_buffer) {
        const int64_t row = e->sequences.first[piece->sequence] + piece->offset - shift + skip;
        tess_de_transition_rows(d, e->desc.design, row, piece->n_row - skip,
                                e->transition_buffer + skip * n_pair);
        chunk->transition = e->transition_buffer;
        chunk->transition_stride = n_pair;
    }
}

static tess_status score(tess_de_engine *e, int64_t chunk, const tess_de_piece *piece,
                         tess_de_hmm_chunk *rows, double *scores, double *first)
{
    const int64_t n_bin = e->desc.detector->info.n_state_bin;
    const double *next = piece->is_end ? NULL : e->path.ends + (chunk + 1) * n_bin;
    TESS_TRY(bring_rows(e, piece, rows));
    bring_transition(e, piece, 0, rows);
    return tess_de_path_scores(e->path.model, rows, next, scores, first);
}

tess_status tess_de_engine_score(tess_de_engine *engine, int64_t chunk, int64_t first,
                                 int64_t count)
{
    const tess_de_piece piece = tess_de_piece_at(&engine->sequences, first, first, first + count);
    double *here = engine->path.ends + chunk * engine->desc.detector->info.n_state_bin;
    tess_de_hmm_chunk rows = {0};
    return piece.is_start ? TESS_OK : score(engine, chunk, &piece, &rows, NULL, here);
}

// Sequences from row at on that lie whole in front of end; their rows in first [n + 1] if it is
// there.
static int64_t whole_ones(const tess_de_engine *e, int64_t at, int64_t begin, int64_t end,
                          int64_t *first)
{
    int64_t n = 0;
    for (int64_t row = at; row < end; n++) {
        const tess_de_piece piece = tess_de_piece_at(&e->sequences, row, begin, end);
        if (!piece.is_start || !piece.is_end) {
            break;
        }
        row += piece.n_row;
        if (first) {
            first[n] = piece.first - at;
            first[n + 1] = row - at;
        }
    }
    return n;
}

// Paths of n whole sequences from row at on, of which first tells the rows.
static tess_status trace_many(tess_de_engine *e, int64_t at, int64_t n, const int64_t *first,
                              int64_t *bins)
{
    const tess_decode_detector *d = e->desc.detector;
    const int64_t n_pair = (int64_t)d->info.n_state * d->info.n_state;
    const tess_de_piece all = {.first = at, .n_row = first[n], .is_start = true, .is_end = true};
    tess_de_hmm_chunk rows = {.transition = d->discrete_transition};
    if (e->there.has_all_ll) {
        rows.there.ll = tess_de_engine_rows_there(e, at).ll;
        rows.ll_dtype = d->dtype;
    } else {
        TESS_TRY(bring_rows(e, &all, &rows));
    }
    for (int64_t i = 0; e->transition_buffer && i < n; i++) {
        const int64_t stop = at + first[i + 1];
        const tess_de_piece piece = tess_de_piece_at(&e->sequences, at + first[i], at, stop);
        tess_de_transition_rows(d, e->desc.design, e->sequences.first[piece.sequence], piece.n_row,
                                e->transition_buffer + first[i] * n_pair);
        rows.transition = e->transition_buffer;
        rows.transition_stride = n_pair;
    }
    return tess_de_path_there_find(e->path.there, &rows, first, n, bins);
}

// Rows *at..end-1, as far as sequences lie in them whole and a device finds their paths.
static tess_status trace_there(tess_de_engine *e, int64_t begin, int64_t end, int64_t *at,
                               int64_t *bins)
{
    const int64_t n = e->path.there ? whole_ones(e, *at, begin, end, NULL) : 0;
    if (n == 0) {
        return TESS_OK;
    }
    const size_t bytes = (size_t)(n + 1) * sizeof(int64_t);
    int64_t *first = tess_heap_alloc(&e->ctx->heap, bytes, TESS_TAG_SCRATCH, "paths");
    if (!first) {
        return TESS_E_MEMORY;
    }
    whole_ones(e, *at, begin, end, first);
    const tess_status status = trace_many(e, *at, n, first, bins + (*at - begin));
    *at += first[n];
    tess_heap_free(&e->ctx->heap, first, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_de_engine_trace(tess_de_engine *engine, int64_t chunk, int64_t first,
                                 int64_t count)
{
    const tess_de_rows *out = &engine->desc.path;
    int64_t *bins = out->memory ? (int64_t *)out->memory + first : engine->path.rows;
    double *spare = engine->before; // the first row's scores are the first of them all
    const int64_t end = first + count;
    for (int64_t at = first; at < end;) {
        TESS_TRY(trace_there(engine, first, end, &at, bins));
        if (at == end) {
            break;
        }
        const tess_de_piece piece = tess_de_piece_at(&engine->sequences, at, first, end);
        tess_de_hmm_chunk rows = {0};
        TESS_TRY(score(engine, chunk, &piece, &rows, engine->path.scores, spare));
        bring_transition(engine, &piece, 1, &rows);
        TESS_TRY(tess_de_path_trace(engine->path.model, &rows, engine->path.scores,
                                    engine->desc.detector->initial,
                                    piece.is_start ? -1 : engine->path.at, bins + (at - first)));
        at += piece.n_row;
        engine->path.at = bins[at - first - 1];
    }
    return out->memory ? TESS_OK : out->write(out->self, first, count, bins);
}
