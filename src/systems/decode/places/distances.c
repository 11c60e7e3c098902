// Distances between interior bins along the environment, made when first asked for.
#include "base/status.h"
#include "systems/decode/places/environment.h"
#include "systems/decode/places/graph.h"

#include <math.h>

enum { MAX_NEIGHBOURS = 26 };

// Position on the grid of a bin.
static void unravel(const tess_decode_environment_info *info, int64_t bin, int64_t *index)
{
    for (int64_t axis = info->n_place_dim - 1; axis >= 0; axis--) {
        index[axis] = bin % info->grid_shape[axis];
        bin /= info->grid_shape[axis];
    }
}

// Interior number of the bin next to index in direction k (k in base 3, 1 stays); -1 if none.
static int64_t neighbour(const tess_decode_environment_info *info, const int32_t *number,
                         const int64_t *index, int k)
{
    int64_t bin = 0;
    for (int64_t axis = 0; axis < info->n_place_dim; axis++) {
        const int64_t i = index[axis] + k % 3 - 1;
        if (i < 0 || i >= info->grid_shape[axis]) {
            return -1;
        }
        bin = bin * info->grid_shape[axis] + i;
        k /= 3;
    }
    return number[bin];
}

static double center_distance(const tess_decode_environment_info *info, int64_t p, int64_t q)
{
    const int64_t d = info->n_place_dim;
    double square = 0;
    for (int64_t i = 0; i < d; i++) {
        const double step = info->interior_centers[p * d + i] - info->interior_centers[q * d + i];
        square += step * step;
    }
    return sqrt(square);
}

// Joins interior bins whose indices differ by at most one on every axis.
static void join_bins(const tess_decode_environment_info *info, const int32_t *number,
                      int64_t *first, int32_t *to, double *distance)
{
    const int n_direction = info->n_place_dim == 1 ? 3 : info->n_place_dim == 2 ? 9 : 27;
    int64_t n = 0;
    for (int64_t p = 0; p < info->n_interior; p++) {
        int64_t index[TESS_DECODE_MAX_DIM];
        unravel(info, info->interior_bin[p], index);
        first[p] = n;
        for (int k = 0; k < n_direction; k++) {
            const int64_t q = neighbour(info, number, index, k);
            if (q >= 0 && q != p) {
                to[n] = (int32_t)q;
                distance[n++] = center_distance(info, p, q);
            }
        }
    }
    first[info->n_interior] = n;
}

tess_status tess_de_grid_distances(tess_context *ctx, const tess_decode_environment *env,
                                   double *out)
{
    const tess_decode_environment_info *info = &env->info;
    const int64_t n = info->n_interior;
    const char *what = "neighbours of position bins";
    tess_status status = TESS_E_MEMORY;
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    int32_t *number = tess_blocks_alloc(&blocks, info->n_bin, sizeof *number, what);
    int64_t *first = tess_blocks_alloc(&blocks, n + 1, sizeof *first, what);
    int32_t *to = tess_blocks_alloc(&blocks, n * MAX_NEIGHBOURS, sizeof *to, what);
    double *distance = tess_blocks_alloc(&blocks, n * MAX_NEIGHBOURS, sizeof *distance, what);
    if (number && first && to && distance) {
        for (int64_t bin = 0; bin < info->n_bin; bin++) {
            number[bin] = -1;
        }
        for (int64_t p = 0; p < n; p++) {
            number[info->interior_bin[p]] = (int32_t)p;
        }
        join_bins(info, number, first, to, distance);
        const tess_de_graph graph = {n, first, to, distance};
        status = tess_de_graph_distances(ctx, &graph, out);
    }
    tess_blocks_free(&blocks);
    return status;
}

// Where a bin's centre is: its corridor and the way to either end.
typedef struct on_track {
    const tess_de_track_edge *edge;
    double to_end[2];
} on_track;

static on_track locate(const tess_decode_environment *env, int64_t p)
{
    const int64_t bin = env->info.interior_bin[p];
    const tess_de_track_edge *edge = &env->track_edges[env->bin_track_edge[bin]];
    const double offset = env->info.interior_centers[p] - edge->start;
    const int reversed = edge->first_node == edge->node[1];
    on_track place = {.edge = edge};
    place.to_end[reversed] = offset;
    place.to_end[!reversed] = edge->span - offset;
    return place;
}

static double along_track(const on_track *a, const on_track *b, const double *nodes, int64_t n_node)
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

// Distances between the nodes of the track.
static tess_status node_distances(tess_context *ctx, const tess_decode_environment *env,
                                  tess_blocks *blocks, double *out)
{
    const int64_t n_edge = env->info.n_track_edge;
    const char *what = "nodes of the track graph";
    int64_t *first = tess_blocks_alloc(blocks, env->n_node + 1, sizeof *first, what);
    int32_t *to = tess_blocks_alloc(blocks, 2 * n_edge, sizeof *to, what);
    double *distance = tess_blocks_alloc(blocks, 2 * n_edge, sizeof *distance, what);
    if (!first || !to || !distance) {
        return TESS_E_MEMORY;
    }
    int64_t n = 0;
    for (int64_t v = 0; v < env->n_node; v++) {
        first[v] = n;
        for (int64_t e = 0; e < n_edge; e++) {
            const tess_de_track_edge *edge = &env->track_edges[e];
            if (edge->node[0] == v || edge->node[1] == v) {
                to[n] = (int32_t)(edge->node[0] + edge->node[1] - v);
                distance[n++] = edge->span;
            }
        }
    }
    first[env->n_node] = n;
    const tess_de_graph graph = {env->n_node, first, to, distance};
    return tess_de_graph_distances(ctx, &graph, out);
}

tess_status tess_de_track_distances(tess_context *ctx, const tess_decode_environment *env,
                                    double *out)
{
    const int64_t n = env->info.n_interior;
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    double *nodes =
        tess_blocks_alloc(&blocks, env->n_node * env->n_node, sizeof *nodes, "distances of nodes");
    tess_status status = nodes ? node_distances(ctx, env, &blocks, nodes) : TESS_E_MEMORY;
    for (int64_t p = 0; p < n && status == TESS_OK; p++) {
        const on_track a = locate(env, p);
        for (int64_t q = p; q < n; q++) {
            const on_track b = locate(env, q);
            out[p * n + q] = along_track(&a, &b, nodes, env->n_node);
            out[q * n + p] = out[p * n + q];
        }
    }
    tess_blocks_free(&blocks);
    return status;
}

static tess_status make_distances(tess_context *ctx, tess_decode_environment *env)
{
    const int64_t n = env->info.n_interior;
    const double bytes = 8.0 * (double)n * (double)n;
    if (bytes > (double)ctx->memory_limit_bytes) {
        TESS_FAIL(TESS_E_LIMIT,
                  "environment '%s': distances between its %lld bins take %.3g GB, the memory "
                  "limit is %.3g GB; use larger bins or raise the limit",
                  env->info.name, (long long)n, bytes / 1e9, (double)ctx->memory_limit_bytes / 1e9);
    }
    double *out = tess_heap_alloc(env->heap, (size_t)bytes, TESS_TAG_RESULT,
                                  "distances between position bins");
    if (!out) {
        return TESS_E_MEMORY;
    }
    const tess_status status = env->info.is_track ? tess_de_track_distances(ctx, env, out)
                                                  : tess_de_grid_distances(ctx, env, out);
    if (status == TESS_OK) {
        env->distances = out;
    } else {
        tess_heap_free(env->heap, out, (size_t)bytes, TESS_TAG_RESULT);
    }
    return status;
}

tess_status tess_decode_distances(tess_context *ctx, tess_decode_environment *env,
                                  const double **distances)
{
    tess_error_clear();
    *distances = NULL;
    pthread_mutex_lock(&env->mutex);
    const tess_status status = env->distances ? TESS_OK : make_distances(ctx, env);
    *distances = env->distances;
    pthread_mutex_unlock(&env->mutex);
    return status;
}
