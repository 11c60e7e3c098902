// Ready-made models, fitted to recordings.
#include "systems/decode/model/model.h"

#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/files/covariates.h"

#include <float.h>
#include <math.h>
#include <string.h>

tess_status tess_de_model_new(tess_context *ctx, tess_decode_model **out)
{
    *out = NULL;
    tess_decode_model *model =
        tess_heap_alloc_zero(&ctx->heap, sizeof *model, TESS_TAG_RESULT, "model");
    if (!model) {
        return TESS_E_MEMORY;
    }
    model->heap = &ctx->heap;
    tess_blocks_init(&model->memory, &ctx->heap);
    tess_decode_model_config_init(&model->config, sizeof model->config);
    tess_decode_training_init(&model->training, sizeof model->training);
    tess_decode_track_init(&model->track, sizeof model->track);
    *out = model;
    return TESS_OK;
}

void tess_decode_model_destroy(tess_decode_model *model)
{
    if (!model) {
        return;
    }
    tess_decode_detector_destroy(model->detector);
    tess_decode_encoding_destroy(model->encoding);
    tess_decode_environment_destroy(model->env);
    tess_blocks_free(&model->memory);
    tess_heap_free(model->heap, model, sizeof *model, TESS_TAG_RESULT);
}

tess_status tess_de_model_copy(tess_decode_model *model, const void *items, int64_t n,
                               size_t item_bytes, const void **copy)
{
    *copy = NULL;
    if (!items) {
        return TESS_OK;
    }
    *copy = tess_blocks_copy(&model->memory, items, n, item_bytes, "model");
    return *copy ? TESS_OK : TESS_E_MEMORY;
}

#define COPY(model, pointer, n)                                                                    \
    tess_de_model_copy((model), (pointer), (n), sizeof *(pointer), (const void **)&(pointer))

tess_status tess_de_model_spikes(tess_decode_model *model, const tess_decode_spikes *spikes)
{
    tess_decode_spikes *own = &model->training.spikes;
    const int64_t n = spikes->n_electrode;
    const size_t item = spikes->mark_dtype == TESS_F32 ? sizeof(float) : sizeof(double);
    *own = *spikes;
    TESS_TRY(COPY(model, own->n_spike, n));
    TESS_TRY(COPY(model, own->n_feature, n));
    const double **times = tess_blocks_alloc(&model->memory, n, sizeof *times, "model");
    const void **marks = tess_blocks_alloc(&model->memory, n, sizeof *marks, "model");
    if (!times || !marks) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n; e++) {
        const void *copy = NULL;
        TESS_TRY(
            tess_de_model_copy(model, spikes->times[e], spikes->n_spike[e], sizeof(double), &copy));
        times[e] = copy;
        if (spikes->marks && spikes->n_feature) {
            TESS_TRY(tess_de_model_copy(model, spikes->marks[e],
                                        spikes->n_spike[e] * spikes->n_feature[e], item,
                                        &marks[e]));
        }
    }
    own->times = times;
    own->marks = spikes->marks ? marks : NULL;
    return TESS_OK;
}

static tess_status copy_track(tess_decode_model *model, const tess_decode_track *track)
{
    tess_decode_track *own = &model->track;
    *own = *track;
    TESS_TRY(COPY(model, own->node_position, 2 * own->n_node));
    TESS_TRY(COPY(model, own->edges, 2 * own->n_edge));
    TESS_TRY(COPY(model, own->edge_length, own->n_edge));
    TESS_TRY(COPY(model, own->edge_order, 2 * own->n_order));
    TESS_TRY(COPY(model, own->edge_spacing, own->n_spacing));
    model->config.environment.track = own;
    return TESS_OK;
}

static tess_status copy_training(tess_decode_model *model, const tess_decode_recording_info *info)
{
    tess_decode_training *own = &model->training;
    *own = info->training;
    TESS_TRY(tess_de_model_spikes(model, &info->training.spikes));
    TESS_TRY(COPY(model, own->position.time, own->position.n_sample));
    TESS_TRY(COPY(model, own->position.position, own->position.n_sample * own->position.n_dim));
    TESS_TRY(COPY(model, own->is_training, own->position.n_sample));
    TESS_TRY(COPY(model, own->weights, own->position.n_sample));
    model->electrode_id = info->electrode_id;
    TESS_TRY(COPY(model, model->electrode_id, own->spikes.n_electrode));
    model->grid_position = info->interior_position;
    model->n_grid_position = info->interior_position ? info->n_interior_position : 0;
    return COPY(model, model->grid_position, model->n_grid_position * own->position.n_dim);
}

static tess_status copy_config(tess_decode_model *model, int64_t n_dim)
{
    const char *names = model->config.covariates;
    TESS_TRY(COPY(model, model->config.covariates, names ? (int64_t)strlen(names) + 1 : 0));
    tess_decode_environment_config *env = &model->config.environment;
    tess_decode_encoding_config *encoding = &model->config.encoding;
    TESS_TRY(COPY(model, env->bin_size, n_dim));
    TESS_TRY(COPY(model, env->position_range, 2 * n_dim));
    TESS_TRY(COPY(model, env->is_track_interior, env->n_is_track_interior));
    TESS_TRY(COPY(model, env->name, env->name ? (int64_t)strlen(env->name) + 1 : 0));
    TESS_TRY(COPY(model, encoding->position_std_values, encoding->n_position_std));
    return COPY(model, encoding->waveform_std_values, encoding->n_waveform_std);
}

// A recording's own wish counts where the caller left the default.
static void take_wish(double wish, double default_value, double *value)
{
    if (wish > 0 && *value == default_value) {
        *value = wish;
    }
}

static void take_wishes(tess_decode_model *model, const tess_decode_recording_info *info)
{
    tess_decode_model_config defaults;
    tess_decode_model_config_init(&defaults, sizeof defaults);
    take_wish(info->place_bin_size, defaults.environment.place_bin_size,
              &model->config.environment.place_bin_size);
    take_wish(info->position_std, defaults.encoding.position_std,
              &model->config.encoding.position_std);
    take_wish(info->waveform_std, defaults.encoding.waveform_std,
              &model->config.encoding.waveform_std);
}

// Coefficients that do not depend on anything yet: rows of softmax(x, 0) that are the matrix's.
static tess_status begin_coefficients(tess_decode_model *model, const double *matrix,
                                      tess_decode_detector_config *d)
{
    const int64_t n = d->n_state;
    int64_t n_name = 0;
    TESS_TRY(tess_de_covariates_check(model->config.covariates, &n_name));
    if (n < 2) {
        TESS_FAIL(TESS_E_ARGUMENT, "covariates: the model has one state, and so no transitions "
                                   "that could depend on anything; choose another model");
    }
    double *rows =
        tess_blocks_alloc(&model->memory, (n_name + 1) * n * (n - 1), sizeof *rows, "coefficients");
    if (!rows) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k + 1 < n; k++) {
            rows[i * (n - 1) + k] =
                log(fmax(matrix[i * n + k], DBL_MIN)) - log(fmax(matrix[i * n + n - 1], DBL_MIN));
        }
    }
    d->n_coefficient = n_name + 1;
    d->coefficients = rows;
    return TESS_OK;
}

static tess_status build_detector(tess_context *ctx, tess_decode_model *model)
{
    const tess_decode_model_config *config = &model->config;
    const int is_sorted = config->encoding.algorithm == TESS_DECODE_SORTED_SPIKES_KDE ||
                          config->encoding.algorithm == TESS_DECODE_SORTED_SPIKES_GLM;
    tess_decode_model_defaults defaults;
    TESS_TRY(tess_decode_model_get_defaults((tess_decode_model_kind)config->model, is_sorted,
                                            &defaults, sizeof defaults));
    tess_decode_movement movements[TESS_DECODE_MODEL_MAX_STATE * TESS_DECODE_MODEL_MAX_STATE];
    for (int32_t i = 0; i < defaults.n_state * defaults.n_state; i++) {
        tess_decode_movement_init(&movements[i], sizeof movements[i]);
        movements[i].kind = defaults.movement_kinds[i];
        movements[i].variance = config->movement_variance;
    }
    tess_decode_detector_config own = config->detector;
    own.n_state = defaults.n_state;
    own.states = defaults.states;
    own.movements = movements;
    own.discrete_initial = own.discrete_initial ? own.discrete_initial : defaults.discrete_initial;
    own.discrete_transition =
        own.discrete_transition ? own.discrete_transition : defaults.discrete_transition;
    if (config->covariates && !own.coefficients) {
        TESS_TRY(begin_coefficients(model, own.discrete_transition, &own));
        model->config.detector.n_coefficient = own.n_coefficient;
    }
    const tess_decode_encoding *encoding = model->encoding;
    return tess_decode_detector_create(ctx, &own, &model->env, 1, &encoding, 1, &model->detector);
}

tess_status tess_de_model_build(tess_context *ctx, tess_decode_model *model)
{
    const tess_decode_model_config *config = &model->config;
    const tess_decode_position *position = &model->training.position;
    if (config->model == TESS_DECODE_MODEL_MULTI_ENVIRONMENT) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "model: multi-environment needs a position series and an encoding per "
                  "environment, which a recording does not have; make them one by one with "
                  "tess_decode_encoding_create() or in Python");
    }
    TESS_TRY(tess_params_check(tess_decode_model_params(), config));
    const bool has_grid = model->grid_position != NULL;
    TESS_TRY(tess_decode_environment_create(
        ctx, &config->environment, has_grid ? model->grid_position : position->position,
        has_grid ? model->n_grid_position : position->n_sample, position->n_dim, &model->env));
    TESS_TRY(tess_decode_encoding_create(ctx, model->env, &model->training, &config->encoding,
                                         &model->encoding));
    TESS_TRY(build_detector(ctx, model));
    // What the detector copied is its own now; the settings say what was asked for.
    model->config.detector.discrete_initial = model->detector->discrete_initial;
    model->config.detector.discrete_transition = model->detector->discrete_transition;
    model->config.detector.coefficients = model->detector->config.coefficients;
    model->config.detector.initial = model->detector->initial;
    model->config.detector.n_state = model->detector->info.n_state;
    model->config.detector.states = model->detector->config.states;
    return TESS_OK;
}

static tess_status fit(tess_context *ctx, tess_decode_model *model,
                       const tess_decode_recording_info *info)
{
    TESS_TRY(copy_config(model, info->training.position.n_dim));
    TESS_TRY(copy_training(model, info));
    if (info->path && info->path[0]) {
        model->input = tess_blocks_copy(&model->memory, info->path, (int64_t)strlen(info->path) + 1,
                                        1, "names");
        if (!model->input) {
            return TESS_E_MEMORY;
        }
    }
    const tess_decode_track *track = model->config.environment.track;
    if (!track && info->has_track) {
        track = &info->track;
    }
    if (track) {
        TESS_TRY(copy_track(model, track));
    }
    take_wishes(model, info);
    return tess_de_model_build(ctx, model);
}

tess_status tess_decode_model_fit(tess_context *ctx, const tess_decode_recording *recording,
                                  const tess_decode_model_config *config, tess_decode_model **out)
{
    tess_error_clear();
    *out = NULL;
    tess_decode_model *model = NULL;
    TESS_TRY(tess_de_model_new(ctx, &model));
    tess_status status = TESS_OK;
    if (config) {
        status = tess_struct_read(config, &model->config, sizeof model->config, "config");
    }
    if (status == TESS_OK) {
        tess_span span = tess_span_begin(&ctx->tracer, "decode.fit");
        status = fit(ctx, model, tess_decode_recording_get_info(recording));
        tess_span_end(&span, 0, 0);
    }
    if (status != TESS_OK) {
        tess_decode_model_destroy(model);
        return status;
    }
    *out = model;
    return TESS_OK;
}

tess_decode_detector *tess_decode_model_detector(tess_decode_model *model)
{
    return model->detector;
}

tess_decode_environment *tess_decode_model_environment(tess_decode_model *model)
{
    return model->env;
}

const tess_decode_encoding *tess_decode_model_encoding(const tess_decode_model *model)
{
    return model->encoding;
}

const tess_decode_model_config *tess_decode_model_settings(const tess_decode_model *model)
{
    return &model->config;
}
