#include "systems/decode/kde/kde_axis.h"

#include "base/status.h"

#include <math.h>

// A number of points, 0 to n.
static int32_t within(double at, int64_t n)
{
    return at <= 0 ? 0 : at < (double)n ? (int32_t)at : (int32_t)n;
}

tess_status tess_de_kde_axis(tess_blocks *blocks, const kde_points *points, const double *value,
                             int64_t n_value, int64_t order, bool whole, tess_kde_axis *axis,
                             float **table)
{
    const int64_t n_block = (n_value + TESS_KDE_BLOCK - 1) / TESS_KDE_BLOCK;
    int32_t *first = tess_blocks_alloc(blocks, n_block, sizeof *first, "cells");
    int32_t *end = tess_blocks_alloc(blocks, n_block, sizeof *end, "cells");
    int64_t *row = tess_blocks_alloc(blocks, n_block, sizeof *row, "cells");
    if (!first || !end || !row) {
        return TESS_E_MEMORY;
    }
    int64_t n_row = 0;
    for (int64_t b = 0; b < n_block; b++) {
        const int64_t last = b + 1 < n_block ? (b + 1) * TESS_KDE_BLOCK : n_value;
        const double low = value[b * TESS_KDE_BLOCK] - points->reach - points->first;
        const double high = value[last - 1] + points->reach - points->first;
        first[b] = within(ceil(low / points->step), points->n);
        end[b] = within(floor(high / points->step) + 1, points->n);
        first[b] = first[b] < end[b] ? first[b] : end[b];
        row[b] = n_row - (whole ? 0 : first[b]);
        n_row += whole ? points->n : end[b] - first[b];
    }
    *table =
        tess_blocks_alloc(blocks, n_row * order * TESS_KDE_BLOCK, sizeof **table, "place kernel");
    *axis = (tess_kde_axis){.n_cell = points->n,
                            .n_value = n_value,
                            .n_block = n_block,
                            .table = *table,
                            .row = row,
                            .first = first,
                            .end = end};
    return *table ? TESS_OK : TESS_E_MEMORY;
}
