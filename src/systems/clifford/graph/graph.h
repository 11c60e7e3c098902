// Checks of graphs and of the arrays beside them.
#ifndef TESS_CLIFFORD_GRAPH_CHECK_H
#define TESS_CLIFFORD_GRAPH_CHECK_H

#include "runtime/context.h"
#include "stage/clifford_graph.h"
#include "tessera/clifford/graph.h"

// Offsets that rise, senders that exist, every edge's number once: the stage's part of the graph.
TESS_MUST_CHECK tess_status tess_cl_graph_check(tess_context *ctx, const char *name,
                                                const tess_clifford_graph *graph,
                                                tess_stage_clifford_graph *stage);

#endif
