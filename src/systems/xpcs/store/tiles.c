#include "systems/xpcs/store/tiles.h"

#include "base/checked.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

enum { RUN = TESS_STAGE_XPCS_RUN, PAD = TESS_STAGE_XPCS_PAD, LINE_BYTES = 64 };

static int64_t padded(int64_t n_column)
{
    return (n_column + PAD - 1) / PAD * PAD;
}

// Of the record of a tile of so many padded columns.
static uint64_t record_bytes(const tess_xp_tiles *tiles, int64_t width)
{
    const uint64_t item = (uint64_t)tiles->item_bytes + (tiles->has_sigma ? sizeof(double) : 0);
    const uint64_t bytes =
        (uint64_t)tiles->n_angle * (TESS_STAGE_XPCS_HEAD * sizeof(double) + (uint64_t)width * item);
    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

static tess_status lay_out_rows(tess_xp_tiles *tiles, int64_t *row_tile, int64_t *row_offset)
{
    const uint64_t full_bytes = record_bytes(tiles, RUN);
    int64_t n_tile = 0;
    uint64_t offset = 0;
    for (int64_t i = 0; i < tiles->n_frame; i++) {
        const int64_t n_column = tiles->n_frame - 1 - i;
        const int64_t n_full = n_column / RUN;
        const int64_t rest = n_column % RUN;
        row_tile[i] = n_tile;
        row_offset[i] = (int64_t)offset;
        n_tile += n_full + (rest > 0);
        uint64_t bytes = 0;
        if (!tess_mul_u64((uint64_t)n_full, full_bytes, &bytes) ||
            !tess_add_u64(bytes, rest > 0 ? record_bytes(tiles, padded(rest)) : 0, &bytes) ||
            !tess_add_u64(offset, bytes, &offset) || offset > (uint64_t)INT64_MAX) {
            TESS_FAIL(TESS_E_SHAPE, "c2: %lld angles of %lld frames are more than can be addressed",
                      (long long)tiles->n_angle, (long long)tiles->n_frame);
        }
    }
    tiles->n_tile = n_tile;
    return TESS_OK;
}

tess_status tess_xp_tiles_create(tess_context *ctx, int64_t n_angle, int64_t n_frame,
                                 int32_t item_bytes, int32_t has_sigma, tess_xp_tiles *out)
{
    // Beyond these no product of two of them can overflow.
    static const int64_t MOST = INT64_C(1) << 30;
    *out = (tess_xp_tiles){
        .n_frame = n_frame, .n_angle = n_angle, .item_bytes = item_bytes, .has_sigma = has_sigma};
    TESS_ASSERT(item_bytes == 4 || item_bytes == 8);
    if (n_angle < 1) {
        TESS_FAIL(TESS_E_SHAPE, "c2: no angle is left; at least one matrix is needed");
    }
    if (n_frame < 3) {
        TESS_FAIL(TESS_E_SHAPE, "c2: %lld frames, at least 3 are needed", (long long)n_frame);
    }
    if (n_angle > MOST || n_frame > MOST) {
        TESS_FAIL(TESS_E_SHAPE, "c2: %lld angles of %lld frames are more than can be addressed",
                  (long long)n_angle, (long long)n_frame);
    }
    const size_t bytes = 2 * (size_t)n_frame * sizeof(int64_t);
    int64_t *block = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_PLAN, "tables of tiles");
    if (!block) {
        return TESS_E_MEMORY;
    }
    out->row_tile = block;
    out->row_offset = block + n_frame;
    const tess_status status = lay_out_rows(out, block, block + n_frame);
    if (status != TESS_OK) {
        tess_xp_tiles_destroy(ctx, out);
    }
    return status;
}

void tess_xp_tiles_destroy(tess_context *ctx, tess_xp_tiles *tiles)
{
    if (tiles->row_tile) {
        tess_heap_free(&ctx->heap, (void *)(uintptr_t)tiles->row_tile,
                       2 * (size_t)tiles->n_frame * sizeof(int64_t), TESS_TAG_PLAN);
    }
    *tiles = (tess_xp_tiles){0};
}

static int64_t row_of(const tess_xp_tiles *tiles, int64_t tile)
{
    int64_t low = 0;
    int64_t high = tiles->n_frame - 1; // the last row has no tile
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (tiles->row_tile[middle] <= tile) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

tess_xp_tile tess_xp_tiles_at(const tess_xp_tiles *tiles, int64_t tile)
{
    TESS_ASSERT(tile >= 0 && tile < tiles->n_tile);
    const int64_t row = row_of(tiles, tile);
    const int64_t run = tile - tiles->row_tile[row];
    const int64_t left = tiles->n_frame - 1 - row - run * RUN;
    const int64_t n_column = left < RUN ? left : RUN;
    return (tess_xp_tile){
        .row = row,
        .first_column = row + 1 + run * RUN,
        .n_column = n_column,
        .width = padded(n_column),
        .offset = (uint64_t)tiles->row_offset[row] + (uint64_t)run * record_bytes(tiles, RUN),
        .bytes = record_bytes(tiles, padded(n_column)),
    };
}

int64_t tess_xp_tiles_n_leaf(const tess_xp_tiles *tiles)
{
    return (tiles->n_tile + TESS_STAGE_XPCS_LEAF - 1) / TESS_STAGE_XPCS_LEAF;
}

uint64_t tess_xp_tiles_leaf_offset(const tess_xp_tiles *tiles, int64_t leaf)
{
    if (leaf >= tess_xp_tiles_n_leaf(tiles)) {
        return (uint64_t)tiles->row_offset[tiles->n_frame - 1];
    }
    return tess_xp_tiles_at(tiles, leaf * TESS_STAGE_XPCS_LEAF).offset;
}

static void blank_record(const tess_xp_tiles *tiles, const tess_xp_tile *tile,
                         unsigned char *record)
{
    memset(record, 0, tile->bytes);
    void *y = record + tiles->n_angle * TESS_STAGE_XPCS_HEAD * (int64_t)sizeof(double);
    for (int64_t k = 0; k < tiles->n_angle * tile->width; k++) {
        if (tiles->item_bytes == sizeof(float)) {
            ((float *)y)[k] = NAN;
        } else {
            ((double *)y)[k] = (double)NAN;
        }
    }
}

void tess_xp_tiles_blank(const tess_xp_tiles *tiles, int64_t leaf, unsigned char *records)
{
    const int64_t first = leaf * TESS_STAGE_XPCS_LEAF;
    const int64_t left = tiles->n_tile - first;
    const int64_t n = left < TESS_STAGE_XPCS_LEAF ? left : TESS_STAGE_XPCS_LEAF;
    const uint64_t base = tess_xp_tiles_leaf_offset(tiles, leaf);
    for (int64_t t = first; t < first + n; t++) {
        const tess_xp_tile tile = tess_xp_tiles_at(tiles, t);
        blank_record(tiles, &tile, records + (tile.offset - base));
    }
}
