// Which shards can be used.
#include "systems/xpcs/posterior/combine.h"
#include "systems/xpcs/posterior/ess.h"

#include <math.h>

// Split R-hat of one number of the vector.
static double rhat_of(const tess_xp_combine *c, int64_t shard, int64_t k)
{
    const tess_xpcs_posterior_info *info = tess_xp_combine_info(c, shard);
    const int64_t half = info->n_draw / 2;
    const int64_t m = 2 * info->n_chain;
    const double *x = c->x + shard * c->n_draw * c->n + k;
    double within = 0;
    double mean = 0;
    double squares = 0;
    for (int64_t part = 0; part < m; part++) {
        const double *from = x + (part / 2 * info->n_draw + part % 2 * half) * c->n;
        double own = 0;
        double own_squares = 0;
        for (int64_t i = 0; i < half; i++) {
            own += from[i * c->n] / (double)half;
        }
        for (int64_t i = 0; i < half; i++) {
            own_squares += (from[i * c->n] - own) * (from[i * c->n] - own);
        }
        within += own_squares / (double)(half - 1) / (double)m;
        mean += own / (double)m;
        squares += own * own;
    }
    const double between = (squares - (double)m * mean * mean) / (double)(m - 1);
    return sqrt(((double)(half - 1) / (double)half * within + between) / within);
}

const char *tess_xp_combine_fault(const tess_xp_combine *c, int64_t shard)
{
    const tess_xpcs_posterior_info *info = tess_xp_combine_info(c, shard);
    double n_diverged = 0;
    for (int64_t i = 0; i < c->n_draw; i++) {
        n_diverged += info->diverged[i];
    }
    if (n_diverged > c->config.max_divergence * (double)c->n_draw) {
        return "too many of its paths diverged";
    }
    for (int64_t k = 0; k < c->coords.n; k++) {
        const tess_xp_draws draws = {.values = c->x + shard * c->n_draw * c->n + k,
                                     .stride = c->n,
                                     .chain_stride = info->n_draw * c->n,
                                     .n_chain = info->n_chain,
                                     .n_draw = info->n_draw};
        if (info->n_draw >= 4 && !(rhat_of(c, shard, k) <= c->config.max_rhat)) {
            return "its chains disagree";
        }
        if (info->n_draw >= 4 && !(tess_xp_ess(&draws) >= c->config.min_ess)) {
            return "it has too few independent draws";
        }
    }
    return NULL;
}
