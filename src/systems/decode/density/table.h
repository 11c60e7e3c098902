// A Gaussian density of samples, tabulated for fast evaluation at arbitrary places.
//
// Places have one or two coordinates. The logarithm is tabulated because it is what varies slowly:
// of a single Gaussian it is a parabola. Where it does not vary slowly enough (deep valleys between
// clusters), or where almost no sample is near, the table says so and the caller evaluates
// directly.
#ifndef TESS_SYSTEMS_DECODE_TABLE_H
#define TESS_SYSTEMS_DECODE_TABLE_H

#include "base/blocks.h"
#include "runtime/context.h"

#include <stdbool.h>

// Axis 0 has a single node when places have one coordinate.
typedef struct tess_de_table {
    int64_t n[2]; // nodes; 0: there is no table, every lookup fails
    double first[2];
    double per_cm[2];         // nodes per cm
    const double *log_value;  // [n[0]][n[1]]
    const uint8_t *is_usable; // [n[0]][n[1]] the cell from this node to the next is accurate
} tess_de_table;

typedef struct tess_de_table_samples {
    const double *place;   // [n][n_dim]
    const double *weights; // [n]; NULL: all 1
    int64_t n;
    int64_t n_dim;
    const double *std; // [n_dim] cm
} tess_de_table_samples;

// A table of at most max_node nodes, in blocks; none (n 0) if more would be needed, if there are no
// samples, or for three coordinates.
TESS_MUST_CHECK tess_status tess_de_table_build(tess_context *ctx, tess_blocks *blocks,
                                                const tess_de_table_samples *samples,
                                                int64_t max_node, tess_de_table *out);

// log of the density sum_i w_i prod phi / sum w at a place; false if the table does not know.
bool tess_de_table_lookup(const tess_de_table *table, int64_t n_dim, const double *place,
                          double *log_value);

#endif
