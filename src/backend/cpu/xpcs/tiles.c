#include "backend/cpu/xpcs/xpcs.h"

#include <math.h>

enum { RUN = TESS_STAGE_XPCS_RUN, LEAF = TESS_STAGE_XPCS_LEAF, PAD = TESS_STAGE_XPCS_PAD };

_Static_assert((int)RUN == (int)TESS_XP_RUN, "a tile is a run of the kernels");

uint64_t tess_cpu_xp_samples_at(const tess_xp_tiles *tiles, int64_t width, int64_t angle)
{
    return (uint64_t)tiles->n_angle * TESS_STAGE_XPCS_HEAD * sizeof(double) +
           (uint64_t)(angle * width) * (uint64_t)tiles->item_bytes;
}

uint64_t tess_cpu_xp_sigmas_at(const tess_xp_tiles *tiles, int64_t width, int64_t angle)
{
    return tess_cpu_xp_samples_at(tiles, width, tiles->n_angle) +
           (uint64_t)(angle * width) * sizeof(double);
}

uint64_t tess_cpu_xp_record_bytes(const tess_xp_tiles *tiles, int64_t width)
{
    const uint64_t bytes = tiles->has_sigma ? tess_cpu_xp_sigmas_at(tiles, width, tiles->n_angle)
                                            : tess_cpu_xp_samples_at(tiles, width, tiles->n_angle);
    return (bytes + 63) / 64 * 64;
}

static xp_tile tile_at(const tess_xp_tiles *tiles, int64_t row, int64_t run, uint64_t offset)
{
    const int64_t left = tiles->n_frame - 1 - row - run * RUN;
    const int64_t n_column = left < RUN ? left : RUN;
    return (xp_tile){.row = row,
                     .column = row + 1 + run * RUN,
                     .n_column = n_column,
                     .width = (n_column + PAD - 1) / PAD * PAD,
                     .offset = offset};
}

xp_tile tess_cpu_xp_first_tile(const tess_xp_tiles *tiles, int64_t leaf)
{
    const int64_t tile = leaf * LEAF;
    int64_t row = 0;
    int64_t behind = tiles->n_frame - 1; // the last row has no tile
    while (behind - row > 1) {
        const int64_t middle = row + (behind - row) / 2;
        if (tiles->row_tile[middle] <= tile) {
            row = middle;
        } else {
            behind = middle;
        }
    }
    const int64_t run = tile - tiles->row_tile[row];
    const uint64_t offset =
        (uint64_t)tiles->row_offset[row] + (uint64_t)run * tess_cpu_xp_record_bytes(tiles, RUN);
    return tile_at(tiles, row, run, offset);
}

xp_tile tess_cpu_xp_next_tile(const tess_xp_tiles *tiles, const xp_tile *tile)
{
    const uint64_t offset = tile->offset + tess_cpu_xp_record_bytes(tiles, tile->width);
    if (tile->column + tile->n_column < tiles->n_frame) {
        return tile_at(tiles, tile->row, (tile->column - tile->row - 1) / RUN + 1, offset);
    }
    return tile_at(tiles, tile->row + 1, 0, offset);
}

int64_t tess_cpu_xp_leaf_tiles(const tess_xp_tiles *tiles, int64_t leaf)
{
    const int64_t left = tiles->n_tile - leaf * LEAF;
    return left < LEAF ? left : LEAF;
}

tess_xp_source tess_cpu_xp_source(const tess_xp_grid *grid, double w2, int32_t power,
                                  int has_derivatives)
{
    tess_xp_source source = {.diffusion = grid->diffusion,
                             .shear = grid->shear,
                             .eps = grid->eps_abs,
                             .w2 = w2,
                             .power = power};
    for (int k = 0; k < 3 && has_derivatives; k++) {
        source.diffusion_d[k] = grid->diffusion_d[k];
        source.shear_d[k] = grid->shear ? grid->shear_d[k] : NULL;
    }
    return source;
}

int tess_cpu_xp_is_dark(const tess_xp_source *source)
{
    const double *sums = source->diffusion;
    return source->w2 * fabs(sums[source->column] - sums[source->row]) > 40;
}

int64_t tess_cpu_xp_group_end(const tess_xp_angle *angles, int64_t n_angle, int64_t first)
{
    int64_t end = first + 1;
    while (end < n_angle && angles[end].w2 == angles[first].w2) {
        end++;
    }
    return end;
}
