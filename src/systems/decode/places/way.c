#include "systems/decode/places/way.h"

#include "base/status.h"
#include "systems/decode/places/graph.h"

#include <math.h>

tess_de_track_point tess_de_track_locate(const tess_de_track_edge *edge, double linear)
{
    const double offset = linear - edge->start;
    const int reversed = edge->first_node == edge->node[1];
    tess_de_track_point point = {.edge = edge};
    point.to_end[reversed] = offset;
    point.to_end[!reversed] = edge->span - offset;
    return point;
}

double tess_de_track_way(const tess_de_track_point *a, const tess_de_track_point *b,
                         const double *nodes, int64_t n_node)
{
    double best = (double)INFINITY;
    if (a->edge == b->edge) {
        best = fabs(a->to_end[0] - b->to_end[0]);
    }
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            const double way =
                a->to_end[i] + nodes[a->edge->node[i] * n_node + b->edge->node[j]] + b->to_end[j];
            best = way < best ? way : best;
        }
    }
    return best;
}

// Neighbours of every node; first [n_node + 1], to and distance [2 n_edge].
static void join_nodes(const tess_de_track_edge *edges, int64_t n_edge, int64_t n_node,
                       int64_t *first, int32_t *to, double *distance)
{
    int64_t n = 0;
    for (int64_t v = 0; v < n_node; v++) {
        first[v] = n;
        for (int64_t e = 0; e < n_edge; e++) {
            const tess_de_track_edge *edge = &edges[e];
            if (edge->node[0] == v || edge->node[1] == v) {
                to[n] = (int32_t)(edge->node[0] + edge->node[1] - v);
                distance[n++] = edge->span;
            }
        }
    }
    first[n_node] = n;
}

tess_status tess_de_track_node_ways(tess_context *ctx, const tess_de_track_edge *edges,
                                    int64_t n_edge, int64_t n_node, double *out)
{
    const char *what = "nodes of the track graph";
    tess_status status = TESS_E_MEMORY;
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    int64_t *first = tess_blocks_alloc(&blocks, n_node + 1, sizeof *first, what);
    int32_t *to = tess_blocks_alloc(&blocks, 2 * n_edge, sizeof *to, what);
    double *distance = tess_blocks_alloc(&blocks, 2 * n_edge, sizeof *distance, what);
    if (first && to && distance) {
        join_nodes(edges, n_edge, n_node, first, to, distance);
        const tess_de_graph graph = {n_node, first, to, distance};
        status = tess_de_graph_distances(ctx, &graph, out);
    }
    tess_blocks_free(&blocks);
    return status;
}
