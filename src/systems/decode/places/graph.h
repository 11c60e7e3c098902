// A graph of weighted edges, and shortest paths from every node.
#ifndef TESS_SYSTEMS_DECODE_GRAPH_H
#define TESS_SYSTEMS_DECODE_GRAPH_H

#include "runtime/context.h"

typedef struct tess_de_graph {
    int64_t n_node;
    const int64_t *first;   // [n_node + 1] into the two lists
    const int32_t *to;      // neighbours
    const double *distance; // to them, >= 0
} tess_de_graph;

// out [n_node][n_node], inf where there is no path; the same bits for any number of threads, and
// symmetric to the bit if the graph is.
TESS_MUST_CHECK tess_status tess_de_graph_distances(tess_context *ctx, const tess_de_graph *graph,
                                                    double *out);

#endif
