// Points in the plane to the line of a track.
#include "base/status.h"
#include "systems/decode/places/environment.h"

#include <math.h>
#include <string.h>

static double distance(const double a[2], const double b[2])
{
    const double dx = a[0] - b[0];
    const double dy = a[1] - b[1];
    return sqrt(dx * dx + dy * dy);
}

// The point of a corridor next to q.
static void project(const tess_de_track_edge *edge, const double q[2], double at[2])
{
    const double *from = edge->position[0];
    const double dx = edge->position[1][0] - from[0];
    const double dy = edge->position[1][1] - from[1];
    double share = (dx * (q[0] - from[0]) + dy * (q[1] - from[1])) / (dx * dx + dy * dy);
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    at[0] = from[0] + share * dx;
    at[1] = from[1] + share * dy;
}

// The nearest corridor, the one with the lowest id on ties.
static int64_t nearest_edge(const tess_decode_environment *env, const double q[2], double best[2])
{
    int64_t id = 0;
    double best_distance = (double)INFINITY;
    for (int64_t e = 0; e < env->info.n_track_edge; e++) {
        double at[2];
        project(&env->track_edges[e], q, at);
        const double d = distance(at, q);
        if (d < best_distance || e == 0) {
            best_distance = d;
            id = e;
            memcpy(best, at, sizeof at);
        }
    }
    return id;
}

tess_status tess_decode_linearize(const tess_decode_environment *env, const double *points,
                                  int64_t n, double *linear, int64_t *segment, double *projected)
{
    tess_error_clear();
    if (!env->info.is_track) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "environment '%s': has no track graph, so there is no line to put points on",
                  env->info.name);
    }
    for (int64_t k = 0; k < n; k++) {
        const double *q = points + 2 * k;
        const int is_nan = isnan(q[0]) || isnan(q[1]);
        double at[2] = {(double)NAN, (double)NAN};
        int64_t id = -1;
        linear[k] = (double)NAN;
        if (!is_nan) {
            id = nearest_edge(env, q, at);
            const tess_de_track_edge *edge = &env->track_edges[id];
            const int end = edge->first_node == edge->node[1];
            linear[k] = edge->start + distance(edge->position[end], at);
        }
        if (segment) {
            segment[k] = id;
        }
        if (projected) {
            memcpy(projected + 2 * k, at, sizeof at);
        }
    }
    return TESS_OK;
}
