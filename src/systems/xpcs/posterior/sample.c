// Sampling, from checked options to the draws.
#include "systems/xpcs/posterior/sample.h"
#include "systems/xpcs/posterior/modes.h"
#include "systems/xpcs/posterior/moves.h"

#include "base/clock.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/group.h"
#include "runtime/stage.h"
#include "systems/xpcs/model/lend.h"
#include "systems/xpcs/settings/constants.h"

static tess_status settle_config(tess_xpcs_sample_config *c)
{
    const bool is_consensus = c->method == TESS_XPCS_METHOD_CONSENSUS;
    if (is_consensus && c->shard > 0) {
        TESS_FAIL(TESS_E_CONFIG,
                  "shard: %lld, but method consensus samples all parts; leave one of them out",
                  (long long)c->shard);
    }
    if (!is_consensus && c->shard == 0 && c->n_shard > 1) {
        TESS_FAIL(TESS_E_CONFIG,
                  "n_shard: %lld parts, but which? name one with shard, or sample all of them with "
                  "method consensus",
                  (long long)c->n_shard);
    }
    if (!(c->temper > 0)) {
        c->temper = c->n_shard > 1 ? (double)c->n_shard : 1;
    }
    return TESS_OK;
}

static tess_status read_configs(tess_xp_sampler *s, const tess_xpcs_fit_config *fit_config,
                                const tess_xpcs_sample_config *config)
{
    tess_xpcs_sample_config_init(&s->config, sizeof s->config);
    tess_xpcs_fit_config_init(&s->fit_config, sizeof s->fit_config);
    if (config) {
        TESS_TRY(tess_struct_read(config, &s->config, sizeof s->config, "config"));
    }
    if (fit_config) {
        TESS_TRY(tess_struct_read(fit_config, &s->fit_config, sizeof s->fit_config, "fit_config"));
    }
    TESS_TRY(tess_params_check(tess_xpcs_sample_params(), &s->config));
    TESS_TRY(settle_config(&s->config));
    return tess_params_check(tess_xpcs_fit_params(), &s->fit_config);
}

// The fit says what the noise is.
static tess_status check_noise(const tess_xp_sampler *s)
{
    if (s->fit_config.noise == 1 && !(s->fit->noise_photons > 0)) {
        TESS_FAIL(TESS_E_CONFIG, "noise: frames, but the fit took points as independent; draw from "
                                 "a fit with noise frames");
    }
    if (!(s->fit->noise_photons > 0)) {
        return TESS_OK;
    }
    if (s->config.shard > 0 || s->config.method == TESS_XPCS_METHOD_CONSENSUS) {
        TESS_FAIL(TESS_E_CONFIG, "noise: frames is a noise of all points together, which shards do "
                                 "not have; use method nuts or laplace without shards, or a fit "
                                 "with noise independent");
    }
    if (s->fit->sigma_mode == TESS_XPCS_SIGMA_PER_LAG) {
        TESS_FAIL(TESS_E_CONFIG, "noise: frames is drawn with sigma_mode constant or estimate, "
                                 "not with per_lag; fit with one of them");
    }
    return TESS_OK;
}

static tess_status check_fit(const tess_xp_sampler *s)
{
    if (s->fit->mode != s->model.mode || s->fit->kernel != s->model.kernel ||
        s->fit->n_angle != s->data->info.n_angle || s->fit->n_frame != s->data->info.n_frame) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "fit: %lld angles of %lld frames of another model or other data (%lld of %lld); "
                  "give the fit of these",
                  (long long)s->fit->n_angle, (long long)s->fit->n_frame,
                  (long long)s->data->info.n_angle, (long long)s->data->info.n_frame);
    }
    TESS_TRY(check_noise(s));
    if (s->fit->loss != TESS_XPCS_LOSS_LINEAR) {
        TESS_FAIL(TESS_E_ARGUMENT, "fit: of a robust loss, whose noise is not normal; fit with "
                                   "loss linear");
    }
    return TESS_OK;
}

static tess_status fill_texts(tess_xp_sampler *s)
{
    const char *warnings = NULL;
    char fingerprint[33];
    char identity[33];
    TESS_TRY(tess_text_finish(&s->warnings, &warnings));
    tess_hash_text(s->data->fingerprint, fingerprint);
    tess_identity_digest(&s->id, identity);
    const char *const texts[5] = {warnings, tess_group_id(s->ctx, s->device), s->data->info.path,
                                  fingerprint, identity};
    return tess_xp_posterior_set_texts(s->out, texts);
}

static void fill_info(tess_xp_sampler *s)
{
    tess_xpcs_posterior_info *info = &s->out->info;
    info->n_evaluation = s->tally.n_evaluation;
    info->n_gradient = s->tally.n_gradient;
    info->n_pass = s->tally.n_pass;
    info->n_attempt = s->tally.attempt + 1;
    info->target_accept = s->tally.target_accept;
    info->fit_noise = s->tally.noise;
    info->resumed = s->is_resumed;
    info->resumed_from = s->is_resumed ? s->resumed_from : 0;
    info->n_checkpoint = s->work.n_saved;
    info->has_surrogate = (int32_t)s->tally.is_moving;
    info->surrogate_accept =
        s->tally.is_moving ? (double)s->tally.n_accepted / (double)(info->n_chain * info->n_draw)
                           : 0;
    tess_xp_modes_tell(s, s->modes);
}

static tess_status draw(tess_xp_sampler *s)
{
    tess_xp_modes modes = {0};
    tess_xp_normal top;
    s->modes = &modes;
    TESS_TRY(tess_xp_sampler_open(s));
    TESS_TRY(tess_xp_sampler_find_noise(s));
    TESS_TRY(tess_xp_sampler_place_adjust(s));
    TESS_TRY(tess_xp_top_find(s, &top));
    TESS_TRY(tess_xp_modes_find(s, &modes));
    TESS_TRY(tess_xp_moves_open(s));
    TESS_TRY(tess_xp_sampler_open_rounds(s));
    TESS_TRY(tess_xp_sampler_open_work(s));
    tess_status status = s->config.method == TESS_XPCS_METHOD_LAPLACE ? tess_xp_sampler_laplace(s)
                                                                      : tess_xp_sampler_run(s);
    if (status == TESS_OK) {
        status = tess_xp_sampler_draw_scaling(s);
    }
    const bool keeps = s->config.keep_finished && status == TESS_OK;
    if (tess_work_is_kept(&s->work) && (status == TESS_CANCELLED || keeps)) {
        tess_xp_sampler_save(s);
    }
    TESS_TRY(status);
    fill_info(s);
    TESS_TRY(fill_texts(s));
    if (!keeps) {
        tess_work_end(&s->work);
    }
    return TESS_OK;
}

tess_status tess_xp_sampler_begin(tess_xp_sampler *s, const tess_xpcs_model *model,
                                  const tess_xpcs_fit_config *fit_config,
                                  const tess_xpcs_sample_config *config)
{
    static const int32_t stages[] = {TESS_STAGE_XPCS_PASS, TESS_STAGE_XPCS_REDUCE};
    TESS_TRY(tess_stage_choose(s->ctx, stages, 2, "pass", &s->device));
    TESS_TRY(read_configs(s, fit_config, config));
    TESS_TRY(tess_xp_constants_for_data(model, &s->data->info, &s->model));
    TESS_TRY(tess_xp_device_for(s->ctx, s->model.mode, "pass", &s->device));
    return check_fit(s);
}

tess_status tess_xp_sampler_draw(tess_xp_sampler *s, tess_xpcs_posterior **out)
{
    const int64_t begin_ns = tess_now_ns();
    const tess_status status = draw(s);
    tess_xp_sampler_close(s);
    if (status != TESS_OK) {
        tess_xpcs_posterior_destroy(s->out);
        return status;
    }
    s->out->info.seconds = (double)(tess_now_ns() - begin_ns) * 1e-9;
    *out = s->out;
    return TESS_OK;
}
