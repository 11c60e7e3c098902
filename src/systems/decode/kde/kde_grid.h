// Cells of position of a clusterless model: chosen by cost, then filled.
#ifndef TESS_SYSTEMS_DECODE_KDE_GRID_H
#define TESS_SYSTEMS_DECODE_KDE_GRID_H

#include "systems/decode/kde/kde.h"
#include "systems/decode/kde/moments.h"

// Where the cells lie, and what a spike costs. Places in units of sqrt(2) bandwidths.
typedef struct kde_plan {
    tess_kde_expansion x;
    bool has_cells;
    int64_t coordinate[2]; // of places, that each axis is
    double low[2];         // of the first cell of each axis
    int64_t n_cell[2];
    int32_t *id;          // plane: [n_cell[0]][n_cell[1]] cell's number, or -1
    double place_cost;    // of evaluating one decoding spike at all bins, in vector operations
    double depth;         // of sure sums
    const double *places; // [n_dim][n_bin] of bins
} kde_plan;

// Scaled places of the spikes that count, electrode by electrode.
typedef struct kde_places {
    int64_t n_electrode;
    const int64_t *n;           // [n_electrode]
    const double *const *place; // [n_electrode] -> [n_dim][n]
} kde_places;

// Decides on cells for spikes at these places; fills stage->grid where there are any, in
// blocks. The plan uses scratch.
TESS_MUST_CHECK tess_status tess_de_kde_plan(tess_blocks *blocks, tess_blocks *scratch,
                                             const kde_places *places, double bound,
                                             tess_kde_model *stage, kde_plan *plan);

// Cell of a place, or -1 if it is out of every bin's reach.
int64_t tess_de_kde_cell(const kde_plan *plan, int64_t n_dim, const double *place);

// On a line: where in its cell a place is, from -1 to 1.
double tess_de_kde_within(const kde_plan *plan, double place);

// basis[n_moment] of a place within its cell, weighted.
void tess_de_kde_basis(const kde_plan *plan, int64_t n_dim, const double *place, double weight,
                       float *basis);

#endif
