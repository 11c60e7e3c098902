// Records for one pass after another, wherever they lie.
#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "runtime/stage.h"
#include "systems/xpcs/store/ahead.h"
#include "systems/xpcs/store/store.h"
#include "systems/xpcs/store/txc2.h"

#include <string.h>
#include <time.h>

static const int64_t FIRST_PAUSE_NS = 20 * 1000 * 1000;
static const int64_t LONGEST_PAUSE_NS = 1000 * 1000 * 1000;

bool tess_xp_is_bad_read(tess_status status)
{
    return status == TESS_E_IO || status == TESS_E_FORMAT;
}

int64_t tess_xp_leaves_in(const tess_xpcs_data *data, uint64_t bytes)
{
    const uint64_t n_leaf = (uint64_t)tess_xp_tiles_n_leaf(&data->tiles);
    return (int64_t)(bytes / (data->info.bytes / n_leaf + 1)) + 1;
}

static uint64_t chunk_bytes(const tess_xpcs_data *data, int64_t leaves_per_chunk)
{
    // No record is longer than the first.
    const uint64_t largest = tess_xp_tiles_at(&data->tiles, 0).bytes * TESS_STAGE_XPCS_LEAF;
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&data->tiles);
    const int64_t n = leaves_per_chunk < n_leaf ? leaves_per_chunk : n_leaf;
    const uint64_t bytes = (uint64_t)n * largest;
    return bytes < data->info.bytes ? bytes : data->info.bytes;
}

uint64_t tess_xp_reader_bytes(const tess_xpcs_data *data, int64_t leaves_per_chunk,
                              bool is_streamed)
{
    if (data->info.residency == TESS_XPCS_GENERATED) {
        return chunk_bytes(data, leaves_per_chunk);
    }
    const bool is_read = data->info.residency == TESS_XPCS_IN_FILE && is_streamed;
    return is_read ? 2 * chunk_bytes(data, leaves_per_chunk) : 0;
}

// Where all records lie; NULL: they come through buffers.
static const unsigned char *records_of(const tess_xpcs_data *data, bool is_streamed)
{
    return data->info.residency == TESS_XPCS_IN_MEMORY ? data->records
           : data->info.residency == TESS_XPCS_IN_FILE && !is_streamed
               ? atomic_load(&data->file->held)
               : NULL;
}

static tess_status choose_device(tess_xp_reader *reader)
{
    const tess_xp_generator *generator = reader->data->generator;
    if (!generator) {
        return TESS_OK;
    }
    reader->device = generator->device;
    return reader->ctx == reader->data->ctx ? TESS_OK
                                            : tess_stage_choose(reader->ctx, &generator->stage, 1,
                                                                "simulation", &reader->device);
}

tess_status tess_xp_reader_open(tess_context *ctx, tess_xpcs_data *data, int64_t leaves_per_chunk,
                                bool is_streamed, tess_xp_reader *reader)
{
    *reader = (tess_xp_reader){.data = data,
                               .ctx = ctx,
                               .leaves_per_chunk = leaves_per_chunk,
                               .records = records_of(data, is_streamed)};
    TESS_TRY(choose_device(reader));
    if (reader->records) {
        return TESS_OK;
    }
    reader->buffer_bytes = tess_xp_reader_bytes(data, leaves_per_chunk, true);
    reader->buffer = tess_heap_alloc(&data->ctx->heap, reader->buffer_bytes, TESS_TAG_TILE,
                                     "stretches of two-time correlations");
    if (!reader->buffer) {
        return TESS_E_MEMORY;
    }
    // Taken now, not bit by bit: what a long run needs is seen at its beginning.
    memset(reader->buffer, 0, reader->buffer_bytes);
    if (data->info.residency != TESS_XPCS_IN_FILE) {
        return TESS_OK;
    }
    // Half of the threads read for the other half, wherever both have work.
    const int64_t half = (tess_pool_threads(ctx->pool) + 1) / 2;
    const int64_t n_reader = half < leaves_per_chunk ? half : leaves_per_chunk;
    const tess_status status =
        tess_xp_ahead_open(data->file, &data->tiles, n_reader, &reader->ahead);
    if (status != TESS_OK) {
        tess_xp_reader_close(reader);
    }
    return status;
}

void tess_xp_reader_close(tess_xp_reader *reader)
{
    if (!reader->data) {
        return;
    }
    tess_xpcs_data *data = reader->data;
    tess_xp_ahead_close(reader->ahead);
    if (reader->buffer) {
        tess_heap_free(&data->ctx->heap, reader->buffer, reader->buffer_bytes, TESS_TAG_TILE);
    }
    *reader = (tess_xp_reader){0};
}

void tess_xp_reader_expect(tess_xp_reader *reader, int64_t first_leaf, int64_t n_leaf)
{
    reader->next_leaf = first_leaf;
    reader->n_next = n_leaf;
}

// What comes after the leaves given out last: what the caller said, or what follows; after the last
// of all the next pass begins.
static int64_t take_next(tess_xp_reader *reader, int64_t *n_leaf)
{
    if (reader->n_next > 0) {
        *n_leaf = reader->n_next;
        reader->n_next = 0;
        return reader->next_leaf;
    }
    const int64_t all = tess_xp_tiles_n_leaf(&reader->data->tiles);
    const int64_t end = reader->first_leaf + reader->n_leaf;
    const int64_t first = end < all ? end : 0;
    *n_leaf = reader->leaves_per_chunk < all - first ? reader->leaves_per_chunk : all - first;
    return first;
}

// The half of the buffer that the leaves given out last do not lie in is the next one's.
static tess_status get_streamed(tess_xp_reader *reader, int64_t first_leaf, int64_t n_leaf,
                                const unsigned char **records)
{
    tess_xpcs_data *data = reader->data;
    const uint64_t half_bytes = reader->buffer_bytes / 2;
    unsigned char *half = reader->buffer + (reader->in_second_half ? 0 : half_bytes);
    if (reader->n_leaf == n_leaf && reader->first_leaf == first_leaf) {
        *records = reader->buffer + (reader->in_second_half ? half_bytes : 0);
        return TESS_OK; // still there
    }
    if (!reader->ahead || !tess_xp_ahead_finish(reader->ahead, first_leaf, n_leaf)) {
        TESS_TRY(tess_xp_txc2_read(data->file, &data->tiles, first_leaf, n_leaf, half));
    }
    reader->in_second_half = !reader->in_second_half;
    reader->first_leaf = first_leaf;
    reader->n_leaf = n_leaf;
    *records = half;
    int64_t n_next = 0;
    const int64_t next = take_next(reader, &n_next);
    if (reader->ahead && next != first_leaf) {
        tess_xp_ahead_start(reader->ahead, next, n_next,
                            reader->buffer + (reader->in_second_half ? 0 : half_bytes));
    }
    return TESS_OK;
}

static tess_status get_once(tess_xp_reader *reader, int64_t first_leaf, int64_t n_leaf,
                            const unsigned char **records)
{
    tess_xpcs_data *data = reader->data;
    if (reader->records) {
        *records = reader->records + tess_xp_tiles_leaf_offset(&data->tiles, first_leaf);
        return TESS_OK;
    }
    if (data->info.residency == TESS_XPCS_IN_FILE) {
        return get_streamed(reader, first_leaf, n_leaf, records);
    }
    *records = reader->buffer;
    if (reader->n_leaf == n_leaf && reader->first_leaf == first_leaf) {
        return TESS_OK; // still there
    }
    reader->n_leaf = 0;
    TESS_TRY(data->generator->make(data->generator, reader->device, &data->tiles, first_leaf,
                                   n_leaf, reader->buffer));
    reader->first_leaf = first_leaf;
    reader->n_leaf = n_leaf;
    return TESS_OK;
}

// A network's disk may fail for a moment, and bytes may be damaged on their way.
static bool is_worth_another_try(const tess_xp_reader *reader, tess_status status)
{
    return reader->data->info.residency == TESS_XPCS_IN_FILE && tess_xp_is_bad_read(status);
}

static void pause_before(int64_t retry)
{
    int64_t ns = FIRST_PAUSE_NS;
    for (int64_t i = 1; i < retry && ns < LONGEST_PAUSE_NS; i++) {
        ns *= 2;
    }
    ns = ns < LONGEST_PAUSE_NS ? ns : LONGEST_PAUSE_NS;
    const struct timespec pause = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    nanosleep(&pause, NULL);
}

tess_status tess_xp_reader_get(tess_xp_reader *reader, int64_t first_leaf, int64_t n_leaf,
                               const unsigned char **records)
{
    TESS_ASSERT(first_leaf >= 0 && n_leaf > 0 && n_leaf <= reader->leaves_per_chunk);
    TESS_ASSERT(first_leaf + n_leaf <= tess_xp_tiles_n_leaf(&reader->data->tiles));
    const int64_t begin_ns = tess_now_ns();
    tess_status status = get_once(reader, first_leaf, n_leaf, records);
    for (int64_t retry = 1; retry <= reader->max_retries && is_worth_another_try(reader, status);
         retry++) {
        tess_log_warn(&reader->ctx->log, TESS_W_XPCS_READ_AGAIN, "%s; trying again (%lld of %lld)",
                      tess_last_error(), (long long)retry, (long long)reader->max_retries);
        pause_before(retry);
        TESS_TRY(tess_context_check_cancel(reader->ctx));
        tess_error_clear();
        status = get_once(reader, first_leaf, n_leaf, records);
    }
    reader->read_s += (double)(tess_now_ns() - begin_ns) * 1e-9;
    return status;
}
