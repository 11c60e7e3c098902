// Sampling, as it is called: all data at once, or parts of them, each rank some of them, and their
// combination.
#include "base/status.h"
#include "systems/xpcs/posterior/sample.h"
#include "systems/xpcs/posterior/shards.h"

#include <stdio.h>

enum { MAX_PATH = 4096 };

static tess_status count_shards(const tess_xp_sampler *s, const tess_xpcs_model *model, int64_t *n)
{
    const int64_t n_used = s->data->info.n_used;
    tess_xpcs_shard_plan plan;
    *n = s->config.n_shard;
    if (*n == 0 && s->config.shard_points > 0) {
        *n = (n_used + s->config.shard_points - 1) / s->config.shard_points;
    } else if (*n == 0) {
        TESS_TRY(
            tess_xpcs_shard_plan_make(s->ctx, s->data, model, &s->config, 0, &plan, sizeof plan));
        *n = plan.n_shard;
    }
    if (*n > n_used) {
        TESS_FAIL(TESS_E_CONFIG, "n_shard: %lld shards of %lld points; take fewer", (long long)*n,
                  (long long)n_used);
    }
    return TESS_OK;
}

static tess_status name_folder(const char *whole, int64_t shard, char folder[MAX_PATH])
{
    if (snprintf(folder, MAX_PATH, "%s_%05lld", whole, (long long)shard) >= MAX_PATH) {
        TESS_FAIL(TESS_E_ARGUMENT, "checkpoint_dir: longer than %d characters", MAX_PATH - 16);
    }
    return TESS_OK;
}

// Each part keeps a folder of its own beside that of the whole: finished ones are there at once
// when another run goes on.
static tess_status sample_part(const tess_xp_sampler *s, const tess_xpcs_model *model,
                               int64_t shard, int64_t n, tess_xpcs_posterior **out)
{
    char folder[MAX_PATH];
    tess_xpcs_sample_config part = s->config;
    part.method = TESS_XPCS_METHOD_NUTS;
    part.shard = shard;
    part.n_shard = n;
    if (part.checkpoint_dir) {
        TESS_TRY(name_folder(part.checkpoint_dir, shard, folder));
        part.checkpoint_dir = folder;
        part.keep_finished = 1;
    }
    tess_xp_sampler one = {.ctx = s->ctx,
                           .data = s->data,
                           .fit = s->fit,
                           .is_alone = tess_xp_shards_are_dealt(s->ctx, n)};
    TESS_TRY(tess_xp_sampler_begin(&one, model, &s->fit_config, &part));
    return tess_xp_sampler_draw(&one, out);
}

static tess_status combine(const tess_xp_sampler *s, tess_xpcs_posterior *const *parts, int64_t n,
                           tess_xpcs_posterior **out)
{
    const tess_xpcs_sample_config *c = &s->config;
    tess_xpcs_combine_config config;
    tess_xpcs_combine_config_init(&config, sizeof config);
    config.is_robust_upstream = c->combination == 1;
    config.max_divergence = c->max_divergence;
    config.max_rhat = c->max_rhat;
    config.min_ess = c->min_ess;
    config.min_success = c->min_success;
    config.max_cv = c->max_cv;
    config.seed = c->seed;
    return tess_xpcs_combine(s->ctx, (const tess_xpcs_posterior *const *)parts, n, &config, out);
}

// By the rank that has kept it.
static tess_status clear_part(const tess_xp_sampler *s, int64_t shard, int64_t n)
{
    char folder[MAX_PATH];
    if (!s->config.checkpoint_dir || !tess_xp_shard_is_own(s->ctx, shard - 1, n)) {
        return TESS_OK;
    }
    TESS_TRY(name_folder(s->config.checkpoint_dir, shard, folder));
    return tess_checkpoint_clear(s->ctx, folder);
}

static tess_status sample_parts(const tess_xp_sampler *s, const tess_xpcs_model *model, int64_t n,
                                tess_xpcs_posterior **parts)
{
    const bool is_dealt = tess_xp_shards_are_dealt(s->ctx, n);
    tess_status status = TESS_OK;
    for (int64_t k = 0; k < n && status == TESS_OK; k++) {
        if (!is_dealt || tess_xp_shard_is_own(s->ctx, k, n)) {
            status = sample_part(s, model, k + 1, n, &parts[k]);
        }
    }
    return is_dealt ? tess_xp_shards_share(s->ctx, parts, n, status) : status;
}

static tess_status sample_shards(const tess_xp_sampler *s, const tess_xpcs_model *model,
                                 tess_xpcs_posterior **out)
{
    int64_t n = 0;
    TESS_TRY(count_shards(s, model, &n));
    tess_blocks blocks;
    tess_blocks_init(&blocks, &s->ctx->heap);
    tess_xpcs_posterior **parts = tess_blocks_alloc(&blocks, n, sizeof(void *), "shards");
    tess_status status = parts ? sample_parts(s, model, n, parts) : TESS_E_MEMORY;
    if (status == TESS_OK) {
        status = combine(s, parts, n, out);
    }
    for (int64_t k = 0; k < n && status == TESS_OK && !s->config.keep_finished; k++) {
        status = clear_part(s, k + 1, n);
    }
    for (int64_t k = 0; parts && k < n; k++) {
        tess_xpcs_posterior_destroy(parts[k]);
    }
    tess_blocks_free(&blocks);
    return status;
}

tess_status tess_xpcs_sample(tess_context *ctx, tess_xpcs_data *data, const tess_xpcs_model *model,
                             const tess_xpcs_result *fit, const tess_xpcs_fit_config *fit_config,
                             const tess_xpcs_sample_config *config, tess_xpcs_posterior **out)
{
    tess_error_clear();
    if (!ctx || !data || !fit || !out) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL",
                  !ctx    ? "context"
                  : !data ? "data"
                  : !fit  ? "fit"
                          : "out");
    }
    tess_xp_sampler s = {.ctx = ctx, .data = data, .fit = tess_xpcs_result_get_info(fit)};
    *out = NULL;
    TESS_TRY(tess_xp_sampler_begin(&s, model, fit_config, config));
    return s.config.method == TESS_XPCS_METHOD_CONSENSUS ? sample_shards(&s, model, out)
                                                         : tess_xp_sampler_draw(&s, out);
}
