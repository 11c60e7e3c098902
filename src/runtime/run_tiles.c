#include "runtime/run_tiles.h"

#include "base/file.h"
#include "base/status.h"

#include <string.h>

// Tiles are hashed by pieces, so that they can be checked within little memory however large the
// tiles of the earlier run were.
enum { PIECE_BYTES = 1 << 20 };

void tess_run_tiles_init(tess_run_tiles *tiles, tess_heap *heap)
{
    *tiles = (tess_run_tiles){.heap = heap};
}

void tess_run_tiles_free(tess_run_tiles *tiles)
{
    if (tiles->heap) {
        tess_heap_free(tiles->heap, tiles->tiles, (size_t)tiles->capacity * sizeof *tiles->tiles,
                       TESS_TAG_IO);
    }
    *tiles = (tess_run_tiles){.heap = tiles->heap};
}

static tess_status grow(tess_run_tiles *tiles, int64_t capacity)
{
    tess_run_tile *grown = tess_heap_alloc(tiles->heap, (size_t)capacity * sizeof *grown,
                                           TESS_TAG_IO, "list of finished tiles");
    if (!grown) {
        return TESS_E_MEMORY;
    }
    if (tiles->n > 0) {
        memcpy(grown, tiles->tiles, (size_t)tiles->n * sizeof *grown);
    }
    tess_heap_free(tiles->heap, tiles->tiles, (size_t)tiles->capacity * sizeof *grown, TESS_TAG_IO);
    tiles->tiles = grown;
    tiles->capacity = capacity;
    return TESS_OK;
}

tess_status tess_run_tiles_note(tess_run_tiles *tiles, int64_t first, int64_t count,
                                const void *data, uint64_t item_bytes)
{
    if (tiles->n == tiles->capacity) {
        TESS_TRY(grow(tiles, tiles->n > 0 ? 2 * tiles->n : 64));
    }
    const char *at = data;
    tess_run_tile tile = {.first = first, .count = count};
    for (uint64_t left = item_bytes * (uint64_t)count; left > 0;) {
        const size_t bytes = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        tess_hash_mix(&tile.hash, at, bytes);
        at += bytes;
        left -= bytes;
    }
    tiles->tiles[tiles->n++] = tile;
    return TESS_OK;
}

int64_t tess_run_tiles_end(const tess_run_tiles *tiles)
{
    const tess_run_tile *last = tiles->n > 0 ? &tiles->tiles[tiles->n - 1] : NULL;
    return last ? last->first + last->count : 0;
}

tess_status tess_run_tiles_save(const tess_run_tiles *tiles, tess_checkpoint_writer *writer)
{
    return tess_checkpoint_add(writer, "tiles", tiles->tiles,
                               (size_t)tiles->n * sizeof *tiles->tiles);
}

tess_status tess_run_tiles_load(tess_run_tiles *tiles, const tess_checkpoint *checkpoint,
                                int64_t n_item, const char *path)
{
    const size_t bytes = tess_checkpoint_size(checkpoint, "tiles");
    const int64_t n = (int64_t)(bytes / sizeof *tiles->tiles);
    tess_run_tiles_free(tiles);
    if (n > 0) {
        TESS_TRY(grow(tiles, n));
        TESS_TRY(tess_checkpoint_get(checkpoint, "tiles", tiles->tiles,
                                     (size_t)n * sizeof *tiles->tiles));
    }
    int64_t cursor = 0;
    for (int64_t i = 0; i < n; i++) {
        const tess_run_tile *tile = &tiles->tiles[i];
        if (tile->first != cursor || tile->count <= 0 || tile->count > n_item - cursor) {
            TESS_FAIL(TESS_E_FORMAT, "%s: its list of finished tiles is not in order", path);
        }
        cursor += tile->count;
    }
    tiles->n = n;
    return TESS_OK;
}

static tess_status verify_tile(const tess_run_tile *tile, const tess_spool *spool, char *piece)
{
    tess_hash hash = {0, 0};
    uint64_t at = spool->header_bytes + spool->item_bytes * (uint64_t)tile->first;
    for (uint64_t left = spool->item_bytes * (uint64_t)tile->count; left > 0;) {
        const size_t bytes = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        TESS_TRY(tess_file_read_at(spool->fd, spool->path, piece, bytes, at));
        tess_hash_mix(&hash, piece, bytes);
        at += bytes;
        left -= bytes;
    }
    if (!tess_hash_equal(hash, tile->hash)) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "%s: items %lld to %lld are damaged; remove the folder to start afresh",
                  spool->path, (long long)tile->first, (long long)(tile->first + tile->count));
    }
    return TESS_OK;
}

tess_status tess_run_tiles_verify(const tess_run_tiles *tiles, const tess_spool *spool)
{
    char *piece = tess_heap_alloc(tiles->heap, PIECE_BYTES, TESS_TAG_IO, "a piece of the spool");
    tess_status status = piece ? TESS_OK : TESS_E_MEMORY;
    for (int64_t i = 0; status == TESS_OK && i < tiles->n; i++) {
        status = verify_tile(&tiles->tiles[i], spool, piece);
    }
    tess_heap_free(tiles->heap, piece, PIECE_BYTES, TESS_TAG_IO);
    return status;
}
