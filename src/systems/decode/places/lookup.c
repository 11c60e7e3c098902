// Which bin a position is in.
#include "base/status.h"
#include "systems/decode/places/environment.h"

#include <math.h>
#include <string.h>

int64_t tess_de_count_below(const double *list, int64_t n, double x)
{
    int64_t low = 0;
    int64_t high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (list[middle] <= x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int64_t tess_de_histogram_bin(const tess_decode_environment_info *info, const double *point)
{
    int64_t bin = 0;
    for (int64_t axis = 0; axis < info->n_place_dim; axis++) {
        const int64_t n = info->grid_shape[axis];
        const double *edges = info->bin_edges[axis];
        const double x = point[axis];
        if (!(x >= edges[0] && x <= edges[n])) {
            return -1;
        }
        const int64_t i = tess_de_count_below(edges, n, x) - 1;
        bin = bin * n + i;
    }
    return bin;
}

// The outermost edges count for nothing, so that what lies outside is in the end bins; a value on
// the last of the inner edges goes one bin down.
static int64_t axis_bin(const double *edges, int64_t n, double x)
{
    const int64_t n_inner = n - 1;
    const int64_t i = tess_de_count_below(edges + 1, n_inner, x);
    return n_inner > 0 && x == edges[n_inner] ? i - 1 : i;
}

static int64_t nearest_interior(const tess_decode_environment_info *info, const double *point)
{
    const int64_t d = info->n_place_dim;
    int64_t best = 0;
    double best_square = (double)INFINITY;
    for (int64_t p = 0; p < info->n_interior; p++) {
        double square = 0;
        for (int64_t i = 0; i < d; i++) {
            const double step = point[i] - info->interior_centers[p * d + i];
            square += step * step;
        }
        if (square < best_square) {
            best_square = square;
            best = p;
        }
    }
    return info->interior_bin[best];
}

static int64_t bin_of(const tess_decode_environment_info *info, const double *point)
{
    int64_t bin = 0;
    for (int64_t axis = 0; axis < info->n_place_dim; axis++) {
        if (isnan(point[axis])) {
            return -1;
        }
        const int64_t n = info->grid_shape[axis];
        bin = bin * n + axis_bin(info->bin_edges[axis], n, point[axis]);
    }
    return info->is_interior[bin] ? bin : nearest_interior(info, point);
}

bool tess_de_is_on_track(const tess_decode_environment_info *info, const double *point)
{
    int64_t bin = 0;
    for (int64_t axis = 0; axis < info->n_place_dim; axis++) {
        const int64_t n = info->grid_shape[axis];
        const double *edges = info->bin_edges[axis];
        if (!(point[axis] >= edges[0] && point[axis] <= edges[n])) {
            return false;
        }
        bin = bin * n + axis_bin(edges, n, point[axis]);
    }
    return info->is_interior[bin];
}

tess_status tess_decode_bin_index(const tess_decode_environment *env, const double *place,
                                  int64_t n, int64_t *bin)
{
    tess_error_clear();
    for (int64_t k = 0; k < n; k++) {
        bin[k] = bin_of(&env->info, place + k * env->info.n_place_dim);
    }
    return TESS_OK;
}

tess_status tess_decode_place(const tess_decode_environment *env, const double *points, int64_t n,
                              double *place)
{
    tess_error_clear();
    if (env->info.is_track) {
        return tess_decode_linearize(env, points, n, place, NULL, NULL);
    }
    if (n > 0) {
        memcpy(place, points, (size_t)(n * env->info.n_dim) * sizeof *place);
    }
    return TESS_OK;
}
