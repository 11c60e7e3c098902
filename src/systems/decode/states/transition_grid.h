// A grid laid out for convolutions, and the tiles of one pass over it.
#ifndef TESS_SYSTEMS_DECODE_TRANSITION_GRID_H
#define TESS_SYSTEMS_DECODE_TRANSITION_GRID_H

#include "base/tile_sum.h"
#include "tessera/decode/environment.h"

enum { GRID_TILE = 8 }; // rows and columns of a tile

// Worth of a step of d bins along an axis: table[middle + d], 0 outside low..high and for
// GRID_TILE steps more than the axis has.
typedef struct grid_steps {
    double *table;
    int64_t middle;
    int64_t low;
    int64_t high;
} grid_steps;

// Lines along the last axis of the layout, pitch cells apart.
typedef struct grid_layout {
    int n_axis;
    int64_t n[TESS_DECODE_MAX_DIM];
    int64_t pitch;
    int64_t lead; // cell of the first line
    int64_t n_line;
    int64_t n_cell;
    grid_steps steps[TESS_DECODE_MAX_DIM]; // by axis of the environment
} grid_layout;

// Cells from one index to the next along an axis of the layout.
int64_t tess_de_grid_step(const grid_layout *grid, int axis);
// Index along an axis of the i-th cell of a line.
int64_t tess_de_grid_index(const grid_layout *grid, int axis, int64_t line, int64_t i);

typedef struct grid_tiles {
    tess_tile_sum *tiles; // NULL: counted only
    int64_t n;
    int64_t cost;
} grid_tiles;

// Cells of a set: the first at or behind each cell, n_cell if there is none, and the last at or
// before it, or -1.
typedef struct grid_set {
    int32_t *next;
    int32_t *last;
} grid_set;

// The cheapest way to where something can be cut: from where, and how much at once; and on from
// here along the best of all.
typedef struct grid_way {
    int64_t cost;
    int64_t from;
    int64_t size;
    int64_t to;
    int64_t chosen;
} grid_way;

typedef struct grid_pass {
    const grid_layout *grid;
    const grid_steps *steps; // of the pass's axis
    grid_set held;
    grid_set want;
    grid_way *ways; // room for n_cell + 2 of them
} grid_pass;

// What a tile costs, in quarters of a cycle or so.
int64_t tess_de_tile_cost(const tess_tile_sum *tile);

// Bins that lie side by side among the cells too, in the order of bins; runs has room for one per
// bin. Returns how many.
int64_t tess_de_grid_runs(const int32_t *cells, int64_t n, tess_tile_run *runs);

// Tiles that give every wanted cell its sum over the cells held, in a pass along the last axis...
void tess_de_grid_along(const grid_pass *pass, grid_tiles *tiles);
// ... or along another one.
void tess_de_grid_across(const grid_pass *pass, int axis, grid_tiles *tiles);

#endif
