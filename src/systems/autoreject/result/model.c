#include "systems/autoreject/result/model.h"

#include "base/status.h"
#include "base/struct_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

tess_status tess_ar_model_new(tess_context *ctx, tess_autoreject_model **out)
{
    tess_autoreject_model *model =
        tess_heap_alloc_zero(&ctx->heap, sizeof *model, TESS_TAG_RESULT, "model");
    *out = model;
    if (!model) {
        return TESS_E_MEMORY;
    }
    model->ctx = ctx;
    tess_blocks_init(&model->memory, &ctx->heap);
    tess_text_init(&model->notes, &ctx->heap);
    model->info.struct_size = sizeof model->info;
    model->info.types = model->types;
    model->info.notes = "";
    model->info.tessera_version = TESS_VERSION;
    model->stage = "autoreject.model";
    return TESS_OK;
}

void tess_autoreject_model_destroy(tess_autoreject_model *model)
{
    if (!model) {
        return;
    }
    tess_blocks_free(&model->memory);
    tess_text_destroy(&model->notes);
    tess_heap_free(&model->ctx->heap, model, sizeof *model, TESS_TAG_RESULT);
}

const tess_autoreject_model_info *tess_autoreject_model_get_info(const tess_autoreject_model *model)
{
    return &model->info;
}

void tess_ar_model_note(tess_autoreject_model *model, const char *format, ...)
{
    char sentence[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    tess_text_add(&model->notes, model->notes.used > 0 ? "\n" : "");
    tess_text_add(&model->notes, sentence);
    model->info.notes = model->notes.chars ? model->notes.chars : "";
}

void tess_ar_model_warn(tess_autoreject_model *model, tess_warning warning, const char *format, ...)
{
    int64_t n_warning = 0;
    char sentence[960]; // the id finds room behind it
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    tess_ar_model_note(model, "%s [%s]", sentence, tess_warnings(&n_warning)[warning].id);
}

bool tess_ar_model_other_samples(const tess_autoreject_model_info *model,
                                 const tess_autoreject_epochs_info *epochs,
                                 char sentence[TESS_AR_SENTENCE])
{
    snprintf(sentence, TESS_AR_SENTENCE,
             "The model was fitted to epochs of %lld samples at %g Hz; these have %lld at %g Hz.",
             (long long)model->n_time, model->sampling_hz, (long long)epochs->n_time,
             epochs->sampling_hz);
    return model->n_time > 0 &&
           (model->n_time != epochs->n_time || model->sampling_hz != epochs->sampling_hz);
}

// Replaces items by a copy; NULL stays.
#define OWN(memory, items, n)                                                                      \
    do {                                                                                           \
        if (items) {                                                                               \
            (items) = tess_blocks_copy((memory), (items), (n), sizeof *(items), "model");          \
            if (!(items)) {                                                                        \
                return TESS_E_MEMORY;                                                              \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static tess_status own_names(tess_blocks *memory, const char *const **names, int64_t n)
{
    const char **copy = tess_blocks_alloc(memory, n, sizeof *copy, "channel names");
    for (int64_t i = 0; copy && i < n; i++) {
        const char *name = (*names)[i];
        copy[i] = tess_blocks_copy(memory, name, (int64_t)strlen(name) + 1, 1, "channel names");
        if (!copy[i]) {
            return TESS_E_MEMORY;
        }
    }
    *names = copy;
    return copy ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_ar_model_own(tess_autoreject_model *model)
{
    tess_autoreject_model_info *info = &model->info;
    TESS_TRY(own_names(&model->memory, &info->channel_names, info->n_chan));
    OWN(&model->memory, info->picks, info->n_pick);
    OWN(&model->memory, info->consensus, info->n_consensus);
    OWN(&model->memory, info->n_interpolate, info->n_n_interpolate);
    OWN(&model->memory, info->eeg_origin, 3);
    return TESS_OK;
}

tess_status tess_ar_model_own_type(tess_autoreject_model *model, tess_autoreject_type_fit *type)
{
    const tess_autoreject_model_info *info = &model->info;
    int64_t n_candidate = 0;
    for (int64_t c = 0; type->n_candidate && c < type->n_chan; c++) {
        n_candidate += type->n_candidate[c];
    }
    OWN(&model->memory, type->channels, type->n_chan);
    OWN(&model->memory, type->thresholds, type->n_chan);
    OWN(&model->memory, type->standard_errors, type->n_chan);
    OWN(&model->memory, type->objectives, type->n_chan);
    OWN(&model->memory, type->n_candidate, type->n_chan);
    OWN(&model->memory, type->candidates, n_candidate);
    OWN(&model->memory, type->candidate_objectives, n_candidate);
    OWN(&model->memory, type->loss, info->n_consensus * info->n_n_interpolate * info->n_fold);
    return TESS_OK;
}

static tess_status check_grids(const tess_autoreject_model_info *info, const char *subject)
{
    for (int64_t i = 0; i < info->n_consensus; i++) {
        if (!(info->consensus[i] >= 0 && info->consensus[i] <= 1)) {
            TESS_FAIL(TESS_E_RANGE, "%s: consensus[%lld] is %g; expected 0 to 1", subject,
                      (long long)i, info->consensus[i]);
        }
    }
    for (int64_t i = 0; i < info->n_n_interpolate; i++) {
        if (info->n_interpolate[i] < 0) {
            TESS_FAIL(TESS_E_RANGE, "%s: n_interpolate[%lld] is %lld; expected 0 or more", subject,
                      (long long)i, (long long)info->n_interpolate[i]);
        }
    }
    for (int64_t i = 0; i < info->n_pick; i++) {
        if (info->picks[i] < 0 || info->picks[i] >= info->n_chan) {
            TESS_FAIL(TESS_E_RANGE, "%s: picks[%lld] is %lld; there are %lld channels", subject,
                      (long long)i, (long long)info->picks[i], (long long)info->n_chan);
        }
    }
    return TESS_OK;
}

static tess_status check_type(const tess_autoreject_model_info *info,
                              const tess_autoreject_type_fit *type, const char *subject)
{
    const char *name = tess_autoreject_type_name(type->type);
    if (type->type < 0 || type->type >= TESS_AUTOREJECT_N_SOLVABLE || type->n_chan < 1 ||
        !type->channels || !type->thresholds) {
        TESS_FAIL(TESS_E_FORMAT, "%s: type '%s' has no channels or thresholds, or cannot be fitted",
                  subject, name);
    }
    for (int64_t c = 0; c < type->n_chan; c++) {
        if (type->channels[c] < 0 || type->channels[c] >= info->n_chan ||
            (c > 0 && type->channels[c] <= type->channels[c - 1])) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: channel %lld of type '%s' is %lld; expected ascending indices of %lld "
                      "channels",
                      subject, (long long)c, name, (long long)type->channels[c],
                      (long long)info->n_chan);
        }
        if (!isfinite(type->thresholds[c]) || type->thresholds[c] < 0) {
            TESS_FAIL(TESS_E_FORMAT, "%s: the threshold of channel '%s' is %g", subject,
                      info->channel_names[type->channels[c]], type->thresholds[c]);
        }
    }
    const bool is_thresholds_only = type->consensus_index < 0;
    if (!is_thresholds_only &&
        (!(type->consensus >= 0 && type->consensus <= 1) || type->n_interpolate < 0)) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: type '%s' has consensus %g and n_interpolate %lld; expected 0 to 1, and 0 "
                  "or more",
                  subject, name, type->consensus, (long long)type->n_interpolate);
    }
    return TESS_OK;
}

tess_status tess_ar_model_check(const tess_autoreject_model *model, const char *subject)
{
    const tess_autoreject_model_info *info = &model->info;
    if (info->n_chan < 1 || info->n_type < 1 || info->n_type > TESS_AUTOREJECT_N_SOLVABLE ||
        !info->channel_names) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: %lld channels and %lld types; expected at least one, and up "
                  "to %d types",
                  subject, (long long)info->n_chan, (long long)info->n_type,
                  TESS_AUTOREJECT_N_SOLVABLE);
    }
    TESS_TRY(check_grids(info, subject));
    uint32_t seen = 0;
    for (int64_t i = 0; i < info->n_type; i++) {
        TESS_TRY(check_type(info, &info->types[i], subject));
        if (seen >> info->types[i].type & 1) {
            TESS_FAIL(TESS_E_FORMAT, "%s: type '%s' is there twice", subject,
                      tess_autoreject_type_name(info->types[i].type));
        }
        seen |= 1u << info->types[i].type;
    }
    return TESS_OK;
}

static tess_status copy_model(tess_autoreject_model *model, const tess_autoreject_model_info *given)
{
    tess_autoreject_model_info info = {.struct_size = sizeof info};
    TESS_TRY(tess_struct_read(given, &info, sizeof info, "info"));
    if (info.n_type < 1 || info.n_type > TESS_AUTOREJECT_N_SOLVABLE || !info.types) {
        TESS_FAIL(TESS_E_ARGUMENT, "info: %lld types; expected 1 to %d", (long long)info.n_type,
                  TESS_AUTOREJECT_N_SOLVABLE);
    }
    for (int64_t i = 0; i < info.n_type; i++) {
        model->types[i].struct_size = sizeof model->types[i];
        TESS_TRY(tess_struct_read(&info.types[i], &model->types[i], sizeof model->types[i],
                                  "info.types"));
    }
    if (info.notes && info.notes[0]) {
        tess_ar_model_note(model, "%s", info.notes);
    }
    info.notes = model->info.notes;
    info.types = model->types;
    info.struct_size = sizeof info;
    info.tessera_version = TESS_VERSION;
    model->info = info;
    TESS_TRY(tess_ar_model_check(model, "info"));
    for (int64_t i = 0; i < info.n_type; i++) {
        TESS_TRY(tess_ar_model_own_type(model, &model->types[i]));
    }
    return tess_ar_model_own(model);
}

tess_status tess_autoreject_model_create(tess_context *ctx, const tess_autoreject_model_info *info,
                                         tess_autoreject_model **out)
{
    tess_error_clear();
    *out = NULL;
    tess_autoreject_model *model = NULL;
    TESS_TRY(tess_ar_model_new(ctx, &model));
    const tess_status status = copy_model(model, info);
    if (status != TESS_OK) {
        tess_autoreject_model_destroy(model);
        return status;
    }
    *out = model;
    return TESS_OK;
}

tess_autoreject_interpolation_config
tess_ar_model_interpolation(const tess_autoreject_model_info *info)
{
    tess_autoreject_interpolation_config config;
    tess_autoreject_interpolation_config_init(&config, sizeof config);
    config.meg_dots = info->meg_dots;
    config.eeg_origin = info->eeg_origin;
    return config;
}

static int64_t find_name(const tess_autoreject_epochs *epochs, const char *name)
{
    for (int64_t c = 0; c < epochs->sensors.n_chan; c++) {
        if (strcmp(epochs->sensors.channels[c].name, name) == 0) {
            return c;
        }
    }
    return -1;
}

tess_status tess_ar_model_match(const tess_autoreject_model *model,
                                const tess_autoreject_epochs *epochs, int64_t *epochs_of)
{
    for (int64_t i = 0; i < model->info.n_type; i++) {
        const tess_autoreject_type_fit *type = &model->types[i];
        for (int64_t c = 0; c < type->n_chan; c++) {
            const int64_t own = type->channels[c];
            const char *name = model->info.channel_names[own];
            // Usually the same place.
            const bool is_there = own < epochs->sensors.n_chan &&
                                  strcmp(epochs->sensors.channels[own].name, name) == 0;
            epochs_of[own] = is_there ? own : find_name(epochs, name);
            if (epochs_of[own] < 0) {
                TESS_FAIL(TESS_E_MISMATCH,
                          "epochs: channel '%s' of the model is not among their %lld channels; "
                          "give epochs with the channels of the fit",
                          name, (long long)epochs->sensors.n_chan);
            }
            if (epochs->sensors.channels[epochs_of[own]].type != type->type) {
                TESS_FAIL(TESS_E_MISMATCH,
                          "epochs: channel '%s' is of type %s, was of type %s "
                          "when the model was fitted",
                          name,
                          tess_autoreject_type_name(epochs->sensors.channels[epochs_of[own]].type),
                          tess_autoreject_type_name(type->type));
            }
        }
    }
    return TESS_OK;
}
