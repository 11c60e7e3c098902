// What shards that are not quite normal do to their average.
//
// Parts of one thing have log densities of one shape, f, and differ by how they are tilted: f(x) +
// b x. To the next order after a normal the mean of such a part is m0 + S b + T b b / 2, with T its
// third moments, and the tilts of all parts together are what the whole has: so their mean lies off
// that of the whole by T (b b + S^-1 (1 - 1 / n)) / 2, mean over the n parts, the last term for m0,
// which is n times that of the whole. T and S are the mean of the parts': those of a few thousand
// draws are noisy.
#include "numerics/cholesky.h"
#include "systems/xpcs/posterior/combine.h"

#include <string.h>

static bool find_root(const tess_xp_combine *c, const double *x, int64_t n_draw, tess_xp_shape *out)
{
    const int64_t n = c->coords.n;
    memset(out->mean, 0, sizeof out->mean);
    memset(out->root, 0, sizeof out->root);
    for (int64_t i = 0; i < n_draw; i++) {
        for (int64_t k = 0; k < n; k++) {
            out->mean[k] += x[i * c->n + k] / (double)n_draw;
        }
    }
    for (int64_t i = 0; i < n_draw; i++) {
        for (int64_t j = 0; j < n; j++) {
            for (int64_t k = 0; k < n; k++) {
                out->root[j * n + k] += (x[i * c->n + j] - out->mean[j]) *
                                        (x[i * c->n + k] - out->mean[k]) / (double)n_draw;
            }
        }
    }
    return tess_cholesky(out->root, n);
}

// z = root^-1 (x - mean)
static void whiten(const tess_xp_shape *shape, int64_t n, const double *x, double *z)
{
    for (int64_t j = 0; j < n; j++) {
        z[j] = x[j] - shape->mean[j];
        for (int64_t k = 0; k < j; k++) {
            z[j] -= shape->root[j * n + k] * z[k];
        }
        z[j] /= shape->root[j * n + j];
    }
}

bool tess_xp_combine_shape(const tess_xp_combine *c, int64_t shard, tess_xp_part part,
                           tess_xp_shape *out)
{
    const int64_t n = c->coords.n;
    const int64_t first = part == TESS_XP_SECOND_HALF ? c->n_draw / 2 : 0;
    const int64_t n_draw = part == TESS_XP_FIRST_HALF ? c->n_draw / 2 : c->n_draw - first;
    const double *x = c->x + (shard * c->n_draw + first) * c->n;
    if (!find_root(c, x, n_draw, out)) {
        return false;
    }
    memset(out->third, 0, sizeof out->third);
    for (int64_t i = 0; i < n_draw; i++) {
        double z[TESS_XP_MAX_COORD];
        whiten(out, n, x + i * c->n, z);
        for (int64_t j = 0; j < n; j++) {
            for (int64_t k = 0; k < n; k++) {
                for (int64_t l = 0; l < n; l++) {
                    out->third[(j * n + k) * n + l] += z[j] * z[k] * z[l] / (double)n_draw;
                }
            }
        }
    }
    return true;
}

// Adds what a shard's third order does to the slope of the whole; third: that of all, share: of its
// covariance that the whole has.
static void add_slope(const tess_xp_shape *shape, const double *third, int64_t n, double share,
                      const double *mu, double *slope)
{
    double z[TESS_XP_MAX_COORD];
    double v[TESS_XP_MAX_COORD] = {0};
    whiten(shape, n, mu, z);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = 0; k < n * n; k++) {
            const double own = k % (n + 1) == 0 ? 1 - share : 0;
            v[j] -= 0.5 * third[j * n * n + k] * (z[k / n] * z[k % n] + own);
        }
    }
    for (int64_t j = n - 1; j >= 0; j--) { // by x: the root's transpose divides
        v[j] /= shape->root[j * n + j];
        for (int64_t k = 0; k < j; k++) {
            v[k] -= shape->root[j * n + k] * v[j];
        }
        slope[j] += v[j];
    }
}

void tess_xp_combine_skew(const tess_xp_combine *c, const double *mu, tess_xp_part part,
                          double *slope)
{
    const int64_t n = c->coords.n;
    double third[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD * TESS_XP_MAX_COORD] = {0};
    tess_xp_shape shape;
    double n_used = 0;
    for (int64_t s = 0; s < c->n_shard; s++) {
        if (c->is_used[s] && tess_xp_combine_shape(c, s, part, &shape)) {
            n_used++;
            for (int64_t k = 0; k < n * n * n; k++) {
                third[k] += (shape.third[k] - third[k]) / n_used;
            }
        }
    }
    for (int64_t s = 0; s < c->n_shard; s++) {
        if (c->is_used[s] && find_root(c, c->x + s * c->n_draw * c->n, c->n_draw, &shape)) {
            add_slope(&shape, third, n, 1 / n_used, mu, slope);
        }
    }
}
