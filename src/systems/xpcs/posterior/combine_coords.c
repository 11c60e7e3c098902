// Coordinates in which shards are combined.
//
// Averages by precision are exact for normal shards. What chains walk in best is not always what a
// shard is most normal in: coordinates that bend with the fit follow the long curves of weak data,
// and bend a posterior that had no need of it, by half a standard deviation of the whole in eight
// shards. So the draws decide, by their third moments.
#include "systems/xpcs/posterior/combine.h"

#include <math.h>
#include <string.h>

enum { N_JUDGED = 16 }; // shards: more would say the same

// Norm of the third moments T up to which an expansion in them is made. To that order a shard of
// unit covariance has a log density with the curvature -1 + T z, and the shards' tilts spread over
// about one deviation z: below 1 it stays a hill everywhere there, and terms get smaller with the
// order. (The norm of all numbers of T is at least that of T z for any z of length 1.)
static const double MOST_SKEWNESS = 1;

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
        const double as_narrow_as_can_be[TESS_XP_MAX_RATE] = {0};
        tess_xp_coords_bend(&density, as_narrow_as_can_be, 0.5 * info->dt_s * (double)info->n_frame,
                            &c->coords);
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

// Norm of the third moments that the first n shards have in common: those of one shard's draws are
// noisy, and the noise of n^3 numbers adds up. Infinite where draws span no space.
static double skewness(tess_xp_combine *c, int64_t n_shard)
{
    const int64_t size = c->coords.n * c->coords.n * c->coords.n;
    double third[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD * TESS_XP_MAX_COORD] = {0};
    double squares = 0;
    for (int64_t s = 0; s < n_shard; s++) {
        tess_xp_shape shape;
        tess_xp_combine_take(c, s);
        if (!tess_xp_combine_shape(c, s, TESS_XP_ALL_DRAWS, &shape)) {
            return (double)INFINITY;
        }
        for (int64_t k = 0; k < size; k++) {
            third[k] += shape.third[k] / (double)n_shard;
        }
    }
    for (int64_t k = 0; k < size; k++) {
        squares += third[k] * third[k];
    }
    return sqrt(squares);
}

void tess_xp_combine_choose(tess_xp_combine *c)
{
    double found[2] = {0, 0};
    const int64_t n = c->n_shard < N_JUDGED ? c->n_shard : N_JUDGED;
    for (int is_bent = 0; is_bent < 2; is_bent++) {
        tess_xp_combine_coords(c, is_bent);
        found[is_bent] = skewness(c, n);
    }
    tess_xp_combine_coords(c, found[1] < found[0]);
    c->skewness = fmin(found[0], found[1]);
    c->is_nearly_normal = c->skewness < MOST_SKEWNESS;
}
