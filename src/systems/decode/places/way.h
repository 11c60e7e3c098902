// The way between two points of a track, along its corridors.
#ifndef TESS_SYSTEMS_DECODE_WAY_H
#define TESS_SYSTEMS_DECODE_WAY_H

#include "systems/decode/places/environment.h"

// A point of a corridor, and the way to either end of it.
typedef struct tess_de_track_point {
    const tess_de_track_edge *edge;
    double to_end[2]; // cm, to edge->node
} tess_de_track_point;

// The point of a corridor that has this linear position.
tess_de_track_point tess_de_track_locate(const tess_de_track_edge *edge, double linear);

// cm; inf if there is none. nodes: [n_node][n_node] of the function below.
double tess_de_track_way(const tess_de_track_point *a, const tess_de_track_point *b,
                         const double *nodes, int64_t n_node);

// Ways between the nodes of a track, out [n_node][n_node].
TESS_MUST_CHECK tess_status tess_de_track_node_ways(tess_context *ctx,
                                                    const tess_de_track_edge *edges, int64_t n_edge,
                                                    int64_t n_node, double *out);

#endif
