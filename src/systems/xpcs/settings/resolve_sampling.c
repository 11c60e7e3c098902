// What a file says of the sampler.
#include "base/status.h"
#include "systems/xpcs/settings/settings.h"

#include <math.h>

enum { MAX_SEED = 8388607, N_SPELLING = 3 };

#define MCMC(name) "optimization.mcmc." name
#define CMC(name) "optimization.cmc." name

// The first of several spellings that was said; NULL: none.
static const tess_xp_value *first_said(const tess_xp_resolution *r,
                                       const char *const keys[N_SPELLING])
{
    for (int i = 0; i < N_SPELLING && keys[i] != NULL; i++) {
        const tess_xp_value *value = tess_xp_said(r->settings, keys[i]);
        if (value != NULL) {
            return value;
        }
    }
    return NULL;
}

typedef enum field_type { WHOLE, REAL, CHOICE } field_type;

#define TO(kind, field) kind, offsetof(tess_xpcs_sample_config, field)

// Keys whose value is that of a field.
static const struct {
    field_type type;
    size_t offset;
    const char *keys[N_SPELLING];
} rows[] = {
    {TO(WHOLE, n_warmup), {MCMC("num_warmup"), MCMC("n_warmup"), CMC("per_shard_mcmc.num_warmup")}},
    {TO(WHOLE, n_draw),
     {MCMC("num_samples"), MCMC("n_samples"), CMC("per_shard_mcmc.num_samples")}},
    {TO(WHOLE, n_chain), {MCMC("num_chains"), MCMC("n_chains"), CMC("per_shard_mcmc.num_chains")}},
    {TO(WHOLE, max_depth), {MCMC("max_tree_depth"), CMC("per_shard_mcmc.max_tree_depth"), NULL}},
    {TO(WHOLE, seed), {MCMC("seed"), CMC("seed"), NULL}},
    {TO(WHOLE, max_attempt), {MCMC("max_attempts"), NULL, NULL}},
    {TO(WHOLE, shard_seed), {CMC("sharding.seed"), NULL, NULL}},
    {TO(REAL, target_accept),
     {MCMC("target_accept_prob"), CMC("per_shard_mcmc.target_accept_prob"), NULL}},
    {TO(REAL, noise_scale), {MCMC("noise_scale"), NULL, NULL}},
    {TO(REAL, temper), {MCMC("temper"), NULL, NULL}},
    {TO(REAL, prior_width), {CMC("validation.nlsq_prior_width_factor"), NULL, NULL}},
    {TO(REAL, max_rhat), {CMC("validation.max_per_shard_rhat"), NULL, NULL}},
    {TO(REAL, min_ess), {CMC("validation.min_per_shard_ess"), CMC("validation.min_ess"), NULL}},
    {TO(REAL, max_divergence), {CMC("validation.max_divergence_rate"), NULL, NULL}},
    {TO(REAL, max_cv), {CMC("validation.max_shard_distance"), NULL, NULL}},
    {TO(REAL, min_success),
     {CMC("combination.min_success_rate_warning"), CMC("combination.min_success_rate"),
      CMC("validation.min_success_rate")}},
    {TO(CHOICE, priors), {MCMC("priors"), NULL, NULL}},
    {TO(CHOICE, method), {MCMC("method"), NULL, NULL}},
    {TO(CHOICE, surrogate), {MCMC("surrogate"), NULL, NULL}},
    {TO(CHOICE, modes), {MCMC("modes"), NULL, NULL}},
    {TO(CHOICE, coords), {MCMC("coords"), NULL, NULL}},
    {TO(CHOICE, scaling), {CMC("per_angle_mode"), NULL, NULL}},
    {TO(CHOICE, shard_strategy), {CMC("sharding.strategy"), NULL, NULL}},
    {TO(CHOICE, combination), {CMC("combination.method"), NULL, NULL}},
    {TO(CHOICE, fit_priors), {CMC("validation.use_nlsq_informed_priors"), NULL, NULL}},
};

static void take_fields(tess_xp_resolution *r)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tess_xp_value *value = first_said(r, rows[i].keys);
        char *field = (char *)r->sample + rows[i].offset;
        if (value == NULL) {
            continue;
        }
        if (rows[i].type == WHOLE) {
            *(int64_t *)(void *)field = value->whole;
        } else if (rows[i].type == REAL) {
            *(double *)(void *)field = value->number;
        } else {
            *(int32_t *)(void *)field = (int32_t)value->number;
        }
    }
    r->sample->seed %= MAX_SEED + 1;
}

// What cannot be had here.
static tess_status check_choices(tess_xp_resolution *r)
{
    const tess_xp_value *scaling = tess_xp_said(r->settings, CMC("per_angle_mode"));
    const tess_xp_value *method = tess_xp_said(r->settings, CMC("combination.method"));
    const tess_xp_value *cv = tess_xp_said(r->settings, CMC("validation.max_parameter_cv"));
    if (scaling != NULL && scaling->number > TESS_XPCS_DRAW_SCALING_AUTO) {
        return tess_xp_complain(r->settings, scaling,
                                "a series in phi is not sampled; individual integrates every "
                                "angle's contrast and offset out, averaged those of all");
    }
    if (method != NULL && method->number > 2) {
        return tess_xp_complain(r->settings, method,
                                "not here; consensus_mc weighs shards by their covariances, "
                                "robust_consensus_mc as the original does");
    }
    if (cv != NULL && cv->number != 1) {
        return tess_xp_complain(r->settings, cv,
                                "shards are compared by their own errors; set max_shard_distance, "
                                "or heterogeneity_abort to false");
    }
    r->sample->combination = method != NULL && method->number == 1;
    return TESS_OK;
}

// Parts of the data are sampled where their number or size was said.
static void take_shards(tess_xp_resolution *r)
{
    const tess_xp_value *enable = tess_xp_said(r->settings, CMC("enable"));
    const tess_xp_value *n = tess_xp_said(r->settings, CMC("sharding.num_shards"));
    const tess_xp_value *size = tess_xp_said(r->settings, CMC("sharding.max_points_per_shard"));
    const tess_xp_value *tempering = tess_xp_said(r->settings, CMC("prior_tempering"));
    const tess_xp_value *aborts = tess_xp_said(r->settings, CMC("validation.heterogeneity_abort"));
    const bool is_cut = (n != NULL && n->whole > 1) || (n == NULL && size != NULL);
    const bool is_off = enable != NULL && enable->number == 0;
    if (is_cut && is_off) {
        tess_text_printf(&r->notices, CMC("enable") " is false: all data are sampled at once, "
                                                    "whatever sharding says\n");
    } else if (is_cut && tess_xp_said(r->settings, MCMC("method")) == NULL) {
        r->sample->method = TESS_XPCS_METHOD_CONSENSUS;
    }
    if (r->sample->method == TESS_XPCS_METHOD_CONSENSUS) {
        r->sample->n_shard = n != NULL ? n->whole : 0;
        r->sample->shard_points = n == NULL && size != NULL ? size->whole : 0;
    }
    if (tempering != NULL && tempering->number == 0) {
        r->sample->temper = 1;
    }
    if (aborts != NULL && aborts->number == 0) {
        r->sample->max_cv = 1e300;
    }
    if (r->sample->fit_priors) {
        tess_text_printf(&r->notices, "use_nlsq_informed_priors: priors are put around the fit, so "
                                      "that the data count twice\n");
    }
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
    take_fields(r);
    TESS_TRY(check_choices(r));
    take_shards(r);
    return TESS_OK;
}
