// Inside the clusterless likelihood on the CPU: tiles of spikes, and how a spike is finished.
#ifndef TESS_BACKEND_CPU_DECODE_KDE_H
#define TESS_BACKEND_CPU_DECODE_KDE_H

#include "backend/cpu/decode/stages.h"
#include "stage/decode_likelihood.h"

// Spikes of a tile, at most: enough to share the reading of encoding spikes and tables, few enough
// that threads finish together. Half as many in the plane, where each has more to keep.
enum { KDE_TILE = 64, KDE_TILE_PLANE = 32 };

// Encoding spikes whose partial sums are added up at a time: the last bits depend on it.
enum { KDE_EXACT_CHUNK = 32 };

// Lanes of a tile: a multiple of the lanes of any vector.
enum { KDE_LANES = 64 };

// Encoding spikes whose weights are held at a time.
enum { KDE_CHUNK = 128 };

// Rows of cells whose sums are held at a time.
enum { KDE_ROWS = 4 };

// Places of a grid's bins, with a bin or without.
static inline int64_t kde_n_place(const tess_kde_grid *grid)
{
    const int64_t n_column = grid->n_dim == 2 ? grid->axes[1].n_value : 1;
    return n_column * grid->axes[0].n_block * TESS_KDE_BLOCK;
}

// Whether moments of a line go to its bins by way of nodes (kde_line.c).
static inline int kde_has_nodes(const tess_kde_model *model)
{
    return model->n_dim == 1 && model->nodes.n_dim == 0 && model->nodes.axes[1].table;
}

// One worker's memory.
typedef struct kde_scratch {
    double *x;       // [max_feature][KDE_TILE] scaled marks of the tile
    double *nearest; // [KDE_TILE]
    double *weights; // [KDE_EXACT_CHUNK][KDE_TILE]
    double *kernel;  // [KDE_EXACT_CHUNK][n_bin]
    double *sums;    // [n_bin][KDE_TILE]
    double *row;     // [n_bin] logarithms of one spike
    double *mark;    // [max_feature] of one spike
    double *anew;    // [max_feature][KDE_TILE] marks of spikes that f32 cannot do
    double *values;  // [KDE_TILE][n_bin] and their values
    double *far;     // [3][max_spike], for values that sums cannot hold

    // Not of an exact model.
    float *x_f32;       // [max_feature][KDE_LANES]
    float *weights_f32; // [KDE_CHUNK][KDE_LANES]
    float *moments;     // [cells_at_once][n_column][KDE_LANES]
    float *partial;     // plane: [KDE_ROWS][blocks of axes[1]][order][KDE_LANES]; line: nodes
    float *places;      // [kde_n_place][KDE_LANES] sums, in the order of the grid's bins
    float *sums_f32;    // [n_bin][KDE_LANES]
    float *total;       // [KDE_LANES]
    float *values_f32;  // [n_bin][KDE_LANES]
    float *lane;        // [4][KDE_LANES] sure, floor, numbers of unsure and floored values
} kde_scratch;

// Bytes of scratch, and its layout in memory (64-byte aligned).
size_t kde_scratch_bytes(const tess_kde_model *model);
void kde_scratch_open(const tess_kde_model *model, void *memory, kde_scratch *scratch);

// A tile of up to KDE_TILE spikes.
typedef struct kde_tile {
    const tess_kernels *kernels;
    const tess_kde_model *model;
    const tess_kde_electrode *electrode;
    const double *marks; // [n][n_feature]
    int64_t n;
    kde_scratch *scratch;
    tess_kde_counts counts; // out
} kde_tile;

void kde_tile_exact(kde_tile *tile, double *values);
void kde_tile_fast(kde_tile *tile, float *values);

// Logarithm of the least sum that is sure, from the sum of the first moments of all cells.
double kde_least_sure(const kde_tile *tile, double first_moments);

// One spike before its floor. row[p] is offset + log of its sum where that is at least sure, and
// anything below where the sum was too small to be trusted.
//
// mark   scaled [n_feature], for values that must be computed anew
// sure   [n_bin] least trusted value is sure + offset[p]
typedef struct kde_spike {
    double *row;
    const double *mark;
    double sure;
} kde_spike;

// Applies the floor; computes anew, in logarithms, what is neither sure nor surely on the floor.
// Returns 0, with nothing counted, if that were more than most_anew values.
int kde_finish(kde_tile *tile, kde_spike *spike, int64_t most_anew);

#endif
