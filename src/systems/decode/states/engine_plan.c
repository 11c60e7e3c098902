// How many rows at a time: what the memory limit allows.
#include "systems/decode/states/engine.h"

#include "base/status.h"
#include "runtime/budget.h"
#include "systems/decode/states/engine_ranks.h"
#include "systems/decode/store/inputs.h"

#include <string.h>

// Chunks long enough that likelihood kernels have work for every electrode, and short enough to
// stop within seconds.
static const uint64_t CHUNK_BYTES = UINT64_C(64) << 20;
// Ranks that divide a chunk are to have as many rows each as a process alone, up to so many ranks:
// rank 0 holds all rows, and filters them while the others wait.
static const int32_t MOST_RANKS = 8;
// Stacks, heap slack and page tables that the resident count of the process will still gain.
static const uint64_t SLACK_BYTES = UINT64_C(10) << 20;

static uint64_t item_bytes(const tess_de_engine *e)
{
    return e->desc.detector->dtype == TESS_F64 ? sizeof(double) : sizeof(float);
}

// 1 if work can be done where the rows are wanted.
static bool is_direct(const tess_de_engine *e, const tess_de_rows *rows)
{
    return rows->memory && rows->dtype == e->desc.detector->dtype;
}

// 1 if rows that are wanted here go through a buffer.
static bool is_buffered(const tess_de_engine *e, const tess_de_rows *rows)
{
    return tess_de_rows_are_here(rows) && !is_direct(e, rows);
}

static void find_needs(tess_de_engine *e)
{
    const tess_de_engine_desc *desc = &e->desc;
    const bool smooths = tess_de_engine_smooths(e);
    const tess_de_rows *forward = e->keep ? e->keep : &desc->causal;
    const bool stays = e->there.has_filtered;
    const bool has_ll_here =
        !e->there.has_ll || tess_de_rows_are_here(&desc->ll) || desc->kept_ll.dtype != 0;
    e->needs.ll = desc->given_ll.dtype != 0 ? !desc->given_ll.memory
                                            : has_ll_here && !is_direct(e, &desc->ll);
    const bool makes_ll = !e->there.has_ll && desc->given_ll.dtype == 0; // in these rows
    e->needs.rows =
        stays ? makes_ll || is_buffered(e, &desc->causal) || is_buffered(e, &desc->acausal)
              : !is_direct(e, forward) || (smooths && !is_direct(e, &desc->acausal));
    e->needs.predicted = is_buffered(e, &desc->predictive);
    e->needs.transition = desc->detector->info.n_coefficient > 0;
    e->needs.boundaries = smooths && !stays && (!e->keep || desc->is_checked);
    e->needs.kept = false;
    e->needs.parts = false;
    e->needs.forecasts = false;
    e->needs.path = desc->path.dtype != 0;
    e->needs.ll = e->needs.ll || (e->needs.path && !desc->given_ll.memory);
    e->needs.rows = e->needs.rows || e->needs.path;
}

// What the buffers hold for one row, when so many chunks are under way at once.
static uint64_t row_bytes(const tess_de_engine *e, uint64_t n_slot)
{
    const tess_decode_detector_info *info = &e->desc.detector->info;
    const uint64_t n_state = (uint64_t)info->n_state;
    const uint64_t wide = (uint64_t)info->n_state_bin * item_bytes(e);
    uint64_t bytes = 3 * n_state * sizeof(double);
    const uint64_t ll_item = e->desc.given_ll.dtype == TESS_F64 ? sizeof(double) : item_bytes(e);
    bytes += e->needs.ll ? (uint64_t)info->n_ll * ll_item : 0;
    bytes += e->needs.rows ? wide : 0;
    bytes += e->needs.predicted ? wide : 0;
    bytes *= n_slot;
    bytes += n_slot > 1 && tess_de_engine_is_ahead(e) ? (uint64_t)info->n_ll * item_bytes(e) : 0;
    bytes += e->needs.transition ? n_state * n_state * sizeof(double) : 0;
    bytes += e->needs.path ? ((uint64_t)info->n_state_bin + 1) * sizeof(double) : 0;
    if (tess_de_needs_position(e->desc.detector)) {
        bytes += (2 * TESS_DECODE_MAX_DIM + 1) * sizeof(double);
    }
    return bytes;
}

// Spikes of a piece, and bytes of their times and marks.
static void count_piece(const tess_de_engine *e, const tess_de_piece *piece, int64_t *count,
                        uint64_t *bytes)
{
    const tess_decode_observation *o = e->desc.observation;
    const int64_t first = e->sequences.first[piece->sequence] + piece->offset;
    const int64_t end = first + piece->n_row;
    for (int64_t i = 0; i < o->spikes.n_electrode; i++) {
        const int64_t n_spike = o->spikes.n_spike[i];
        const double *times = o->spikes.times[i];
        const int64_t begin = tess_de_first_from(times, n_spike, o->time[first]);
        const int64_t stop =
            end < o->n_time ? tess_de_first_from(times, n_spike, o->time[end]) : n_spike;
        const uint64_t n_feature = o->spikes.n_feature ? (uint64_t)o->spikes.n_feature[i] : 0;
        *count += stop > begin ? stop - begin : 0;
        *bytes += stop > begin ? (uint64_t)(stop - begin) * (16 + 8 * n_feature) : 0;
    }
}

// Most spikes, and most bytes of their times and marks, in any part of chunks of so many rows.
static void count_spikes(const tess_de_engine *e, int64_t rows, int64_t *most, uint64_t *bytes)
{
    *most = 0;
    *bytes = 0;
    for (int64_t at = 0; at < e->n_time;) {
        const int64_t first = at / rows * rows;
        const int64_t end = first + rows < e->n_time ? first + rows : e->n_time;
        const tess_de_piece piece = tess_de_piece_at(&e->sequences, at, first, end);
        int64_t n = 0;
        uint64_t n_bytes = 0;
        count_piece(e, &piece, &n, &n_bytes);
        *most = n > *most ? n : *most;
        *bytes = n_bytes > *bytes ? n_bytes : *bytes;
        at += piece.n_row;
    }
}

// What evaluating the likelihood of a chunk holds besides the rows.
static uint64_t likelihood_bytes(const tess_de_engine *e, int64_t rows)
{
    const tess_decode_detector *d = e->desc.detector;
    if (e->desc.given_ll.dtype != 0) {
        return 0;
    }
    int64_t n_spike;
    uint64_t bytes;
    uint64_t most = 0;
    count_spikes(e, rows, &n_spike, &bytes);
    for (int64_t i = 0; i < d->n_encoding; i++) {
        const tess_decode_encoding *encoding = d->encodings[i];
        if (encoding && encoding->ops->rows_bytes) {
            const uint64_t held = encoding->ops->rows_bytes(encoding, n_spike);
            most = held > most ? held : most;
        }
    }
    return most + bytes;
}

static uint64_t distance_bytes(const tess_de_engine *e)
{
    const tess_decode_detector *d = e->desc.detector;
    uint64_t bytes = 0;
    for (int32_t i = 0; e->desc.given_ll.dtype == 0 && i < d->n_block; i++) {
        const tess_de_columns *b = &d->blocks[i];
        if (b->has_kernel ||
            (b->kind == TESS_DE_COLUMNS_PLACES && d->config.non_local_position_penalty > 0)) {
            bytes += (uint64_t)b->n_column * (uint64_t)b->n_column * sizeof(double);
        }
    }
    return bytes;
}

// What the path holds besides the rows: scores between chunks, a row ahead, its model.
static uint64_t path_bytes(const tess_de_engine *e, uint64_t n_chunk)
{
    const tess_decode_detector *d = e->desc.detector;
    const uint64_t vector = (uint64_t)d->info.n_state_bin * sizeof(double);
    return e->needs.path ? (n_chunk + 3) * vector + tess_de_path_bytes(d->hmm) : 0;
}

// Chunks that are under way at once.
static int64_t count_slots(const tess_de_engine *e, int64_t rows)
{
    const bool is_shared =
        tess_de_engine_is_ahead(e) || tess_de_engine_is_behind(e) || e->there.sends_rows;
    return is_shared && rows < e->n_time ? 2 : 1;
}

static uint64_t parts_bytes(const tess_de_engine *e, int64_t rows)
{
    const tess_decode_detector *d = e->desc.detector;
    return e->needs.parts
               ? tess_de_hmm_parts_bytes(e->ctx, d->hmm, d->dtype, rows, tess_de_engine_smooths(e))
               : 0;
}

// Everything the engine holds with chunks of so many rows but what their likelihood takes.
static uint64_t held_bytes(const tess_de_engine *e, int64_t rows)
{
    const uint64_t n_chunk = (uint64_t)((e->n_time + rows - 1) / rows);
    const uint64_t vector = (uint64_t)e->desc.detector->info.n_state_bin * sizeof(double);
    return (uint64_t)rows * row_bytes(e, (uint64_t)count_slots(e, rows)) + distance_bytes(e) +
           (e->needs.boundaries ? n_chunk * (vector + sizeof(tess_hash)) : 0) + 8 * vector +
           path_bytes(e, n_chunk) + (uint64_t)e->sequences.n * sizeof(double) +
           tess_de_hmm_room_bytes(e->desc.detector->hmm) + parts_bytes(e, rows) +
           TESS_DE_CONVERT_BYTES;
}

static tess_status too_small(const tess_de_engine *e, uint64_t base, uint64_t least, uint64_t limit)
{
    TESS_FAIL(TESS_E_LIMIT,
              "memory limit of %llu MiB is too small: decoding takes at least %llu MiB and the "
              "process itself %llu; the smallest limit that works is %llu MiB",
              (unsigned long long)(e->limit_bytes >> 20), (unsigned long long)((least >> 20) + 1),
              (unsigned long long)((base >> 20) + 1), (unsigned long long)((limit >> 20) + 2));
}

// Filtered rows that no result has room for: held whole if that is cheap, else made again. Those
// that would go to the file of the smoothed ones meanwhile, and be read and overwritten there, are
// held as well where there is plenty of memory, and nobody has to find them after a crash.
static void hold_filtered(tess_de_engine *e, uint64_t *budget)
{
    const bool is_borrowed = e->keep == &e->desc.acausal && !e->keep->memory && !e->desc.is_checked;
    const uint64_t bytes =
        (uint64_t)e->n_time * (uint64_t)e->desc.detector->info.n_state_bin * item_bytes(e);
    const uint64_t most = is_borrowed ? *budget / 4 : *budget / 2;
    if (tess_de_engine_smooths(e) && !e->there.has_filtered && (!e->keep || is_borrowed) &&
        bytes <= most) {
        e->needs.kept = true;
        e->needs.rows = e->needs.path;
        e->needs.boundaries = e->desc.is_checked;
        *budget -= bytes;
        e->memory_bytes += bytes;
    }
}

// What the filter predicts is kept for the smoother where that takes less time than to make it
// again, and there is plenty of memory.
static void hold_forecasts(tess_de_engine *e, uint64_t *budget)
{
    const int64_t items = tess_de_hmm_forecast_items(e->desc.detector->hmm);
    const uint64_t bytes = (uint64_t)e->n_time * (uint64_t)items * sizeof(double);
    e->needs.forecasts = e->states->shares_host_memory && tess_de_engine_smooths(e) && items > 0 &&
                         bytes <= *budget / 4;
    if (e->needs.forecasts) {
        *budget -= bytes;
        e->memory_bytes += bytes;
    }
}

static int64_t first_rows(const tess_de_engine *e)
{
    const uint64_t width = (uint64_t)e->desc.detector->info.n_state_bin * item_bytes(e);
    // Of many threads each is to have as many rows as pay.
    const int64_t threads = e->needs.parts ? tess_pool_threads(e->ctx->pool) / 4 : 1;
    const bool is_there = !e->states->shares_host_memory; // it has many threads
    const int32_t n_rank = tess_de_is_divided(e) ? tess_comm_size(e->ctx) : 1;
    const uint64_t ranks = (uint64_t)(n_rank < MOST_RANKS ? n_rank : MOST_RANKS);
    const uint64_t own = is_there || threads > 4 ? 4 : threads < 1 ? 1 : (uint64_t)threads;
    const uint64_t times = own > ranks ? own : ranks;
    int64_t rows = (int64_t)(times * CHUNK_BYTES / (width + row_bytes(e, 1)));
    if (e->desc.n_chunk > 0) {
        rows = (e->n_time + e->desc.n_chunk - 1) / e->desc.n_chunk;
    }
    rows = rows < 1 ? 1 : rows > e->n_time ? e->n_time : rows;
    return e->desc.chunk_rows > 0 ? e->desc.chunk_rows : rows;
}

// Rows side by side want room for every thread: where there is plenty, for as many rows as there is
// room for. Returns the rows to begin with.
static int64_t divide_rows(tess_de_engine *e, uint64_t budget)
{
    e->needs.parts = e->states->shares_host_memory && tess_pool_threads(e->ctx->pool) > 1 &&
                     !e->desc.likelihood_only;
    for (int64_t rows = first_rows(e); e->needs.parts; rows = (rows + 1) / 2) {
        if (e->sequences.n == 1 && rows <= TESS_DE_HMM_LEAST_ROWS) {
            break; // nothing would be cut
        }
        if (parts_bytes(e, rows) <= budget / 4) {
            return rows;
        }
        if (rows == 1 || e->desc.chunk_rows > 0) {
            break;
        }
    }
    e->needs.parts = false;
    return first_rows(e);
}

// What is held beside what decoding takes, if there is plenty of memory.
typedef struct extras {
    bool filtered;
    bool forecasts;
    bool parts;
} extras;

// Chunks for what the limit leaves beside base; false with the least that would do, for which all
// spikes are looked at for every length of chunks; NULL: nobody asks.
static bool choose_with(tess_de_engine *e, uint64_t base, extras wanted, uint64_t *least)
{
    uint64_t budget = e->limit_bytes > base ? e->limit_bytes - base : 0;
    e->there.has_ll = e->there.has_filtered = !e->states->shares_host_memory;
    find_needs(e); // with the fewest buffers chunks are longest
    tess_de_engine_choose_there(e, first_rows(e));
    find_needs(e);
    e->memory_bytes = base;
    if (wanted.filtered) {
        hold_filtered(e, &budget);
    }
    if (wanted.forecasts) {
        hold_forecasts(e, &budget);
    }
    for (int64_t rows = wanted.parts ? divide_rows(e, budget) : first_rows(e);;
         rows = (rows + 1) / 2) {
        uint64_t bytes = held_bytes(e, rows);
        bytes += bytes <= budget || least ? likelihood_bytes(e, rows) : 0;
        if (least) {
            *least = bytes < *least ? bytes : *least;
        }
        if (bytes <= budget) {
            e->chunk_rows = rows;
            e->n_chunk = (e->n_time + rows - 1) / rows;
            e->n_slot = count_slots(e, rows);
            e->memory_bytes += bytes;
            return true;
        }
        if (rows == 1 || e->desc.chunk_rows > 0) {
            return false;
        }
    }
}

// What a limit has no room for beside the chunks is left out: a larger limit never fails where a
// smaller one works. What is left out last takes the least.
static bool choose_beside(tess_de_engine *e, uint64_t base, uint64_t *least)
{
    static const extras tries[] = {{.filtered = true, .forecasts = true, .parts = true},
                                   {.filtered = true, .parts = true},
                                   {.parts = true},
                                   {.filtered = true}};
    for (size_t k = 0; k < sizeof tries / sizeof *tries; k++) {
        if (choose_with(e, base, tries[k], NULL)) {
            return true;
        }
    }
    *least = UINT64_MAX;
    return choose_with(e, base, (extras){0}, least);
}

static tess_status choose(tess_de_engine *engine)
{
    const tess_context *ctx = engine->ctx;
    const uint64_t resident = tess_resident_bytes() + SLACK_BYTES;
    const uint64_t spare = ctx->memory_limit_bytes / 4;
    uint64_t least;
    engine->limit_bytes = ctx->memory_limit_bytes;
    // A limit that somebody set is kept where it can be, whether or not it must.
    if (ctx->memory_limit_is_set && choose_beside(engine, resident, &least)) {
        return TESS_OK;
    }
    if (ctx->memory_limit_is_set && engine->desc.is_strict) {
        return too_small(engine, resident, least, resident + least);
    }
    const uint64_t base = resident < spare ? resident : spare;
    if (choose_beside(engine, base, &least)) {
        return TESS_OK;
    }
    // Of a larger limit a quarter is more.
    const uint64_t beside_spare = least + (least + 2) / 3;
    const uint64_t limit = resident + least < beside_spare ? resident + least : beside_spare;
    return too_small(engine, base, least, limit);
}

// Where all ranks have engines, and nobody said how many chunks, they are those of whoever has the
// least memory left.
static tess_status agree(tess_de_engine *engine, tess_status status)
{
    const int32_t n_rank = tess_comm_size(engine->ctx);
    int64_t least = engine->chunk_rows;
    tess_comm_parts parts;
    TESS_TRY(tess_comm_gather(engine->ctx, (tess_comm_point){"rows of chunks", 0}, status, &least,
                              sizeof least, &parts));
    for (int32_t rank = 0; rank < n_rank; rank++) {
        int64_t rows;
        memcpy(&rows, parts.data + parts.offset[rank], sizeof rows);
        least = rows < least ? rows : least;
    }
    tess_comm_parts_free(&parts);
    if (least == engine->chunk_rows) {
        return TESS_OK;
    }
    engine->desc.chunk_rows = least;
    return choose(engine);
}

tess_status tess_de_engine_choose(tess_de_engine *engine)
{
    const tess_status status = choose(engine);
    const bool is_open = engine->desc.n_chunk == 0 && engine->desc.is_for_all_ranks;
    return is_open && tess_de_is_divided(engine) ? agree(engine, status) : status;
}
