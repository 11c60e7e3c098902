// Routes through an environment: the whole line, or every simple path between two ends of a track.
#include "systems/decode/events/model.h"
#include "systems/decode/places/environment.h"

#include "base/status.h"

#include <string.h>

// More ways than this are a maze of loops, whose lines nobody asks for.
enum { MOST_ROUTES = 256 };

typedef struct route_walk {
    const tess_decode_environment *env;
    tess_blocks *blocks;
    tess_events_route *routes; // [MOST_ROUTES]
    int64_t n_route;
    int64_t to;         // node the path is to end at
    int64_t *edges;     // [n_edge] of the path so far
    int64_t *nodes;     // [n_edge + 1] that it passed
    uint8_t *is_passed; // [n_node]
} route_walk;

static double width_of_bin(const tess_decode_environment_info *info, int64_t interior)
{
    const int64_t bin = info->interior_bin[interior];
    return info->bin_edges[0][bin + 1] - info->bin_edges[0][bin];
}

static tess_status alloc_route(tess_blocks *blocks, int64_t n_bin, tess_events_route *route,
                               int32_t **bin, double **u)
{
    *bin = tess_blocks_alloc(blocks, n_bin, sizeof **bin, "route");
    *u = tess_blocks_alloc(blocks, n_bin, sizeof **u, "route");
    if (!*bin || !*u) {
        return TESS_E_MEMORY;
    }
    *route = (tess_events_route){.bin = *bin, .u = *u};
    return TESS_OK;
}

// All interior bins in their order.
static tess_status whole_line(tess_blocks *blocks, const tess_decode_environment_info *info,
                              tess_events_route *route)
{
    int32_t *bin = NULL;
    double *u = NULL;
    const int64_t n = info->n_interior;
    TESS_TRY(alloc_route(blocks, n, route, &bin, &u));
    const double begin = info->bin_edges[0][info->interior_bin[0]];
    double width = 0;
    for (int64_t p = 0; p < n; p++) {
        bin[p] = (int32_t)p;
        u[p] = info->interior_centers[p] - begin;
        width += width_of_bin(info, p);
    }
    route->n_bin = n;
    route->length = info->bin_edges[0][info->interior_bin[n - 1] + 1] - begin;
    route->step = 0.5 * width / (double)n;
    return TESS_OK;
}

// The bins of one corridor, in the direction of the path, behind those the route has.
static double add_edge(const tess_decode_environment *env, int64_t edge, int64_t from, double at,
                       int32_t *bin, double *u, tess_events_route *route)
{
    const tess_decode_environment_info *info = &env->info;
    const tess_de_track_edge *e = &env->track_edges[edge];
    const bool is_forward = e->first_node == from;
    const int64_t n = info->n_interior;
    double width = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t p = is_forward ? k : n - 1 - k;
        if (env->bin_track_edge[info->interior_bin[p]] != edge) {
            continue;
        }
        const double along = info->interior_centers[p] - e->start;
        bin[route->n_bin] = (int32_t)p;
        u[route->n_bin++] = at + (is_forward ? along : e->length - along);
        width += width_of_bin(info, p);
    }
    return width;
}

static tess_status add_route(route_walk *w, int64_t n_edge)
{
    int32_t *bin = NULL;
    double *u = NULL;
    if (w->n_route == MOST_ROUTES) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "the track has more than %d simple paths between its ends; lines are laid along "
                  "each of them",
                  MOST_ROUTES);
    }
    tess_events_route *route = &w->routes[w->n_route];
    TESS_TRY(alloc_route(w->blocks, w->env->info.n_interior, route, &bin, &u));
    double width = 0;
    for (int64_t i = 0; i < n_edge; i++) {
        width += add_edge(w->env, w->edges[i], w->nodes[i], route->length, bin, u, route);
        route->length += w->env->track_edges[w->edges[i]].length;
    }
    route->step = route->n_bin > 0 ? 0.5 * width / (double)route->n_bin : 0;
    w->n_route += route->n_bin > 0;
    return TESS_OK;
}

// All simple paths on from the last node passed.
static tess_status walk(route_walk *w, int64_t n_edge)
{
    const int64_t node = w->nodes[n_edge];
    if (node == w->to) {
        return add_route(w, n_edge);
    }
    for (int64_t k = 0; k < w->env->info.n_track_edge; k++) {
        const tess_de_track_edge *e = &w->env->track_edges[k];
        const int64_t other = e->node[0] == node ? e->node[1] : e->node[0];
        if ((e->node[0] != node && e->node[1] != node) || w->is_passed[other]) {
            continue;
        }
        w->edges[n_edge] = k;
        w->nodes[n_edge + 1] = other;
        w->is_passed[other] = 1;
        TESS_TRY(walk(w, n_edge + 1));
        w->is_passed[other] = 0;
    }
    return TESS_OK;
}

static tess_status all_paths(route_walk *w)
{
    const int64_t n_edge = w->env->info.n_track_edge;
    const int64_t n_node = w->env->n_node;
    int64_t *degree = tess_blocks_alloc(w->blocks, n_node, sizeof *degree, "track");
    w->edges = tess_blocks_alloc(w->blocks, n_edge, sizeof *w->edges, "path");
    w->nodes = tess_blocks_alloc(w->blocks, n_edge + 1, sizeof *w->nodes, "path");
    w->is_passed = tess_blocks_alloc(w->blocks, n_node, 1, "path");
    if (!degree || !w->edges || !w->nodes || !w->is_passed) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < n_edge; k++) {
        degree[w->env->track_edges[k].node[0]]++;
        degree[w->env->track_edges[k].node[1]]++;
    }
    for (int64_t i = 0; i < n_node; i++) {
        for (int64_t j = i + 1; degree[i] == 1 && j < n_node; j++) {
            if (degree[j] == 1) {
                memset(w->is_passed, 0, (size_t)n_node);
                w->is_passed[i] = 1;
                w->nodes[0] = i;
                w->to = j;
                TESS_TRY(walk(w, 0));
            }
        }
    }
    return TESS_OK;
}

tess_status tess_de_routes_make(tess_blocks *blocks, const tess_decode_environment *env,
                                tess_events_route **routes, int64_t *n_route)
{
    *n_route = 0;
    *routes = tess_blocks_alloc(blocks, MOST_ROUTES, sizeof **routes, "routes");
    if (!*routes) {
        return TESS_E_MEMORY;
    }
    if (env->info.n_place_dim > 1 || env->info.n_interior == 0) {
        return TESS_OK;
    }
    if (env->info.is_track) {
        route_walk w = {.env = env, .blocks = blocks, .routes = *routes};
        TESS_TRY(all_paths(&w));
        *n_route = w.n_route;
    }
    if (*n_route == 0) {
        TESS_TRY(whole_line(blocks, &env->info, *routes));
        *n_route = 1;
    }
    return TESS_OK;
}
