// Coordinates in which shards are combined.
//
// Averages by precision are exact for normal shards. What chains walk in best is not always what a
// shard is most normal in: coordinates that bend with the fit follow the long curves of weak data,
// and bend a posterior that had no need of it, by half a standard deviation of the whole in eight
// shards. So the draws decide, by their third moments.
#include "numerics/cholesky.h"
#include "systems/xpcs/posterior/combine.h"

#include <math.h>
#include <string.h>

enum { N_JUDGED = 16 }; // shards: more would say the same

void tess_xp_combine_coords(tess_xp_combine *c, bool is_bent)
{
    const tess_xpcs_posterior_info *info = tess_xp_combine_info(c, 0);
    tess_xp_density density = {.n_param = info->n_param, .n_angle = info->n_angle};
    for (int64_t k = 0; k < info->n_param; k++) {
        density.theta[k] = (tess_xp_prior){.mean = info->prior_mean[k],
                                           .sd = info->prior_sd[k],
                                           .lower = info->lower[k],
                                           .upper = info->upper[k]};
        density.is_fixed[k] = info->is_fixed[k];
    }
    tess_xp_coords_make(&density, info->fit_theta, &c->coords);
    if (is_bent) {
        tess_xp_coords_bend(&density, 0.5 * info->dt_s * (double)info->n_frame, &c->coords);
    }
}

void tess_xp_combine_take(tess_xp_combine *c, int64_t shard)
{
    const tess_xpcs_posterior_info *info = tess_xp_combine_info(c, shard);
    const int64_t n_angle = info->n_angle;
    for (int64_t i = 0; i < c->n_draw; i++) {
        double *x = c->x + (shard * c->n_draw + i) * c->n;
        tess_xp_coords_of(&c->coords, info->theta + i * info->n_param, info->noise[i], x);
        memcpy(x + c->coords.n, info->contrast + i * n_angle, (size_t)c->n_pair * sizeof *x);
        memcpy(x + c->coords.n + c->n_pair, info->offset + i * n_angle,
               (size_t)c->n_pair * sizeof *x);
    }
}

// Mean and lower root of the covariance of theta's coordinates and the noise; false: there is none.
static bool shape_of(const tess_xp_combine *c, const double *x, double *mean, double *root)
{
    const int64_t n = c->coords.n;
    memset(mean, 0, (size_t)n * sizeof *mean);
    memset(root, 0, (size_t)(n * n) * sizeof *root);
    for (int64_t i = 0; i < c->n_draw; i++) {
        for (int64_t k = 0; k < n; k++) {
            mean[k] += x[i * c->n + k] / (double)c->n_draw;
        }
    }
    for (int64_t i = 0; i < c->n_draw; i++) {
        for (int64_t j = 0; j < n; j++) {
            for (int64_t k = 0; k < n; k++) {
                root[j * n + k] +=
                    (x[i * c->n + j] - mean[j]) * (x[i * c->n + k] - mean[k]) / (double)c->n_draw;
            }
        }
    }
    return tess_cholesky(root, n);
}

// Sum of the squares of all third moments of a shard, made of unit covariance: 0 if it is normal.
static double skewness(const tess_xp_combine *c, int64_t shard)
{
    const int64_t n = c->coords.n;
    const double *x = c->x + shard * c->n_draw * c->n;
    double mean[TESS_XP_MAX_COORD];
    double root[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
    double third[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD * TESS_XP_MAX_COORD] = {0};
    if (!shape_of(c, x, mean, root)) {
        return (double)INFINITY;
    }
    for (int64_t i = 0; i < c->n_draw; i++) {
        double z[TESS_XP_MAX_COORD];
        for (int64_t j = 0; j < n; j++) {
            z[j] = x[i * c->n + j] - mean[j];
            for (int64_t k = 0; k < j; k++) {
                z[j] -= root[j * n + k] * z[k];
            }
            z[j] /= root[j * n + j];
        }
        for (int64_t j = 0; j < n; j++) {
            for (int64_t k = 0; k < n; k++) {
                for (int64_t l = 0; l < n; l++) {
                    third[(j * n + k) * n + l] += z[j] * z[k] * z[l] / (double)c->n_draw;
                }
            }
        }
    }
    double sum = 0;
    for (int64_t j = 0; j < n * n * n; j++) {
        sum += third[j] * third[j];
    }
    return sum;
}

void tess_xp_combine_choose(tess_xp_combine *c)
{
    double found[2] = {0, 0};
    const int64_t n = c->n_shard < N_JUDGED ? c->n_shard : N_JUDGED;
    for (int is_bent = 0; is_bent < 2; is_bent++) {
        tess_xp_combine_coords(c, is_bent);
        for (int64_t s = 0; s < n; s++) {
            tess_xp_combine_take(c, s);
            found[is_bent] += skewness(c, s);
        }
    }
    tess_xp_combine_coords(c, found[1] < found[0]);
}
