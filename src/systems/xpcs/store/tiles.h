// The geometry of tiles: which pairs of frames a tile holds and where its record lies.
#ifndef TESS_XPCS_STORE_TILES_H
#define TESS_XPCS_STORE_TILES_H

#include "runtime/context.h"
#include "stage/xpcs.h"

// Allocates the tables. TESS_E_SHAPE for fewer than 3 frames or no angle; sizes are checked.
TESS_MUST_CHECK tess_status tess_xp_tiles_create(tess_context *ctx, int64_t n_angle,
                                                 int64_t n_frame, int32_t item_bytes,
                                                 int32_t has_sigma, tess_xp_tiles *out);
void tess_xp_tiles_destroy(tess_context *ctx, tess_xp_tiles *tiles);

typedef struct tess_xp_tile {
    int64_t row;
    int64_t first_column;
    int64_t n_column;
    int64_t width;
    uint64_t offset; // of the record, in bytes from the first record
    uint64_t bytes;  // of the record
} tess_xp_tile;

tess_xp_tile tess_xp_tiles_at(const tess_xp_tiles *tiles, int64_t tile);
int64_t tess_xp_tiles_n_leaf(const tess_xp_tiles *tiles);
// Bytes of the records before a leaf (leaf may be n_leaf: all of them).
uint64_t tess_xp_tiles_leaf_offset(const tess_xp_tiles *tiles, int64_t leaf);
// Records of a leaf all of whose points are ignored.
void tess_xp_tiles_blank(const tess_xp_tiles *tiles, int64_t leaf, unsigned char *records);

#endif
