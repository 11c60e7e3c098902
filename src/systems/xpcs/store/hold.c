// Records of a file in memory, for passes that come again and again.
#include "base/status.h"
#include "systems/xpcs/store/txc2.h"

#include <string.h>

static const uint64_t CHUNK_BYTES = 2 << 20;

static tess_status read_chunks(tess_context *ctx, tess_xpcs_data *data, tess_xp_reader *reader,
                               unsigned char *to)
{
    const tess_xp_tiles *tiles = &data->tiles;
    const int64_t all = tess_xp_tiles_n_leaf(tiles);
    for (int64_t leaf = 0; leaf < all; leaf += reader->leaves_per_chunk) {
        const int64_t left = all - leaf;
        const int64_t n = left < reader->leaves_per_chunk ? left : reader->leaves_per_chunk;
        const uint64_t begin = tess_xp_tiles_leaf_offset(tiles, leaf);
        const unsigned char *records = NULL;
        TESS_TRY(tess_context_check_cancel(ctx));
        TESS_TRY(tess_xp_reader_get(reader, leaf, n, &records));
        memcpy(to + begin, records, tess_xp_tiles_leaf_offset(tiles, leaf + n) - begin);
    }
    return TESS_OK;
}

static tess_status read_all(tess_context *ctx, tess_xpcs_data *data, int64_t max_retries,
                            unsigned char *to)
{
    tess_xp_reader reader;
    tess_status status =
        tess_xp_reader_open(ctx, data, tess_xp_leaves_in(data, CHUNK_BYTES), true, &reader);
    if (status == TESS_OK) {
        reader.max_retries = max_retries;
        status = read_chunks(ctx, data, &reader, to);
    }
    tess_xp_reader_close(&reader);
    return status;
}

static tess_status take_records(tess_context *ctx, tess_xpcs_data *data, int64_t max_retries)
{
    tess_heap *heap = &data->ctx->heap;
    const size_t bytes = (size_t)data->info.bytes;
    unsigned char *records = tess_heap_alloc(heap, bytes, TESS_TAG_TILE, "two-time correlations");
    if (!records) {
        return TESS_E_MEMORY;
    }
    const tess_status status = read_all(ctx, data, max_retries, records);
    if (status == TESS_OK) {
        atomic_store(&data->file->held, records);
    } else {
        tess_heap_free(heap, records, bytes, TESS_TAG_TILE);
    }
    return status;
}

tess_status tess_xp_data_hold(tess_context *ctx, tess_xpcs_data *data, int64_t max_retries)
{
    if (data->info.residency != TESS_XPCS_IN_FILE) {
        return TESS_OK;
    }
    pthread_mutex_lock(&data->file->holding);
    const tess_status status =
        tess_xp_data_is_held(data) ? TESS_OK : take_records(ctx, data, max_retries);
    pthread_mutex_unlock(&data->file->holding);
    return status;
}

bool tess_xp_data_is_held(const tess_xpcs_data *data)
{
    return data->file && atomic_load(&data->file->held);
}

void tess_xp_data_let_go(tess_xpcs_data *data)
{
    if (tess_xp_data_is_held(data)) {
        tess_heap_free(&data->ctx->heap, atomic_exchange(&data->file->held, NULL),
                       (size_t)data->info.bytes, TESS_TAG_TILE);
    }
}

tess_status tess_xp_data_check(const tess_xpcs_data *data)
{
    const bool has_name = data->file && data->file->leaf_hash;
    return has_name ? tess_infile_check(&data->file->in) : TESS_OK;
}
