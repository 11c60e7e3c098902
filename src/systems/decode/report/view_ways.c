#include "systems/decode/report/view_ways.h"

#include "base/status.h"

#include <math.h>

static const char MEMORY[] = "the track of a result";

// The corridor that a linear position lies on, the nearest one off them all.
static int64_t edge_at(const tess_de_track_view *track, double linear)
{
    int64_t best = 0;
    double least = (double)INFINITY;
    for (int64_t e = 0; e < track->n_edge; e++) {
        const tess_de_track_edge *edge = &track->edges[e];
        const double beyond = fmax(edge->start - linear, linear - edge->start - edge->span);
        if (beyond < least) {
            least = beyond;
            best = e;
        }
    }
    return best;
}

static tess_status check_node(const tess_de_view *v, const char *name, int64_t e, double node,
                              int64_t n_node)
{
    if (!(node >= 0 && node < (double)n_node)) {
        TESS_FAIL(TESS_E_SHAPE, "%s: %s[%lld] is %g; there are %lld nodes", v->path, name,
                  (long long)e, node, (long long)n_node);
    }
    return TESS_OK;
}

tess_status tess_de_view_read_track(tess_de_view *v, const double *node_x, const double *node_y,
                                    int64_t n_node, const double *from, const double *to,
                                    const double *start, int64_t n_edge)
{
    tess_de_track_view *track = tess_blocks_alloc(&v->memory, 1, sizeof *track, MEMORY);
    tess_de_track_edge *edges = tess_blocks_alloc(&v->memory, n_edge, sizeof *edges, MEMORY);
    double *nodes = tess_blocks_alloc(&v->memory, n_node * n_node, sizeof *nodes, MEMORY);
    const int64_t n_place = v->environments[0].n_place;
    tess_de_track_point *places = tess_blocks_alloc(&v->memory, n_place, sizeof *places, MEMORY);
    if (!track || !edges || !nodes || !places) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n_edge; e++) {
        tess_de_track_edge *edge = &edges[e];
        TESS_TRY(check_node(v, "env0_edge_from", e, from[e], n_node));
        TESS_TRY(check_node(v, "env0_edge_to", e, to[e], n_node));
        edge->node[0] = edge->first_node = (int64_t)from[e];
        edge->node[1] = (int64_t)to[e];
        edge->start = start[e];
        edge->span = hypot(node_x[edge->node[0]] - node_x[edge->node[1]],
                           node_y[edge->node[0]] - node_y[edge->node[1]]);
        if (!(edge->span > 0) || !isfinite(edge->span + edge->start)) {
            TESS_FAIL(TESS_E_NUMERIC, "%s: edge %lld of its track has no finite length", v->path,
                      (long long)e);
        }
    }
    TESS_TRY(tess_de_track_node_ways(v->ctx, edges, n_edge, n_node, nodes));
    *track = (tess_de_track_view){
        .n_edge = n_edge, .n_node = n_node, .edges = edges, .nodes = nodes, .places = places};
    for (int64_t p = 0; p < n_place; p++) {
        const double linear = v->center[0][p];
        places[p] = tess_de_track_locate(&edges[edge_at(track, linear)], linear);
    }
    v->track = track;
    return TESS_OK;
}

tess_de_spot tess_de_view_spot(const tess_de_view *v, const double *at, double edge)
{
    const tess_de_track_view *track = v->track;
    tess_de_spot spot = {.at = {0}};
    for (int32_t a = 0; a < v->n_axis; a++) {
        spot.at[a] = at[a];
    }
    if (track && isfinite(at[0])) {
        const bool is_told = edge >= 0 && edge < (double)track->n_edge;
        const int64_t e = is_told ? (int64_t)edge : edge_at(track, at[0]);
        spot.on = tess_de_track_locate(&track->edges[e], at[0]);
    }
    return spot;
}

tess_de_spot tess_de_view_spot_of_place(const tess_de_view *v, int64_t place)
{
    tess_de_spot spot = {.at = {0}};
    for (int32_t a = 0; a < v->n_axis; a++) {
        spot.at[a] = v->center[a][place];
    }
    if (v->track && place < v->environments[0].n_place) {
        spot.on = v->track->places[place];
    }
    return spot;
}

double tess_de_view_distance(const tess_de_view *v, const tess_de_spot *a, const tess_de_spot *b)
{
    double sum = 0;
    if (v->track && a->on.edge && b->on.edge) {
        return tess_de_track_way(&a->on, &b->on, v->track->nodes, v->track->n_node);
    }
    for (int32_t k = 0; k < v->n_axis; k++) {
        sum += (a->at[k] - b->at[k]) * (a->at[k] - b->at[k]);
    }
    return sqrt(sum);
}

double tess_de_view_place_distance(const tess_de_view *v, int64_t place, const tess_de_spot *spot)
{
    const tess_de_spot center = tess_de_view_spot_of_place(v, place);
    return tess_de_view_distance(v, &center, spot);
}
