// Distances between interior bins along the environment, made when first asked for.
#include "base/status.h"
#include "systems/decode/places/environment.h"
#include "systems/decode/places/graph.h"
#include "systems/decode/places/way.h"

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

// Where a bin's centre is.
static tess_de_track_point locate(const tess_decode_environment *env, int64_t p)
{
    const int64_t bin = env->info.interior_bin[p];
    return tess_de_track_locate(&env->track_edges[env->bin_track_edge[bin]],
                                env->info.interior_centers[p]);
}

tess_status tess_de_track_distances(tess_context *ctx, const tess_decode_environment *env,
                                    double *out)
{
    const int64_t n = env->info.n_interior;
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    double *nodes =
        tess_blocks_alloc(&blocks, env->n_node * env->n_node, sizeof *nodes, "distances of nodes");
    tess_status status = nodes ? tess_de_track_node_ways(ctx, env->track_edges,
                                                         env->info.n_track_edge, env->n_node, nodes)
                               : TESS_E_MEMORY;
    for (int64_t p = 0; p < n && status == TESS_OK; p++) {
        const tess_de_track_point a = locate(env, p);
        for (int64_t q = p; q < n; q++) {
            const tess_de_track_point b = locate(env, q);
            out[p * n + q] = tess_de_track_way(&a, &b, nodes, env->n_node);
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
