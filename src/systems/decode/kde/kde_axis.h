// The table of an axis: for every block of values the cells, or nodes, within their reach.
#ifndef TESS_SYSTEMS_DECODE_KDE_AXIS_H
#define TESS_SYSTEMS_DECODE_KDE_AXIS_H

#include "base/blocks.h"
#include "stage/decode_likelihood.h"

#include <stdbool.h>

// Places first, first + step, ... of cells or nodes, which count as far as reach from a value.
typedef struct kde_points {
    double first;
    double step;
    int64_t n;
    double reach;
} kde_points;

// Makes an axis of rising values and its table, which is zero: tess_de_kde_entry is for filling.
// whole: with rows for all points, which the plane's axes[1] needs.
TESS_MUST_CHECK tess_status tess_de_kde_axis(tess_blocks *blocks, const kde_points *points,
                                             const double *value, int64_t n_value, int64_t order,
                                             bool whole, tess_kde_axis *axis, float **table);

// Items of point c of block b before those of its first value; from order to order they are
// TESS_KDE_BLOCK apart.
static inline int64_t tess_de_kde_entry(const tess_kde_axis *axis, int64_t order, int64_t b,
                                        int64_t c)
{
    return (axis->row[b] + c) * order * TESS_KDE_BLOCK;
}

#endif
