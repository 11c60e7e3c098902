// Tracks: a maze of corridors laid out on a line, cut into bins.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/places/environment.h"

#include <math.h>
#include <string.h>

// Ends of corridors closer than this on the line are one edge of a bin (cm).
static const double SAME_PLACE = 1e-8;
static const double MAX_BINS = 1e8;

static tess_status check_track(const tess_decode_track *track)
{
    if (track->n_node < 2 || !track->node_position || track->n_edge < 1 || !track->edges) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "track_graph: has %lld nodes and %lld edges; expected at least two nodes and one "
                  "edge",
                  (long long)track->n_node, (long long)track->n_edge);
    }
    for (int64_t i = 0; i < 2 * track->n_node; i++) {
        if (!isfinite(track->node_position[i])) {
            TESS_FAIL(TESS_E_NUMERIC, "track_graph: node %lld has no finite position",
                      (long long)(i / 2));
        }
    }
    for (int64_t e = 0; e < track->n_edge; e++) {
        const int64_t a = track->edges[2 * e];
        const int64_t b = track->edges[2 * e + 1];
        if (a < 0 || b < 0 || a >= track->n_node || b >= track->n_node || a == b) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "track_graph: edge %lld joins nodes %lld and %lld; expected two different "
                      "nodes of 0 to %lld",
                      (long long)e, (long long)a, (long long)b, (long long)track->n_node - 1);
        }
    }
    return TESS_OK;
}

static int64_t lower_node(const tess_decode_track *track, int64_t e)
{
    const int64_t *pair = track->edges + 2 * e;
    return pair[0] < pair[1] ? pair[0] : pair[1];
}

static tess_status set_edge(const tess_decode_track *track, int64_t given, tess_de_track_edge *edge)
{
    const int64_t *pair = track->edges + 2 * given;
    edge->node[0] = lower_node(track, given);
    edge->node[1] = pair[0] + pair[1] - edge->node[0];
    for (int i = 0; i < 2; i++) {
        memcpy(edge->position[i], track->node_position + 2 * edge->node[i],
               sizeof edge->position[i]);
    }
    const double dx = edge->position[1][0] - edge->position[0][0];
    const double dy = edge->position[1][1] - edge->position[0][1];
    edge->span = sqrt(dx * dx + dy * dy);
    edge->length = track->edge_length ? track->edge_length[given] : edge->span;
    if (!(edge->span > 0) || !isfinite(edge->span)) {
        TESS_FAIL(TESS_E_ARGUMENT, "track_graph: nodes %lld and %lld of edge %lld are in one place",
                  (long long)edge->node[0], (long long)edge->node[1], (long long)given);
    }
    if (!(edge->length > 0) || !isfinite(edge->length)) {
        TESS_FAIL(TESS_E_ARGUMENT, "track_graph: edge %lld has length %g; expected more than 0 cm",
                  (long long)given, edge->length);
    }
    return TESS_OK;
}

// Edge ids: nodes ascending, at each node its edges in the order given, each edge once. An edge is
// first met at its lower node, so this is a stable sort by lower nodes. first: [n_node + 1].
static tess_status enumerate_edges(const tess_decode_track *track, int64_t *first,
                                   tess_de_track_edge *edges)
{
    for (int64_t e = 0; e < track->n_edge; e++) {
        first[lower_node(track, e) + 1]++;
    }
    for (int64_t v = 0; v < track->n_node; v++) {
        first[v + 1] += first[v];
    }
    for (int64_t e = 0; e < track->n_edge; e++) {
        TESS_TRY(set_edge(track, e, &edges[first[lower_node(track, e)]++]));
    }
    for (int64_t v = track->n_node; v > 0; v--) {
        first[v] = first[v - 1];
    }
    first[0] = 0;
    for (int64_t v = 0; v < track->n_node; v++) {
        for (int64_t i = first[v]; i < first[v + 1]; i++) {
            for (int64_t j = first[v]; j < i; j++) {
                if (edges[i].node[1] == edges[j].node[1]) {
                    TESS_FAIL(TESS_E_ARGUMENT, "track_graph: edge (%lld, %lld) is given twice",
                              (long long)edges[i].node[0], (long long)edges[i].node[1]);
                }
            }
        }
    }
    return TESS_OK;
}

// Id of the edge between two nodes, -1 if there is none.
static int64_t find_edge(const tess_decode_environment *env, const int64_t *first, int64_t a,
                         int64_t b)
{
    const int64_t low = a < b ? a : b;
    const int64_t high = a < b ? b : a;
    if (low < 0 || high >= env->n_node) {
        return -1;
    }
    for (int64_t e = first[low]; e < first[low + 1]; e++) {
        if (env->track_edges[e].node[1] == high) {
            return e;
        }
    }
    return -1;
}

// Which edge comes when on the line, and from which end. used: [n_edge] zeros.
static tess_status order_edges(tess_decode_environment *env, const tess_decode_track *track,
                               const int64_t *first, int64_t *used)
{
    if (!track->edge_order) {
        for (int64_t e = 0; e < track->n_edge; e++) {
            env->track_order[e] = e;
            env->track_edges[e].first_node = env->track_edges[e].node[0];
        }
        return TESS_OK;
    }
    if (track->n_order != track->n_edge) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "edge_order: has %lld edges, the track graph %lld; list every edge once",
                  (long long)track->n_order, (long long)track->n_edge);
    }
    for (int64_t i = 0; i < track->n_order; i++) {
        const int64_t *pair = track->edge_order + 2 * i;
        const int64_t e = find_edge(env, first, pair[0], pair[1]);
        if (e < 0 || used[e]) {
            TESS_FAIL(TESS_E_ARGUMENT, "edge_order: edge (%lld, %lld) at place %lld %s",
                      (long long)pair[0], (long long)pair[1], (long long)i,
                      e < 0 ? "is not in the track graph" : "comes a second time");
        }
        used[e] = 1;
        env->track_order[i] = e;
        env->track_edges[e].first_node = pair[0];
    }
    return TESS_OK;
}

static tess_status check_spacing(const tess_decode_track *track)
{
    const int64_t n_gap = track->n_edge - 1;
    if (track->n_spacing != 0 && track->n_spacing != 1 && track->n_spacing != n_gap) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "edge_spacing: has %lld values; expected one for all, or %lld: one for each gap "
                  "between the %lld edges of edge_order",
                  (long long)track->n_spacing, (long long)n_gap, (long long)track->n_edge);
    }
    for (int64_t i = 0; i < track->n_spacing; i++) {
        if (!(track->edge_spacing[i] >= 0) || !isfinite(track->edge_spacing[i])) {
            TESS_FAIL(TESS_E_ARGUMENT, "edge_spacing: value %lld is %g; expected 0 cm or more",
                      (long long)i, track->edge_spacing[i]);
        }
    }
    return TESS_OK;
}

// Where each edge starts on the line.
static tess_status place_edges(tess_decode_environment *env, const tess_decode_track *track)
{
    double at = 0;
    for (int64_t i = 0; i < track->n_edge; i++) {
        tess_de_track_edge *edge = &env->track_edges[env->track_order[i]];
        const double spacing = track->n_spacing == 0   ? 0
                               : track->n_spacing == 1 ? track->edge_spacing[0]
                               : i < track->n_spacing  ? track->edge_spacing[i]
                                                       : 0;
        edge->start = at;
        if (i < track->n_edge - 1 && edge->length + spacing < edge->span - SAME_PLACE) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "track_graph: edge (%lld, %lld) has length %g, but its nodes are %g cm "
                      "apart; the next edge would lie on top of it",
                      (long long)edge->node[0], (long long)edge->node[1], edge->length, edge->span);
        }
        at += edge->length + spacing;
    }
    return TESS_OK;
}

// Walks the line and reports every edge of a bin; with edges NULL it only counts them. owner [bins]
// is the track edge of the bin that ends there, -1 for a gap.
static double walk_line(const tess_decode_environment *env, double bin_size, double *edges,
                        int32_t *owner)
{
    double n = 0;
    double last = 0;
    for (int64_t i = 0; i < env->info.n_track_edge; i++) {
        const int64_t id = env->track_order[i];
        const tess_de_track_edge *edge = &env->track_edges[id];
        const double n_piece = ceil(edge->span / bin_size);
        const int is_gap = i > 0 && fabs(edge->start - last) > SAME_PLACE;
        if (edges) {
            int64_t at = (int64_t)n;
            if (is_gap) {
                owner[at - 1] = -1;
            } else if (i > 0) {
                at--; // the later of two edges in one place stays
            }
            edges[at++] = edge->start;
            for (double k = 1; k <= n_piece; k++) {
                const double offset = k < n_piece ? k * (edge->span / n_piece) : edge->span;
                owner[at - 1] = (int32_t)id;
                edges[at++] = edge->start + offset;
            }
        }
        n += n_piece + (i == 0 || is_gap);
        last = edge->start + edge->span;
    }
    return n;
}

static tess_status make_bins(tess_decode_environment *env, double bin_size)
{
    const double n = walk_line(env, bin_size, NULL, NULL);
    if (!(n <= MAX_BINS)) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "place_bin_size: %g cm cuts the track into %.0f bins, more than %.0f; use larger "
                  "bins",
                  bin_size, n - 1, MAX_BINS);
    }
    const int64_t n_bin = (int64_t)n - 1;
    double *edges =
        tess_blocks_alloc(&env->blocks, n_bin + 1, sizeof *edges, "edges of position bins");
    env->bin_track_edge =
        tess_blocks_alloc(&env->blocks, n_bin, sizeof *env->bin_track_edge, "track edges");
    if (!edges || !env->bin_track_edge) {
        return TESS_E_MEMORY;
    }
    walk_line(env, bin_size, edges, env->bin_track_edge);
    env->info.n_place_dim = 1;
    env->info.grid_shape[0] = n_bin;
    env->info.bin_edges[0] = edges;
    TESS_TRY(tess_de_bins_make(env));
    for (int64_t bin = 0; bin < n_bin; bin++) {
        env->interior[bin] = env->bin_track_edge[bin] >= 0;
    }
    return TESS_OK;
}

tess_status tess_de_track_make(tess_decode_environment *env, const tess_de_environment_plan *plan)
{
    tess_decode_track track;
    tess_decode_track_init(&track, sizeof track);
    TESS_TRY(tess_struct_read(plan->config.track, &track, sizeof track, "track"));
    TESS_TRY(check_track(&track));
    TESS_TRY(check_spacing(&track));
    const int64_t n = track.n_edge;
    env->n_node = track.n_node;
    env->info.is_track = 1;
    env->info.n_track_edge = n;
    tess_blocks *blocks = &env->blocks;
    const char *what = "track graph";
    env->track_edges = tess_blocks_alloc(blocks, n, sizeof *env->track_edges, what);
    env->track_order = tess_blocks_alloc(blocks, n, sizeof *env->track_order, what);
    int64_t *pairs = tess_blocks_alloc(blocks, 2 * n, sizeof *pairs, what);
    int64_t *first = tess_blocks_alloc(blocks, track.n_node + 1, sizeof *first, what);
    int64_t *used = tess_blocks_alloc(blocks, n, sizeof *used, what);
    if (!env->track_edges || !env->track_order || !pairs || !first || !used) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(enumerate_edges(&track, first, env->track_edges));
    for (int64_t e = 0; e < n; e++) {
        memcpy(pairs + 2 * e, env->track_edges[e].node, 2 * sizeof *pairs);
    }
    env->info.track_edges = pairs;
    TESS_TRY(order_edges(env, &track, first, used));
    TESS_TRY(place_edges(env, &track));
    return make_bins(env, plan->bin_size[0]);
}
