// Chains, draws and paths of the sampler.
#include "base/status.h"
#include "systems/xpcs/settings/settings.h"

#include <math.h>

enum { MAX_SEED = 8388607 };

// The first of several spellings that was said; NULL: none.
static const tess_xp_value *first_said(const tess_xp_resolution *r, const char *const keys[3])
{
    for (int i = 0; i < 3 && keys[i] != NULL; i++) {
        const tess_xp_value *value = tess_xp_said(r->settings, keys[i]);
        if (value != NULL) {
            return value;
        }
    }
    return NULL;
}

static void take_counts(tess_xp_resolution *r)
{
    static const struct {
        const char *keys[3];
        size_t offset;
    } rows[] = {
        {{"optimization.mcmc.num_warmup", "optimization.mcmc.n_warmup",
          "optimization.cmc.per_shard_mcmc.num_warmup"},
         offsetof(tess_xpcs_sample_config, n_warmup)},
        {{"optimization.mcmc.num_samples", "optimization.mcmc.n_samples",
          "optimization.cmc.per_shard_mcmc.num_samples"},
         offsetof(tess_xpcs_sample_config, n_draw)},
        {{"optimization.mcmc.num_chains", "optimization.mcmc.n_chains",
          "optimization.cmc.per_shard_mcmc.num_chains"},
         offsetof(tess_xpcs_sample_config, n_chain)},
        {{"optimization.mcmc.max_tree_depth", NULL, NULL},
         offsetof(tess_xpcs_sample_config, max_depth)},
        {{"optimization.mcmc.seed", NULL, NULL}, offsetof(tess_xpcs_sample_config, seed)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tess_xp_value *value = first_said(r, rows[i].keys);
        if (value != NULL) {
            *(int64_t *)(void *)((char *)r->sample + rows[i].offset) = value->whole;
        }
    }
    r->sample->seed %= MAX_SEED + 1;
}

tess_status tess_xp_resolve_sampling(tess_xp_resolution *r)
{
    r->sample = tess_blocks_alloc(&r->memory, 1, sizeof *r->sample, "settings");
    double *priors =
        tess_blocks_alloc(&r->memory, 2 * TESS_XPCS_MAX_PARAM, sizeof *priors, "priors");
    if (r->sample == NULL || priors == NULL) {
        return TESS_E_MEMORY;
    }
    tess_xpcs_sample_config_init(r->sample, sizeof *r->sample);
    for (int i = 0; i < 2 * TESS_XPCS_MAX_PARAM; i++) {
        priors[i] = (double)NAN;
    }
    r->sample->prior_mean = priors;
    r->sample->prior_sd = priors + TESS_XPCS_MAX_PARAM;
    r->priors = priors;
    r->info.sample = r->sample;
    take_counts(r);
    const tess_xp_value *accept = tess_xp_said(r->settings, "optimization.mcmc.target_accept_prob");
    const tess_xp_value *priors_of = tess_xp_said(r->settings, "optimization.mcmc.priors");
    const tess_xp_value *noise = tess_xp_said(r->settings, "optimization.mcmc.noise_scale");
    r->sample->target_accept = accept != NULL ? accept->number : r->sample->target_accept;
    r->sample->priors = priors_of != NULL ? (int32_t)priors_of->number : r->sample->priors;
    r->sample->noise_scale = noise != NULL ? noise->number : r->sample->noise_scale;
    return TESS_OK;
}
