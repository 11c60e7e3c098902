// From the cells of a line to its bins by way of nodes, where bins are many.
#ifndef TESS_SYSTEMS_DECODE_KDE_LINE_H
#define TESS_SYSTEMS_DECODE_KDE_LINE_H

#include "systems/decode/kde/kde_grid.h"

// The nodes of a plan with cells on a line, whose n_value distinct places of bins are given: fills
// stage->nodes (axes[1] from cells to nodes, axes[0] from nodes to bins, n_dim 0), adds what they
// are off by to the plan's bound, and makes its cost theirs. Does nothing where cells to bins cost
// less, or a place kernel of the most spikes that an electrode has, or where the bound that was
// asked for has no room.
TESS_MUST_CHECK tess_status tess_de_kde_line(tess_blocks *blocks, tess_blocks *scratch,
                                             const double *value, int64_t n_value,
                                             double most_spikes, double bound,
                                             tess_kde_model *stage, kde_plan *plan);

#endif
