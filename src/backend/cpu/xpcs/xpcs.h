// What the stages of xpcs share on the CPU: a walk over tiles, and runs of pairs for the kernels.
#ifndef TESS_BACKEND_CPU_XPCS_H
#define TESS_BACKEND_CPU_XPCS_H

#include "kernels/xpcs.h"
#include "stage/xpcs.h"

// A tile and the parts of its record that lie at the tile's offset.
typedef struct xp_tile {
    int64_t row;
    int64_t column;   // first
    int64_t n_column; // 1..RUN
    int64_t width;    // padded
    uint64_t offset;  // of the record
} xp_tile;

// The first tile of a leaf, and the one behind a tile. No tile follows the last.
xp_tile tess_cpu_xp_first_tile(const tess_xp_tiles *tiles, int64_t leaf);
xp_tile tess_cpu_xp_next_tile(const tess_xp_tiles *tiles, const xp_tile *tile);
// How many tiles a leaf has.
int64_t tess_cpu_xp_leaf_tiles(const tess_xp_tiles *tiles, int64_t leaf);
uint64_t tess_cpu_xp_record_bytes(const tess_xp_tiles *tiles, int64_t width);

// Byte within a record where samples of an angle begin, and their sd plane.
uint64_t tess_cpu_xp_samples_at(const tess_xp_tiles *tiles, int64_t width, int64_t angle);
uint64_t tess_cpu_xp_sigmas_at(const tess_xp_tiles *tiles, int64_t width, int64_t angle);

// Where the pairs of a row and a run of columns come from; the derivatives are optional.
tess_xp_source tess_cpu_xp_source(const tess_xp_grid *grid, double w2, int32_t power,
                                  int has_derivatives);
// Whether M is below 4e-18 for every pair of a run (row < column), which then counts as 0.
int tess_cpu_xp_is_dark(const tess_xp_source *source);
// End of the angles of equal w2 from first on.
int64_t tess_cpu_xp_group_end(const tess_xp_angle *angles, int64_t n_angle, int64_t first);

#endif
