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

// Sum of the squares of a shard's third moments up to which an expansion in them is taken to hold.
static const double MOST_SKEWNESS = 0.2;

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
        const double as_narrow_as_can_be[2] = {0, 0};
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

// Sum of the squares of all third moments of a shard, made of unit covariance: 0 if it is normal.
static double skewness(const tess_xp_combine *c, int64_t shard)
{
    const int64_t n = c->coords.n;
    tess_xp_shape shape;
    double sum = 0;
    if (!tess_xp_combine_shape(c, shard, &shape)) {
        return (double)INFINITY;
    }
    for (int64_t j = 0; j < n * n * n; j++) {
        sum += shape.third[j] * shape.third[j];
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
    c->is_nearly_normal = fmin(found[0], found[1]) < MOST_SKEWNESS * (double)n;
}
