// Encoding models: what is common to all algorithms.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/encoding/plausible.h"
#include "systems/decode/gmm/gmm.h"
#include "systems/decode/kde/kde.h"
#include "systems/decode/kde/local.h"
#include "systems/decode/settings/check.h"
#include "systems/decode/sorted/rates.h"
#include "systems/decode/store/inputs.h"

static const tess_de_encoding_ops *ops_of(int32_t algorithm)
{
    switch ((tess_decode_algorithm)algorithm) {
    case TESS_DECODE_CLUSTERLESS_KDE:
        return &tess_de_kde_ops;
    case TESS_DECODE_SORTED_SPIKES_KDE:
        return &tess_de_sorted_ops;
    case TESS_DECODE_SORTED_SPIKES_GLM:
        return &tess_de_glm_ops;
    case TESS_DECODE_CLUSTERLESS_GMM:
        return &tess_de_gmm_ops;
    }
    return NULL;
}

static bool is_sorted(const tess_decode_encoding_config *config)
{
    return config->algorithm == TESS_DECODE_SORTED_SPIKES_KDE ||
           config->algorithm == TESS_DECODE_SORTED_SPIKES_GLM;
}

// An absolute floor is a density per feature unit: with more than 4 features everything sinks
// below it. Rates of sorted spikes have no features and always have it.
static int32_t decide_floor(const tess_decode_encoding_config *config,
                            const tess_decode_spikes *spikes)
{
    if (is_sorted(config)) {
        return TESS_DECODE_FLOOR_ABSOLUTE;
    }
    if (config->floor != TESS_DECODE_FLOOR_AUTO) {
        return config->floor;
    }
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        if (spikes->n_feature[e] > 4) {
            return TESS_DECODE_FLOOR_RELATIVE;
        }
    }
    return TESS_DECODE_FLOOR_ABSOLUTE;
}

// Bandwidths into the model; the config no longer points to the caller's arrays.
static tess_status keep_bandwidths(tess_decode_encoding *encoding, int64_t n_place_dim)
{
    tess_decode_encoding_config *config = &encoding->config;
    for (int64_t k = 0; k < n_place_dim; k++) {
        encoding->position_std[k] =
            config->position_std_values ? config->position_std_values[k] : config->position_std;
    }
    const double *values =
        config->waveform_std_values ? config->waveform_std_values : &config->waveform_std;
    const int64_t n = config->waveform_std_values ? config->n_waveform_std : 1;
    encoding->waveform_std =
        tess_blocks_copy(&encoding->blocks, values, n, sizeof *values, "waveform_std");
    if (!encoding->waveform_std) {
        return TESS_E_MEMORY;
    }
    config->position_std_values = config->position_std_values ? encoding->position_std : NULL;
    config->waveform_std_values = config->waveform_std_values ? encoding->waveform_std : NULL;
    return TESS_OK;
}

static tess_status select_training(tess_context *ctx, tess_decode_encoding *encoding,
                                   const tess_decode_training *training)
{
    tess_blocks *blocks = &encoding->blocks;
    const tess_decode_spikes *spikes = &training->spikes;
    const int64_t n = spikes->n_electrode;
    tess_decode_encoding_info *info = &encoding->info;
    tess_de_selection *selection = &encoding->selection;
    int64_t *n_before = tess_blocks_alloc(blocks, n, sizeof *n_before, "spike counts");
    int64_t *n_after = tess_blocks_alloc(blocks, n, sizeof *n_after, "spike counts");
    if (!n_before || !n_after) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_de_select(ctx, blocks, encoding->env, training, &encoding->config, n_before,
                            n_after, selection));
    if (!is_sorted(&encoding->config)) {
        selection->n_feature =
            tess_blocks_copy(blocks, spikes->n_feature, n, sizeof *spikes->n_feature, "features");
        if (!selection->n_feature) {
            return TESS_E_MEMORY;
        }
    }
    info->n_electrode = n;
    info->n_training_sample = selection->n_sample;
    info->n_spike = selection->n_spike;
    info->n_feature = selection->n_feature;
    info->n_before = n_before;
    info->n_after = n_after;
    info->encoding_positions = (const double *const *)selection->spike_place;
    info->encoding_marks = (const double *const *)selection->spike_marks;
    return tess_de_median_step(&ctx->heap, training->position.time, training->position.n_sample,
                               &info->bin_width_s);
}

static tess_status fit(tess_context *ctx, tess_device *device, tess_decode_encoding *encoding,
                       const tess_decode_training *training)
{
    const tess_decode_environment_info *env = tess_decode_environment_get_info(encoding->env);
    tess_decode_encoding_info *info = &encoding->info;
    info->struct_size = sizeof *info;
    info->algorithm = encoding->config.algorithm;
    info->floor = decide_floor(&encoding->config, &training->spikes);
    info->n_interior = env->n_interior;
    info->n_place_dim = env->n_place_dim;
    TESS_TRY(keep_bandwidths(encoding, env->n_place_dim));
    encoding->local =
        tess_blocks_alloc(&encoding->blocks, 1, sizeof *encoding->local, "encoding model");
    if (!encoding->local) {
        return TESS_E_MEMORY;
    }
    atomic_init(encoding->local, NULL);
    TESS_TRY(select_training(ctx, encoding, training));
    if (info->n_electrode == 0) {
        tess_log_warn(&ctx->log, TESS_W_DECODE_NO_ELECTRODES,
                      "no electrodes at all: the likelihood will be the same everywhere");
    }
    tess_de_warn_training(ctx, encoding);
    return encoding->ops->fit(ctx, device, encoding, &encoding->selection);
}

tess_status tess_decode_encoding_create(tess_context *ctx, tess_decode_environment *env,
                                        const tess_decode_training *given,
                                        const tess_decode_encoding_config *given_config,
                                        tess_decode_encoding **out)
{
    tess_error_clear();
    *out = NULL;
    tess_decode_encoding_config config;
    tess_decode_training training;
    tess_decode_training_init(&training, sizeof training);
    TESS_TRY(tess_de_check_encoding_config(given_config, &config));
    const tess_de_encoding_ops *ops = ops_of(config.algorithm);
    tess_device *device = NULL;
    TESS_TRY(tess_stage_choose(ctx, ops->stages, ops->n_stage, "fit", &device));
    TESS_TRY(tess_struct_read(given, &training, sizeof training, "training"));
    const tess_decode_environment_info *info = tess_decode_environment_get_info(env);
    TESS_TRY(tess_de_check_spikes(&training.spikes, !is_sorted(&config)));
    TESS_TRY(tess_de_check_bandwidths(&config, &training.spikes, info->n_place_dim));
    TESS_TRY(tess_de_check_position(&training.position, info));

    tess_decode_encoding *encoding =
        tess_heap_alloc_zero(&ctx->heap, sizeof *encoding, TESS_TAG_RESULT, "encoding model");
    if (!encoding) {
        return TESS_E_MEMORY;
    }
    encoding->heap = &ctx->heap;
    encoding->env = env;
    encoding->config = config;
    encoding->ops = ops;
    tess_blocks_init(&encoding->blocks, &ctx->heap);
    const tess_status status = fit(ctx, device, encoding, &training);
    if (status != TESS_OK) {
        tess_decode_encoding_destroy(encoding);
        return status;
    }
    *out = encoding;
    return TESS_OK;
}

void tess_decode_encoding_destroy(tess_decode_encoding *encoding)
{
    if (!encoding) {
        return;
    }
    encoding->ops->free(encoding);
    if (encoding->local) {
        tess_de_local_free(encoding->heap, atomic_load(encoding->local));
    }
    tess_blocks_free(&encoding->blocks);
    tess_heap_free(encoding->heap, encoding, sizeof *encoding, TESS_TAG_RESULT);
}

const tess_decode_encoding_info *tess_decode_encoding_get_info(const tess_decode_encoding *encoding)
{
    return &encoding->info;
}
