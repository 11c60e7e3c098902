// How far places are apart: along the corridors of a track, straight elsewhere. On the line that a
// track is laid out on, neighbours may lie far from each other and strangers next door.
#ifndef TESS_SYSTEMS_DECODE_VIEW_WAYS_H
#define TESS_SYSTEMS_DECODE_VIEW_WAYS_H

#include "systems/decode/places/way.h"
#include "systems/decode/report/view.h"

struct tess_de_track_view {
    int64_t n_edge;
    int64_t n_node;
    const tess_de_track_edge *edges;   // [n_edge]
    const double *nodes;               // [n_node][n_node] ways between them
    const tess_de_track_point *places; // [n_place] of the animal's environment
};

// A point in the coordinates of the places.
typedef struct tess_de_spot {
    double at[TESS_DECODE_MAX_DIM]; // NaN: not known
    tess_de_track_point on;         // with a track, where known
} tess_de_spot;

// After the places: the track that the result was decoded on, if it tells.
TESS_MUST_CHECK tess_status tess_de_view_read_track(tess_de_view *view, const double *node_x,
                                                    const double *node_y, int64_t n_node,
                                                    const double *from, const double *to,
                                                    const double *start, int64_t n_edge);

// edge: the corridor, or less than 0: the one that has this linear position.
tess_de_spot tess_de_view_spot(const tess_de_view *view, const double *at, double edge);
tess_de_spot tess_de_view_spot_of_place(const tess_de_view *view, int64_t place);
// cm; NaN where one of them is not known.
double tess_de_view_distance(const tess_de_view *view, const tess_de_spot *a,
                             const tess_de_spot *b);
double tess_de_view_place_distance(const tess_de_view *view, int64_t place,
                                   const tess_de_spot *spot);

#endif
