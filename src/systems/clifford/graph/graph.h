// Checks of graphs and of the arrays beside them.
#ifndef TESS_CLIFFORD_GRAPH_CHECK_H
#define TESS_CLIFFORD_GRAPH_CHECK_H

#include "runtime/context.h"
#include "stage/clifford_graph.h"
#include "tessera/clifford/graph.h"

// A graph as the caller gave it, its lists checked: by their numbers where they are in host memory
// and the caller has not done so.
TESS_MUST_CHECK tess_status tess_cl_graph_read(tess_context *ctx, const char *name,
                                               const tess_clifford_graph *graph,
                                               tess_clifford_graph *out);

#endif
