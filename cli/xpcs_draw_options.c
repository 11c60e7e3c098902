// Options of sampling: each is a key of the configuration and an entry of table xpcs.sample.

#include "xpcs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define AT(member) offsetof(cli_xpcs_values, member)

static const struct {
    const char *option;
    const char *key;
    const char *param; // NULL: what it decides is recorded otherwise
    size_t offset;
} options[] = {
    {"n-samples", "optimization.mcmc.num_samples", "n_draw", AT(n_samples)},
    {"n-warmup", "optimization.mcmc.num_warmup", "n_warmup", AT(n_warmup)},
    {"n-chains", "optimization.mcmc.num_chains", "n_chain", AT(n_chains)},
    {"target-accept", "optimization.mcmc.target_accept_prob", "target_accept", AT(target_accept)},
    {"max-tree-depth", "optimization.mcmc.max_tree_depth", "max_depth", AT(max_tree_depth)},
    {"max-attempts", "optimization.mcmc.max_attempts", "max_attempt", AT(max_attempts)},
    {"priors", "optimization.mcmc.priors", "priors", AT(priors)},
    {"noise-scale", "optimization.mcmc.noise_scale", "noise_scale", AT(noise_scale)},
    {"sampler", "optimization.mcmc.method", "method", AT(sampler)},
    {"surrogate", "optimization.mcmc.surrogate", "surrogate", AT(surrogate)},
    {"modes", "optimization.mcmc.modes", "modes", AT(modes)},
    {"coords", "optimization.mcmc.coords", "coords", AT(coords)},
    {"fit-priors", "optimization.cmc.validation.use_nlsq_informed_priors", "fit_priors",
     AT(fit_priors)},
    {"prior-width", "optimization.cmc.validation.nlsq_prior_width_factor", "prior_width",
     AT(prior_width)},
    {"temper", "optimization.mcmc.temper", "temper", AT(temper)},
    {"draw-scaling", "optimization.cmc.per_angle_mode", "scaling", AT(draw_scaling)},
    {"cmc-num-shards", "optimization.cmc.sharding.num_shards", "n_shard", AT(num_shards)},
    {"shard-points", "optimization.cmc.sharding.max_points_per_shard", "shard_points",
     AT(shard_points)},
    {"shard-strategy", "optimization.cmc.sharding.strategy", "shard_strategy", AT(shard_strategy)},
    {"shard-seed", "optimization.cmc.sharding.seed", "shard_seed", AT(shard_seed)},
    {"combination", "optimization.cmc.combination.method", "combination", AT(combination)},
    {"max-rhat", "optimization.cmc.validation.max_per_shard_rhat", "max_rhat", AT(max_rhat)},
    {"min-ess", "optimization.cmc.validation.min_per_shard_ess", "min_ess", AT(min_ess)},
    {"max-divergence", "optimization.cmc.validation.max_divergence_rate", "max_divergence",
     AT(max_divergence)},
    {"min-success", "optimization.cmc.combination.min_success_rate_warning", "min_success",
     AT(min_success)},
    {"max-shard-distance", "optimization.cmc.validation.max_shard_distance", "max_cv",
     AT(max_shard_distance)},
    {"mcmc-seed", "optimization.mcmc.seed", NULL, AT(mcmc_seed)},
};

enum { N_OPTION = sizeof options / sizeof *options };

static const char **value_of(cli_xpcs_values *v, int i)
{
    return (const char **)(void *)((char *)v + options[i].offset);
}

static const char *text_of(const cli_xpcs_values *v, int i)
{
    const char *text = NULL;
    memcpy(&text, (const char *)v + options[i].offset, sizeof text);
    return text;
}

// Flags of the table are words of the configuration.
static const char *as_key_says(const char *text)
{
    return strcmp(text, "on") == 0 ? "true" : strcmp(text, "off") == 0 ? "false" : text;
}

int xpcs_apply_draw_options(const cli *c, tess_xpcs_settings *file)
{
    for (int i = 0; i < N_OPTION; i++) {
        const char *text = text_of(&c->values.xpcs, i);
        const int is_flag = options[i].offset == AT(modes) || options[i].offset == AT(fit_priors);
        if (!text) {
            continue;
        }
        const tess_status status =
            tess_xpcs_settings_set(file, options[i].key, is_flag ? as_key_says(text) : text);
        if (status == TESS_E_CONFIG) { // the key is the file's, the user typed an option
            return cli_usage_error(c, "--%s: %s", options[i].option, tess_last_error());
        }
        CLI_CALL(status);
    }
    return 0;
}

static void warn_of(const char *option)
{
    console_note("warning: --%s is of sampling and changes nothing with --method nlsq; sample with "
                 "--method cmc",
                 option);
}

void xpcs_warn_unused_draws(const cli *c)
{
    const cli_xpcs_values *v = &c->values.xpcs;
    const struct {
        const char *option;
        int is_given;
    } others[] = {{"prior", v->prior != NULL},
                  {"cmc-backend", v->cmc_backend != NULL},
                  {"no-nlsq-warmstart", v->no_warmstart},
                  {"dense-mass-matrix", v->dense_mass},
                  {"cmc-plot-diagnostics", v->cmc_plot_diagnostics}};

    for (int i = 0; i < N_OPTION; i++) {
        if (text_of(v, i)) {
            warn_of(options[i].option);
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i].is_given) {
            warn_of(others[i].option);
        }
    }
}

// What shards are combined by counts for consensus alone.
static int is_idle(const xpcs_job *j, const char *name)
{
    const int is_shard = strcmp(name, "n_shard") == 0 || strcmp(name, "shard_points") == 0;
    return is_shard && j->sample_config.method != TESS_XPCS_METHOD_CONSENSUS;
}

int xpcs_record_draws(const xpcs_job *j, cli_xpcs_values *v, xpcs_keep_fn *keep, void *self)
{
    const tess_param_table *table = tess_xpcs_sample_params();
    for (int i = 0; i < N_OPTION; i++) {
        for (int64_t k = 0; options[i].param && k < table->n_param; k++) {
            char text[64];
            char default_text[64];
            if (strcmp(table->params[k].name, options[i].param) != 0) {
                continue;
            }
            const int is_flag = table->params[k].type == TESS_PARAM_FLAG;
            tess_param_get_text(&table->params[k], &j->sample_config, text, sizeof text);
            settings_default_text(table, k, default_text, sizeof default_text);
            const int is_said = strcmp(text, default_text) != 0 && !is_idle(j, options[i].param);
            const char *word = !is_flag ? text : strcmp(text, "true") == 0 ? "on" : "off";
            *value_of(v, i) = is_said ? keep(self, word) : NULL;
            if (is_said && !*value_of(v, i)) {
                return console_fail(71, "no memory for the value of --%s", options[i].option);
            }
        }
    }
    return 0;
}

void xpcs_combine_config(const xpcs_job *j, tess_xpcs_combine_config *config)
{
    const tess_xpcs_sample_config *s = &j->sample_config;

    tess_xpcs_combine_config_init(config, sizeof *config);
    config->is_robust_upstream = s->combination == 1;
    config->max_divergence = s->max_divergence;
    config->max_rhat = s->max_rhat;
    config->min_ess = s->min_ess;
    config->min_success = s->min_success;
    config->max_cv = s->max_cv;
    config->seed = s->seed;
}
