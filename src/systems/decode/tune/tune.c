// Bandwidths by the likelihood of held-out spikes: the public calls.
#include "systems/decode/tune/tune.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/settings/check.h"
#include "systems/decode/tune/tuning.h"

#include <math.h>

// Local likelihoods look at no bin: as few as there can be.
static const double WIDE_BINS = 1e9;

static tess_status check_algorithm(const tess_decode_encoding_config *config)
{
    const int32_t algorithm = config->algorithm;
    if (algorithm != TESS_DECODE_CLUSTERLESS_KDE && algorithm != TESS_DECODE_SORTED_SPIKES_KDE) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "algorithm: %s has no bandwidths to tune; clusterless_kde and sorted_spikes_kde "
                  "have",
                  algorithm == TESS_DECODE_CLUSTERLESS_GMM ? "clusterless_gmm"
                                                           : "sorted_spikes_glm");
    }
    if (config->position_std_values || config->waveform_std_values) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s: one value per %s cannot be tuned; pass a single number to start from",
                  config->position_std_values ? "position_std" : "waveform_std",
                  config->position_std_values ? "axis" : "feature");
    }
    return TESS_OK;
}

// A recording's own wish counts where the caller left the default, as in a fit.
static double start_of(double wish, double default_value, double value)
{
    return wish > 0 && value == default_value ? wish : value;
}

static tess_status make_environment(tess_de_tuner *t, const tess_decode_recording_info *info,
                                    const tess_decode_environment_config *given)
{
    const tess_decode_position *p = &info->training.position;
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    config.place_bin_size = WIDE_BINS;
    config.track = given->track ? given->track : info->has_track ? &info->track : NULL;
    return tess_decode_environment_create(t->ctx, &config, p->position, p->n_sample, p->n_dim,
                                          &t->env);
}

static tess_status prepare(tess_de_tuner *t, const tess_decode_recording_info *info)
{
    t->training = info->training;
    TESS_TRY(tess_de_folds_make(t->ctx, t->memory, &info->training, t->tune.n_fold,
                                t->tune.max_spikes, &t->folds));
    t->mask = tess_blocks_alloc(t->memory, t->folds.n_sample, 1, "folds");
    t->rows = tess_blocks_alloc(t->memory, t->folds.longest, sizeof *t->rows, "held-out rows");
    t->n_room = tess_de_tune_most(&t->tune, t->has_waveform);
    t->fold_scores =
        tess_blocks_alloc(t->memory, t->n_room * t->tune.n_fold, sizeof(double), "scores");
    if (!t->mask || !t->rows || !t->fold_scores) {
        return TESS_E_MEMORY;
    }
    t->training.is_training = t->mask;
    tess_decode_observation_init(&t->observation, sizeof t->observation);
    t->observation.n_time = t->folds.n_sample;
    t->observation.time = info->training.position.time;
    t->observation.spikes = info->training.spikes;
    t->observation.position = info->training.position;
    t->observation.is_missing = t->folds.is_missing;
    t->n_most = t->n_room * t->tune.n_fold;
    return TESS_OK;
}

// How far each candidate is below the best, and how sure that is.
static void compare(tess_de_tuner *t, int64_t best)
{
    const int64_t n_fold = t->folds.n_fold;
    const double *top = t->fold_scores + best * n_fold;
    for (int64_t i = 0; i < t->n_candidate; i++) {
        const double *mine = t->fold_scores + i * n_fold;
        double n = 0;
        double sum = 0;
        double squares = 0;
        for (int64_t f = 0; f < n_fold; f++) {
            const double d = top[f] - mine[f];
            if (!isnan(d)) {
                n++;
                sum += d;
                squares += d * d;
            }
        }
        const double variance = n > 1 ? (squares - sum * sum / n) / (n - 1) : (double)NAN;
        t->candidates[i].below_best = t->candidates[best].score - t->candidates[i].score;
        t->candidates[i].standard_error = sqrt(fmax(variance, 0) / n);
    }
}

static void fill_info(const tess_de_tuner *t, int64_t best, tess_decode_tuning_info *info)
{
    const tess_decode_tune_candidate *chosen = &t->candidates[best];
    *info = (tess_decode_tuning_info){.struct_size = sizeof *info,
                                      .has_waveform = t->has_waveform,
                                      .position_std = chosen->position_std,
                                      .waveform_std = chosen->waveform_std,
                                      .score = chosen->score,
                                      .start_position_std = t->candidates[0].position_std,
                                      .start_waveform_std = t->candidates[0].waveform_std,
                                      .start_score = t->candidates[0].score,
                                      .n_fold = t->folds.n_fold,
                                      .n_sample = t->folds.n_row,
                                      .n_spike = t->n_spike,
                                      .n_held = t->folds.n_held,
                                      .position_at_end = t->position_at_end,
                                      .waveform_at_end = t->waveform_at_end,
                                      .n_candidate = t->n_candidate,
                                      .candidates = t->candidates};
}

static tess_status run(tess_de_tuner *t, const tess_decode_recording_info *info,
                       tess_decode_tuning *tuning)
{
    tess_decode_encoding_config defaults;
    tess_decode_encoding_config_init(&defaults, sizeof defaults);
    const double position_std =
        start_of(info->position_std, defaults.position_std, t->encoding.position_std);
    const double waveform_std =
        start_of(info->waveform_std, defaults.waveform_std, t->encoding.waveform_std);
    int64_t best = 0;
    TESS_TRY(prepare(t, info));
    t->candidates =
        tess_blocks_alloc(&tuning->memory, t->n_room, sizeof *t->candidates, "candidates");
    if (!t->candidates) {
        return TESS_E_MEMORY;
    }
    tess_watch_begin(&t->watch, t->ctx, "decode.tune", "fits", 0, (uint64_t)t->folds.n_held * 1024,
                     TESS_STRATEGY_STANDARD);
    TESS_TRY(
        tess_de_tune_search(t, position_std, t->has_waveform ? waveform_std : (double)NAN, &best));
    TESS_TRY(tess_watch_poll(&t->watch, t->n_most, t->n_most));
    compare(t, best);
    fill_info(t, best, &tuning->info);
    return TESS_OK;
}

static tess_status check(const tess_decode_recording_info *info, const tess_de_tuner *t)
{
    const bool has_marks = info->training.spikes.marks != NULL;
    TESS_TRY(check_algorithm(&t->encoding));
    TESS_TRY(tess_de_check_spikes(&info->training.spikes, t->has_waveform));
    if (!has_marks && t->has_waveform) {
        TESS_FAIL(TESS_E_ARGUMENT, "algorithm: clusterless_kde needs spike features, the recording "
                                   "has none; pass sorted_spikes_kde");
    }
    return TESS_OK;
}

tess_status tess_decode_tune(tess_context *ctx, const tess_decode_recording *recording,
                             const tess_decode_model_config *given,
                             const tess_decode_tune_config *given_tune, tess_decode_tuning **out)
{
    tess_error_clear();
    *out = NULL;
    const int64_t begin_ns = tess_now_ns();
    const tess_decode_recording_info *info = tess_decode_recording_get_info(recording);
    tess_decode_model_config config;
    tess_blocks memory;
    tess_de_tuner t = {.ctx = ctx, .memory = &memory};
    tess_decode_model_config_init(&config, sizeof config);
    tess_decode_tune_config_init(&t.tune, sizeof t.tune);
    if (given) {
        TESS_TRY(tess_struct_read(given, &config, sizeof config, "config"));
    }
    if (given_tune) {
        TESS_TRY(tess_struct_read(given_tune, &t.tune, sizeof t.tune, "tune config"));
    }
    TESS_TRY(tess_params_check(tess_decode_tune_params(), &t.tune));
    TESS_TRY(tess_de_check_encoding_config(&config.encoding, &t.encoding));
    t.encoding.bin_scale = 1; // rows are as wide as position samples are apart
    t.has_waveform = t.encoding.algorithm == TESS_DECODE_CLUSTERLESS_KDE;
    TESS_TRY(check(info, &t));
    tess_decode_tuning *tuning =
        tess_heap_alloc_zero(&ctx->heap, sizeof *tuning, TESS_TAG_RESULT, "tuning");
    if (!tuning) {
        return TESS_E_MEMORY;
    }
    tuning->heap = &ctx->heap;
    tess_blocks_init(&tuning->memory, &ctx->heap);
    tess_blocks_init(&memory, &ctx->heap);
    const tess_log_level level = ctx->log.level;
    tess_status status = make_environment(&t, info, &config.environment);
    if (status == TESS_OK) {
        status = run(&t, info, tuning);
    }
    ctx->log.level = level;
    tess_decode_environment_destroy(t.env);
    tess_blocks_free(&memory);
    tuning->info.elapsed_s = (double)(tess_now_ns() - begin_ns) * 1e-9;
    if (status != TESS_OK) {
        tess_decode_tuning_destroy(tuning);
        return status;
    }
    *out = tuning;
    return TESS_OK;
}

void tess_decode_tuning_destroy(tess_decode_tuning *tuning)
{
    if (tuning) {
        tess_blocks_free(&tuning->memory);
        tess_heap_free(tuning->heap, tuning, sizeof *tuning, TESS_TAG_RESULT);
    }
}

const tess_decode_tuning_info *tess_decode_tuning_get_info(const tess_decode_tuning *tuning)
{
    return &tuning->info;
}
