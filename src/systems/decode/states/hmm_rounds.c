// Parts of a chunk cut into segments, and the room for those of a round.
#include "base/status.h"
#include "systems/decode/states/hmm_room.h"

static const int64_t SEGMENTS_OF_THREAD = 4; // of a round, at most

static size_t item_bytes(int32_t dtype)
{
    return tess_dtype_bytes((tess_dtype)dtype);
}

size_t tess_de_hmm_parts_bytes(const tess_context *ctx, const tess_de_hmm *hmm, int32_t dtype,
                               int64_t n_row, bool smooths)
{
    const tess_hmm_model *m = &hmm->model;
    const size_t n_thread = (size_t)tess_pool_threads(ctx->pool);
    const size_t n_segment = n_thread * (size_t)SEGMENTS_OF_THREAD;
    const size_t n_bin = (size_t)m->n_bin;
    const size_t words = 2 * (size_t)m->n_scratch +
                         (size_t)tess_hmm_ahead_items(m, TESS_DE_AGAIN_ROWS) + TESS_DE_GUESS_ROWS;
    size_t bytes =
        n_thread * (words * sizeof(double) + TESS_DE_GUESS_ROWS * n_bin * item_bytes(dtype));
    bytes += n_segment * (2 * n_bin * sizeof(double) + sizeof(tess_de_hmm_segment));
    bytes += 2 * n_bin * sizeof(double) + (size_t)n_row * sizeof(double);
    return bytes + (smooths ? (size_t)n_row * n_bin * item_bytes(dtype) : 0);
}

static tess_status take_room(tess_de_hmm_room *room, const tess_hmm_model *m, size_t item,
                             int64_t n_row, bool smooths)
{
    tess_blocks *blocks = &room->blocks;
    const char *what = "parts of a chunk";
    const int64_t n = room->n_thread;
    const int64_t rows = TESS_DE_GUESS_ROWS;
    const int64_t n_ahead = tess_hmm_ahead_items(m, TESS_DE_AGAIN_ROWS);
    room->segments = tess_blocks_alloc(blocks, room->n_segment, sizeof *room->segments, what);
    room->scratch = tess_blocks_alloc(blocks, n * m->n_scratch, sizeof(double), what);
    room->lane = tess_blocks_alloc(blocks, n * m->n_scratch, sizeof(double), what);
    room->ahead = tess_blocks_alloc_raw(blocks, n * n_ahead, sizeof(double), what);
    room->sink = tess_blocks_alloc_raw(blocks, n * rows * m->n_bin, item, what);
    room->unheard = tess_blocks_alloc_raw(blocks, n * rows, sizeof(double), what);
    room->guesses = tess_blocks_alloc_raw(blocks, room->n_segment * m->n_bin, sizeof(double), what);
    room->ends = tess_blocks_alloc_raw(blocks, room->n_segment * m->n_bin, sizeof(double), what);
    room->again = tess_blocks_alloc_raw(blocks, m->n_bin, sizeof(double), what);
    room->row = tess_blocks_alloc_raw(blocks, m->n_bin, item, what);
    room->log_norm = tess_blocks_alloc_raw(blocks, n_row, sizeof(double), what);
    room->spare = smooths ? tess_blocks_alloc_raw(blocks, n_row * m->n_bin, item, what) : NULL;
    const bool has_all = room->segments && room->scratch && room->lane && room->ahead &&
                         room->sink && room->unheard && room->guesses && room->ends &&
                         room->again && room->row && room->log_norm && (room->spare || !smooths);
    return has_all ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_de_hmm_room_create(tess_context *ctx, const tess_de_hmm *hmm, int32_t dtype,
                                    int64_t n_row, bool smooths, tess_de_hmm_room **out)
{
    *out = NULL;
    const int64_t n_thread = tess_pool_threads(ctx->pool);
    if (n_thread < 2) {
        return TESS_OK;
    }
    tess_de_hmm_room *room =
        tess_heap_alloc_zero(&ctx->heap, sizeof *room, TESS_TAG_SCRATCH, "parts of a chunk");
    if (!room) {
        return TESS_E_MEMORY;
    }
    tess_blocks_init(&room->blocks, &ctx->heap);
    room->n_thread = n_thread;
    room->n_segment = n_thread * SEGMENTS_OF_THREAD;
    const tess_status status = take_room(room, &hmm->model, item_bytes(dtype), n_row, smooths);
    if (status != TESS_OK) {
        tess_de_hmm_room_destroy(room);
        return status;
    }
    *out = room;
    return TESS_OK;
}

void tess_de_hmm_room_destroy(tess_de_hmm_room *room)
{
    if (room) {
        tess_heap *heap = room->blocks.heap;
        tess_blocks_free(&room->blocks);
        tess_heap_free(heap, room, sizeof *room, TESS_TAG_SCRATCH);
    }
}

// As many as give every thread a segment, within reason.
static int64_t rows_of_segment(const tess_de_hmm_work *work)
{
    const int64_t n_thread = work->room->n_thread;
    const int64_t rows = (work->chunk->n_row + n_thread - 1) / n_thread;
    return rows < TESS_DE_LEAST_SEGMENT  ? TESS_DE_LEAST_SEGMENT
           : rows > TESS_DE_MOST_SEGMENT ? TESS_DE_MOST_SEGMENT
                                         : rows;
}

static int64_t segments_of(const tess_de_hmm_work *work, const tess_de_hmm_part *part)
{
    const int64_t rows = rows_of_segment(work);
    return work->n_guess > 0 ? (part->n_row + rows - 1) / rows : 1;
}

// A sequence that is not cut takes some 60 % of the time while other threads prepare its rows; of a
// smoother with forecasts they have nothing to prepare. Two threads that go through many rows for a
// guess are slower than that.
static bool is_worth_it(const tess_de_hmm_work *work, bool is_back)
{
    const int64_t rows = rows_of_segment(work);
    const int64_t tenths = is_back && work->chunk->forecasts ? 9 : 6;
    return 10 * (rows + work->n_guess) <= tenths * work->room->n_thread * rows;
}

bool tess_de_hmm_is_cut(tess_de_hmm_work *work, const tess_de_hmm_part *parts, int64_t n_part,
                        bool is_back)
{
    work->n_guess = work->room ? tess_de_hmm_guess_rows(&work->hmm->guesses[is_back]) : 0;
    if (n_part == 1 && work->room && !is_worth_it(work, is_back)) {
        return false;
    }
    return work->room && (n_part > 1 || (n_part == 1 && segments_of(work, parts) > 1));
}

// Segment k of n of a part, counted in the direction of the pass.
static tess_de_hmm_segment segment_of(const tess_de_hmm_work *work, const tess_de_hmm_part *part,
                                      int64_t k, int64_t n, bool is_back)
{
    const int64_t in_time = is_back ? n - 1 - k : k;
    const int64_t begin = part->n_row * in_time / n;
    const int64_t end = part->n_row * (in_time + 1) / n;
    const int64_t outside = is_back ? part->n_row - end : begin;
    return (tess_de_hmm_segment){.first = part->first + begin,
                                 .n_row = end - begin,
                                 .n_guess = outside < work->n_guess ? outside : work->n_guess,
                                 .is_edge = k == 0 && (is_back ? part->is_end : part->is_start)};
}

tess_status tess_de_hmm_rounds(tess_de_hmm_work *work, const tess_de_hmm_part *parts,
                               int64_t n_part, bool is_back, tess_de_hmm_round fn)
{
    tess_de_hmm_room *room = work->room;
    work->n_segment = 0;
    for (int64_t i = 0; i < n_part; i++) {
        const tess_de_hmm_part *part = &parts[is_back ? n_part - 1 - i : i];
        const int64_t n = segments_of(work, part);
        for (int64_t k = 0; k < n; k++) {
            tess_de_hmm_segment *segment = &room->segments[work->n_segment];
            *segment = segment_of(work, part, k, n, is_back);
            segment->n_guess = work->n_segment == 0 ? 0 : segment->n_guess; // it follows a round
            const bool is_last = i == n_part - 1 && k == n - 1;
            if (++work->n_segment < room->n_segment && !is_last) {
                continue;
            }
            TESS_TRY(tess_context_check_cancel(work->ctx));
            TESS_TRY(fn(work));
            work->n_segment = 0;
        }
    }
    return TESS_OK;
}
